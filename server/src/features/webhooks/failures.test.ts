import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { RETRY_SECONDS } from '@offhook/contract/webhooks.ts';
import { ok, silence, startSink, status } from '../../../test/support/webhook-sink.ts';
import type { Answer } from '../../../test/support/webhook-sink.ts';
import { admin, queueEvent, webhooksRig } from '../../../test/support/webhooks-rig.ts';
import type { WebhooksRig } from '../../../test/support/webhooks-rig.ts';
import { PATIENCE_MS, until } from '../../../test/support/until.ts';

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
const HOUR = 3_600_000;

test('webhooks - an hour of targets with every failure: order holds, memory too, and the healthy one never waits', async (t) => {
  const rig = await webhooksRig(t);
  await using healthy = await startSink();
  await using broken = await startSink(status(500));
  await using gone = await startSink(status(410));
  await using silent = await startSink(silence);
  let flood = 0;
  const megabyte = Buffer.alloc(1_048_576, 'x');
  const gigabyte: Answer = (_received, response) => {
    response.writeHead(200, { 'content-length': String(1024 * megabyte.length) });
    const more = (): void => {
      while (!response.destroyed) {
        flood += megabyte.length;
        if (!response.write(megabyte)) return;
      }
    };
    response.on('drain', more);
    more();
  };
  await using huge = await startSink(gigabyte);
  const id: Record<string, number> = {};
  for (const [name, sink] of Object.entries({ healthy, broken, gone, silent, huge })) {
    const topics = name === 'huge' ? ['queues'] : ['presence'];
    id[name] = (await rig.create({ url: sink.url, topics })).webhook.id;
  }
  const settled = () => rig.webhooks.figures().under_way === silent.open;
  const rss = process.memoryUsage().rss;
  const events = 1_200;
  const soon = { every: 1 };
  const heard: number[] = [];
  for (let minute = 0; minute < 60; minute += 1) {
    for (let i = 0; i < events / 60; i += 1) {
      rig.happen(1);
      heard.push(rig.journal.head);
    }
    rig.journal.append([queueEvent('support')]);
    await until('the healthy target', () => healthy.received.length === heard.length, soon);
    await until('the target with long answers', () => huge.received.length === minute + 1, soon);
    await until('attempts to end', settled, soon);
    await rig.pass(60_000, settled, 5_000);
  }
  assert.deepEqual(healthy.seqs, heard);
  // Attempts at 0 s, 5 s, 20 s, 50 s, 110 s, 410 s and 2,210 s send the head of the line and nothing else.
  assert.deepEqual(
    broken.seqs,
    Array.from({ length: 7 }, () => 1),
  );
  assert.equal(new Set(broken.received.map((r) => r.id)).size, 1);
  assert.deepEqual(
    silent.seqs,
    Array.from({ length: 7 }, () => 1),
  );
  const [line] = await rig.deliveries(id['silent']!);
  assert.deepEqual([line!.status, line!.error], [null, 'no answer within 15 s']);
  assert.deepEqual(gone.seqs, [1], 'not asked again');
  const goneHook = rig.one(id['gone']!);
  assert.deepEqual([goneHook.enabled, goneHook.disabled_reason], [false, 'gone']);
  // The status has arrived: a body of a gigabyte is read up to 64 KiB, then its connection is closed.
  assert.equal((await rig.deliveries(id['huge']!))[0]!.state, 'delivered');
  assert.ok(flood < 60 * 16 * megabyte.length, `${flood / 60} bytes were sent for each`);
  const grown = (process.memoryUsage().rss - rss) / 1_048_576;
  assert.ok(grown < 300, `${grown.toFixed(0)} MiB more`);

  broken.answer = ok;
  silent.answer = ok;
  for (const [name, sink] of Object.entries({ broken, silent })) {
    // To the moment itself: an attempt that the clock runs away from has no time for its answer.
    await rig.clock.advance(Date.parse(rig.one(id[name]!).retrying!.next_attempt_at) - rig.clock.now());
    await until('all that was missed', () => sink.received.length === events + 7, { ms: 5 * PATIENCE_MS });
    assert.deepEqual(sink.seqs.slice(7), heard);
  }
});

