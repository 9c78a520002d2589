import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { openSse } from '../../test/support/sse-client.ts';
import { ask, post, simulated } from '../../test/support/simulated.ts';
import type { Reply } from '../../test/support/simulated.ts';
import { until } from '../../test/support/until.ts';
import type { Simulator } from './simulator.ts';

const stream = (simulator: Simulator, more = '') =>
  openSse(`${simulator.base}/api/v1/events?topics=calls${more}`, simulator.key);

test('simulator - requests are answered by a fault as often as ordered, or late, and the control is not', async (t) => {
  const simulator = await simulated(t);
  const ordered = await post(simulator, '/simulator/faults', { fault: 'answer', status: 429, next: 2 });
  assert.equal(ordered.status, 200);
  const statuses = [];
  for (let i = 0; i < 3; i += 1) statuses.push((await ask(simulator, '/api/v1/calls')).status);
  assert.deepEqual(statuses, [429, 429, 200]);
  await simulator.fault({ fault: 'slow', ms: 300 });
  const began = performance.now();
  await ask(simulator, '/api/v1/calls');
  assert.ok(performance.now() - began >= 299);
});

test('simulator - a stream is cut, and told of a gap and of another epoch', async (t) => {
  const simulator = await simulated(t);
  const first = await stream(simulator);
  await simulator.play('missed');
  const last = await until('an event', () => first.messages.findLast(({ id }) => id !== undefined)?.id);
  await simulator.fault({ fault: 'disconnect' });
  await until('the end of the stream', () => first.ended);
  const poll = '/api/v1/events/poll?topics=calls';
  const newest = (await ask(simulator, poll)).cursor;
  assert.equal((await ask(simulator, `${poll}&cursor=${newest}&wait=0`)).gap, null);
  await simulator.fault({ fault: 'gap' });
  // Also a reader that had read everything misses something.
  assert.notEqual((await ask(simulator, `${poll}&cursor=${newest}&wait=0`)).gap, null);
  const second = await stream(simulator, `&cursor=${encodeURIComponent(last)}`);
  await until('the gap', () => second.messages.some(({ event }) => event === 'gap'), {
    seen: () => second.messages,
  });
  second.stop();
  const before = await ask(simulator, '/api/v1/events/poll?topics=calls');
  await simulator.fault({ fault: 'epoch' });
  const after = await ask(simulator, '/api/v1/events/poll?topics=calls');
  assert.notDeepEqual(before, after);
});

test('simulator - without an engine commands are refused; a refused and an unanswered one are told apart', async (t) => {
  const simulator = await simulated(t);
  const pause = () => post(simulator, '/api/v1/agents/1003/pause', { reason: 'lunch' });
  await simulator.fault({ fault: 'engine_away' });
  assert.equal((await pause()).status, 503);
  await simulator.fault({ fault: 'engine_back' });
  await simulator.fault({ fault: 'command_refused', next: 2 });
  assert.equal((await pause()).code, 'engine_refused');
  const { agents } = await ask(simulator, '/api/v1/agents');
  assert.equal(agents.find((one) => one.extension === '1003')?.state, 'available');
  await simulator.fault({ fault: 'command_unanswered', next: 2 });
  const done = await pause();
  assert.equal(done.status, 200, JSON.stringify(done));
});

test('simulator - an engine that was restarted has lost its calls', async (t) => {
  const simulator = await simulated(t);
  await simulator.play([
    { do: 'call', from: '1003', to: '1002' },
    { do: 'answer', by: '1002' },
  ]);
  assert.equal((await ask(simulator, '/api/v1/calls')).calls.length, 1);
  await simulator.fault({ fault: 'engine_away' });
  await simulator.fault({ fault: 'engine_back', restarted: true });
  await simulator.advance(1);
  assert.equal((await ask(simulator, '/api/v1/calls')).calls.length, 0);
});

test('simulator - the control is for tests in every language', async (t) => {
  const simulator = await simulated(t);
  const played = await post(simulator, '/simulator/play', {
    story: 'queue abandoned',
    cast: { ring_seconds: 5 },
  });
  assert.equal(played.calls.length, 1);
  assert.equal(played.now, '2026-11-23T09:00:05.000Z');
  assert.equal(
    (await post(simulator, '/simulator/advance', { by: '01:00:00' })).now,
    '2026-11-23T10:00:05.000Z',
  );
  const again = await post(simulator, '/simulator/reset', {});
  assert.equal(again.now, '2026-11-23T09:00:00.000Z');
  assert.equal((await ask(simulator, '/api/v1/conversations')).conversations.length, 0);
  for (const [path, body, says] of [
    ['/simulator/play', { story: 'nothing' }, /story/],
    ['/simulator/play', { steps: [{ do: 'answer', by: '1003' }] }, /nothing rings at 1003/],
    ['/simulator/play', { steps: [{ do: 'fly' }] }, /do/],
    ['/simulator/advance', { by: 'soon' }, /00:30:00/],
    ['/simulator/faults', { fault: 'flood' }, /fault/],
    ['/simulator/other', {}, /POST \/simulator\/play/],
  ] as const) {
    const reply = await post(simulator, path, body);
    assert.ok(reply.status >= 400 && reply.status < 500, path);
    assert.match(reply.detail, says);
  }
});

