/** P32: an event from its append to a follower, in the log of a site and in its peers. */
import path from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { nodeId } from '@offhook/contract/ids.ts';
import { Client } from 'pg';
import { NatsBus } from '../../server/src/adapters/nats/bus.ts';
import { NatsLink } from '../../server/src/adapters/nats/link.ts';
import { openPostgresSiteLog } from '../../server/src/adapters/postgres/site-log.ts';
import { sqliteCopyFile } from '../../server/src/adapters/sqlite/journal-copy.ts';
import { openSqliteJournal } from '../../server/src/adapters/sqlite/journal.ts';
import { silent as log } from '../../server/src/core/log.ts';
import { firstCheck } from '../../server/src/core/row-check.ts';
import { attachCopy, openFollowed } from '../../server/src/journal/attach.ts';
import { openJournal } from '../../server/src/journal/journal.ts';
import type { Journal, LocalJournal } from '../../server/src/journal/journal.ts';
import { Replica } from '../../server/src/journal/replica.ts';
import { createSiteRecord } from '../../server/src/journal/site-record.ts';
import type { LogState } from '../../server/src/ports/site-log.ts';
import { startNats } from '../../server/test/support/nats.ts';
import { startPostgres } from '../../server/test/support/postgres.ts';
import {
  QUICK,
  ROUNDS,
  SUBJECT_CORE,
  atLeast,
  atMost,
  figure,
  interleave,
  moveTo,
  quantile,
  ratiosOf,
  temporaryFolder,
} from '../lib.ts';
import type { Figure, Row } from '../lib.ts';
import { presenceEvent } from '../stream/events.ts';

const SINGLE = QUICK ? 50 : 200;
const GROUPS = QUICK ? 5 : 20;
const GROUP = 100;
const FOLLOWED = QUICK ? 20 : 60;
/** Interval of polls, and the pause of ways without one, in ms. */
const POLL_MS = 50;
const PAUSE_MS = 10;
const NODE = nodeId('a');
const SITE = 'bench';
/** Lines of a NATS server that confirms a message once it is on the disk. */
const DURABLE = 'jetstream { sync_interval: always }';
const STATEMENT = `insert into bare (seq, type, subject, at, topics, json)
  select * from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[])`;

/** One way of keeping events in order. */
interface Way {
  readonly name: string;
  readonly role: Figure['role'];
  /** Appends `count` events, from number `from` of the script on. */
  append(from: number, count: number): Promise<void>;
  /** Resolves once the follower has the next event; called before its append. */
  follow(): Promise<void>;
  /** Range of the pauses before followed events, in ms: for a way that polls, the pauses cover its interval. */
  readonly pauseMs: number;
}
interface Told {
  readonly singles: readonly number[];
  /** Events in a second, appended in groups. */
  readonly rate: number;
  readonly delays: readonly number[];
}

const eventsFrom = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => presenceEvent(from + i));