/** Every attempt of the head of the line: seconds since the first, as the schedule has it. */
async function attemptsOf(rig: WebhooksRig, webhook: number, last: number): Promise<number[]> {
  const began = rig.clock.now();
  const at: number[] = [];
  for (let n = 1; n <= last; n += 1) {
    await until(`attempt ${n}`, () => rig.one(webhook).retrying?.attempts === n);
    at.push((rig.clock.now() - began) / 1_000);
    await until('attempts to end', () => rig.webhooks.figures().under_way === 0);
    const next = Date.parse(rig.one(webhook).retrying!.next_attempt_at);
    await rig.clock.advance(next - rig.clock.now());
  }
  return at;
}

test('webhooks - a target dead for days: the whole schedule, then parked, then disabled with a notice; others unaffected', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const dead = await startSink();
  await dead[Symbol.asyncDispose]();
  const lost = (await rig.create({ url: dead.url })).webhook.id;
  await rig.create({ url: sink.url });
  const began = rig.clock.now();
  rig.happen(2);
  await until('the other', () => sink.received.length === 2);
  const at = await attemptsOf(rig, lost, RETRY_SECONDS.length);
  assert.deepEqual(
    at,
    RETRY_SECONDS.map((_, i) => RETRY_SECONDS.slice(0, i).reduce((sum, s) => sum + s, 0)),
  );
  await until('the first is parked, the second is tried', () => rig.one(lost).retrying?.seq === 2);
  const whole = RETRY_SECONDS.reduce((sum, seconds) => sum + seconds, 0);
  assert.equal(
    (rig.clock.now() - began) / 1_000,
    whole,
    'the thirteenth attempt was the last, after 75.6 hours',
  );
  const [second, first] = await rig.deliveries(lost);
  assert.deepEqual(
    [first!.seq, first!.state, first!.attempts, first!.status],
    [1, 'parked', RETRY_SECONDS.length + 1, null],
  );
  assert.match(first!.error!, /ECONNREFUSED/);
  assert.deepEqual([second!.seq, second!.state, second!.attempts], [2, 'retrying', 1]);

  while (rig.one(lost).enabled) {
    const { attempts, next_attempt_at } = rig.one(lost).retrying!;
    rig.happen(1);
    await until('the other', () => sink.received.length === rig.journal.head);
    await until('attempts to end', () => rig.webhooks.figures().under_way === 0);
    await rig.clock.advance(Date.parse(next_attempt_at) - rig.clock.now());
    await until('the next attempt', () => rig.one(lost).retrying?.attempts !== attempts);
  }
  const days = (rig.clock.now() - began) / (24 * HOUR);
  assert.ok(days >= 5 && days < 6.5, `disabled after ${days} days`);
  const hook = rig.one(lost);
  assert.deepEqual([hook.disabled_reason, hook.retrying, hook.cursor], ['failing', null, 1]);
  assert.equal(rig.webhooks.figures().disabled, 1);
  assert.deepEqual(sink.seqs, range(1, rig.journal.head));
  await rig.webhooks.save();
  const { entries } = await rig.audit.page({ action: 'webhook.disabled' });
  assert.deepEqual(
    entries.map((e) => [e.actor, e.object, e.detail['reason']]),
    [[null, `webhook:${lost}`, 'failing']],
  );
  await rig.restart();
  assert.equal(rig.one(lost).enabled, false, 'after a restart too');
});

