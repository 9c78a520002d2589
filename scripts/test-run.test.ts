import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { argon2Sync } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { chooseFiles } from './test-files.ts';

const HEAD = `import { test } from 'node:test';\n`;
/** A folder with these test files and the runner. */
function house(t: TestContext, files: Readonly<Record<string, string>>) {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-')));
  t.after(() => fs.rmSync(root, { recursive: true, force: true }));
  const place = (name: string): string => {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    return file;
  };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(place(name), text);
  for (const name of ['test.ts', 'test-files.ts', 'test-report.ts', 'quick-passwords.mjs']) {
    fs.copyFileSync(path.join(import.meta.dirname, name), place(`scripts/${name}`));
  }
  // Inside a test run, Node's runner would report to the outer one, and the outer one's password cost would be that of all files.
  const { NODE_TEST_CONTEXT: _outer, NODE_OPTIONS: _cost, ...env } = process.env;
  return {
    root,
    run: (...args: string[]) => {
      const done = spawnSync(process.execPath, ['scripts/test.ts', ...args], {
        cwd: root,
        encoding: 'utf8',
        env,
      });
      return { code: done.status, out: done.stdout, err: done.stderr };
    },
  };
}

test('test run - some stories run a second time over PostgreSQL, in a run of everything only', (t) => {
  const name = 'server/test/scenarios/privacy.test.ts';
  const { run } = house(t, {
    [name]: `${HEAD}test('privacy - one', () => process.exit(process.env.TEST_SITE_STORE === 'postgres' ? 7 : 0));\n`,
  });
  const all = run();
  assert.match(all.out, /privacy\.test\.ts \(PostgreSQL\): 1 of 1 failed/);
  assert.match(all.out, /exit code 7/);
  assert.doesNotMatch(run(name).out, /PostgreSQL|exit code 7/);
});
test('test run - a password costs its least in a test file and in what the file starts, except in the test of the hashes', (t) => {
  const hashes = `const WORK = "const { argon2 } = await import('node:crypto');" +
    "argon2('argon2id', { message: 'x', nonce: Buffer.alloc(16), tagLength: 32, memory: 1024, passes: 2, parallelism: 1 }," +
    "(error, tag) => console.log('tag', tag.toString('hex')));";
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
test('hashes - one', () => {
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', WORK], { encoding: 'utf8' });
  throw new Error(stdout);
});
`;
  const { run } = house(t, {
    'server/quick.test.ts': hashes,
    'server/src/features/sessions/password.test.ts': hashes,
  });
  const tagIn = (file: string) => /tag ([0-9a-f]{64})/.exec(run(file).out)?.[1];
  const tagOf = (cost: { memory: number; passes: number }): string =>
    argon2Sync('argon2id', {
      message: 'x',
      nonce: Buffer.alloc(16),
      tagLength: 32,
      parallelism: 1,
      ...cost,
    }).toString('hex');
  assert.equal(tagIn('server/quick.test.ts'), tagOf({ memory: 8, passes: 1 }));
  assert.equal(tagIn('server/src/features/sessions/password.test.ts'), tagOf({ memory: 1024, passes: 2 }));
});
test('test run - a failure is shown with its location, once immediately and once at the end; totals are last', (t) => {
  const { run } = house(t, {
    'server/good.test.ts': `${HEAD}test('good - one', () => {});\ntest('good - two', { skip: true }, () => {});\n`,
    'server/bad.test.ts': `import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
describe('suite', () => {
  test('bad - inner', (t) => {
    console.log('written before');
    t.diagnostic('seen before');
    assert.equal(1, 2);
  });
  test('bad - other', () => {});
});
`,
  });
  const { code, out } = run();
  assert.equal(code, 1);
  const shown =
    /^ {2}✖ server\/bad\.test\.ts:4 {2}suite > bad - inner\n {4}Expected values[^]*?1 !== 2\n\s*at server\/bad\.test\.ts:7:12$/gm;
  assert.equal(out.match(shown)?.length, 2, out);
  assert.match(out, /written before[^]*seen before[^]*\nfailed:\n/);
  assert.doesNotMatch(out, /good - one|node:internal/);
  assert.match(
    out,
    /\nℹ tests 4\nℹ suites 1\nℹ pass 2\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\nℹ duration_ms \d+\n$/,
  );
});

