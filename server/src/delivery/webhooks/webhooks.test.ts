import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSink, status } from '../../../test/support/webhook-sink.ts';
import type { Received } from '../../../test/support/webhook-sink.ts';
import { queueEvent, webhooksRig } from '../../../test/support/webhooks-rig.ts';
import { until } from '../../../test/support/until.ts';
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
  await rig.pass(300_000, settled, 100_000);
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
