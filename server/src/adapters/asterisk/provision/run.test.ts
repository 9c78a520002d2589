import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

test('run - without free file descriptors it rejects, keeps none open, and the process goes on', () => {
  const program = `
    import fs from 'node:fs';
    const { run } = await import(${JSON.stringify(new URL('run.ts', import.meta.url).href)});
    const held = [];
    try {
      for (;;) held.push(fs.openSync('/dev/null'));
    } catch {}
    // Fewer than the streams of a child need.
    for (const fd of held.splice(-2)) fs.closeSync(fd);
    const failed = async (options) => (await run(['true'], options).catch((e) => e)).code;
    const open = () => fs.readdirSync('/proc/self/fd').length;
    const first = await failed({});
    const before = open();
    const second = await failed({ unread: true });
    fs.writeSync(1, [first, second, open() - before].join(' '));`;
  const args = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath];
  const { status, stdout, stderr } = spawnSync('sh', [...args, '--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  assert.equal(stdout, 'EMFILE EMFILE 0', stderr);
  assert.equal(status, 0, stderr);
});
