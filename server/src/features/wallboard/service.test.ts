import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Scope } from '@offhook/contract/keys.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { EVENT_DATA } from '@offhook/contract/events.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { QueueStats, QueueStatsReply, WallboardReply } from '@offhook/contract/wallboard.ts';
import { directoryFixture } from '../../../test/support/directory-fixture.ts';
import { createFakePbx } from '../../../test/support/fake-engine.ts';
import { fixtureAuthenticator, hostFixture } from '../../../test/support/host-fixture.ts';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { openMemoryJournal } from '../../adapters/memory/journal-store.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { addOperations } from '../../http/operations.ts';
import { eventOf, openJournal } from '../../journal/journal.ts';
import type { LiveCaller, LiveView } from '../../ports/live.ts';
import { createAudit } from '../audit/service.ts';
import { wallboardOperations } from './operations.ts';
import { Wallboard } from './service.ts';
import { T0, at, emitted } from '../../../test/support/queue-story.ts';

/** The whole feature over a journal, a clock and an engine of its own; every event goes through the journal. */
async function rig(t: TestContext, options: { zone?: string; now?: number; before?: DomainEvent[] } = {}) {
  const temp = await temporaryStore();
  const clock = createVirtualClock(options.now ?? T0);
  /** Times of the saves, and what each takes. */
  const saves = { at: [] as number[], ms: 0 };
  const store: typeof temp.store = Object.create(temp.store, {
    transaction: {
      async value(work: Parameters<typeof temp.store.transaction>[0]) {
        saves.at.push(clock.now());
        if (saves.ms > 0) await clock.sleep(saves.ms);
        return await temp.store.transaction(work);
      },
    },
  });
  const directory = directoryFixture();
  const audit = await createAudit(temp.store, clock, silent);
  const journal = openJournal({ store: openMemoryJournal(), node: nodeId('ast1') });
  if (options.before !== undefined) journal.append(options.before);
  const pbx = createFakePbx(clock);
  const waiting = new Map<string, LiveCaller[]>();
  const live: LiveView = Object.create(pbx.live, {
    queue: {
      value: (name: string) => {
        const queue = pbx.live.queue(name);
        return queue && { ...queue, callers: waiting.get(name) ?? [] };
      },
    },
  });
  const published: DomainEvent[] = [];
  const commit = (...events: DomainEvent[]): void => board.onCommitted(journal.append(events), events);
  const open = () =>
    Wallboard.open({
      store,
      journal,
      eventOf,
      clock,
      directory,
      live,
      audit,
      log: silent,
      zone: options.zone ?? 'Europe/Berlin',
      publish: (events) => {
        for (const event of events) EVENT_DATA[event.type].parse(event.data);
        published.push(...events);
        commit(...events);
      },
    });
  const board = await open();
  pbx.onEvent(commit);
  const host = await hostFixture({
    authenticator: {
      authenticate: async (token) => {
        const [, wall, queues] = /^key-(wall-|agents-)?(.*)$/.exec(token) ?? [];
        if (queues === undefined) return fixtureAuthenticator.authenticate(token);
        const supervisor = await fixtureAuthenticator.authenticate('token-supervisor');
        const scopes: Scope[] = wall ? ['queues:read', 'agents:read'] : ['queues:read'];
        const key = {
          id: 1,
          name: 'crm',
          scopes: queues === 'calls' ? (['calls:read'] as const) : scopes,
          queues: queues.split('+'),
          extensions: null,
          ...(wall === 'wall-' && { board: { id: 1, callers: 'full' as const } }),
        };
        return { ...supervisor!, extension: '', person_id: -1, key };
      },
    },
  });
  addOperations(host.app, [wallboardOperations(board)]);
  await host.app.ready();
  t.after(async () => {
    await host.close();
    await board.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  const get = async (url: string, token = 'token-supervisor') => {
    const reply = await host.app.inject({ url, headers: { authorization: `Bearer ${token}` } });
    return { status: reply.statusCode, json: reply.json() as Record<string, unknown> };
  };
  const put = async (url: string, payload: object, token = 'token-admin') => {
    const reply = await host.app.inject({
      method: 'PUT',
      url,
      payload,
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: reply.statusCode, json: reply.json() as Record<string, unknown> };
  };
  const read = async (query = '', token?: string) => {
    const { status, json } = await get(`/api/v1/wallboard${query}`, token);
    assert.equal(status, 200, JSON.stringify(json));
    return WallboardReply.parse(json);
  };
  const stats = async (query = '', name = 'support', token?: string) => {
    const { status, json } = await get(`/api/v1/queues/${name}/stats${query}`, token);
    assert.equal(status, 200, JSON.stringify(json));
    return QueueStatsReply.parse(json);
  };
  const joinsNow = (queue: string, call: string): void => {
    const caller = { queue, channel: call, position: 1, joined_at: clock.now(), priority: null };
    waiting.set(queue, [...(waiting.get(queue) ?? []), caller as unknown as LiveCaller]);
    commit(emitted.joined(clock.now(), call, queue));
  };
  const leaves = (queue: string, call: string, event: DomainEvent): void => {
    waiting.set(
      queue,
      (waiting.get(queue) ?? []).filter((c) => String(c.channel) !== call),
    );
    commit(event);
  };
  return {
    temp,
    saves,
    clock,
    directory,
    audit,
    pbx,
    board,
    journal,
    published,
    commit,
    open,
    get,
    put,
    read,
    stats,
    joinsNow,
    leaves,
  };
}
const LEVEL = { formula: 'offered', threshold_seconds: 60, short_abandon_seconds: 0, flow_outs: 'counted' };

/** Three visits of today: answered after 10 s and 40 s, abandoned after 30 s. */
const visits = (queue = 'support'): DomainEvent[] => [
  emitted.joined(at(-1), `1-${queue}`, queue),
  emitted.left(at(-1, 0, 10), `1-${queue}`, 10, 'answered', 'live', queue),
  emitted.joined(at(-1, 1), `2-${queue}`, queue),
  emitted.left(at(-1, 1, 40), `2-${queue}`, 40, 'answered', 'live', queue),
  emitted.joined(at(-1, 2), `3-${queue}`, queue),
  emitted.abandoned(at(-1, 2, 30), `3-${queue}`, 30, queue),
];

test('wallboard - today’s figures with the current queue; every figure names its formula', async (t) => {
  const { read, pbx, joinsNow, clock, commit } = await rig(t, { before: visits() });
  pbx.linkUp();
  pbx.member('support', '1003');
  pbx.member('support', '1004', { paused: true });
  await clock.advance(0);
  joinsNow('support', 'x');
  commit(emitted.talking(at(0), '1003', 'y'), emitted.wrapUp(at(0), '1003', 'y', 0, at(0, 1)));
  await clock.advance(7_000);
  const reply = await read();
  assert.equal(reply.day, '2026-11-21');
  assert.equal(reply.zone, 'Europe/Berlin');
  assert.equal(reply.from, '2026-11-20T23:00:00.000Z');
  assert.equal(reply.to, '2026-11-21T23:00:00.000Z');
  assert.equal(reply.stale, false);
  assert.deepEqual(
    reply.queues.map((q) => q.queue),
    ['support', 'sales'],
  );
  const [support, sales] = reply.queues;
  assert.equal(support!.service_level, 1 / 4);
  assert.equal(support!.service_level_formula, 'ignore_short');
  assert.deepEqual(
    [support!.threshold_seconds, support!.short_abandon_seconds, support!.flow_outs],
    [20, 5, 'counted'],
  );
  assert.deepEqual([support!.waiting, support!.longest_waiting_since], [1, '2026-11-21T09:00:00.000Z']);
  assert.equal(support!.longest_wait_seconds, 40);
  assert.deepEqual(
    [support!.agents!.logged_in, support!.agents!.available, support!.agents!.not_ready],
    [2, 1, 1],
  );
  assert.equal(sales!.service_level, null);
  assert.deepEqual(reply.total.sums, support!.sums);
  assert.deepEqual(
    reply.agents.map((a) => a.extension),
    ['1003', '1004'],
  );
  assert.deepEqual([reply.agents[0]!.busy_seconds, reply.agents[0]!.occupancy], [7, 1]);
  pbx.linkDown();
  await clock.advance(1_000);
  assert.equal((await read()).stale, true);
});
test('wallboard - other formulas and thresholds are computed from the same sums', async (t) => {
  const { read, stats } = await rig(t, { before: visits() });
  const level = async (query: string) => (await stats(query)).stats.service_level;
  assert.equal(await level('?formula=answered_only'), 1 / 2);
  assert.equal(await level('?formula=offered&threshold_seconds=40'), 2 / 3);
  assert.equal(await level('?formula=ignore_short&short_abandon_seconds=31'), 1 / 2);
  assert.equal(await level('?formula=exclude_all_abandons&threshold_seconds=9'), 0);
  const { total, queues } = await read('?formula=credit_in_T&threshold_seconds=30');
  assert.deepEqual([total.service_level, queues[0]!.service_level], [2 / 3, 2 / 3]);
  assert.deepEqual([total.service_level_formula, total.threshold_seconds], ['credit_in_T', 30]);
});
test('wallboard - each sees its own: agents their queues, keys theirs, others nothing', async (t) => {
  const { read, get, directory } = await rig(t, { before: [...visits(), ...visits('sales')] });
  directory.setQueues(directory.queues().map((q) => (q.name === 'sales' ? { ...q, agents: ['1004'] } : q)));
  const seen = async (token: string) => (await read('', token)).queues.map((q) => q.queue);
  assert.deepEqual(await seen('token-supervisor'), ['support', 'sales']);
  assert.deepEqual(await seen('token-agent'), ['support']);
  assert.deepEqual((await read('', 'token-agent')).total.sums.offered, 3);
  assert.deepEqual(await seen('key-sales'), ['sales']);
  assert.deepEqual((await read('', 'key-sales')).agents, [], 'agents need a scope of their own');
  for (const [url, token, status] of [
    ['/api/v1/wallboard', 'token-user', 403],
    ['/api/v1/wallboard', 'key-calls', 403],
    ['/api/v1/wallboard', 'nobody', 401],
    ['/api/v1/queues/sales/stats', 'token-agent', 404],
    ['/api/v1/queues/nowhere/stats', 'token-agent', 404],
    ['/api/v1/queues/support/stats', 'token-agent', 200],
    ['/api/v1/queues/sales/stats', 'key-sales', 200],
    ['/api/v1/queues/support/stats', 'key-sales', 404],
    ['/api/v1/queues/nowhere/stats', 'token-supervisor', 404],
  ] as const) {
    assert.equal((await get(url, token)).status, status, `${url} ${token}`);
  }
});
test('wallboard - an agent reads itself among the agents, a supervisor all', async (t) => {
  const story = ['1003', '1004'].flatMap((agent) => [
    emitted.loggedIn(at(-1), agent),
    emitted.ready(at(-1), agent, 'support'),
    emitted.offer('offer.timeout', at(-1), agent),
  ]);
  const { read } = await rig(t, { before: story });
  const { agents } = await read();
  assert.deepEqual(
    agents.map((a) => a.extension),
    ['1003', '1004'],
  );
  assert.deepEqual(
    [agents[0]!.missed_offers, agents[0]!.available_seconds, agents[0]!.utilisation],
    [1, 3600, 0],
  );
  assert.deepEqual(
    (await read('', 'token-agent')).agents.map((a) => a.extension),
    ['1003'],
  );
});
test('wallboard - a display reads figures of its queues of today, and none of agents, which count all their queues; nor does a key of some queues', async (t) => {
  const story = [emitted.loggedIn(at(-1), '1003'), emitted.ready(at(-1), '1003', 'support'), ...visits()];
  const { read, get } = await rig(t, { before: story });
  assert.equal((await read()).agents.length, 1);
  const shown = await read('', 'key-wall-support');
  assert.deepEqual([shown.queues.map((one) => one.queue), shown.agents], [['support'], []]);
  assert.deepEqual((await read('', 'key-agents-support')).agents, []);
  for (const [url, status] of [
    ['/api/v1/queues/support/stats?interval=900', 200],
    ['/api/v1/queues/support/stats?day=2026-10-01', 403],
    ['/api/v1/wallboard?day=2026-10-01', 403],
  ] as const) {
    assert.equal((await get(url, 'key-wall-support')).status, status, url);
  }
});
test('wallboard - a series by the clock on the wall, on a day of 25 hours, from the store and from memory', async (t) => {
  const before = [
    // 02:30 in summer time, and an hour later 02:30 again.
    emitted.joined(Date.UTC(2026, 9, 25, 0, 30), 'a'),
    emitted.left(Date.UTC(2026, 9, 25, 0, 30, 10), 'a', 10),
    emitted.joined(Date.UTC(2026, 9, 25, 1, 30), 'b'),
    emitted.abandoned(Date.UTC(2026, 9, 25, 1, 31), 'b', 60),
    emitted.joined(Date.UTC(2026, 9, 25, 22, 59, 59), 'c'),
    emitted.left(Date.UTC(2026, 9, 25, 23, 0, 9), 'c', 10),
  ];
  for (const now of [Date.UTC(2026, 9, 25, 22, 59, 59), Date.UTC(2026, 9, 26, 12)]) {
    const { stats } = await rig(t, { before, now });
    const reply = await stats('?day=2026-10-25&interval=3600');
    assert.equal(reply.interval_seconds, 3600);
    assert.equal(reply.series!.length, 25);
    const offered = reply.series!.map((one) => one.sums.offered);
    assert.deepEqual([offered[2], offered[3], offered[24]], [1, 1, 1]);
    assert.deepEqual([reply.series![2]!.service_level, reply.series![3]!.service_level], [1, 0]);
    assert.equal(reply.series![24]!.sums.answered, 1, 'joined before midnight');
    assert.equal(reply.stats.sums.offered, 3);
    assert.equal(reply.stats.service_level, 2 / 3, 'from the sums, not from the rates');
    const all = await stats('?from=2026-10-24T22:00:00Z&to=2026-10-25T23:00:00Z');
    assert.deepEqual(all.stats.sums, reply.stats.sums);
    assert.equal(all.day, null);
    assert.equal((await stats('?day=2026-10-25&interval=900')).series!.length, 100);
    assert.equal((await stats('?day=2026-10-25&interval=86400')).series!.length, 1);
    assert.equal((await stats('?day=2026-10-24')).stats.sums.offered, 0);
  }
});
test('wallboard - a series ends with the interval that has begun', async (t) => {
  const { stats } = await rig(t, { before: visits() });
  assert.equal((await stats('?interval=3600')).series!.length, 11, 'it is ten o’clock in Berlin');
  assert.deepEqual((await stats('?day=2026-11-22&interval=3600')).series, []);
});
test('wallboard - an invalid or too large query is 400 with its reason', async (t) => {
  const { get } = await rig(t);
  const queries: readonly [string, RegExp][] = [
    ['day=21.11.2026', /day/],
    ['day=2026-02-30', /day/],
    ['day=1999-01-01', /from 2000/],
    ['day=2026-11-21&from=2026-11-21T00:00:00Z', /either/],
    ['from=2026-11-21T00:00:00Z', /both from and to/],
    ['from=2026-11-21T00:00:00Z&to=2026-11-21T00:00:00Z', /after from/],
    ['from=2026-11-21T00:07:00Z&to=2026-11-22T00:00:00Z', /quarter/],
    ['from=2026-11-21&to=2026-11-22', /from/],
    ['from=1970-01-01T00:00:00Z&to=1970-01-02T00:00:00Z', /2000/],
    ['from=2026-01-01T00:00:00Z&to=2027-03-01T00:00:00Z', /at most \d+ days/],
    ['formula=best', /formula/],
    ['threshold_seconds=-1', /threshold_seconds/],
    ['threshold_seconds=7201', /threshold_seconds/],
    ['short_abandon_seconds=1e3', /short_abandon_seconds/],
    ['flow_outs=maybe', /flow_outs/],
    ['zone=UTC', /zone/],
  ];
  const only: readonly [string, RegExp][] = [
    ['interval=901', /multiple of 900/],
    ['interval=0', /interval/],
    ['interval=5400000', /interval/],
    ['interval=25200', /divides a day/],
    ['from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z&interval=86400', /92 days/],
    ['from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z&interval=900', /3000 intervals/],
  ];
  for (const path of ['/api/v1/wallboard', '/api/v1/queues/support/stats']) {
    for (const [query, says] of path.endsWith('stats') ? [...queries, ...only] : queries) {
      const { status, json } = await get(`${path}?${query}`);
      assert.equal(status, 400, `${path}?${query}`);
      assert.equal(json['code'], 'invalid_request');
      assert.match(String(json['detail']), says);
    }
  }
});
test('wallboard - the service level of a queue is set by an administrator, is audited, and holds for the past', async (t) => {
  const { put, stats, audit, published, clock, pbx } = await rig(t, { before: visits() });
  const path = '/api/v1/queues/support/service-level';
  pbx.linkUp();
  await clock.advance(1_000);
  published.length = 0;
  assert.equal((await put(path, LEVEL, 'token-supervisor')).status, 403);
  assert.equal((await put(path, LEVEL, 'key-support')).status, 403);
  assert.equal((await put('/api/v1/queues/nowhere/service-level', LEVEL)).status, 404);
  for (const body of [
    {},
    { ...LEVEL, formula: 'x' },
    { ...LEVEL, threshold_seconds: 7201 },
    { ...LEVEL, threshold_seconds: '20' },
    { ...LEVEL, short_abandon_seconds: -1 },
    { ...LEVEL, note: 'x' },
    { formula: 'offered' },
  ]) {
    assert.equal((await put(path, body)).status, 400, JSON.stringify(body));
  }
  assert.equal((await stats()).stats.service_level, 1 / 3);
  const done = await put(path, LEVEL);
  assert.deepEqual(done, { status: 200, json: { success: true, queue: 'support', service_level: LEVEL } });
  const { stats: now } = await stats();
  assert.deepEqual(
    [now.service_level, now.service_level_formula, now.threshold_seconds],
    [2 / 3, 'offered', 60],
  );
  assert.equal((await stats('?day=2026-11-21')).stats.service_level, 2 / 3);
  const { entries } = await audit.page({});
  assert.deepEqual(
    entries.map(({ action, actor, object, outcome, detail }) => ({ action, actor, object, outcome, detail })),
    [{ action: 'queue.service_level', actor: 'admin', object: 'support', outcome: 'ok', detail: LEVEL }],
  );
  await clock.advance(1_000);
  assert.deepEqual(
    published.map((e) => e.subject),
    ['queues/support'],
  );
});
test('wallboard - queue.stats: changes only, gathered, at most twice a second', async (t) => {
  const { clock, published, pbx, joinsNow, leaves, board } = await rig(t);
  joinsNow('support', 'early');
  await clock.advance(2_000);
  assert.equal(published.length, 0, 'nothing before the engine is known');
  pbx.linkUp();
  await clock.advance(1_000);
  assert.deepEqual(published.map((e) => e.subject).sort(), ['queues/sales', 'queues/support']);
  await clock.advance(600_000);
  assert.equal(published.length, 2, 'nothing while nothing happens');
  published.length = 0;
  const began = clock.now();
  for (let i = 0; i < 40; i += 1) {
    joinsNow('support', `c${i}`);
    await clock.advance(100);
  }
  const last = published.at(-1)!.data as QueueStats;
  assert.ok(published.length >= 6 && published.length <= 10, `${published.length} in four seconds`);
  for (const [i, { at: when }] of published.entries()) {
    if (i > 0) assert.ok(when - published[i - 1]!.at >= 500);
  }
  assert.ok(published[0]!.at - began < 100, 'the first is told at once');
  await clock.advance(1_000);
  const final = published.at(-1)!.data as QueueStats;
  assert.deepEqual([final.waiting, final.sums.offered], [41, 41], 'the last state is always told');
  assert.ok(last.waiting <= 41);
  published.length = 0;
  leaves('support', 'c0', emitted.left(clock.now(), 'c0', 5));
  await clock.advance(1_000);
  assert.equal(published.length, 1);
  const one = QueueStats.parse(published[0]!.data);
  assert.deepEqual(
    [one.waiting, one.sums.answered, one.from, one.to, one.day],
    [40, 1, null, null, '2026-11-21'],
  );
  assert.equal(board.stats('support')!.sums.answered, 1);
});
test('wallboard - queue.stats: occupancy falls while nothing happens, and a tile shows it within a minute', async (t) => {
  const story = [
    emitted.loggedIn(at(0), '1003'),
    emitted.ready(at(0), '1003', 'support'),
    emitted.talking(at(0), '1003', 'a'),
    emitted.showing(emitted.ready(at(0, 1), '1003', null), 'idle'),
  ];
  const { clock, published, pbx, stats } = await rig(t, { before: story, now: at(0, 2) });
  pbx.linkUp();
  await clock.advance(1_000);
  const shown = (): number => {
    const newest = published.at(-1)?.data as QueueStats | undefined;
    return Math.round((newest?.occupancy ?? NaN) * 100);
  };
  assert.equal((await stats()).stats.occupancy, 60 / 121);
  published.length = 0;
  await clock.advance(600_000);
  const now = Math.round((await stats()).stats.occupancy! * 100);
  assert.ok(now < 10);
  assert.ok(Math.abs(shown() - now) <= 1, `${shown()} % is told, ${now} % is asked`);
  const emitted10 = published.length;
  await clock.advance(8 * 3_600_000);
  assert.ok(
    published.length - emitted10 < 12,
    `${published.length - emitted10} while nothing but time goes on`,
  );
});
test('wallboard - queue.stats: a wrap-up that ends after the agent has left the queue is published', async (t) => {
  const { clock, published, pbx, commit } = await rig(t);
  pbx.linkUp();
  await clock.advance(1_000);
  commit(
    emitted.loggedIn(clock.now(), '1003'),
    emitted.loggedIn(clock.now(), '1003', 'sales'),
    emitted.talking(clock.now(), '1003', 'y'),
    emitted.loggedOut(clock.now(), '1003'),
    emitted.wrapUp(clock.now(), '1003', 'y', 0, at(1)),
  );
  await clock.advance(5_000);
  published.length = 0;
  commit(emitted.ready(clock.now(), '1003', null));
  await clock.advance(1_000);
  const support = published.map((event) => event.data as QueueStats).filter((one) => one.queue === 'support');
  assert.deepEqual(
    support.map(({ sums }) => [sums.handled, sums.wrap_up_seconds]),
    [[1, 5]],
  );
});

test('wallboard - queue.stats: a new day begins at midnight of the site', async (t) => {
  const { clock, published, pbx } = await rig(t, { before: visits(), zone: 'America/New_York' });
  pbx.linkUp();
  await clock.advance(1_000);
  published.length = 0;
  const midnight = Date.UTC(2026, 10, 22, 5);
  await clock.advance(midnight - 1_000 - clock.now());
  assert.equal(published.length, 0);
  await clock.advance(2_000);
  assert.deepEqual(
    published.map(({ data }) => data as QueueStats).map((q) => [q.queue, q.day, q.sums.offered]),
    [
      ['support', '2026-11-22', 0],
      ['sales', '2026-11-22', 0],
    ],
  );
});
for (const [ms, pause] of [
  [0, 3_000],
  [50, 15_050],
  [500, 30_500],
] as const)
  test(`wallboard - a save that takes ${ms} ms is followed by the next after ${pause} ms`, async (t) => {
    const { clock, commit, saves } = await rig(t);
    const opened = saves.at.length;
    saves.ms = ms;
    for (let i = 0; i < 100; i += 1) {
      commit(emitted.joined(clock.now(), `call-${i}`, 'support'));
      await clock.advance(1_000);
    }
    saves.ms = 0;
    await clock.advance(ms);
    const [first = 0, ...later] = saves.at.slice(opened);
    assert.equal(first, T0 + 3_000);
    assert.ok(later.length >= 3);
    for (const [i, at] of later.entries()) assert.equal(at, first + (i + 1) * pause);
  });

test('wallboard - a queue removed from the directory is not published any more', async (t) => {
  const { clock, published, pbx, directory, commit, board } = await rig(t);
  pbx.linkUp();
  await clock.advance(1_000);
  published.length = 0;
  directory.setQueues(directory.queues().filter((q) => q.name !== 'sales'));
  commit(emitted.joined(clock.now(), 'a', 'sales'));
  await clock.advance(2_000);
  assert.equal(published.length, 0);
  assert.equal(board.stats('sales'), undefined);
});
test('wallboard - today’s reply is built once for all readers of the same queues, and again after a new count', async (t) => {
  const { board, commit, clock } = await rig(t, { before: visits() });
  const who = { extension: '1002', level: 'supervisor', key: null } as const;
  const first = await board.wallboardBody(who, {});
  assert.equal(await board.wallboardBody({ ...who, extension: '1001' }, {}), first);
  commit(emitted.joined(clock.now(), 'x'));
  assert.equal(await board.wallboardBody(who, {}), first, 'not a hundred times a second');
  await clock.advance(100);
  const second = await board.wallboardBody(who, {});
  assert.notEqual(second, first);
  const agent = { extension: '1003', level: 'agent', key: null } as const;
  assert.notEqual(await board.wallboardBody(agent, {}), second);
  await clock.advance(1_001);
  assert.notEqual(await board.wallboardBody(who, {}), second, 'time itself goes on');
});
test('wallboard - a gap is named in every reply over it and in no other', async (t) => {
  const { temp, open } = await rig(t);
  await temp.store
    .db<{ wallboard_gaps: { from_at: number; to_at: number; reason: string; settled: number } }>()
    .insertInto('wallboard_gaps')
    .values({ from_at: at(-30), to_at: at(-29), reason: 'retention', settled: 0 })
    .execute();
  const again = await open();
  t.after(() => again.close());
  const who = { extension: '1002', level: 'supervisor', key: null } as const;
  const gaps = async (query: object) => (await again.queue(who, 'support', query)).gaps;
  assert.deepEqual(await gaps({}), []);
  assert.deepEqual(await gaps({ day: '2026-11-20' }), [
    { from: '2026-11-20T03:00:00.000Z', to: '2026-11-20T04:00:00.000Z', reason: 'retention', settled: false },
  ]);
  assert.equal((await again.wallboard(who, { day: '2026-11-20' })).gaps.length, 1);
});
test('wallboard - a report that waited behind another one counts no time of an agent twice', async (t) => {
  const { board, commit } = await rig(t, {
    now: at(1),
    before: [emitted.loggedIn(at(0), '1003'), emitted.ready(at(0), '1003', 'support')],
  });
  const who = { extension: '1002', level: 'supervisor', key: null } as const;
  const query = { from: '2026-11-20T00:00:00.000Z', to: '2026-11-22T00:00:00.000Z' };
  const reports = [
    board.wallboard(who, query),
    board.wallboard(who, query),
    board.queue(who, 'support', { ...query, interval: 900 }),
  ] as const;
  // Counts the hour of the agent while the reports wait.
  commit(emitted.notReady(at(1), '1003', 'support'));
  const [first, second, queue] = await Promise.all(reports);
  for (const { queues } of [first, second])
    assert.equal(queues.find((one) => one.queue === 'support')?.sums.staffed_seconds, 3_600);
  assert.equal(queue.stats.sums.staffed_seconds, 3_600);
});
