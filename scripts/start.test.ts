import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { zombie } from '../server/test/support/zombie.ts';

const OWN_NODE = `node_modules/node-${process.platform}-${process.arch}`;
/** A fake npm that installs the packages of the lockfile, fails or hangs, by the file `mode`; `calls` counts. */
const NPM = `
const fs = require('node:fs');
fs.appendFileSync('calls', process.argv.slice(2).join(' ') + '\\n');
const mode = fs.existsSync('mode') ? fs.readFileSync('mode', 'utf8') : 'ok';
fs.rmSync('node_modules', { recursive: true, force: true });
const { packages } = JSON.parse(fs.readFileSync('package-lock.json', 'utf8'));
for (const name of Object.keys(packages).filter((n) => n !== '')) fs.mkdirSync(name, { recursive: true });
if (mode === 'fail') process.exitCode = 7;
else if (mode === 'hang') setInterval(() => {}, 1000);
else setTimeout(() => {
  fs.mkdirSync('${OWN_NODE}/bin', { recursive: true });
  fs.symlinkSync(process.execPath, '${OWN_NODE}/bin/node');
  fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages }));
}, 200);
`;
const MAIN = `
import fs from 'node:fs';
const seen: string[] = [];
for (const name of ['SIGINT', 'SIGTERM', 'SIGUSR2'] as const) {
  process.on(name, () => {
    if (seen.push(name) > 1) return;
    setTimeout(() => { console.log('stopped by', name); process.exit(0); }, 300);
  });
}
console.log('main', JSON.stringify({ args: process.argv.slice(2), node: process.execPath, path: process.env.PATH?.split(':')[0] }));
const [first] = process.argv.slice(2);
if (first === '--code') process.exitCode = Number(process.argv[3]);
else if (first === '--suicide') process.kill(process.pid, 'SIGKILL');
else if (first === '--stay') setInterval(() => {}, 1000);
`;

