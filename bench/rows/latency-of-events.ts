/** P3 and P4: from a frame of the engine to the event at every client. */
import {
  QUICK,
  ROUNDS,
  atMost,
  beyond,
  count,
  digits,
  figure,
  growthOf,
  interleave,
  ratiosOf,
  series,
} from '../lib.ts';
import type { Figure, Gate, Row } from '../lib.ts';
import { NAMES, withSubjects } from '../stream/subjects.ts';
import type { Cost, Kind } from '../stream/subjects.ts';

const p50s = (costs: readonly Cost[] = []): number[] => costs.map((c) => c.p50);
const p99s = (costs: readonly Cost[] = []): number[] => costs.map((c) => c.p99);

/**
 * Clients, events in a round, events per second: a load well below the limit of one core. With few events the p99 of a round is that
 * of its slowest event alone.
 */
const WIDE = [
  [1, 100, 50],
  [100, 60, 20],
  [1_000, 120, 20],
  [10_000, 40, 4],
] as const;
const MOST_CLIENTS = QUICK ? 1_000 : 10_000;
const EXTENSIONS = 1_000;

export async function p3(): Promise<Row> {
  const kinds: readonly Kind[] = ['ours', 'bridge', 'preframed'];
  const figures: Figure[] = [];
  const gates: Gate[] = [];
  await withSubjects(kinds, { extensions: EXTENSIONS, queues: 0 }, 10_000, async (subjects) => {
    for (const [clients, events, rate] of WIDE) {
      if (clients > MOST_CLIENTS) continue;
      for (const subject of subjects.values()) {
        await subject.connect({ count: clients, topics: 'wide' });
        await subject.play({ events: Math.min(events, 40), rate });
      }
      const costs = await interleave(kinds, ROUNDS, (kind) =>
        subjects.get(kind as Kind)!.play({ events, rate }),
      );
      for (const subject of subjects.values()) await subject.ask({ ask: 'close' });
      const what = `${count(clients)} ${clients === 1 ? 'client' : 'clients'}`;
      const [ours, limit] = [costs.get('ours'), costs.get('preframed')];
      for (const kind of kinds) {
        const role = kind === 'ours' ? 'ours' : kind === 'preframed' ? 'limit' : 'peer';
        figures.push(
          figure(`${NAMES[kind]}, ${what}, p50`, 'ms', role, p50s(costs.get(kind))),
          figure(`${NAMES[kind]}, ${what}, p99`, 'ms', role, p99s(costs.get(kind))),
        );
      }
      if (clients === 1) {
        gates.push(atMost(`${what}: p50 over the limit's`, 1, beyond(p50s(ours), p50s(limit)), ' ms'));
      } else if (clients >= 1_000) {
        const ratio = ratiosOf(p99s(ours), p99s(limit));
        figures.push(figure(`p99 beside the limit's, ${what}`, '×', 'ours', ratio, 'higher'));
        gates.push(atMost(`${what}: p99, times the limit's`, 1.25, ratio, '×'));
      }
    }
  });
  return {
    id: 'P3',
    title: 'From the engine to every client: each hears every event',
    figures,
    gates,
    notes: [
      `Events a second: ${WIDE.map(([clients, , rate]) => `${rate} to ${count(clients)}`).join(', ')}. Ours are in the journal before they are sent.`,
    ],
  };
}

const NARROW_RATE = 240;
/** Number of clients that receive all events when the row measures the cost of further, idle clients. */
const BUSY = 100;
/** Ours, with events for the busy clients alone. */
const FEW = 'few';
const perEvent = (costs: readonly Cost[] = []): number[] => costs.map((c) => c.cpu / c.events);
export async function p4(): Promise<Row> {
  const kinds: readonly Kind[] = ['ours', 'bridge', 'due'];
  const figures: Figure[] = [];
  const points: [size: number, cpu: readonly number[]][] = [];
  const gates: Gate[] = [];
  const messages: string[] = [];
  for (const clients of [100, 1_000, 10_000]) {
    if (clients > MOST_CLIENTS) continue;
    const all = clients === MOST_CLIENTS;
    const here = all ? kinds : kinds.slice(0, 1);
    const site = { extensions: clients, queues: clients / 20 };
    await withSubjects(here, site, clients, async (subjects) => {
      const play = { events: NARROW_RATE * 4, rate: NARROW_RATE, callers: true };
      for (const subject of subjects.values()) {
        await subject.connect({ count: clients, topics: 'narrow' });
        await subject.play({ ...play, events: NARROW_RATE });
      }
      const costs = await interleave([...here, FEW], ROUNDS, (which) =>
        which === FEW
          ? subjects.get('ours')!.play({ ...play, among: [0, BUSY] })
          : subjects.get(which as Kind)!.play(play),
      );
      const what = `${count(clients)} clients`;
      const cpu = perEvent(costs.get('ours'));
      points.push([clients, perEvent(costs.get(FEW))]);
      figures.push(figure(`Offhook, ${what}`, 'µs CPU/event', 'ours', cpu));
      if (clients > BUSY)
        figures.push(
          figure(`Offhook, ${what}, events for ${BUSY}`, 'µs CPU/event', 'ours', perEvent(costs.get(FEW))),
        );
      for (const kind of here) {
        const each = costs.get(kind)!.map((c) => (c.received + c.figures) / c.events);
        messages.push(`${NAMES[kind]}, ${what}: ${digits(series(each).median)}`);
      }
      if (!all) return;
      gates.push(
        atMost(`${what}: p99`, 10, p99s(costs.get('ours')), ' ms'),
        atMost(`${what}: CPU, times the limit's`, 3, ratiosOf(cpu, perEvent(costs.get('due'))), '×'),
      );
      for (const kind of kinds) {
        const role = kind === 'ours' ? 'ours' : kind === 'due' ? 'limit' : 'peer';
        const of = costs.get(kind);
        if (kind !== 'ours')
          figures.push(figure(`${NAMES[kind]}, ${what}`, 'µs CPU/event', role, perEvent(of)));
        figures.push(
          figure(`${NAMES[kind]}, ${what}, p50`, 'ms', role, p50s(of)),
          figure(`${NAMES[kind]}, ${what}, p99`, 'ms', role, p99s(of)),
        );
      }
    });
  }
  const { growth, gate } = growthOf(
    { name: 'the cost of one event over clients', unit: 'µs CPU', most: 0.1 },
    points,
  );
  return {
    id: 'P4',
    title: `Each client hears one extension and one queue, ${NARROW_RATE} events a second`,
    figures,
    gates: [...gates, gate],
    growth: [growth],
    notes: [
      `An event of a queue goes to its 20 clients, and its new figures follow, at most twice a second for each queue: more of them where more queues have events. Messages for one event: ${messages.join('; ')}.`,
      `The limit sends heartbeats and figures too, of the size and at the rate of ours. For the slope the same ${BUSY} clients have all events, so that each event causes as many messages at every size.`,
    ],
  };
}
