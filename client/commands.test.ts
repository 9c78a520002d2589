import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCommands } from './commands.ts';

const never = { after: () => () => undefined };

test('commands - a command waiting for a connection survives the loss of one it was not sent on, and is sent once', async () => {
  const commands = createCommands(never);
  const result = commands.run('agents.unpause');
  commands.lost();
  assert.equal(commands.pending, 1, 'it was never sent, so nothing is unknown');
  const sent: string[] = [];
  commands.found((frame) => sent.push(String(frame.id)));
  assert.equal(sent.length, 1);
  commands.lost();
  await assert.rejects(result, { code: 'outcome_unknown' });
  commands.found((frame) => sent.push(String(frame.id)));
  assert.equal(sent.length, 1);
  assert.equal(commands.result(sent[0]!, { data: 1 }), false, 'a late result is nobody’s');
});
test('commands - the end settles waiting commands and rejects later ones', async () => {
  const commands = createCommands(never);
  const before = commands.run('a.b');
  commands.end(new Error('over'));
  await assert.rejects(before, { message: 'over' });
  await assert.rejects(commands.run('a.b'), { message: 'over' });
});