interface Clone {
  readonly root: string;
  readonly write: (name: string, text: string) => void;
  readonly lock: string;
  readonly mode: (word: string) => void;
  readonly calls: () => number;
  readonly run: (...args: string[]) => {
    readonly child: ChildProcess;
    readonly said: () => string;
    readonly done: Promise<{ code: number | null; out: string; err: string }>;
  };
}
function clone(t: TestContext): Clone {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-')));
  t.after(() => fs.rmSync(root, { recursive: true, force: true }));
  const write = (name: string, text: string): void => {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  };
  fs.mkdirSync(path.join(root, 'scripts'));
  for (const name of ['start.mjs', 'test.ts', 'test-files.ts', 'test-report.ts', 'quick-passwords.mjs']) {
    fs.copyFileSync(path.join(import.meta.dirname, name), path.join(root, 'scripts', name));
  }
  const packages = {
    '': { name: 'x' },
    'node_modules/one': { version: '1.0.0', integrity: 'sha512-a' },
    'node_modules/other-platform': { version: '1.0.0', optional: true },
  };
  write('package-lock.json', JSON.stringify({ packages }));
  write('npm-cli.cjs', NPM);
  write('server/src/programs/main.ts', MAIN);
  write('scripts/build-console.ts', '');
  write('scripts/build-service.ts', '');
  return {
    root,
    write,
    lock: path.join(root, 'package-lock.json'),
    mode: (word) => write('mode', word),
    calls() {
      const file = path.join(root, 'calls');
      return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n').length : 0;
    },
    run(...args) {
      const child = spawn(process.execPath, ['scripts/start.mjs', ...args], {
        cwd: root,
        detached: true,
        env: {
          ...process.env,
          npm_execpath: path.join(root, 'npm-cli.cjs'),
          npm_node_execpath: process.execPath,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      t.after(() => {
        try {
          process.kill(-child.pid!, 'SIGKILL');
        } catch {
          // All its processes ended by themselves.
        }
      });
      let [out, err] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
      return {
        child,
        said: () => out,
        done: once(child, 'close').then(([code]) => ({ code: code as number | null, out, err })),
      };
    },
  };
}
async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!holds()) {
    if (Date.now() > deadline) assert.fail(`waited in vain for: ${what}`);
    await wait(20);
  }
}
test('launcher - the first run installs and reports it; the next one does not', async (t) => {
  const { run, calls, root } = clone(t);
  const first = await run('start', '--empty', 'a b').done;
  assert.equal(first.code, 0, first.err);
  assert.match(first.err, /installing dependencies \(first start\)[^]*dependencies are installed/);
  const said = JSON.parse(first.out.replace('main ', '')) as { args: string[]; node: string; path: string };
  assert.deepEqual(said.args, ['--empty', 'a b']);
  assert.equal(said.path, path.join(root, OWN_NODE, 'bin'), 'the Node of the lockfile is first on the PATH');
  assert.equal(fs.readFileSync(path.join(root, 'calls'), 'utf8').split(' ')[0], 'ci');
  const second = await run('start').done;
  assert.equal(second.err, '');
  assert.equal(calls(), 1);
});

test('launcher - the built service runs where it is current, else the sources', async (t) => {
  const { run, write } = clone(t);
  write('server/dist/main.js', "console.log('built')");
  assert.equal((await run('start').done).out, 'built\n');
  write('scripts/build-service.ts', 'process.exitCode = 73');
  const refused = await run('start').done;
  assert.match(refused.out, /^main /, 'a build that could not be written may be an old one');
  assert.equal(refused.code, 0);
  write('scripts/build-service.ts', 'process.exitCode = 1');
  const failed = await run('start').done;
  assert.match(failed.out, /^main /);
  assert.equal(failed.code, 1);
});

test('launcher - a changed lockfile or a lost package installs again', async (t) => {
  const { run, calls, lock, root } = clone(t);
  await run('start').done;
  const text = fs.readFileSync(lock, 'utf8');
  fs.utimesSync(lock, new Date(), new Date(Date.now() + 60_000));
  await run('start').done;
  assert.equal(calls(), 1, 'a newer date alone is no change');
  fs.writeFileSync(lock, text.replace('sha512-a', 'sha512-b'));
  assert.match((await run('start').done).err, /one has changed/);
  fs.rmSync(path.join(root, 'node_modules/one'), { recursive: true });
  assert.match((await run('start').done).err, /one is missing/);
  assert.equal(calls(), 3);
});

test('launcher - a failed installation is reported and the next run tries again', async (t) => {
  const { run, calls, mode } = clone(t);
  mode('fail');
  const failed = await run('start').done;
  assert.equal(failed.code, 1);
  assert.match(
    failed.err,
    /could not be installed: npm ci ended with exit code 7\. The next run tries again/,
  );
  assert.equal(failed.out, '');
  mode('ok');
  const again = await run('start').done;
  assert.equal(again.code, 0);
  assert.match(again.err, /an installation was not finished/);
  assert.equal(calls(), 2);
});

test('launcher - an interrupted or killed installation is repeated', async (t) => {
  const { run, calls, mode, root } = clone(t);
  mode('hang');
  const interrupted = run('start');
  await until('npm', () => fs.existsSync(path.join(root, 'node_modules/one')));
  process.kill(-interrupted.child.pid!, 'SIGINT');
  assert.equal((await interrupted.done).code, 130);
  const killed = run('start');
  await until('npm again', () => calls() === 2);
  process.kill(-killed.child.pid!, 'SIGKILL');
  await killed.done;
  mode('ok');
  assert.equal((await run('start').done).code, 0);
  assert.equal(calls(), 3);
});

test('launcher - two commands at once in a fresh clone install once', async (t) => {
  const { run, calls } = clone(t);
  const both = await Promise.all([run('start').done, run('start').done]);
  assert.deepEqual(
    both.map((r) => r.code),
    [0, 0],
    both.map((r) => r.err).join('\n'),
  );
  assert.equal(calls(), 1);
});

test('launcher - exit codes are passed on, a death by signal as 128 and its number', async (t) => {
  const { run } = clone(t);
  assert.equal((await run('start', '--code', '42').done).code, 42);
  assert.equal((await run('start', '--suicide').done).code, 137);
});

test('launcher - a signal to the launcher alone stops the command cleanly, and one to the whole group too', async (t) => {
  const { run } = clone(t);
  await run('start').done;
  for (const [signal, group] of [
    ['SIGINT', false],
    ['SIGINT', true],
    ['SIGTERM', false],
    ['SIGTERM', true],
    ['SIGUSR2', false],
  ] as const) {
    const { child, done, said } = run('start', '--stay');
    await until('the command', () => said().includes('main'));
    process.kill(group ? -child.pid! : child.pid!, signal);
    // npm forwards a terminal's Ctrl-C, too.
    if (group) child.kill(signal);
    const { code, out } = await done;
    assert.equal(code, 0, `${signal} ${group}`);
    assert.match(out, new RegExp(`stopped by ${signal}`));
  }
});

test('launcher - when the npm that started it is killed the command is stopped cleanly', async (t) => {
  const { run, root } = clone(t);
  await run('start').done;
  const script = `
    process.title = 'npm start';
    const { spawn } = require('node:child_process');
    spawn(process.execPath, ['scripts/start.mjs', 'start', '--stay'], { stdio: 'inherit' });
  `;
  const npm = spawn(process.execPath, ['-e', script], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  npm.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  await until('the command', () => out.includes('main'));
  npm.kill('SIGKILL');
  await until('its clean stop', () => out.includes('stopped by SIGTERM'));
});

test('launcher - every npm script goes through it, as the process that receives the signals of npm', () => {
  const file = path.join(import.meta.dirname, '../package.json');
  const { scripts } = JSON.parse(fs.readFileSync(file, 'utf8')) as { scripts: Record<string, string> };
  for (const [name, script] of Object.entries(scripts)) {
    // Without exec, a shell in between would die of npm's signal without forwarding it.
    assert.equal(script, `exec node scripts/start.mjs ${name}`);
  }
});

test('launcher - check runs all its tools and fails if one of them does', async (t) => {
  const { run, root } = clone(t);
  await run('start').done;
  const tool = (file: string, code: number): void => {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    const says = `console.log('${path.basename(file)}', process.argv.slice(2).join(' '))`;
    fs.writeFileSync(path.join(root, file), `${says}; process.exitCode = ${code};`);
  };
  const tools = ['node_modules/.bin/tsc', 'node_modules/.bin/oxlint', 'node_modules/.bin/oxfmt'];
  [...tools, 'tools/docs.ts', 'tools/lint-contract.ts'].forEach((file) => tool(file, 0));
  const good = await run('check').done;
  assert.equal(good.code, 0, good.err);
  assert.equal(
    good.out,
    'tsc \ntsc -p console\noxfmt --check .\noxlint \ndocs.ts --check\nlint-contract.ts \n',
  );
  tool('node_modules/.bin/tsc', 1);
  const bad = await run('check').done;
  assert.equal(bad.code, 1);
  assert.equal(bad.out, good.out);
});

test('launcher - tests run with one summary, or only the named ones', async (t) => {
  const { run, root } = clone(t);
  for (const [folder, name] of [
    ['server/src', 'server'],
    ['contract', 'contract'],
  ] as const) {
    fs.mkdirSync(path.join(root, folder), { recursive: true });
    fs.writeFileSync(
      path.join(root, folder, `${name}.test.ts`),
      `import { test } from 'node:test';\ntest('${name} - ran', () => {});\n`,
    );
  }
  // Inside a test run, Node's runner would report to the outer one.
  delete process.env['NODE_TEST_CONTEXT'];
  const all = await run('test').done;
  assert.equal(all.code, 0, all.err);
  assert.equal(all.out.match(/^. tests 2$/gm)?.length, 1, all.out);
  const one = await run('test', 'contract/contract.test.ts').done;
  assert.match(one.out, /tests 1$/m);
});

test('launcher - the path of the service that it compiles first is right', () => {
  const text = fs.readFileSync(path.join(import.meta.dirname, 'start.mjs'), 'utf8');
  const [, service = ''] = /import\('(\.\/server\/[^']+)'\)/.exec(text) ?? [];
  assert.ok(fs.existsSync(path.join(import.meta.dirname, '..', service)), `no service is at ${service}`);
});

test('launcher - the programs of test sites are built with the paths of their sources', async (t) => {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-programs-')));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const build = spawn(process.execPath, [path.join(import.meta.dirname, 'build-service.ts'), folder]);
  assert.deepEqual(await once(build, 'exit'), [0, null]);
  for (const name of ['main', 'faulty-main', 'service'])
    assert.ok(fs.existsSync(path.join(folder, `${name}.js`)), `${name}.js is missing`);
  const text = fs
    .readdirSync(folder)
    .map((name) => fs.readFileSync(path.join(folder, name), 'utf8'))
    .join('\n');
  const own = path.resolve(import.meta.dirname, '../server/src/boot');
  assert.ok(text.includes(`path.resolve(${JSON.stringify(own)}, "../../../phones")`));
  assert.doesNotMatch(text, /(?:new URL\([^)]*|resolve\()import\.meta/);
});

test('launcher - an unknown command lists the known ones', async (t) => {
  const { run, calls } = clone(t);
  const { code, err } = await run('constructor').done;
  assert.equal(code, 1);
  assert.match(err, /expected one of: start, dev, build, engine/);
  assert.equal(calls(), 0);
});

/** The lock file of an installation in this folder. */
function lockOf(t: TestContext, root: string): string {
  const hash = createHash('sha256').update(root).digest('hex').slice(0, 16);
  const file = path.join(os.tmpdir(), `offhook-install-${process.getuid?.() ?? ''}-${hash}.lock`);
  t.after(() => fs.rmSync(file, { force: true }));
  return file;
}
test('launcher - the lock of a dead run blocks no other: a zombie, a number that another process has now, and none at all', async (t) => {
  for (const owner of ['zombie', 'recycled', 'empty'] as const) {
    const { run, root } = clone(t);
    const file = lockOf(t, root);
    using dead = await zombie();
    const written = { zombie: `${dead.pid} ${dead.start}`, recycled: `${process.pid} 1`, empty: '' };
    fs.writeFileSync(file, written[owner]);
    const started = await run('start').done;
    assert.equal(started.code, 0, started.err);
    assert.match(started.err, /dependencies are installed/);
  }
});

/** Puts the lock of another waiter in the place of the one that is about to be removed; `tries` has the attempts after it. */
const FASTER = `
const fs = require('node:fs');
const { rmSync, renameSync, writeFileSync } = fs;
let came = false;
const after = (remove) => (file, ...rest) => {
  if (!came && file.endsWith('.lock')) {
    came = true;
    fs.unlinkSync(file);
    writeFileSync(file, '${process.pid}');
  }
  return remove(file, ...rest);
};
fs.rmSync = after(rmSync);
fs.renameSync = after(renameSync);
fs.writeFileSync = (file, ...rest) => {
  let code = 'taken';
  try {
    writeFileSync(file, ...rest);
  } catch (error) {
    code = error.code;
    throw error;
  } finally {
    if (came && file.endsWith('.lock')) fs.appendFileSync('tries', code + '\\n');
  }
};
`;
test('launcher - of two commands that wait for the lock of a dead run, the slower one waits for the faster one', async (t) => {
  const { run, root, write } = clone(t);
  const file = lockOf(t, root);
  const launcher = fs.readFileSync(path.join(root, 'scripts/start.mjs'), 'utf8');
  write('scripts/faster.cjs', FASTER);
  write('scripts/start.mjs', `import './faster.cjs';\n${launcher}`);
  fs.writeFileSync(file, '999999999');
  const slower = run('start');
  const tries = path.join(root, 'tries');
  await until('its next attempt', () => fs.existsSync(tries));
  assert.match(fs.readFileSync(tries, 'utf8'), /^EEXIST\n/);
  assert.equal(fs.readFileSync(file, 'utf8'), String(process.pid));
  fs.rmSync(file);
  const { code, err } = await slower.done;
  assert.equal(code, 0, err);
});