test('simulator - the control answers no page of a browser and no other host name', async (t) => {
  const simulator = await simulated(t);
  const { port } = new URL(simulator.base);
  const asked = (headers: http.OutgoingHttpHeaders) =>
    new Promise<number | undefined>((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port, path: '/simulator', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.once('error', reject).end();
    });
  assert.equal(await asked({ origin: 'https://page.example' }), 403);
  assert.equal(await asked({ origin: 'null' }), 403);
  assert.equal(await asked({ host: `page.example:${port}` }), 403);
  assert.equal(await asked({ origin: simulator.base }), 200);
  assert.equal(await asked({ host: `localhost:${port}` }), 200);
});

test('simulator - a webhook gets an event twice with one id, and the requests that were made are listed', async (t) => {
  const simulator = await simulated(t);
  const got: string[] = [];
  const sink = http.createServer((request, response) => {
    got.push(String(request.headers['webhook-id']));
    request.resume();
    response.end();
  });
  sink.listen(0, '127.0.0.1');
  await once(sink, 'listening');
  t.after(() => sink.close());
  t.after(() => sink.closeAllConnections());
  const { port } = sink.address() as AddressInfo;
  const webhook = { url: `http://127.0.0.1:${port}/`, topics: ['calls'], types: ['call.ended'] };
  const made = await post(simulator, '/api/v1/webhooks', webhook);
  assert.equal(made.status, 201, JSON.stringify(made));
  await simulator.play('missed');
  await until('the first delivery', () => got.length === 1);
  await until('the line of the delivery', async () => {
    await simulator.fault({ fault: 'duplicate' });
    return got.length > 1;
  });
  assert.equal(new Set(got).size, 1);

  await simulator.fault({ fault: 'answer', status: 503 });
  await ask(simulator, '/api/v1/agents?state=available');
  const { requests } = (await ask(simulator, '/simulator/requests')) as unknown as {
    requests: ReturnType<Simulator['requests']>;
  };
  assert.deepEqual(requests, simulator.requests());
  const [first, last] = [requests[0]!, requests.at(-1)!];
  assert.deepEqual([first.method, first.path, first.status], ['POST', '/api/v1/webhooks', 201]);
  assert.deepEqual(JSON.parse(first.body), webhook);
  assert.deepEqual([last.path, last.status, last.fault], ['/api/v1/agents?state=available', 503, true]);
});

test('simulator - conversations are amended, merged and erased, and a recording comes late', async (t) => {
  const simulator = await simulated(t);
  const list = async () => (await ask(simulator, '/api/v1/conversations')).conversations;
  await assert.rejects(simulator.fault({ fault: 'conversation_amended' }), /no call was answered/);
  await simulator.play('inbound answered');
  await simulator.advance(60);
  await simulator.fault({ fault: 'conversation_amended' });
  const [amended] = await list();
  assert.equal(amended!.state, 'amended');
  assert.ok(amended!.hold_time > 0);

  await simulator.fault({ fault: 'conversation_merged' });
  await simulator.advance(60);
  const merged = (await ask(simulator, '/api/v1/conversations/changes?limit=100')) as unknown as object;
  assert.match(JSON.stringify(merged), /"merged_from":\["/);

  await simulator.fault({ fault: 'conversation_erased' });
  assert.doesNotMatch(JSON.stringify(await list()), /30901820/);

  await simulator.fault({ fault: 'recording_late' });
  await simulator.play([
    { do: 'call', from: '1003', to: '1002' },
    { do: 'answer', by: '1002' },
    { do: 'wait', seconds: 1 },
  ]);
  const { calls } = await ask(simulator, '/api/v1/calls');
  const [{ call_id: call, legs }] = calls as [Reply['calls'][number]];
  await post(simulator, `/api/v1/calls/${call}/record`, { on: true, leg_id: legs[0]!.leg_id });
  await simulator.play([{ do: 'hangup', by: '1002' }]);
  const recorded = async () =>
    ((await ask(simulator, '/api/v1/recordings')) as unknown as { recordings: { state: string }[] })
      .recordings;
  await simulator.advance(5);
  assert.deepEqual(
    (await recorded()).map(({ state }) => state),
    ['running'],
  );
  await until('the stored recording', async () => {
    await simulator.advance(1);
    return (await recorded())[0]?.state === 'stored';
  });
});