test('webhooks - an event that the target rejects is parked and the next is sent; a success in between prevents the disabling', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink((received, response) =>
    status(received.seq! % 2 === 0 ? 400 : 200)(received, response),
  );
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(7);
  for (const seq of [2, 4, 6]) {
    for (let n = 1; n <= RETRY_SECONDS.length; n += 1) {
      await until(`attempt ${n} of ${seq}`, () => {
        const waits = rig.one(id).retrying;
        return waits?.seq === seq && waits.attempts === n;
      });
      await rig.clock.advance(Date.parse(rig.one(id).retrying!.next_attempt_at) - rig.clock.now());
    }
  }
  await until('the last', () => rig.one(id).cursor === 7);
  assert.equal(rig.webhooks.figures().parked, 3);
  assert.equal(rig.one(id).enabled, true);
  const parked = await rig.webhooks.service.deliveries(admin.caller, id, { state: 'parked' });
  assert.deepEqual(
    parked.deliveries.map(({ seq }) => seq),
    [6, 4, 2],
  );
});

test('webhooks - Retry-After is honoured, within a day, and never shortens the schedule', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(429, { 'retry-after': '120' }));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(1);
  assert.deepEqual(await attemptsOf(rig, id, 2), [0, 120]);
});

test('webhooks - a receiver that is down for seconds waits seconds, and a test, `enabled` or a retry releases the queue at once', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(503));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(1);
  assert.deepEqual(await attemptsOf(rig, id, 5), [0, 5, 20, 50, 110]);
  const waits = async (): Promise<void> => {
    await until('minutes to wait', () => {
      const { retrying } = rig.one(id);
      return retrying !== null && Date.parse(retrying.next_attempt_at) - rig.clock.now() >= 300_000;
    });
  };
  await waits();
  const failed = sink.received.length;
  await rig.webhooks.service.test(admin, id);
  assert.equal(sink.received.length, failed + 1, 'a test that fails releases nothing');
  for (const release of [
    () => rig.webhooks.service.test(admin, id),
    () => rig.webhooks.service.change(admin, id, { enabled: true }),
    () => rig.webhooks.service.retry(admin, id),
  ]) {
    sink.answer = status(503);
    rig.happen(1);
    for (;;) {
      const { retrying } = rig.one(id);
      if (retrying !== null && Date.parse(retrying.next_attempt_at) - rig.clock.now() >= 300_000) break;
      if (retrying !== null)
        await rig.clock.advance(Math.max(0, Date.parse(retrying.next_attempt_at) - rig.clock.now()));
      await until('the next attempt', () => {
        const now = rig.one(id).retrying;
        return now !== null && Date.parse(now.next_attempt_at) > rig.clock.now();
      });
    }
    sink.answer = ok;
    const at = rig.clock.now();
    await release();
    await until('what waited', () => rig.one(id).cursor === rig.journal.head);
    assert.equal(rig.clock.now(), at, 'without any time passing');
  }
  const { entries } = await rig.audit.page({ action: 'webhook.retried' });
  assert.deepEqual(
    entries.map((e) => [e.actor, e.object]),
    [['1001', `webhook:${id}`]],
  );
  await rig.webhooks.service.change(admin, id, { enabled: false });
  await assert.rejects(rig.webhooks.service.retry(admin, id), { code: 'webhook_disabled' });
});

test('webhooks - killed between the sending and the writing: the same webhook-id again, and nothing is lost', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(3);
  // The sink has an event before the reply has moved the cursor.
  await until('three', () => rig.one(id).cursor === rig.journal.head);
  await rig.webhooks.save();
  // Writes of the service itself are lost from here on, too; it writes some time after a delivery.
  rig.life.writes = false;
  rig.happen(2);
  await until('two more', () => sink.received.length === 5);
  await rig.restart({ crash: true });
  await until('both again', () => sink.received.length === 7);
  assert.deepEqual(sink.seqs, [1, 2, 3, 4, 5, 4, 5]);
  assert.deepEqual(
    sink.received.slice(5).map((r) => r.id),
    sink.received.slice(3, 5).map((r) => r.id),
  );
});

/** Lets the first attempts of event 1 fail, `last` of them. */
async function failing(rig: WebhooksRig, id: number, last: number): Promise<void> {
  rig.happen(1);
  await attemptsOf(rig, id, last - 1);
  await until('the last of these attempts', () => rig.one(id).retrying?.attempts === last);
  await until('attempts to end', () => rig.webhooks.figures().under_way === 0);
}
const nextAttempt = (rig: WebhooksRig, id: number): Promise<void> =>
  rig.clock.advance(Date.parse(rig.one(id).retrying!.next_attempt_at) - rig.clock.now());
