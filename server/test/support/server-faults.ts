/** A site on PostgreSQL under load while its service and its database are killed, frozen and restarted by chance of a seed. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { PollReply } from '@offhook/contract/stream.ts';
import { z } from 'zod';
import { EVERYONE } from '../../src/rights/topics.ts';
import { newestDamaged } from '../../src/core/row-check.ts';
import type { Person } from './api.ts';
import { readJournal } from './journal.ts';
import type { Phone } from './phone.ts';
import type { TestPostgres } from './postgres.ts';
import type { Site } from './site.ts';
import { openSse } from './sse-client.ts';
import type { SseClient } from './sse-client.ts';
import { until } from './until.ts';
import { openWs } from './ws-client.ts';
import type { WsClient } from './ws-client.ts';

/** What happened in a run. */
export interface FaultCounts {
  service_kills: number;
  database_kills: number;
  freezes: number;
  /** Orderly restarts of the service. */
  restarts: number;
  /** Changes of agents, each asked for under its key until it was confirmed. */
  changes: number;
  /** Requests for them without an answer, e.g. to a killed service. */
  unanswered: number;
  /** Refused ones, e.g. without the database; their codes are in `codes`. */
  refused: number;
  codes: Record<string, number>;
  calls: number;
  events: number;
}
export const noFaults = (): FaultCounts => ({
  service_kills: 0,
  database_kills: 0,
  freezes: 0,
  restarts: 0,
  changes: 0,
  unanswered: 0,
  refused: 0,
  codes: {},
  calls: 0,
  events: 0,
});
export interface FaultRun {
  readonly site: Site;
  readonly server: TestPostgres;
  readonly url: string;
  readonly seed: number;
  /** Ends the run before the next fault. */
  readonly over: (faults: number) => boolean;
}
/** Longest wait for a confirmed change before a fault. */
const SERVES_MS = 8_000;

