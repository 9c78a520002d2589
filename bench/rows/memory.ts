/** P12: memory of one connected client. */
import { QUICK, atMost, count, figure, growthOf, ratiosOf } from '../lib.ts';
import type { Figure, Row } from '../lib.ts';
import type { Topics } from '../stream/script.ts';
import { NAMES, startSubject } from '../stream/subjects.ts';
import type { Kind } from '../stream/subjects.ts';

const CLIENTS = QUICK ? 2_000 : 10_000;
/** Each in its own process; memory hardly differs between them. */
const TIMES = QUICK ? 1 : 3;
const MOST_KB = 13;

/** Bytes that each client added to its process, after some events if it receives any. */
async function perClient(kind: Kind, clients: number, topics: Topics): Promise<number> {
  await using subject = await startSubject(kind, { extensions: clients, queues: clients / 20 }, { clients });
  // First the code is compiled and shared objects are created.
  await subject.connect({ count: 50, topics });
  // Then the shared log is filled: as many events as it keeps in memory.
  if (topics === 'narrow') await subject.play({ events: 8_000, rate: 2_000, batch: 20, callers: true });
  await subject.ask({ ask: 'close' });
  const empty = await subject.memory();
  await subject.connect({ count: clients, topics });
  if (topics === 'narrow') await subject.play({ events: 1_000, rate: 250, callers: true });
  return ((await subject.memory()) - empty) / clients;
}

export async function p12(): Promise<Row> {
  const subjects: readonly (readonly [Kind, Topics, string])[] = [
    ['ours', 'none', 'idle'],
    ['ours', 'narrow', 'one extension and one queue'],
    ['ours sse', 'narrow', 'one extension and one queue'],
    ['ws', 'none', 'idle'],
    ['socket.io', 'none', 'idle'],
    ['preframed', 'none', 'idle'],
    ['sse', 'none', 'idle'],
  ];
  const kB = new Map<string, number[]>();
  for (let time = 0; time < TIMES; time++) {
    for (const [kind, topics] of subjects) {
      const values = kB.get(kind + topics) ?? [];
      values.push((await perClient(kind, CLIENTS, topics)) / 1000);
      kB.set(kind + topics, values);
    }
  }
  const of = (kind: Kind, topics: Topics): number[] => kB.get(kind + topics) ?? [];
  const few: number[] = [];
  for (let time = 0; time < TIMES; time++) few.push(await perClient('ours', 1_000, 'narrow'));
  const { growth, gate } = growthOf({ name: 'the memory over clients', unit: 'MB', most: 1.1 }, [
    [1_000, few.map((bytes) => (bytes * 1_000) / 1e6)],
    [CLIENTS, of('ours', 'narrow').map((each) => (each * CLIENTS) / 1e3)],
  ]);
  const figures: Figure[] = subjects.map(([kind, topics, what]) =>
    figure(
      `${NAMES[kind]}, ${what}`,
      'kB/client',
      kind.startsWith('ours') ? 'ours' : kind === 'preframed' || kind === 'sse' ? 'limit' : 'peer',
      of(kind, topics),
      kind.startsWith('ours') ? 'higher' : undefined,
    ),
  );
  return {
    id: 'P12',
    title: `Memory of one client of ${count(CLIENTS)}`,
    figures,
    gates: [
      atMost('idle', MOST_KB, of('ours', 'none'), ' kB'),
      atMost('idle, times ws', 2, ratiosOf(of('ours', 'none'), of('ws', 'none')), '×'),
      atMost('subscribed', MOST_KB, of('ours', 'narrow'), ' kB'),
      atMost(
        'subscribed, server-sent events, times a bare one that receives nothing',
        1,
        ratiosOf(of('ours sse', 'narrow'), of('sse', 'none')),
        '×',
      ),
      ...(QUICK ? [] : [gate]),
    ],
    growth: [growth],
    notes: [
      'Resident memory after a collection, the process without clients taken off. The log that a client resumes from is shared.',
    ],
  };
}
