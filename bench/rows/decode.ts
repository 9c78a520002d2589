/** P1 decode, P2 decode with the model behind it, P22 growth of both. */
import {
  GENERATOR_CORE,
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  atLeast,
  atMost,
  count,
  end,
  figure,
  firstLine,
  growthOf,
  interleave,
  ratiosOf,
  run,
  start,
} from '../lib.ts';
import type { Row } from '../lib.ts';

interface Cost {
  readonly events: number;
  readonly measured: number;
  readonly lost?: number;
  readonly published: number;
  readonly seconds: number;
  readonly cpu_us: number;
}
const EVENTS = 150_000;
/** Read before P2 measures: V8 compiles the model for some 200,000 events (ADR 0042), which a service has at its start only. */
const WARM = 300_000;
/** Slow subjects would take most of a run's time. */
const FEW_EVENTS = 25_000;
const PEERS = ['ami-io', 'asterisk-manager', 'nami', 'asterisk-ami-client'];

/** Every subject reads the same stream. Ours must read every event; a peer's losses are reported. */
async function measure(
  subjects: readonly string[],
  events: number,
  chunk: number,
  extensions = 1_000,
  warm = 0,
): Promise<Map<string, Cost[]>> {
  const server = start('decode-server.ts', [events, chunk, extensions], GENERATOR_CORE);
  try {
    const sent = await firstLine<{ port: number; events: number }>(server);
    return await interleave(subjects, ROUNDS, async (subject) => {
      const cost = await run<Cost>(
        'decode-subject.ts',
        [subject, sent.port, extensions, sent.events, warm],
        SUBJECT_CORE,
        ['decode', 'model'].includes(subject) ? SERVICE_FLAGS : [],
      );
      // The greeting after the sign-in is an event, too.
      const lost = sent.events + 1 - cost.events;
      if (lost !== 0 && !PEERS.includes(subject)) throw new Error(`${subject} lost ${lost} events`);
      return { ...cost, lost };
    });
  } finally {
    await end(server);
  }
}
const cpu = (costs: readonly Cost[] = []): number[] => costs.map((c) => c.cpu_us);
const rate = (costs: readonly Cost[] = []): number[] => costs.map((c) => c.measured / c.seconds);

export async function p1(): Promise<Row> {
  const big = await measure(['decode', 'yana', 'raw'], EVENTS, 65_536);
  const small = await measure(['decode', 'yana', 'raw'], EVENTS / 2, 1_448);
  const others = await measure(PEERS, FEW_EVENTS, 65_536);
  const ours = cpu(big.get('decode'));
  const oursSmall = cpu(small.get('decode'));
  return {
    id: 'P1',
    title: 'Events of the engine, bytes to facts',
    figures: [
      figure('Offhook, 64 kB at a time', 'µs CPU/event', 'ours', ours),
      figure('Offhook, 64 kB at a time', 'events/s', 'ours', rate(big.get('decode'))),
      figure('Offhook, 1,448 B at a time', 'µs CPU/event', 'ours', oursSmall),
      figure('yana, 64 kB at a time', 'µs CPU/event', 'peer', cpu(big.get('yana'))),
      figure('yana, 1,448 B at a time', 'µs CPU/event', 'peer', cpu(small.get('yana'))),
      ...PEERS.map((peer) => {
        const lost = Math.max(...(others.get(peer) ?? []).map((cost) => cost.lost ?? 0));
        const name = lost > 0 ? `${peer} (lost ${lost} of ${count(FEW_EVENTS)} events)` : peer;
        return figure(name, 'µs CPU/event', 'peer', cpu(others.get(peer)));
      }),
      figure('reading the socket alone, 64 kB', 'µs CPU/event', 'limit', cpu(big.get('raw'))),
      figure('reading the socket alone, 1,448 B', 'µs CPU/event', 'limit', cpu(small.get('raw'))),
      figure('faster than yana', '×', 'ours', ratiosOf(cpu(big.get('yana')), ours), 'lower'),
    ],
    gates: [
      atLeast('faster than yana, 64 kB', 2, ratiosOf(cpu(big.get('yana')), ours), '×'),
      atLeast('faster than yana, 1,448 B', 2, ratiosOf(cpu(small.get('yana')), oursSmall), '×'),
      atMost('CPU for one event', 7, ours, ' µs'),
    ],
    notes: [
      'Ours makes facts of the events and checks every frame; the peers hand over objects of strings and check nothing.',
    ],
  };
}

export async function p2(): Promise<Row> {
  const SIZES = [100, 1_000, 10_000];
  const sizes = [];
  for (const size of SIZES) {
    const costs = await measure(['decode', 'model'], WARM + EVENTS * 2, 65_536, size, WARM);
    const published = new Set(costs.get('model')?.map((c) => c.published));
    if (published.size !== 1 || published.has(0))
      throw new Error(`the model told ${[...published].join(', ')} events`);
    sizes.push({ size, decode: cpu(costs.get('decode')), model: cpu(costs.get('model')) });
  }
  const share = sizes.map(({ decode, model }) => ratiosOf(decode, model));
  const middle = sizes[1]!;
  const { growth, gate } = growthOf(
    { name: 'the cost of one event over extensions', unit: 'µs CPU', most: 0.1 },
    sizes.map(({ size, model }) => [size, model]),
  );
  return {
    id: 'P2',
    title: 'Events of the engine, bytes to domain events of the live model',
    figures: [
      ...sizes.map(({ size, model }) =>
        figure(`Offhook, ${size.toLocaleString('en-GB')} extensions`, 'µs CPU/event', 'ours', model),
      ),
      figure('decode alone (P1)', 'µs CPU/event', 'limit', middle.decode),
      figure('share of the speed of decode', '×', 'ours', share[1]!, 'lower'),
    ],
    gates: [atLeast('share of the speed of decode (P1)', 0.5, share[1]!, '×'), gate],
    growth: [growth],
    notes: [`Measured after the first ${count(WARM)} events, as in a service that has run for some minutes.`],
  };
}
