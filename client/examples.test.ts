import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

/** Lines that an example may have, comments included. */
const LINES = { 'screen-pop.ts': 25, 'wallboard.ts': 30, 'agent-buttons.ts': 20, 'call-control.ts': 20 };
const EXAMPLES = path.join(import.meta.dirname, 'examples');

test('client - the examples are as short as the README promises, and it shows each as it is', async () => {
  assert.deepEqual((await readdir(EXAMPLES)).toSorted(), Object.keys(LINES).toSorted());
  const readme = await readFile(path.join(import.meta.dirname, 'README.md'), 'utf8');
  for (const [name, most] of Object.entries(LINES)) {
    const text = await readFile(path.join(EXAMPLES, name), 'utf8');
    assert.ok(text.trimEnd().split('\n').length <= most, `${name} is longer than ${most} lines`);
    assert.ok(readme.includes(text.trimEnd()), `client/README.md does not show ${name} as it is`);
  }
});
