/** P17: all clients return at once. P21: the missed events of one client, and the cost of an event in the journal. */
import path from 'node:path';
import {
  QUICK,
  ROUNDS,
  atMost,
  count,
  figure,
  interleave,
  ratiosOf,
  run,
  series,
  SUBJECT_CORE,
  temporaryFolder,
} from '../lib.ts';
import type { Row } from '../lib.ts';
import { startBroker } from '../stream/brokers.ts';
import type { Broker, BrokerName } from '../stream/brokers.ts';
import type { Connected } from '../stream/questions.ts';
import { LOGGED } from '../stream/script.ts';
import { NAMES, startSubject, withSubjects } from '../stream/subjects.ts';
import type { Kind } from '../stream/subjects.ts';

const CLIENTS = QUICK ? 2_000 : 10_000;
/** Number of events while no client was connected. */
const MISSED = 2_000;
const WAYS = ['resume', 'snapshot'] as const;

export async function p17(): Promise<Row> {
  const site = { extensions: CLIENTS, queues: CLIENTS / 20 };
  const kinds: readonly Kind[] = ['ours', 'socket.io', 'ws'];
  return await withSubjects(kinds, site, CLIENTS, async (subjects) => {
    for (const subject of subjects.values()) await subject.connect({ count: CLIENTS, topics: 'narrow' });
    const ours = subjects.get('ours')!;
    const { actions: before } = await ours.ask<{ actions: number }>({ ask: 'actions' });
    const storm = async (way: string): Promise<Connected> => {
      const isOurs = way === 'resume' || way === 'snapshot';
      const subject = isOurs ? ours : subjects.get(way as Kind)!;
      await subject.ask({ ask: 'drop' });
      if (isOurs) await subject.play({ events: MISSED, rate: 2_000, batch: 20, callers: true });
      const back = await subject.comeBack({ resume: way === 'resume', atOnce: CLIENTS });
      if (way === 'resume' && back.wrong > 0) throw new Error(`resumed wrongly: ${JSON.stringify(back)}`);
      return back;
    };
    const rounds = await interleave([...WAYS, 'socket.io', 'ws'], ROUNDS, storm);
    const { actions: after } = await ours.ask<{ actions: number }>({ ask: 'actions' });
    const seconds = (way: string): number[] => rounds.get(way)!.map((back) => back.seconds);
    const events = series(rounds.get('resume')!.map((back) => back.received)).median;
    return {
      id: 'P17',
      title: `${count(CLIENTS)} clients come back at once`,
      figures: [
        figure(
          `Offhook, each with its cursor, until the last has what it missed`,
          's',
          'ours',
          seconds('resume'),
        ),
        figure('Offhook, each for a snapshot', 's', 'ours', seconds('snapshot')),
        figure('socket.io, connected anew', 's', 'peer', seconds('socket.io')),
        figure('ws, connected anew', 's', 'limit', seconds('ws')),
      ],
      gates: [
        atMost('with cursors', 10, seconds('resume'), ' s'),
        atMost('with snapshots', 20, seconds('snapshot'), ' s'),
        atMost('actions sent to the engine meanwhile', 0, after - before),
      ],
      notes: [
        `Each hears one extension and one queue; ${count(MISSED)} events happened meanwhile, of which ${count(events)} deliveries were due. Every request signs in.`,
      ],
    };
  });
}

interface Append {
  readonly us: number;
}
const BROKERS: readonly BrokerName[] = ['redis', 'jetstream'];
const BROKER_TITLES = {
  redis: 'stream of Redis',
  jetstream: 'JetStream, by the library of its authors',
} as const;
async function withBrokers<T>(work: (brokers: ReadonlyMap<string, Broker>) => Promise<T>): Promise<T> {
  await using stack = new AsyncDisposableStack();
  const brokers = new Map<string, Broker>();
  for (const name of BROKERS) brokers.set(name, stack.use(await startBroker(name)));
  return await work(brokers);
}
const AWAY = [
  [10_000, 50],
  [100_000, 2_000],
] as const;

