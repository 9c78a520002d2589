/** A site on PostgreSQL under load while its service and its database are killed, frozen and restarted by chance of a seed. */
import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { EVERYONE } from '../../src/rights/topics.ts';
import { newestDamaged } from '../../src/core/row-check.ts';
import type { Person } from './api.ts';
import { readJournal } from './journal.ts';
import type { Phone } from './phone.ts';
import type { TestPostgres } from './postgres.ts';
import type { Site } from './site.ts';
import { until } from './until.ts';
import { openWs } from './ws-client.ts';
import type { WsClient } from './ws-client.ts';

/** What happened in a run; `kills` are those of service and database. */
export interface FaultCounts {
  kills: number;
  freezes: number;
  stops: number;
  /** Changes of agents that were confirmed, and those refused or without an answer. */
  confirmed: number;
  refused: number;
  calls: number;
  events: number;
}
export interface FaultRun {
  readonly site: Site;
  readonly server: TestPostgres;
  readonly url: string;
  readonly seed: number;
  /** Ends the run before the next fault. */
  readonly over: (faults: number) => boolean;
}
interface StoredRow {
  readonly seq: number;
  readonly type: string;
  readonly subject: string;
  readonly at: number;
  readonly topics: string;
  readonly json: string;
}

/** Numbers in [0, 1) that follow the seed (mulberry32). */
export function chanceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Works until it is stopped. */
class Worker {
  protected stopped = false;
  /** Rejects where the work found something lost or doubled. */
  running: Promise<unknown> = Promise.resolve();
  halt(): void {
    this.stopped = true;
  }
  async stop(): Promise<void> {
    this.halt();
    await this.running;
  }
}

