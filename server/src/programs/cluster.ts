/**
 * `npm run cluster -- status` shows the nodes of the site in OFFHOOK_DATABASE_URL; `npm run cluster -- switch <node>` passes the site
 * to a standby and waits until it leads; `npm run cluster -- try` runs a site of several nodes on this machine until Ctrl-C. The exit
 * code is 1 where that failed, 2 for wrong usage.
 */
import { openPostgresSiteNodes } from '../adapters/postgres/site-nodes.ts';
import { SETTINGS } from '../boot/config.ts';
import { nodeLines, switchTo } from '../boot/nodes.ts';
import { tryCluster } from '../boot/try-cluster.ts';
import { systemClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';

const USAGE =
  'Usage: npm run cluster -- status | switch <node>, with OFFHOOK_DATABASE_URL of the site; or npm run cluster -- try';

async function ofSite(url: string, node: string | undefined): Promise<void> {
  const nodes = openPostgresSiteNodes(url);
  try {
    if (node !== undefined) await switchTo(nodes, node, systemClock);
    const all = await nodes.list();
    console.log(
      all.length === 0 ? 'No node has reported; OFFHOOK_NODE names one.' : nodeLines(all).join('\n'),
    );
  } finally {
    await nodes.close();
  }
}
async function tried(): Promise<void> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop.abort(name));
  const print = (line: string): void => console.log(`  ${line}`);
  await tryCluster({ signal: stop.signal, print }).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  print('Stopped.');
}

const setting = SETTINGS.databaseUrl;
const url = setting.parse(process.env[setting.name] ?? '');
const [command, node, ...more] = process.argv.slice(2);
const named = node !== undefined;
const known = more.length === 0 && (command === 'switch' ? named : !named);
try {
  if (known && command === 'try') await tried();
  else if (known && url != null && (command === 'status' || command === 'switch')) await ofSite(url, node);
  else {
    console.error(USAGE);
    process.exitCode = 2;
  }
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
