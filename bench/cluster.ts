/** A site of several nodes in PostgreSQL, woken by NATS: the leading node and its web nodes with all servers on one core. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { signIn } from '../server/test/support/api.ts';
import { startNats } from '../server/test/support/nats.ts';
import { startPostgres } from '../server/test/support/postgres.ts';
import type { TestPostgres } from '../server/test/support/postgres.ts';
import { startSite } from '../server/test/support/site.ts';
import type { Site, SiteOptions } from '../server/test/support/site.ts';
import { ALL_CORES, GENERATOR_CORE, SUBJECT_CORE, moveTo } from './lib.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const MAIN = path.join(ROOT, 'server/dist/main.js');
/** Extension of an administrator of the demo company. */
const BOSS = '1001';

export interface BenchCluster extends AsyncDisposable {
  readonly server: TestPostgres;
  readonly url: string;
  readonly leader: Site;
  readonly webs: readonly Site[];
  /** Token of an administrator. */
  readonly token: string;
  /** Starts one more web node, which the caller ends. */
  addWeb(name: string, wait?: SiteOptions['wait']): Promise<Site>;
}
/** `settings` are those of all nodes. */
export async function startCluster(
  webs: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchCluster> {
  execFileSync(process.execPath, [path.join(ROOT, 'scripts/build-service.ts')], { stdio: 'inherit' });
  await using stack = new AsyncDisposableStack();
  // Programs inherit the cores of the one that starts them, and need all of them to start.
  moveTo(ALL_CORES, process.pid);
  const server = stack.use(await startPostgres({ durable: true }));
  const nats = stack.use(await startNats());
  const url = await server.createDatabase();
  const shared = { OFFHOOK_DATABASE_URL: url, OFFHOOK_SITE_STORE: 'postgres', OFFHOOK_NATS: nats.url };
  const common = { ...shared, ...settings };
  const addWeb = (name: string, wait: SiteOptions['wait'] = 'ready'): Promise<Site> =>
    startSite({ main: MAIN, wait, env: { ...common, OFFHOOK_NODE: name, OFFHOOK_NODE_ROLE: 'web' } });
  const leader = stack.use(await startSite({ main: MAIN, env: { ...common, OFFHOOK_NODE: 'a' } }));
  const started: Site[] = [];
  for (let i = 1; i <= webs; i += 1) started.push(stack.use(await addWeb(`w${i}`)));
  const { password } = (await leader.credentials()).find(({ extension }) => extension === BOSS)!;
  const { token } = await signIn(leader.base, BOSS, password);
  const nodes = [leader, ...started].map(({ pid }) => pid!);
  for (const pid of [...server.pids(), nats.pid, leader.enginePid()!, ...nodes]) moveTo(SUBJECT_CORE, pid);
  moveTo(GENERATOR_CORE, process.pid);
  const held = stack.move();
  return {
    server,
    url,
    leader,
    webs: started,
    token,
    addWeb,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}
