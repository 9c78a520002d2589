import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { RETRY_SECONDS } from '@offhook/contract/webhooks.ts';
import { ok, silence, startSink, status } from '../../../test/support/webhook-sink.ts';
import type { Received } from '../../../test/support/webhook-sink.ts';
import { admin, keyActor, queueEvent, webhooksRig } from '../../../test/support/webhooks-rig.ts';
import { WebhookTest } from '@offhook/contract/webhooks.ts';
import { until } from '../../../test/support/until.ts';
import type { KeyRights } from '../../rights/rights.ts';
import { signatures } from './signature.ts';

/** Verifies as a receiver does, by the specification's text and the Web Crypto API; the number of good signatures. */
async function verified(one: Received, secret: string): Promise<number> {
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, '')), (c) => c.charCodeAt(0));
  assert.ok(bytes.length >= 24 && bytes.length <= 64);
  const usage = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes, usage, false, ['verify']);
  const signed = new TextEncoder().encode(`${one.id}.${one.timestamp}.${one.body}`);
  let good = 0;
  for (const part of one.signature.split(' ')) {
    const [version, base64] = part.split(',');
    assert.equal(version, 'v1');
    const mac = Uint8Array.from(atob(base64!), (c) => c.charCodeAt(0));
    if (await crypto.subtle.verify('HMAC', key, mac, signed)) good += 1;
  }
  return good;
}

test('webhooks - the signature is the one of the specification', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const body = '{"test": 2432232314}';
  assert.equal(
    signatures([secret], 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, body),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

test('webhooks - events arrive in order, as the envelope byte for byte, signed, over one connection', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  rig.happen(3);
  const { webhook, secret } = await rig.create({ url: sink.url });
  rig.happen(100);
  rig.journal.append([queueEvent('support')]);
  await until('100 deliveries', () => sink.received.length === 100);
  assert.deepEqual(
    sink.seqs,
    Array.from({ length: 100 }, (_, i) => i + 4),
    'from its creation on, and only its topic',
  );
  const [first] = sink.received;
  assert.equal(first!.body, rig.journal.read(3, 1)[0]!.json);
  assert.equal(first!.id, `${rig.journal.epoch}:4`);
  assert.ok(!first!.id.includes('.'));
  assert.equal(first!.timestamp, String(rig.clock.now() / 1000));
  assert.equal(first!.headers['content-type'], 'application/json');
  assert.equal(await verified(first!, secret), 1);
  assert.equal(sink.connections, 1);
  await until('the cursor', () => rig.one(webhook.id).cursor === 104);
  const log = await rig.deliveries(webhook.id);
  assert.equal(log.length, 100);
  assert.deepEqual(
    [log[0]!.state, log[0]!.seq, log[0]!.attempts, log[0]!.status, log[0]!.excerpt],
    ['delivered', 103, 1, 200, 'ok'],
  );
});

test('webhooks - a failed delivery is tried again on the schedule while the others wait behind it', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(500));
  const { webhook } = await rig.create({ url: sink.url });
  rig.happen(2);
  const settled = () => rig.webhooks.figures().under_way === 0;
  await until('the first attempt', () => rig.one(webhook.id).retrying?.attempts === 1);
  await rig.pass(4_000, settled);
  assert.equal(sink.received.length, 1);
  await rig.pass(1_000, settled);
  assert.deepEqual(sink.seqs, [1, 1], 'after five seconds');
  const [a, b] = sink.received;
  assert.equal(a!.id, b!.id);
  assert.equal(Number(b!.timestamp) - Number(a!.timestamp), 5, 'the time of the attempt');
  sink.answer = status(204);
  await rig.pass(15_000, settled, 5_000);
  await until('both', () => rig.one(webhook.id).cursor === 2);
  assert.deepEqual(sink.seqs, [1, 1, 1, 2]);
  const log = await rig.deliveries(webhook.id);
  assert.deepEqual(
    log.map((d) => [d.seq, d.state, d.attempts, d.next_attempt_at]),
    [
      [2, 'delivered', 1, null],
      [1, 'delivered', 3, null],
    ],
  );
});