test('test run - a file that runs no test, exits early, crashes or is killed has failed', (t) => {
  const { run } = house(t, {
    'server/none.test.ts': 'export {};\n',
    'server/exits.test.ts': `${HEAD}test('exits', () => process.exit(0));\n`,
    'server/throws.test.ts': `throw new Error('while it loads');\n`,
    'server/killed.test.ts': `${HEAD}test('killed', () => process.kill(process.pid, 'SIGKILL'));\n`,
    'server/late.test.ts': `${HEAD}test('late', () => void setTimeout(() => { throw new Error('after its end'); }, 50));\n`,
  });
  const { code, out } = run();
  assert.equal(code, 1);
  const [, end = ''] = out.split('\nfailed:\n');
  for (const said of [
    /none\.test\.ts:1\n +the file ran no test/,
    /exits\.test\.ts:1\n +the file ran no test/,
    /throws\.test\.ts:1\n +the file ended with exit code 1, outside its tests/,
    /killed\.test\.ts:1\n +the file ended by SIGKILL, outside its tests/,
    /late\.test\.ts:1\n +the file ended with exit code 1, outside its tests/,
  ])
    assert.match(end, said);
  assert.match(out, /while it loads[^]*\nfailed:/);
  assert.match(out, /after its end[^]*\nfailed:/);
  assert.match(end, /^ℹ fail 5$/m);
});

test('test run - takes files, folders and patterns; one file shows each of its tests', (t) => {
  const { root, run } = house(t, {
    'server/a/one.test.ts': `${HEAD}test('one - first', () => {});\ntest('one - second', () => {});\n`,
    'server/a/deep/two.test.ts': `${HEAD}test('two', () => {});\n`,
    'server/b/three.test.ts': `${HEAD}test('three', () => {});\n`,
    'server/node_modules/other.test.ts': `${HEAD}test('other', () => {});\n`,
    'server/empty/README.md': '',
  });
  const names = (...args: string[]): string[] =>
    chooseFiles(root, args)
      .map(({ name }) => name)
      .toSorted();
  assert.deepEqual(names('server'), [
    'server/a/deep/two.test.ts',
    'server/a/one.test.ts',
    'server/b/three.test.ts',
  ]);
  assert.deepEqual(names('server/a/', 'server/a/one.test.ts'), [
    'server/a/deep/two.test.ts',
    'server/a/one.test.ts',
  ]);
  assert.deepEqual(names('server/*/*.test.ts'), ['server/a/one.test.ts', 'server/b/three.test.ts']);
  assert.throws(() => names('server/empty'), /server\/empty: no test file is there/);
  const one = run('server/a/one.test.ts');
  assert.match(one.out, /^✔ one - first \(\d+ ms\)\n✔ one - second/);
  const folder = run('server/a');
  assert.match(folder.out, /^ℹ tests 3$/m);
  assert.doesNotMatch(folder.out, /first/);
  const pattern = run('--test-name-pattern', 'second');
  assert.equal(pattern.code, 0);
  assert.match(pattern.out, /one\.test\.ts: 1 passed\n\nℹ tests 1\n/);
  assert.equal(run('--test-name-pattern', 'third').code, 1);
  const unknown = run('server/none.test.ts');
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /server\/none\.test\.ts: no test file is there/);
});

