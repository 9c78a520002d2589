import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channelId, nodeId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { AmiConnection } from '../ami/connection.ts';
import { callerActions } from './callers.ts';

const ANN = channelId(nodeId('ast1'), '1.7');
const NAME = 'PJSIP/1001-00000001';
/** The verbs over a connection that answers each action with the next of `answers`, and what it was given. */
function rig(answers: readonly (string | null)[] = []) {
  const sent: [string, Record<string, unknown>][] = [];
  const action = async (name: string, fields: Record<string, unknown>) => {
    const message = answers[sent.length] ?? null;
    sent.push([name, Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined))]);
    return { ok: message === null, message: message ?? '' };
  };
  const verbs = callerActions(
    () => ({ action }) as unknown as AmiConnection,
    (id) => (id === ANN ? NAME : undefined),
  );
  return { sent, verbs };
}
const code = (expected: string) => (error: unknown) =>
  error instanceof ServiceError && error.code === expected;

test('callers - a priority is set at once, by the name of the channel', async () => {
  const { sent, verbs } = rig();
  await verbs.setCallerPriority('support', ANN, 10);
  assert.deepEqual(sent, [
    ['QueueChangePriorityCaller', { Queue: 'support', Caller: NAME, Priority: '10', Immediate: 'yes' }],
  ]);
});

test('callers - a caller is taken only where the queue itself says that it still waits there', async () => {
  const { sent, verbs } = rig();
  await verbs.takeCaller('support', ANN, { queue: 'sales', number: '510', position: 2, priority: 7 });
  await verbs.takeCaller('support', ANN, null);
  assert.deepEqual(sent, [
    ['QueueChangePriorityCaller', { Queue: 'support', Caller: NAME, Priority: '7' }],
    ['Redirect', { Channel: NAME, Context: 'queue-moved', Exten: '510*2*7', Priority: '1' }],
    ['QueueChangePriorityCaller', { Queue: 'support', Caller: NAME, Priority: '0' }],
    ['Redirect', { Channel: NAME, Context: 'queue-moved', Exten: 'withdrawn', Priority: '1' }],
  ]);
  const gone = rig(['Unable to change priority caller on queue: No such caller']);
  await assert.rejects(
    gone.verbs.takeCaller('support', ANN, { queue: 'sales', number: '510', position: null, priority: 0 }),
    code('no_such_caller'),
  );
  assert.equal(gone.sent.length, 1, 'nobody is torn from an agent');
});

test('callers - a refusal has its own code; a channel that is not there is asked for nowhere', async () => {
  const { sent, verbs } = rig([null, 'Channel does not exist: x']);
  await assert.rejects(verbs.takeCaller('support', ANN, null), code('engine_refused'));
  const other = channelId(nodeId('ast1'), '1.8');
  await assert.rejects(verbs.setCallerPriority('support', other, 1), code('no_such_caller'));
  assert.equal(sent.length, 2);
});

test('callers - what the wire or the dialplan cannot take is refused, and nothing is sent', async () => {
  const { sent, verbs } = rig();
  const to = { queue: 'sales', number: '510', position: 1, priority: 0 };
  for (const bad of [
    { ...to, number: '' },
    { ...to, number: '5a' },
    { ...to, number: '510*1' },
    { ...to, number: '５１０' },
    { ...to, number: '5'.repeat(65) },
    { ...to, number: '510\r\n' },
    { ...to, position: -1 },
    { ...to, position: 1.5 },
    { ...to, position: 1e9 },
    { ...to, priority: -1 },
    { ...to, priority: Number.NaN },
  ]) {
    await assert.rejects(verbs.takeCaller('support', ANN, bad), code('invalid_request'), JSON.stringify(bad));
  }
  await assert.rejects(verbs.setCallerPriority('', ANN, 1), code('invalid_request'));
  assert.deepEqual(sent, []);
});