test('webhooks - a rotated secret signs beside the new one for a day, and then no more', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const { webhook, secret } = await rig.create({ url: sink.url });
  const { secret: next, webhook: rotated } = await rig.webhooks.service.rotate(admin, webhook.id);
  assert.match(next, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.notEqual(next, secret);
  assert.equal(rotated.previous_secret_until, '2026-11-22T09:00:00.000Z');
  const send = async (): Promise<Received> => {
    const before = sink.received.length;
    rig.happen(1);
    await until('it', () => sink.received.length > before);
    await until('its end', () => rig.webhooks.figures().under_way === 0);
    return sink.received.at(-1)!;
  };
  const both = await send();
  assert.deepEqual([await verified(both, secret), await verified(both, next)], [1, 1]);
  assert.equal(both.signature.split(' ').length, 2);
  await rig.clock.advance(24 * 3_600_000 - 1);
  assert.equal(await verified(await send(), secret), 1);
  await rig.clock.advance(1);
  const after = await send();
  assert.deepEqual([await verified(after, secret), await verified(after, next)], [0, 1]);
  assert.equal(rig.one(webhook.id).previous_secret_until, null);
});

test('webhooks - a key receives its objects only; its rights are checked for every event, and end with it', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const key: KeyRights = {
    id: 4,
    name: 'crm',
    scopes: ['directory:read', 'queues:read', 'webhooks:manage'],
    queues: ['sales'],
    extensions: ['1003', '1005'],
  };
  rig.keys.set(4, key);
  const crm = keyActor(key);
  const wanted = { url: sink.url, types: null, enabled: true, description: '' };
  for (const topic of ['calls', 'agents', 'config', 'queues/support', 'presence/1001', 'calls/mine']) {
    await assert.rejects(
      rig.webhooks.service.create(crm, { ...wanted, topics: [topic] }),
      { code: 'forbidden' },
      topic,
    );
  }
  const { webhook } = await rig.webhooks.service.create(crm, { ...wanted, topics: ['presence', 'queues'] });
  assert.equal(webhook.created_by, 'key:crm');
  const all = () => {
    for (const extension of ['1001', '1003', '1005']) rig.happen(1, extension);
    rig.journal.append([queueEvent('sales'), queueEvent('support')]);
  };
  const passed = (seq: number) => until('all of them', () => rig.one(webhook.id).cursor === seq);
  all();
  await passed(5);
  assert.deepEqual(sink.seqs, [2, 3, 4]);

  const { webhook: other } = await rig.create({ url: sink.url, enabled: false });
  for (const work of [
    () => rig.webhooks.service.one(crm.caller, other.id),
    () => rig.webhooks.service.change(crm, other.id, { enabled: true }),
    () => rig.webhooks.service.remove(crm, other.id),
    () => rig.webhooks.service.rotate(crm, other.id),
    () => rig.webhooks.service.test(crm, other.id),
    () => rig.webhooks.service.replay(crm, other.id, { from: 1, to: 1 }),
    () => rig.webhooks.service.deliveries(crm.caller, other.id, {}),
  ]) {
    await assert.rejects(async () => work(), { code: 'not_found' });
  }
  assert.deepEqual(
    rig.webhooks.service.list(crm.caller).map(({ id }) => id),
    [webhook.id],
  );
  assert.equal(rig.webhooks.service.list(admin.caller).length, 2);
  // An administrator gives it no more than its owner has.
  await assert.rejects(rig.webhooks.service.change(admin, webhook.id, { topics: ['calls'] }), {
    code: 'forbidden',
  });

  rig.keys.set(4, { ...key, extensions: ['1005'], queues: [] });
  all();
  await passed(10);
  assert.deepEqual(sink.seqs, [2, 3, 4, 8]);
  rig.keys.delete(4);
  rig.webhooks.ownersChanged();
  await until('its end', () => !rig.one(webhook.id).enabled);
  assert.equal(rig.one(webhook.id).disabled_reason, 'no_owner');
  all();
  await rig.webhooks.save();
  assert.equal(sink.received.length, 4);
  const { entries } = await rig.audit.page({ action: 'webhook.disabled' });
  assert.deepEqual(
    entries.map((e) => e.detail['reason']),
    ['no_owner'],
  );
});

test('webhooks - a key limited to queues receives events of agents without other queues', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const key: KeyRights = {
    id: 4,
    name: 'crm',
    scopes: ['agents:read', 'webhooks:manage'],
    queues: ['sales'],
    extensions: null,
  };
  rig.keys.set(4, key);
  const wanted = { url: sink.url, types: null, enabled: true, description: '', topics: ['agents'] };
  const { webhook } = await rig.webhooks.service.create(keyActor(key), wanted);
  rig.journal.append(
    ['support', 'sales'].map((queue) => {
      const call_id = `call-${queue}`;
      const data = { extension: '1003', queue, call_id, agent: { queue, call_id, offer_id: null } };
      const event = { type: 'agent.talking', subject: 'agents/1003', at: rig.clock.now(), observed: 'live' };
      return { ...event, data } as unknown as DomainEvent;
    }),
  );
  await until('both', () => rig.one(webhook.id).cursor === 2);
  const none = { queue: null, call_id: null, offer_id: null };
  assert.deepEqual(
    sink.received.map(({ body }) => (JSON.parse(body) as { data: object }).data),
    [
      { extension: '1003', queue: '', call_id: '', agent: none },
      {
        extension: '1003',
        queue: 'sales',
        call_id: 'call-sales',
        agent: { queue: 'sales', call_id: 'call-sales', offer_id: null },
      },
    ],
  );
});

