import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from './sources.ts';

test('build-service - programs are ASCII and can be imported', async (t) => {
  // Within the checkout, so that the programs find their packages.
  const folder = await mkdtemp(path.join(ROOT, 'node_modules/.cache/built-'));
  t.after(() => rm(folder, { recursive: true }));
  const run = (...args: string[]) =>
    spawnSync(process.execPath, args, { cwd: ROOT, env: { ...process.env, TZ: 'UTC' }, encoding: 'utf8' });
  const built = run('scripts/build-service.ts', folder);
  assert.equal(built.status, 0, built.stderr);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.js'));
  assert.ok(names.includes('service.js'));
  for (const name of names) {
    const text = await readFile(path.join(folder, name), 'latin1');
    // A character beyond ASCII doubles the memory that the text of its file takes.
    assert.doesNotMatch(text, /[^\0-\u007f]/, name);
    // Such an import reads the texts of all root certificates; the other makes V8 keep the lines of the program.
    assert.doesNotMatch(text, /from "node:tls"|\bgetCallSites\b/, name);
  }
  const imported = run(
    '-e',
    `Intl.DateTimeFormat = Intl.Collator = () => { throw new Error('Intl takes memory that no start needs'); };
    import(${JSON.stringify(path.join(folder, 'service.js'))}).then(() => console.log(process.moduleLoadList.join()))`,
  );
  assert.equal(imported.status, 0, imported.stderr);
  assert.match(imported.stdout, /NativeModule http\b/);
  // The client of `fetch` takes memory that no idle service needs.
  assert.doesNotMatch(imported.stdout, /undici/);
});