const logOf = async (rig: WebhooksRig, id: number) =>
  (await rig.deliveries(id)).map(({ seq, state }) => [seq, state]);

test('webhooks - killed right after an event was parked and its webhook was changed: the event is parked', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(400));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  await failing(rig, id, RETRY_SECONDS.length);
  await nextAttempt(rig, id);
  await until('the parking', () => rig.one(id).cursor === 1);
  await rig.webhooks.service.rotate(admin, id);
  await rig.restart({ crash: true });
  assert.deepEqual(await logOf(rig, id), [[1, 'parked']]);
});

test('webhooks - killed after a write during which an event was parked: the event is sent again and parked', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(400));
  const { store } = rig.temp;
  let gate = Promise.resolve();
  let [waiting, most] = [0, Infinity];
  await rig.restart({
    store: {
      ...store,
      async transaction(work) {
        waiting += 1;
        await gate;
        if ((most -= 1) < 0) throw new Error('this life is over');
        return store.transaction(work);
      },
    },
  });
  const { id } = (await rig.create({ url: sink.url })).webhook;
  await failing(rig, id, RETRY_SECONDS.length - 1);
  await rig.webhooks.save();
  const { promise, resolve } = Promise.withResolvers<void>();
  [gate, waiting, most] = [promise, 0, 1];
  await nextAttempt(rig, id);
  await until('a write of this attempt', () => waiting === 1);
  await until('its end', () => rig.webhooks.figures().under_way === 0);
  await nextAttempt(rig, id);
  await until('the parking', () => rig.one(id).cursor === 1);
  resolve();
  await until('the next write', () => most < 0);
  const sent = sink.received.length;
  await rig.restart({ crash: true });
  await until('the attempt of the next life', () => sink.received.length === sent + 1);
  await until('its parking', () => rig.one(id).cursor === 1);
  assert.deepEqual(await logOf(rig, id), [[1, 'parked']]);
});

test('webhooks - a restart continues the schedule, and disables no webhook that failed for a moment', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(503));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(1);
  await attemptsOf(rig, id, 2);
  await until('the third', () => rig.one(id).retrying?.attempts === 3);
  const before = rig.one(id);
  await rig.restart();
  assert.deepEqual(rig.one(id), before);
  assert.equal(sink.received.length, 3, 'not at once because of the restart');
  sink.answer = ok;
  await rig.clock.advance(30_000);
  await until('the fourth', () => rig.one(id).cursor === 1);
  const [line] = await rig.deliveries(id);
  assert.deepEqual([line!.attempts, line!.state], [4, 'delivered']);
});

test('webhooks - events that retention deleted before the delivery are a gap in the log, and so is a new journal', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink(status(500));
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(20);
  await until('the first attempt', () => rig.one(id).retrying?.attempts === 1);
  rig.journalStore.trim(11);
  // Memory would still have them.
  await rig.restart({ journal: rig.reopenJournal() });
  sink.answer = ok;
  await until('the rest', () => rig.one(id).cursor === 20);
  assert.deepEqual(sink.seqs, [1, ...range(11, 20)]);
  const log = await rig.deliveries(id);
  const gap = log.find(({ state }) => state === 'gap')!;
  assert.deepEqual([gap.seq, gap.to_seq, gap.attempts], [1, 10, 0]);
  assert.equal(
    (await rig.webhooks.service.deliveries(admin.caller, id, { state: 'gap' })).deliveries.length,
    1,
  );

  await rig.restart({ journal: rig.newJournal() });
  rig.happen(3);
  await until('the new journal', () => rig.one(id).cursor === 3);
  assert.deepEqual(sink.seqs.slice(-3), [1, 2, 3]);
  assert.match((await rig.deliveries(id)).find(({ state }) => state === 'gap')!.error!, /lost or restored/);
});