test('webhooks - a key whose rights no longer cover any topic of its webhook: disabled at once, and audited', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const key: KeyRights = {
    id: 4,
    name: 'crm',
    scopes: ['queues:read', 'directory:read', 'webhooks:manage'],
    queues: ['sales'],
    extensions: null,
  };
  rig.keys.set(4, key);
  const wanted = { url: sink.url, types: null, enabled: true, description: '', topics: ['queues'] };
  const { webhook } = await rig.webhooks.service.create(keyActor(key), wanted);
  rig.keys.set(4, { ...key, scopes: ['directory:read', 'webhooks:manage'] });
  rig.webhooks.ownersChanged();
  await until('its end', () => !rig.one(webhook.id).enabled);
  assert.equal(rig.one(webhook.id).disabled_reason, 'not_allowed');
  await rig.webhooks.save();
  const { entries } = await rig.audit.page({ action: 'webhook.disabled' });
  assert.deepEqual(
    entries.map((e) => [e.object, e.detail['reason']]),
    [[`webhook:${webhook.id}`, 'not_allowed']],
  );
  await assert.rejects(rig.webhooks.service.change(admin, webhook.id, { enabled: true }), {
    code: 'forbidden',
  });
  rig.keys.set(4, key);
  assert.equal((await rig.webhooks.service.change(admin, webhook.id, { enabled: true })).enabled, true);
});

test('webhooks - a demoted person receives fewer events, a removed one none', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const { webhook } = await rig.create({ url: sink.url, topics: ['queues', 'presence'] });
  rig.directory.change('1001', { level: 'user' });
  rig.journal.append([queueEvent('support')]);
  rig.happen(1);
  await until('both', () => rig.one(webhook.id).cursor === 2);
  assert.deepEqual(sink.seqs, [2]);
  rig.directory.change('1001', { active: false });
  rig.happen(1);
  await until('its end', () => !rig.one(webhook.id).enabled);
  assert.equal(rig.one(webhook.id).disabled_reason, 'no_owner');
});

test('webhooks - types narrow, a change is effective at once, and a disabled webhook continues at its position', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(500));
  await using moved = await startSink();
  const { webhook } = await rig.create({ url: sink.url, topics: ['presence', 'queues'] });
  const { id } = webhook;
  rig.happen(1);
  await until('a failure', () => rig.one(id).retrying?.attempts === 1);
  await rig.webhooks.service.change(admin, id, {
    url: moved.url,
    types: ['presence.changed'],
    description: 'to there',
  });
  await until('the other target', () => moved.received.length === 1);
  assert.equal(moved.received[0]!.seq, 1, 'not after its wait of five seconds');
  rig.journal.append([queueEvent('support')]);
  rig.happen(1);
  await until('the next', () => rig.one(id).cursor === 3);
  assert.deepEqual(moved.seqs, [1, 3]);
  const off = await rig.webhooks.service.change(admin, id, { enabled: false });
  assert.deepEqual([off.enabled, off.disabled_reason], [false, 'request']);
  rig.happen(2);
  await rig.webhooks.service.change(admin, id, { enabled: true });
  await until('what came meanwhile', () => moved.received.length === 4);
  assert.deepEqual(moved.seqs, [1, 3, 4, 5]);
  assert.equal(sink.received.length, 1);
});