/** The journal of one machine. */
function ownDisk(file: string): Way {
  const journal = openJournal({ store: openSqliteJournal(file), node: NODE });
  return {
    name: 'SQLite',
    role: 'ours',
    pauseMs: PAUSE_MS,
    append: async (from, count) => void journal.append(eventsFrom(from, count)),
    async follow() {
      const [next, stop] = [journal.head + 1, new AbortController()];
      const { value } = await journal.follow(journal.head, stop.signal).next();
      stop.abort();
      if (value?.[0]?.seq !== next) throw new Error('the follower got another event');
    },
  };
}
/** A follower of the log in a copy of its own, as a web node has one. */
async function follower(url: string, file: string, state: LogState, stack: AsyncDisposableStack) {
  const siteLog = openPostgresSiteLog(url);
  stack.defer(() => siteLog.close());
  const copyFile = sqliteCopyFile(file, { log, site: SITE });
  const store = (await openFollowed({ siteLog, state, copyFile }))!;
  const journal = openJournal({ store, node: NODE });
  stack.defer(() => journal.close());
  const replica = new Replica({
    siteLog,
    store,
    journal,
    log,
    committed: () => undefined,
    changesRights: () => false,
    reload: () => Promise.resolve(),
    replaced(why) {
      throw new Error(why);
    },
  });
  replica.begin();
  stack.defer(() => replica.close());
  return { journal, replica };
}
async function busAt(urls: string, stack: AsyncDisposableStack): Promise<NatsBus> {
  const link = new NatsLink({ urls, name: 'bench', log });
  const bus = new NatsBus(link, SITE);
  stack.defer(() => bus.close());
  while (!bus.state().up) await new Promise((resolve) => setTimeout(resolve, 5));
  return bus;
}
/** The log in PostgreSQL with the copy of the leading node, followed with and without news by NATS. */
async function siteLogs(
  url: string,
  nats: string,
  folder: string,
  stack: AsyncDisposableStack,
): Promise<Way[]> {
  const siteLog = openPostgresSiteLog(url);
  stack.defer(() => siteLog.close());
  await siteLog.begin({ epoch: 'bench', began: 1, head: 0, check: firstCheck('bench') });
  const taken = await siteLog.take({ id: 'bench', location: 'bench' }, 3_600);
  if (!taken.taken) throw new Error('the log is taken');
  const { state } = taken;
  const copyFile = sqliteCopyFile(path.join(folder, 'leader.db'), { log, site: SITE });
  const store = await attachCopy({ siteLog, state, copyFile, log });
  const record = createSiteRecord({
    siteLog,
    term: state.term,
    copy: store,
    log,
    lost(why) {
      throw new Error(why);
    },
  });
  const journal: Journal = openJournal({ store, node: NODE, record });
  stack.defer(() => journal.close());
  const bus = await busAt(nats, stack);
  const woken = await follower(url, path.join(folder, 'woken.db'), state, stack);
  const heard = await busAt(nats, stack);
  heard.onNews((news) => woken.replica.hear(news));
  const polling = await follower(url, path.join(folder, 'polling.db'), state, stack);
  const beacon = setInterval(() => bus.send({ epoch: journal.epoch, head: journal.head }), 1_000);
  stack.defer(() => clearInterval(beacon));
  const append = async (from: number, count: number): Promise<void> => {
    await journal.append(eventsFrom(from, count));
    bus.send({ epoch: journal.epoch, head: journal.head });
  };
  const followedBy = (one: { readonly journal: LocalJournal }) => () => one.journal.waitFor(journal.head + 1);
  return [
    { name: 'PostgreSQL', role: 'ours', pauseMs: PAUSE_MS, append, follow: followedBy(woken) },
    { name: 'PostgreSQL, polled', role: 'ours', pauseMs: POLL_MS, append, follow: followedBy(polling) },
  ];
}
/** The same rows by one statement of the same server, read back by another connection at once. */
async function bareInsert(url: string, stack: AsyncDisposableStack): Promise<Way> {
  const [writer, reader] = [new Client({ connectionString: url }), new Client({ connectionString: url })];
  for (const client of [writer, reader]) {
    await client.connect();
    stack.defer(() => client.end());
  }
  await writer.query(
    'create table bare (seq bigint primary key, type text not null, subject text not null, at bigint not null, topics text not null, json text not null)',
  );
  let head = 0;
  let written = (): void => undefined;
  return {
    name: 'a bare INSERT',
    role: 'limit',
    pauseMs: PAUSE_MS,
    async append(from, count) {
      const rows = eventsFrom(from, count);
      const seqs = rows.map((_, i) => head + 1 + i);
      await writer.query({
        name: 'bare',
        text: STATEMENT,
        values: [
          seqs,
          rows.map(({ type }) => type),
          rows.map(({ subject }) => subject),
          rows.map(({ at }) => at),
          rows.map(({ subject }) => subject),
          rows.map((row) => JSON.stringify(row)),
        ],
      });
      head += count;
      written();
    },
    async follow() {
      const after = head;
      await new Promise<void>((resolve) => (written = resolve));
      const text = 'select * from bare where seq > $1 order by seq limit 500';
      const { rowCount } = await reader.query({ name: 'read', text, values: [after] });
      if (rowCount !== 1) throw new Error(`the reader got ${rowCount} rows`);
    },
  };
}
/** A stream with one copy in files; each event has an id against duplicates and its expected sequence number. */
async function jetStream(
  name: string,
  nats: { connect(): Promise<NatsConnection> },
  stack: AsyncDisposableStack,
): Promise<Way> {
  const connections = [await nats.connect(), await nats.connect()] as const;
  for (const one of connections) stack.defer(() => one.close());
  const manager = await jetstreamManager(connections[0]);
  await manager.streams.add({
    name: 'BENCH',
    subjects: ['bench.>'],
    storage: 'file',
    num_replicas: 1,
    duplicate_window: 120_000_000_000,
  });
  const writer = jetstream(connections[0]);
  const messages = await (await jetstream(connections[1]).consumers.get('BENCH')).consume();
  let head = 0;
  let seen = 0;
  let wake = (): void => undefined;
  void (async () => {
    for await (const { seq } of messages) {
      seen = seq;
      wake();
    }
  })();
  stack.defer(() => messages.stop());
  return {
    name,
    role: 'peer',
    pauseMs: PAUSE_MS,
    async append(from, count) {
      const after = head;
      head += count;
      await Promise.all(
        eventsFrom(from, count).map((event, i) =>
          writer.publish(`bench.${event.type}`, JSON.stringify(event), {
            msgID: `bench:${after + i + 1}`,
            expect: { lastSequence: after + i },
            retries: 0,
          }),
        ),
      );
    },
    async follow() {
      const next = head + 1;
      while (seen < next) await new Promise<void>((resolve) => (wake = resolve));
    },
  };
}