export interface StoredRow {
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
export abstract class Follower extends Worker {
  readonly names: readonly string[];
  readonly seqs: number[] = [];
  from = 0;
  protected epoch = '';
  /** Its address is read at every connection. */
  protected readonly site: Pick<Site, 'base'>;
  protected readonly person: Person;
  protected readonly topics: readonly string[];
  constructor(site: Pick<Site, 'base'>, person: Person, topics: readonly string[], names: readonly string[]) {
    super();
    this.site = site;
    this.person = person;
    this.topics = topics;
    this.names = names;
  }
  abstract readonly way: string;
  /** Seq of every event of the connection that is open. */
  protected abstract open(): readonly number[];
  /** One connection from the cursor on, to its end; adds its events to `seqs`. */
  protected abstract connection(cursor: number): Promise<void>;
  /** Seq of the newest event so far. */
  get newest(): number {
    return this.open().at(-1) ?? this.cursor;
  }
  protected get cursor(): number {
    return this.seqs.at(-1) ?? this.from;
  }
  protected get port(): number {
    return Number(new URL(this.site.base).port);
  }
  protected get query(): string {
    return `topics=${this.topics.join(',')}&cursor=${this.cursor}&epoch=${this.epoch}`;
  }
  async begin(): Promise<void> {
    await using client = await openWs({ port: this.port, token: this.person.token });
    this.epoch = (await client.next('hello')).epoch;
    client.send({ op: 'subscribe', id: 1, topics: this.topics });
    this.from = (await client.next('subscribed')).cursor;
    this.running = this.#follow();
  }
  async #follow(): Promise<void> {
    while (!this.stopped) await this.connection(this.cursor);
  }
}
export class SocketFollower extends Follower {
  readonly way = 'WebSocket';
  #client: WsClient | null = null;
  protected open(): readonly number[] {
    return this.#client?.seqs() ?? [];
  }
  protected async connection(cursor: number): Promise<void> {
    const client = await openWs({ port: this.port, token: this.person.token }).catch(() => null);
    if (client === null) return wait(50);
    this.#client = client;
    client.send({ op: 'subscribe', id: 1, topics: this.topics, cursor, epoch: this.epoch });
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
export class EventSourceFollower extends Follower {
  readonly way = 'server-sent events';
  #client: SseClient | null = null;
  protected open(): readonly number[] {
    return this.#client?.seqs() ?? [];
  }
  protected async connection(): Promise<void> {
    const url = `${this.site.base}/api/v1/events?${this.query}`;
    const client = await openSse(url, this.person.token).catch(() => null);
    if (client === null) return wait(50);
    this.#client = client;
    while (!this.stopped && !client.ended) await wait(10);
    client.stop();
    assert.deepEqual(
      client.messages.filter(({ event }) => event === 'gap'),
      [],
      'nothing was lost',
    );
    this.seqs.push(...client.seqs());
    this.#client = null;
  }
}
export class PollFollower extends Follower {
  readonly way = 'long polls';
  #at: number | null = null;
  protected open(): readonly number[] {
    return [];
  }
  protected override get cursor(): number {
    return this.#at ?? this.from;
  }
  protected async connection(): Promise<void> {
    const reply = await this.#ask();
    if (reply === null) return wait(50);
    assert.equal(reply.gap, null, 'nothing was lost');
    this.seqs.push(...reply.events.map((event) => event.seq));
    this.#at = reply.cursor;
  }
  /** Null without a whole answer: the next request begins at the same cursor. */
  async #ask(): Promise<z.infer<typeof PollReply> | null> {
    try {
      const response = await fetch(`${this.site.base}/api/v1/events/poll?${this.query}&wait=1`, {
        headers: { authorization: `Bearer ${this.person.token}` },
        signal: AbortSignal.timeout(30_000),
      });
      const text = await response.text();
      return response.ok ? PollReply.parse(JSON.parse(text)) : null;
    } catch (error) {
      if (error instanceof z.ZodError) throw error;
      return null;
    }
  }
}

const ALL_TOPICS = ['presence', 'agents', 'queues', 'calls'];
/** A client of each way to follow the events of a site. */
export const followersOf = (site: Pick<Site, 'base'>, person: Person): readonly Follower[] =>
  [SocketFollower, EventSourceFollower, PollFollower].map(
    (By) => new By(site, person, ALL_TOPICS, ALL_TOPICS),
  );

/** Pauses and readies agents through all failures: each change is asked for under one key until it is confirmed. */
class Changes extends Worker {
  unanswered = 0;
  /** Number of refusals by their code. */
  readonly refusals = new Map<string, number>();
  /** Confirmed changes of each agent: each of them is an event. */
  readonly turns = new Map<string, number>();
  confirmed = 0;
  /** Number of changes without a request whose outcome stayed open: each of them is a line of the trail. */
  clear = 0;
  readonly #url: string;
  readonly #token: string;
  #ends = false;
  constructor(site: Site, supervisor: Person, extensions: readonly string[]) {
    super();
    this.#url = `${site.base}/api/v1/agents`;
    this.#token = supervisor.token;
    this.running = Promise.all(extensions.map((extension) => this.#change(extension)));
  }
  /** Ends each change under way, so that the events can be counted. */
  override async stop(): Promise<void> {
    this.#ends = true;
    await this.running;
  }
  async #change(extension: string): Promise<void> {
    for (let turn = 0; !this.#ends; turn += 1) {
      const what = turn % 2 === 0 ? 'pause' : 'unpause';
      let key = randomUUID();
      let clear = true;
      for (;;) {
        const answer = await this.#answer(`${extension}/${what}`, key);
        if (answer === 'confirmed') break;
        if (this.stopped) return;
        // Pausing again is safe, so a change whose outcome stays open is asked for under another key.
        if (answer === 'open') key = randomUUID();
        if (answer !== 'refused') clear = false;
        await wait(150);
      }
      this.turns.set(extension, turn + 1);
      this.confirmed += 1;
      if (clear) this.clear += 1;
      await wait(60);
    }
  }
  async #answer(path: string, key: string): Promise<'confirmed' | 'open' | 'refused' | 'none'> {
    try {
      const response = await fetch(`${this.#url}/${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${this.#token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: path.endsWith('unpause') ? '{}' : '{"reason":"training"}',
        signal: AbortSignal.timeout(30_000),
      });
      const { code = '' } = (await response.json()) as { code?: string };
      if (response.ok) return 'confirmed';
      this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
      return code === 'idempotency_conflict' || response.status === 504 ? 'open' : 'refused';
    } catch {
      this.unanswered += 1;
      return 'none';
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
  const kind = chance();
  const ms = Math.floor(chance() * 600);
  if (kind < 0.25) {
    counts.service_kills += 1;
    await site.kill('SIGKILL');
    return site.start('answers');
  }
  if (kind < 0.65) {
    counts.database_kills += 1;
    await server.kill();
    await wait(ms);
    return server.start();
  }
  if (kind < 0.88) {
    counts.service_kills += 1;
    counts.database_kills += 1;
    await Promise.all([site.kill('SIGKILL'), server.kill()]);
    await server.start();
    return site.start('answers');
  }
  if (kind < 0.94) {
    counts.freezes += 1;
    server.freeze();
    await wait(ms * 8);
    return server.resume();
  }
  counts.restarts += 1;
  await site.kill('SIGUSR2');
  return site.start('answers');
}

/** Runs faults until `over`, lets everything heal, and checks that nothing was lost or doubled. Throws with what was. */
export async function runServerFaults(run: FaultRun): Promise<FaultCounts> {
  const { site, server, url, seed } = run;
  const chance = chanceOf(seed);
  const counts = noFaults();
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
  const all = ['presence', 'queues', 'agents', 'calls'];
  const followers: readonly Follower[] = [
    new SocketFollower(site, boss, ['agents'], ['agents']),
    new SocketFollower(site, zoe, ['presence/1008'], ['presence/1008']),
    ...[SocketFollower, EventSourceFollower, PollFollower].flatMap((By) => [
      new By(site, boss, all, all),
      new By(site, zoe, ['agents', 'calls/mine'], ['agents/1003', 'calls/mine/1003']),
    ]),
  ];
  for (const one of followers) await one.begin();
  const changes = new Changes(site, boss, ['1003', '1004', '1005']);
  const calls = new Calls(a, b);
  const workers = [...followers, changes, calls];
  const work = async (): Promise<void> => {
    await harmAndHeal(run, chance, counts, () => changes.confirmed);
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
    const [expected, answered] = [known.all + calls.count, known.answered + calls.count];
    let found = known;
    await until(
      'one conversation for each call',
      async () => {
        found = await conversations();
        return found.all >= expected && found.open === 0;
      },
      { every: 200, seen: () => ({ found, expected }) },
    );
    assert.deepEqual(found, { all: expected, open: 0, answered });
    let rows: readonly StoredRow[] = [];
    // An event may come at any time, and the copy follows the log: all are looked at until they are at one place.
    await until(
      'every client and the copy to have everything',
      async () => {
        rows = await rowsOf(server, url);
        const newest = rows.at(-1)?.seq ?? 0;
        return (
          followers.every((one) => one.newest >= (heard(rows, one).at(-1) ?? 0)) &&
          (readJournal(site).at(-1)?.seq ?? 0) >= newest
        );
      },
      { seen: () => followers.map((one) => [one.newest, heard(rows, one).at(-1)]) },
    );
    for (const one of followers) await one.stop();
    const sum = (numbers: Iterable<number>): number => [...numbers].reduce((all, one) => all + one, 0);
    const turns = sum(changes.turns.values());
    Object.assign(counts, {
      changes: turns,
      unanswered: changes.unanswered,
      refused: sum(changes.refusals.values()),
      codes: Object.fromEntries(changes.refusals),
      calls: calls.count,
      events: rows.length,
    });
    check(rows, site, followers, changes.turns);
    const [trail] = await server.run(
      url,
      `select count(*)::int as lines from audit where action in ('agent.pause', 'agent.unpause') and outcome = 'ok'`,
    );
    const lines = Number(trail?.['lines']);
    assert.ok(lines >= changes.clear, `${changes.clear} changes, ${lines} lines of the trail`);
    assert.deepEqual(await server.run(url, 'select epoch from offhook_log'), epochs, 'the epoch stayed');
  }
}
async function harmAndHeal(
  run: FaultRun,
  chance: () => number,
  counts: FaultCounts,
  done: () => number,
): Promise<void> {
  for (let n = 0; !run.over(n); n += 1) {
    await wait(Math.floor(chance() * 700));
    // In half of the lives something is done, however long the start took.
    const before = done();
    const by = performance.now() + SERVES_MS;
    if (chance() < 0.5) while (done() === before && performance.now() < by) await wait(20);
    await harm(run, chance, counts);
  }
  await run.site.ready();
}
export function heard(rows: readonly StoredRow[], { names, from }: Follower): number[] {
  const wanted = new Set([...names, EVERYONE]);
  return rows
    .filter((row) => row.seq > from && row.topics.split(' ').some((name) => wanted.has(name)))
    .map((row) => row.seq);
}
/** The journal of a site in PostgreSQL. */
export const rowsOf = async (server: TestPostgres, url: string): Promise<readonly StoredRow[]> =>
  (await server.run(
    url,
    'select seq::float8 as seq, type, subject, at::float8 as at, topics, json from offhook_journal order by seq',
  )) as unknown as StoredRow[];
/**
 * Stops followers once they have the newest event; throws where one lacks an event, has it twice or out of order. An event that
 * comes after the end of a follower is not its own.
 */
export async function assertFollowed(
  followers: readonly Follower[],
  rows: () => Promise<readonly StoredRow[]>,
): Promise<void> {
  const all = await rows();
  for (const one of followers) {
    const newest = heard(all, one).at(-1)!;
    await until(`the newest event by ${one.way}`, () => one.newest >= newest, {
      seen: () => [one.newest, newest],
    });
    await one.stop();
    const last = one.seqs.at(-1)!;
    assert.ok(last >= newest, one.way);
    assert.deepEqual(
      one.seqs,
      heard(await rows(), one).filter((seq) => seq <= last),
      one.way,
    );
  }
}
function check(
  rows: readonly StoredRow[],
  site: Site,
  followers: readonly Follower[],
  confirmed: ReadonlyMap<string, number>,
): void {
  const from = Math.max(...followers.map((one) => one.from));
  assert.deepEqual(
    rows.map((row) => row.seq),
    rows.map((_, i) => i + 1),
    'the log is dense',
  );
  const epoch = (JSON.parse(rows[0]!.json) as { id: string }).id.split(':')[0]!;
  assert.equal(newestDamaged(rows, 0, { epoch, began: 1, checkAt: () => null }), null, 'the chain holds');
  // Findings about past calls may follow the rows at any time.
  const newest = rows.at(-1)!.seq;
  const events = readJournal(site).filter(({ seq }) => seq <= newest);
  assert.deepEqual(
    events,
    rows.map((row) => JSON.parse(row.json) as object),
    'the copy is the log',
  );
  for (const one of followers) {
    assert.deepEqual(
      one.seqs.filter((seq) => seq <= newest),
      heard(rows, one),
      `${one.way}, ${one.names.join(' ')}: each event once, in order`,
    );
  }
  for (const [extension, turns] of confirmed) {
    const published = events.filter(
      ({ seq, type, subject }) =>
        seq > from && subject === `agents/${extension}` && /^agent\.(not_)?ready$/.test(type),
    );
    const byQueue = Map.groupBy(published, ({ data }) => String(data['queue']));
    for (const [queue, all] of byQueue) {
      assert.ok(
        all.length >= turns,
        `${extension} in ${queue}: ${turns} confirmed changes, ${all.length} events`,
      );
      const doubled = all.filter(({ type }, i) => type === all[i - 1]?.type);
      assert.deepEqual(
        doubled.map(({ seq }) => seq),
        [],
        `${extension} in ${queue}: no change twice`,
      );
    }
    assert.ok(byQueue.size > 0 || turns === 0, `${extension}: events of its changes`);
  }
}