export async function p21(): Promise<Row> {
  using folder = temporaryFolder();
  const byBroker = BROKERS.flatMap((name) => [`${name} by 1`, `${name} by 100`]);
  const ways = ['ours by 1', 'ours by 100', 'insert by 1', 'insert by 100', 'ring', ...byBroker];
  let n = 0;
  const appends = await withBrokers((brokers) =>
    interleave(ways, ROUNDS, (way) => {
      const broker = brokers.get(way.split(' ')[0]!);
      const server = broker === undefined ? [] : [broker.port, broker.pid];
      const file = path.join(folder.path, `${(n += 1)}.db`);
      return run<Append>('stream/append.ts', [way, file, ...server], SUBJECT_CORE);
    }),
  );
  const us = (way: string): number[] => appends.get(way)!.map((a) => a.us);
  const site = { extensions: 1_000, queues: 0 };
  const ms = new Map<string, number[]>();
  await using ours = await startSubject('ours', site, { clients: 1 });
  await ours.fill(LOGGED);
  await using replay = await startSubject('replay', site, { clients: 1 });
  await using naive = await startSubject('replay json', site, { clients: 1 });
  await using redis = await startSubject('redis log', site, { clients: 1 });
  await using jetstream = await startSubject('jetstream log', site, { clients: 1 });
  const kinds = [ours, naive, replay, redis, jetstream];
  const numbers = kinds.map((_, i) => String(i));
  for (const [missed] of AWAY) {
    const once = async (which: string): Promise<number> => {
      const subject = kinds[Number(which)]!;
      const back = await subject.connect({ count: 1, topics: 'wide', behind: missed });
      await subject.ask({ ask: 'close' });
      if (back.received !== missed || back.wrong > 0) throw new Error(JSON.stringify(back));
      return back.seconds * 1_000;
    };
    for (const which of numbers) await once(which);
    const rounds = await interleave(numbers, ROUNDS, once);
    for (const [which, values] of rounds) ms.set(`${missed} ${which}`, values);
  }
  const of = (missed: number, which: number): number[] => ms.get(`${missed} ${which}`) ?? [];
  return {
    id: 'P21',
    title: 'The log: an event into it, and what a client missed out of it',
    figures: [
      figure('Offhook, events one by one', 'µs/event', 'ours', us('ours by 1')),
      figure('Offhook, events by 100', 'µs/event', 'ours', us('ours by 100')),
      figure('SQLite insert of the same rows, one by one', 'µs/event', 'limit', us('insert by 1')),
      figure('SQLite insert of the same rows, by 100', 'µs/event', 'limit', us('insert by 100')),
      figure('the same rows into an array in memory', 'µs/event', 'limit', us('ring')),
      ...BROKERS.flatMap((name) => [
        figure(`${BROKER_TITLES[name]}, one by one`, 'µs/event', 'peer', us(`${name} by 1`)),
        figure(`${BROKER_TITLES[name]}, by 100`, 'µs/event', 'peer', us(`${name} by 100`)),
      ]),
      ...BROKERS.flatMap((name) =>
        ['1', '100'].map((by) =>
          figure(
            `cost beside ${BROKER_TITLES[name]}, by ${by}`,
            '×',
            'ours',
            ratiosOf(us(`ours by ${by}`), us(`${name} by ${by}`)),
          ),
        ),
      ),
      ...AWAY.flatMap(([missed]) => [
        figure(`Offhook, ${count(missed)} missed events`, 'ms', 'ours', of(missed, 0)),
        figure(`${NAMES['replay json']}, ${count(missed)}`, 'ms', 'peer', of(missed, 1)),
        figure(`${NAMES.replay}, ${count(missed)}`, 'ms', 'limit', of(missed, 2)),
        figure(`${NAMES['redis log']}, ${count(missed)}`, 'ms', 'peer', of(missed, 3)),
        figure(`${NAMES['jetstream log']}, ${count(missed)}`, 'ms', 'peer', of(missed, 4)),
      ]),
    ],
    gates: AWAY.map(([missed, most]) => atMost(`${count(missed)} missed events`, most, of(missed, 0), ' ms')),
    notes: [
      'From the subscription with a cursor until the client has every event and was told that it has them.',
      'The cost of an event is processor time of our process, and for Redis and JetStream that of their server and of their client; each event or group is confirmed before the next one. SQLite, Redis (appendfsync everysec) and JetStream (file, its own interval) confirm before the disk has the event.',
    ],
  };
}
