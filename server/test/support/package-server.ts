/** Real servers from Debian's packages for tests: obtained once, started, killed and started again. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { obtainPackages } from '../../src/adapters/asterisk/provision/packages.ts';
import { until } from './until.ts';

interface Test {
  after(end: () => Promise<void>): void;
}
export interface Started {
  readonly child: ChildProcess;
  /** Last text on its standard error. */
  words(): string;
}
/** The packages in the cache of the engine, and a folder for this test. */
export async function packagesFor(t: Test, name: string, packages: readonly string[]) {
  const cache = process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook');
  const progress = (line: string): void => console.error(`${name} for tests: ${line}`);
  const tree = await obtainPackages({ cache, packages, progress });
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), `${name.toLowerCase()}-`));
  t.after(() => fs.rm(folder, { recursive: true, force: true }));
  const start = (program: string, args: readonly string[], env?: NodeJS.ProcessEnv): Started => {
    const [loader = '', ...rest] = tree.command(program);
    const child = spawn(loader, [...rest, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let words = '';
    child.stderr.on('data', (chunk: Buffer) => (words = (words + chunk.toString()).slice(-4_000)));
    return { child, words: () => words };
  };
  return { cache, tree, folder, start };
}
/** Environment of Debian's Python, which looks for its library beside the `python3` in the PATH. */
export function pythonEnv(root: string, home: string): NodeJS.ProcessEnv {
  const usr = path.join(root, 'usr');
  return {
    PATH: path.join(usr, 'bin'),
    HOME: home,
    LC_ALL: 'C.UTF-8',
    PYTHONHOME: usr,
    PYTHONPATH: path.join(usr, 'lib', 'python3', 'dist-packages'),
    PYTHONDONTWRITEBYTECODE: '1',
  };
}
/** Starts the server and waits until it answers. `stop` kills it, as does the end of the test; `serve` starts it again. */
export async function keepServer(
  t: Test,
  name: string,
  { start, answers }: { readonly start: () => Started; readonly answers: () => Promise<boolean> },
) {
  let child: ChildProcess | null = null;
  const stop = async (): Promise<void> => {
    const running = child;
    child = null;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    running.kill('SIGKILL');
    await once(running, 'exit');
  };
  const serve = async (): Promise<void> => {
    const started = start();
    child = started.child;
    await until(
      `an answer of ${name}`,
      async () => {
        if (started.child.exitCode !== null) throw new Error(started.words());
        return await answers().catch(() => false);
      },
      { every: 100, seen: () => ({ words: started.words() }) },
    );
  };
  t.after(stop);
  await serve();
  return { stop, serve };
}