/** A client that keeps its cursor over every end of its connection. */
class Follower extends Worker {
  readonly names: readonly string[];
  readonly seqs: number[] = [];
  from = 0;
  #epoch = '';
  readonly #site: Site;
  readonly #person: Person;
  readonly #topics: readonly string[];
  #client: WsClient | null = null;
  constructor(site: Site, person: Person, topics: readonly string[], names: readonly string[]) {
    super();
    this.#site = site;
    this.#person = person;
    this.#topics = topics;
    this.names = names;
  }
  /** Seq of the newest event so far. */
  get newest(): number {
    const last = this.#client?.frames.findLast((frame) => frame.op === 'event');
    return last?.op === 'event' ? last.event.seq : (this.seqs.at(-1) ?? this.from);
  }
  get #port(): number {
    return Number(new URL(this.#site.base).port);
  }
  async begin(): Promise<void> {
    await using client = await openWs({ port: this.#port, token: this.#person.token });
    this.#epoch = (await client.next('hello')).epoch;
    client.send({ op: 'subscribe', id: 1, topics: this.#topics });
    this.from = (await client.next('subscribed')).cursor;
    this.running = this.#follow();
  }
  async #follow(): Promise<void> {
    while (!this.stopped) {
      const client = await openWs({ port: this.#port, token: this.#person.token }).catch(() => null);
      if (client === null) {
        await wait(50);
        continue;
      }
      this.#client = client;
      const cursor = this.seqs.at(-1) ?? this.from;
      client.send({ op: 'subscribe', id: 1, topics: this.#topics, cursor, epoch: this.#epoch });
      while (!this.stopped && client.close === null && !client.socket.destroyed) await wait(10);
      client.socket.destroy();
      const first = client.frames.find((frame) => frame.op === 'event');
      if (first?.op === 'event') assert.equal(first.prev, cursor, 'it leads on from the cursor');
      assert.deepEqual(
        client.frames.filter((frame) => frame.op === 'gap'),
        [],
        'nothing was lost',
      );
      this.seqs.push(...client.seqs());
      this.#client = null;
    }
  }
}

/** Pauses and readies agents through all failures. */
class Changes extends Worker {
  confirmed = 0;
  refused = 0;
  /** Confirmed changes of each agent that followed a confirmed one: each of them is an event. */
  readonly turns = new Map<string, number>();
  constructor(site: Site, supervisor: Person, extensions: readonly string[]) {
    super();
    this.running = Promise.all(extensions.map((extension) => this.#change(site, supervisor, extension)));
  }
  async #change(site: Site, supervisor: Person, extension: string): Promise<void> {
    const headers = { authorization: `Bearer ${supervisor.token}`, 'content-type': 'application/json' };
    let sure = false;
    for (let n = 0; !this.stopped; n += 1) {
      const [action, body] = n % 2 === 0 ? ['pause', '{"reason":"training"}'] : ['unpause', '{}'];
      try {
        const url = `${site.base}/api/v1/agents/${extension}/${action}`;
        const response = await fetch(url, {
          method: 'POST',
          headers,
          body,
          signal: AbortSignal.timeout(30_000),
        });
        await response.arrayBuffer();
        if (!response.ok) throw new Error(`${response.status}`);
        this.confirmed += 1;
        if (sure) this.turns.set(extension, (this.turns.get(extension) ?? 0) + 1);
        sure = true;
      } catch {
        this.refused += 1;
        sure = false;
      }
      await wait(30);
    }
  }
}

/** Calls one after another from one phone to another; the engine carries them, whatever dies beside it. */
class Calls extends Worker {
  count = 0;
  constructor(from: Phone, to: Phone) {
    super();
    this.running = this.#call(from, to);
  }
  async #call(from: Phone, to: Phone): Promise<void> {
    while (!this.stopped) {
      const call = await from.invite(to.extension);
      const incoming = await to.incoming(call);
      incoming.ring();
      await incoming.answer();
      await call.answered();
      this.count += 1;
      await wait(400);
      await call.hangup();
      await wait(400);
    }
  }
}

/** One fault by chance; resolves once service and database run again. */
async function harm({ site, server }: FaultRun, chance: () => number, counts: FaultCounts): Promise<void> {
  const kind = Math.floor(chance() * 6);
  const ms = Math.floor(chance() * 600);
  switch (kind) {
    case 0:
    case 1:
      counts.kills += 1;
      await site.kill('SIGKILL');
      return site.start('answers');
    case 2:
      counts.kills += 1;
      await server.kill();
      await wait(ms);
      return server.start();
    case 3:
      counts.kills += 2;
      await Promise.all([site.kill('SIGKILL'), server.kill()]);
      await server.start();
      return site.start('answers');
    case 4:
      counts.freezes += 1;
      server.freeze();
      await wait(ms * 8);
      return server.resume();
    default:
      counts.stops += 1;
      await site.kill('SIGUSR2');
      return site.start('answers');
  }
}

/** Runs faults until `over`, lets everything heal, and checks that nothing was lost or doubled. Throws with what was. */
export async function runServerFaults(run: FaultRun): Promise<FaultCounts> {
  const { site, server, url, seed } = run;
  const chance = chanceOf(seed);
  const counts: FaultCounts = {
    kills: 0,
    freezes: 0,
    stops: 0,
    confirmed: 0,
    refused: 0,
    calls: 0,
    events: 0,
  };
  await using a = await site.phone('1007');
  await using b = await site.phone('1008');
  const [boss, zoe] = [await site.person('1002'), await site.person('1003')];
  const conversations = async () => {
    const [row] = await server.run(
      url,
      `select count(*)::int as all, (count(*) filter (where state = 'open'))::int as open,
        count(answered_ms)::int as answered from conversations`,
    );
    return { all: Number(row?.['all']), open: Number(row?.['open']), answered: Number(row?.['answered']) };
  };
  const known = await conversations();
  const epochs = await server.run(url, 'select epoch from offhook_log');
  const followers = [
    new Follower(site, boss, ['agents'], ['agents']),
    new Follower(
      site,
      boss,
      ['presence', 'queues', 'agents', 'calls'],
      ['presence', 'queues', 'agents', 'calls'],
    ),
    new Follower(site, zoe, ['agents', 'calls/mine'], ['agents/1003', 'calls/mine/1003']),
    new Follower(site, zoe, ['presence/1008'], ['presence/1008']),
  ];
  for (const one of followers) await one.begin();
  const changes = new Changes(site, boss, ['1003', '1004', '1005']);
  const calls = new Calls(a, b);
  const workers = [...followers, changes, calls];
  const work = async (): Promise<void> => {
    await harmAndHeal(run, chance, counts);
    await calls.stop();
    await changes.stop();
    await compare();
  };
  try {
    await Promise.all([work(), ...workers.map((one) => one.running)]);
  } finally {
    for (const one of workers) one.halt();
  }
  return counts;

  async function compare(): Promise<void> {
    const [all, answered] = [known.all + calls.count, known.answered + calls.count];
    let found = known;
    await until(
      'one conversation for each call',
      async () => {
        found = await conversations();
        return found.all >= all && found.open === 0;
      },
      { every: 200, seen: () => ({ found, all }) },
    );
    assert.deepEqual(found, { all, open: 0, answered });
    const head = async (): Promise<number> =>
      Number((await server.run(url, 'select head from offhook_log'))[0]?.['head']);
    await until('a journal at rest', async () => {
      const before = await head();
      await wait(300);
      return (await head()) === before;
    });
    const rows = (await server.run(
      url,
      'select seq::float8 as seq, type, subject, at::float8 as at, topics, json from offhook_journal order by seq',
    )) as unknown as StoredRow[];
    await until(
      'every client to have everything',
      () => followers.every((one) => one.newest >= (heard(rows, one).at(-1) ?? 0)),
      { seen: () => followers.map((one) => [one.newest, heard(rows, one).at(-1)]) },
    );
    for (const one of followers) await one.stop();
    Object.assign(counts, {
      confirmed: changes.confirmed,
      refused: changes.refused,
      calls: calls.count,
      events: rows.length,
    });
    check(rows, site, followers, changes.turns);
    const [trail] = await server.run(
      url,
      `select count(*)::int as lines from audit where action in ('agent.pause', 'agent.unpause') and outcome = 'ok'`,
    );
    const turns = changes.turns.values().reduce((sum, count) => sum + count, 0);
    const lines = Number(trail?.['lines']);
    assert.ok(lines >= turns, `${turns} changes, ${lines} lines of the trail`);
    assert.deepEqual(await server.run(url, 'select epoch from offhook_log'), epochs, 'the epoch stayed');
  }
}
async function harmAndHeal(run: FaultRun, chance: () => number, counts: FaultCounts): Promise<void> {
  for (let n = 0; !run.over(n); n += 1) {
    await wait(Math.floor(chance() * 700));
    await harm(run, chance, counts);
  }
  await run.site.ready();
}
function heard(rows: readonly StoredRow[], { names, from }: Follower): number[] {
  const wanted = new Set([...names, EVERYONE]);
  return rows
    .filter((row) => row.seq > from && row.topics.split(' ').some((name) => wanted.has(name)))
    .map((row) => row.seq);
}
function check(
  rows: readonly StoredRow[],
  site: Site,
  followers: readonly Follower[],
  confirmed: ReadonlyMap<string, number>,
): void {
  assert.deepEqual(
    rows.map((row) => row.seq),
    rows.map((_, i) => i + 1),
    'the log is dense',
  );
  const epoch = (JSON.parse(rows[0]!.json) as { id: string }).id.split(':')[0]!;
  assert.equal(newestDamaged(rows, 0, { epoch, began: 1, checkAt: () => null }), null, 'the chain holds');
  const events = readJournal(site);
  assert.deepEqual(
    events,
    rows.map((row) => JSON.parse(row.json) as object),
    'the copy is the log',
  );
  for (const one of followers) {
    assert.deepEqual(one.seqs, heard(rows, one), `${one.names.join(' ')}: each event once, in order`);
  }
  for (const [extension, turns] of confirmed) {
    const published = events.filter(
      ({ type, subject }) =>
        subject === `agents/${extension}` && (type === 'agent.ready' || type === 'agent.not_ready'),
    );
    assert.ok(
      published.length >= turns,
      `${extension}: ${turns} confirmed changes, ${published.length} events`,
    );
  }
}
