/** The tests of an integration as its author writes them: plain node:test against `@offhook/simulator`, with every fault. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@offhook/client';
import { createSimulator } from '@offhook/simulator';
import { CallLog, Receiver } from './call-log.js';

const CALLER = '+4930901820';

/** Ends a test that hangs; no measure of speed, which is that of the machine. */
const PATIENCE_MS = 60_000;
async function until(what, check) {
  for (const over = Date.now() + PATIENCE_MS; Date.now() < over; await sleep(10)) {
    const found = await check();
    if (found) return found;
  }
  throw new Error(`waited for ${what}`);
}
async function site(t) {
  const simulator = await createSimulator();
  t.after(() => simulator.close());
  return { simulator, offhook: createClient({ base: simulator.base, token: simulator.key }) };
}
async function followed(t, simulator) {
  const log = new CallLog({ base: simulator.base, token: simulator.key });
  const following = log.follow();
  t.after(async () => {
    log.close();
    await following;
  });
  return log;
}
/** Plays a call and waits until the log has it. */
async function logged(simulator, log, story = 'inbound answered') {
  const { calls } = await simulator.play(story);
  await simulator.advance(60);
  await until(`${calls[0]} in the log`, () => log.lines.has(calls[0]));
  return calls[0];
}

test('call log - no call is lost or doubled by any fault of the connection', async (t) => {
  const { simulator } = await site(t);
  const log = await followed(t, simulator);
  const calls = [await logged(simulator, log)];
  for (const status of [429, 500, 502, 503, 504]) {
    await simulator.fault({ fault: 'answer', status, next: 3 });
    calls.push(await logged(simulator, log, 'missed'));
  }
  await simulator.fault({ fault: 'slow', ms: 20 });
  calls.push(await logged(simulator, log));
  await simulator.fault({ fault: 'slow', ms: 0 });
  for (const fault of ['disconnect', 'gap', 'epoch']) {
    await simulator.fault({ fault });
    calls.push(await logged(simulator, log));
  }
  await simulator.fault({ fault: 'engine_away' });
  await simulator.fault({ fault: 'engine_back', restarted: true });
  await simulator.advance(1);
  calls.push(await logged(simulator, log));
  assert.deepEqual(new Set(log.lines.keys()), new Set(calls));
  const failed = simulator.requests().filter(({ fault }) => fault);
  assert.ok(failed.length >= 5, `${failed.length} requests met a fault`);
});

test('call log - a conversation that is amended, merged or erased is so in the log', async (t) => {
  const { simulator } = await site(t);
  const log = await followed(t, simulator);
  const call = await logged(simulator, log);
  assert.equal(log.lines.get(call).caller.number, CALLER);
  await simulator.fault({ fault: 'conversation_amended' });
  await until('the amended line', () => log.lines.get(call).state === 'amended');
  await simulator.fault({ fault: 'conversation_merged' });
  await simulator.advance(60);
  await until('the merged line', () => [...log.lines.values()].some((line) => line.merged_from.length > 0));
  assert.equal(log.lines.size, 2);
  await simulator.fault({ fault: 'conversation_erased', number: CALLER });
  await simulator.advance(1);
  await until('the erased lines', () => [...log.lines.values()].every((line) => line.erased));
  assert.ok(!JSON.stringify([...log.lines.values()]).includes(CALLER.slice(3)));
});

test('call log - a recording that comes late is in its line', async (t) => {
  const { simulator, offhook } = await site(t);
  const log = await followed(t, simulator);
  await simulator.fault({ fault: 'recording_late' });
  const { calls } = await simulator.play([
    { do: 'call', from: '1003', to: '1002' },
    { do: 'answer', by: '1002' },
  ]);
  const [{ legs }] = (await offhook.calls.list()).calls;
  await offhook.calls.record(calls[0], { on: true, leg_id: legs[0].leg_id });
  await simulator.play([{ do: 'hangup', by: '1002' }]);
  await simulator.advance(5);
  await until('the line', () => log.lines.has(calls[0]));
  assert.equal(log.lines.get(calls[0]).has_recording, false);
  await until('the recording', async () => {
    await simulator.advance(1);
    return log.lines.get(calls[0]).has_recording;
  });
});

test('click to call - a command is refused, its outcome is unknown, or it is done', async (t) => {
  const { simulator, offhook } = await site(t);
  const call = () => offhook.calls.originate({ from: '1003', to: '1002' });
  await simulator.fault({ fault: 'command_refused' });
  await assert.rejects(call(), { code: 'engine_refused' });
  await simulator.fault({ fault: 'engine_away' });
  await assert.rejects(call(), { code: 'engine_unavailable' });
  await simulator.fault({ fault: 'engine_back' });
  const { operation } = await call();
  await simulator.play([
    { do: 'answer', by: '1003' },
    { do: 'answer', by: '1002' },
  ]);
  assert.equal((await offhook.calls.get(operation.call_id)).call.state, 'connected');
  await simulator.fault({ fault: 'command_unanswered', next: 2 });
  // The engine did it and did not answer: the service sees that from its events.
  await offhook.agents.pause('1004', { reason: 'lunch' });
});

test('webhooks - an event that is sent twice counts once', async (t) => {
  const { simulator, offhook } = await site(t);
  const receiver = new Receiver();
  const server = http
    .createServer((request, response) => void receiver.handle(request, response))
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  const url = `http://127.0.0.1:${server.address().port}/`;
  await offhook.webhooks.create({ url, topics: ['calls'], types: ['call.ended'] });
  await simulator.play('missed');
  await until('the event', () => receiver.events.size === 1);
  await until('the second delivery', async () => {
    await simulator.fault({ fault: 'duplicate' });
    return receiver.deliveries > 1;
  });
  assert.equal(receiver.events.size, 1);
});