test('webhooks - a database that refuses stops no delivery, and is written to when it takes it again', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.life.writes = false;
  rig.happen(2_500);
  await until('all of them', () => rig.one(id).cursor === 2_500);
  await assert.rejects(rig.webhooks.save());
  rig.life.writes = true;
  await rig.webhooks.save();
  const log = await rig.deliveries(id);
  assert.equal(log[0]!.seq, 2_500);
  await rig.restart();
  assert.equal(rig.one(id).cursor, 2_500);
  assert.equal(sink.received.length, 2_500);
});

test('webhooks - the delivery log is bounded and read in pages', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const { id } = (await rig.create({ url: sink.url })).webhook;
  for (let i = 0; i < 5; i += 1) {
    rig.happen(300);
    await until('them', () => rig.one(id).cursor === (i + 1) * 300);
    await rig.webhooks.save();
  }
  const seen: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await rig.webhooks.service.deliveries(admin.caller, id, {
      limit: 200,
      ...(cursor && { cursor }),
    });
    seen.push(...page.deliveries.map(({ seq }) => seq));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  assert.deepEqual(seen, range(501, 1_500).toReversed());
});

test('webhooks - a kept connection that the target closed meanwhile costs no delivery', async (t) => {
  const rig = await webhooksRig(t);
  let closeNext = false;
  await using sink = await startSink((_received, response) => {
    if (closeNext) {
      closeNext = false;
      response.socket!.resetAndDestroy();
    } else response.end('ok');
  });
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.happen(1);
  await until('the first', () => rig.one(id).cursor === 1);
  closeNext = true;
  rig.happen(1);
  await until('the second', () => rig.one(id).cursor === 2);
  assert.deepEqual(sink.seqs, [1, 2, 2], 'at once, without a wait');
});

test('webhooks - answers that are none fail at once, and one that never ends counts by its status', async (t) => {
  const rig = await webhooksRig(t);
  let say: (socket: Socket) => void = () => undefined;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => say(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { id } = (await rig.create({ url, enabled: false })).webhook;
  for (const [answer, means] of [
    ['HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', /without an answer/],
    ['220 mail.example.com ESMTP\r\n', /Parse Error/],
    [`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, /overflow/i],
    ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n', /Parse Error/],
    ['', /socket hang up/],
  ] as const) {
    say = (socket) => void (answer === '' ? socket.end() : socket.write(answer, 'latin1'));
    const { delivered, status: code, error } = await rig.webhooks.service.test(admin, id);
    assert.deepEqual([delivered, code], [false, null], answer.slice(0, 30));
    assert.match(error!, means);
  }
  say = (socket) =>
    void socket.write('HTTP/1.1 202 Accepted\r\nContent-Length: 1000\r\n\r\nso far', 'latin1');
  const cut = await until('an answer that is cut after its head was read', async () => {
    const drips = rig.webhooks.service.test(admin, id);
    await until('the attempt', () => rig.webhooks.figures().under_way === 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await rig.clock.advance(15_000);
    const tested = await drips;
    return tested.status === null ? null : tested;
  });
  assert.deepEqual([cut.delivered, cut.status, cut.excerpt], [true, 202, 'so far']);
});

test('webhooks - memory is bounded while the database fails', async (t) => {
  const rig = await webhooksRig(t);
  await using sink = await startSink();
  const { id } = (await rig.create({ url: sink.url })).webhook;
  rig.life.writes = false;
  for (let round = 1; round <= 3; round += 1) {
    rig.happen(900);
    await until('them', () => rig.one(id).cursor === round * 900);
    await assert.rejects(rig.webhooks.save());
  }
  rig.life.writes = true;
  assert.equal(
    (await rig.webhooks.service.deliveries(admin.caller, id, { limit: 200 })).deliveries[0]!.seq,
    2_700,
  );
  let lines = 0;
  for (let cursor: string | undefined = '999999'; cursor !== undefined;) {
    const page = await rig.webhooks.service.deliveries(admin.caller, id, { limit: 200, cursor });
    lines += page.deliveries.length;
    cursor = page.next_cursor ?? undefined;
  }
  assert.equal(lines, 1_000);
});