test('test run - files of one kind begin with the longest, pages first', (t) => {
  const { root } = house(t, {
    'server/short.test.ts': '\n',
    'server/long.test.ts': '\n\n',
    'server/test/support/site.ts': '',
    'server/test/support/rig.ts': "import { a,\n b } from './site.ts';\n",
    'server/test/support/throwaway-engine.ts': '',
    'server/src/engine.test.ts': "import { dial } from '../test/support/throwaway-engine.ts';\n",
    'server/src/site.test.ts': "import { rig } from '../test/support/rig.ts';\n",
    'console/page.test.ts': 'useSite(); useBrowser();\n',
    'server/all.test.ts': "await import('./long.test.ts');\n",
  });
  const files = chooseFiles(root);
  assert.deepEqual(
    files.map(({ name }) => name),
    [
      'console/page.test.ts',
      'server/src/engine.test.ts',
      'server/src/site.test.ts',
      'server/all.test.ts',
      'server/long.test.ts',
      'server/short.test.ts',
    ],
  );
  const [page, engine, site] = files;
  assert.ok(page!.kind.cores > site!.kind.cores);
  assert.ok(site!.kind.cores > engine!.kind.cores, 'an engine without a service leaves a core to others');
  const own = chooseFiles(path.resolve(import.meta.dirname, '..'), ['server/src/adapters/asterisk/conf']);
  const kinds = new Set(own.map(({ kind }) => kind));
  assert.equal(kinds.size, 2, 'files with an engine are known by what they import');
});

test('test run - quick files and pages have a lower priority than those that measure calls', (t) => {
  const priority = `import os from 'node:os';\n${HEAD}test('priority ' + (os.getPriority() - ${os.getPriority()}), () => {});\n`;
  const { run } = house(t, {
    'server/test/support/site.ts': 'export {};\n',
    'server/a.test.ts': `import {} from './test/support/site.ts';\n${priority}`,
    'server/b.test.ts': priority,
  });
  const { out } = run('--each');
  assert.match(out, /^✔ priority 0 /m);
  assert.match(out, /^✔ priority [1-9]/m);
});

test('test run - a hanging file is ended, with the name of its test and its output', (t) => {
  const { run } = house(t, {
    'server/hangs.test.ts': `${HEAD}test('ends', () => {});\ntest('hangs', async () => {
  console.log('written before');
  await new Promise((resolve) => setTimeout(resolve, 60_000));
});\n`,
  });
  const { code, out } = run('--longest', '8', 'server');
  assert.equal(code, 1);
  assert.match(out, /hangs\.test\.ts {2}hangs\n +ran longer than 8 s and was ended[^]*written before/);
});

test('test run - a file that something left open keeps alive is ended soon after its tests, whose results stay', (t) => {
  const { run } = house(t, {
    'server/left.test.ts': `import net from 'node:net';
${HEAD}test('passes', () => void net.createServer().listen(0));
test('fails', () => { throw new Error('its reason'); });\n`,
  });
  const { code, out } = run('--linger', '1', 'server');
  assert.equal(code, 1);
  assert.match(out, /^✔ passes /m);
  assert.match(out, /left\.test\.ts:4 {2}fails\n +its reason/);
  assert.match(
    out,
    /left\.test\.ts:1\n +its tests ended 1 s ago, but a handle that they left open keeps it running/,
  );
});

test('test run - a wait in progress ends with the rejection that fails its test', (t) => {
  const { root, run } = house(t, {
    'server/waits.test.ts': `${HEAD}import { until } from './until.ts';
test('waits', async () => {
  void Promise.reject(new Error('its reason'));
  await until('what never comes', () => false).catch(({ message }) => console.log('body: ' + message));
});\n`,
  });
  fs.copyFileSync(
    path.join(import.meta.dirname, '../server/test/support/until.ts'),
    path.join(root, 'server/until.ts'),
  );
  const { code, out } = run('--longest', '20', 'server');
  assert.equal(code, 1);
  assert.match(out, /waits\.test\.ts:3 {2}waits\n +its reason/);
  assert.match(out, /body: the test has failed: Error: its reason/);
  assert.doesNotMatch(out, /ran longer/);
});