async function measure(way: Way, next: (count: number) => number): Promise<Told> {
  const singles: number[] = [];
  for (let i = 0; i < SINGLE; i += 1) {
    const began = performance.now();
    await way.append(next(1), 1);
    singles.push(performance.now() - began);
  }
  const began = performance.now();
  for (let i = 0; i < GROUPS; i += 1) await way.append(next(GROUP), GROUP);
  const rate = (GROUPS * GROUP * 1000) / (performance.now() - began);
  const delays: number[] = [];
  for (let i = 0; i < FOLLOWED; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5 + ((i * 7) % way.pauseMs)));
    const followed = way.follow();
    const sent = performance.now();
    await Promise.all([way.append(next(1), 1), followed]);
    delays.push(performance.now() - sent);
  }
  return { singles, rate, delays };
}

export async function p32(): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder()).path;
  const server = stack.use(await startPostgres({ durable: true }));
  const [fast, durable] = [stack.use(await startNats()), stack.use(await startNats(DURABLE))];
  const url = await server.createDatabase();
  const made: readonly Way[] = [
    ownDisk(path.join(folder, 'journal.db')),
    ...(await siteLogs(url, fast.url, folder, stack)),
    await bareInsert(url, stack),
    await jetStream('JetStream, each message on the disk', durable, stack),
    await jetStream('JetStream as it comes', fast, stack),
  ];
  for (const pid of [...server.pids(), fast.pid, durable.pid]) moveTo(SUBJECT_CORE, pid);
  const ways = new Map(made.map((way) => [way.name, way]));
  let number = 0;
  const next = (count: number): number => (number += count) - count;
  for (const way of made) await measure(way, next);
  const told = await interleave([...ways.keys()], ROUNDS, (name) => measure(ways.get(name)!, next));
  const of = (name: string, pick: (one: Told) => number): number[] => told.get(name)!.map(pick);
  const [p50, p99] = [(one: Told) => quantile(one.singles, 0.5), (one: Told) => quantile(one.singles, 0.99)];
  const delay = (share: number) => (one: Told) => quantile(one.delays, share);
  const rate = (one: Told): number => one.rate;
  const append = made.filter(({ name }) => name !== 'PostgreSQL, polled');
  return {
    id: 'P32',
    title: 'An event appended to the log of the site, and followed',
    figures: [
      ...append.flatMap(({ name, role }) => [
        figure(`${name}, one append, p50`, 'ms', role, of(name, p50)),
        figure(`${name}, one append, p99`, 'ms', role, of(name, p99)),
        figure(`${name}, in groups of ${GROUP}`, 'events/s', role, of(name, rate)),
      ]),
      ...made.flatMap(({ name, role }) => [
        figure(`${name}, append to follower, p50`, 'ms', role, of(name, delay(0.5))),
        figure(`${name}, append to follower, p99`, 'ms', role, of(name, delay(0.99))),
      ]),
    ],
    gates: [
      atMost(
        'one append to PostgreSQL, times the bare INSERT, p50',
        2,
        ratiosOf(of('PostgreSQL', p50), of('a bare INSERT', p50)),
        '×',
      ),
      atLeast(
        'groups to PostgreSQL, share of the speed of the bare INSERT',
        0.5,
        ratiosOf(of('PostgreSQL', rate), of('a bare INSERT', rate)),
        '×',
      ),
      atMost(
        'PostgreSQL to follower, times the bare INSERT and SELECT, p50',
        2,
        ratiosOf(of('PostgreSQL', delay(0.5)), of('a bare INSERT', delay(0.5))),
        '×',
      ),
      atLeast(
        'groups to SQLite, times the speed of JetStream as it comes',
        1,
        ratiosOf(of('SQLite', rate), of('JetStream as it comes', rate)),
        '×',
      ),
    ],
    notes: [
      'SQLite and JetStream as it comes confirm before the disk has the event; PostgreSQL, the bare INSERT and the other JetStream (one copy, file, sync_interval always) after it.',
      'Ours include the envelope, the check of each row, and the copy in SQLite that the leading node keeps. “Polled” is a web node without NATS.',
    ],
  };
}