test('webhooks - a replay repeats events in order, before new ones, with their ids', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(5);
  await until('five', () => rig.one(id).cursor === 5);
  await assert.rejects(rig.webhooks.service.replay(admin, id, { from: 6, to: 9 }), {
    code: 'invalid_request',
  });
  const begun = await rig.webhooks.service.replay(admin, id, { from: 2, to: 400 });
  assert.deepEqual(begun.replay, { from: 2, to: 5 }, 'what was not passed comes by itself');
  rig.happen(1);
  await until('all', () => rig.one(id).cursor === 6);
  assert.deepEqual(sink.seqs, [1, 2, 3, 4, 5, 2, 3, 4, 5, 6]);
  assert.equal(sink.received[5]!.id, sink.received[1]!.id);
  assert.deepEqual(
    (await rig.deliveries(id)).filter((d) => d.replay).map(({ seq }) => seq),
    [5, 4, 3, 2],
  );

  sink.answer = status(400);
  await rig.webhooks.service.replay(admin, id, { from: 1, to: 3 });
  await assert.rejects(rig.webhooks.service.replay(admin, id, { from: 1, to: 1 }), {
    code: 'replay_running',
  });
  rig.happen(1);
  for (const attempts of [1, 2]) {
    await until('an attempt', () => rig.one(id).retrying?.attempts === attempts);
    if (attempts === 2) sink.answer = (one, response) => status(one.seq === 1 ? 400 : 200)(one, response);
    await rig.clock.advance(Date.parse(rig.one(id).retrying!.next_attempt_at) - rig.clock.now());
  }
  await until('what is new', () => rig.one(id).cursor === 7);
  assert.equal(rig.one(id).replay, null, 'it ends at what fails three times');
  assert.deepEqual(sink.seqs.slice(10), [1, 1, 1, 7]);
  await rig.webhooks.service.change(admin, id, { enabled: false });
  await assert.rejects(rig.webhooks.service.replay(admin, id, { from: 1, to: 1 }), {
    code: 'webhook_disabled',
  });
});

test('webhooks - parked events are replayed even if the journal has deleted them', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink((one, response) => status(one.seq === 2 ? 400 : 200)(one, response));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(4);
  for (let n = 1; n <= RETRY_SECONDS.length; n += 1) {
    await until(`attempt ${n}`, () => rig.one(id).retrying?.attempts === n);
    await rig.clock.advance(Date.parse(rig.one(id).retrying!.next_attempt_at) - rig.clock.now());
  }
  await until('the rest', () => rig.one(id).cursor === 4);
  const { body } = sink.received.find((one) => one.seq === 2)!;
  rig.journalStore.trim(4);
  await rig.restart({ journal: rig.reopenJournal() });
  sink.answer = status(200);
  const before = sink.received.length;
  await rig.webhooks.service.replay(admin, id, { from: 1, to: 4 });
  await until('the replay', () => rig.one(id).replay === null);
  assert.deepEqual(
    sink.received.slice(before).map((one) => one.seq),
    [2, 4],
  );
  assert.equal(sink.received[before]!.body, body);
  const gaps = (await rig.deliveries(id)).filter(({ state }) => state === 'gap');
  assert.deepEqual(
    gaps.map(({ seq, to_seq }) => [seq, to_seq]),
    [
      [3, 3],
      [1, 1],
    ],
  );
});

test('webhooks - a test delivery reports the answer, signed, independent of the events', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink((_one, response) => void response.writeHead(418).end('x'.repeat(5_000)));
  const { webhook, secret } = await rig.create({ url: sink.url, enabled: false });
  const running = rig.webhooks.service.test(admin, webhook.id);
  await assert.rejects(rig.webhooks.service.test(admin, webhook.id), { code: 'too_many_requests' });
  const tested = await running;
  assert.deepEqual([tested.delivered, tested.status, tested.error], [false, 418, null]);
  assert.equal(tested.excerpt, 'x'.repeat(1_024));
  const [one] = sink.received;
  assert.match(one!.id, /^test_[A-Za-z0-9_-]{16}$/);
  assert.ok(WebhookTest.strict().safeParse(JSON.parse(one!.body)).success, one!.body);
  assert.equal(await verified(one!, secret), 1);
  sink.answer = silence;
  const waits = rig.webhooks.service.test(admin, webhook.id);
  await until('the request', () => sink.open === 1);
  await rig.clock.advance(15_000);
  assert.deepEqual((await waits).error, 'no answer within 15 s');
  assert.equal((await rig.deliveries(webhook.id)).length, 0);
});

test('webhooks - a retry requested during an attempt is not lost by the failure of that attempt', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(503));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(1);
  await until('the first attempt', () => rig.one(id).retrying?.attempts === 1);
  const held: ServerResponse[] = [];
  sink.answer = (_received, response) => void held.push(response);
  await rig.clock.advance(Date.parse(rig.one(id).retrying!.next_attempt_at) - rig.clock.now());
  await until('the second attempt', () => held.length === 1);
  const at = rig.clock.now();
  await rig.webhooks.service.retry(admin, id);
  sink.answer = ok;
  held[0]!.writeHead(503).end();
  await until('the event', () => rig.one(id).cursor === rig.journal.head);
  assert.deepEqual([sink.received.length, rig.clock.now()], [3, at]);
});
