/** P15: a full resync, P16: a start of the service with a running engine, on a site of 10,000 extensions. */
import fs from 'node:fs/promises';
import path from 'node:path';
import { startExchange } from '../exchange.ts';
import type { Exchange } from '../exchange.ts';
import {
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  ask,
  atMost,
  beyond,
  count,
  end,
  figure,
  firstLine,
  growthOf,
  interleave,
  ratiosOf,
  run,
  series,
  start,
  temporaryFolder,
} from '../lib.ts';
import type { Row } from '../lib.ts';

/** Readings of one round after the first one, which includes compiling. */
const TIMES = 3;
interface Reading {
  readonly first: number;
  readonly again: number;
  readonly frames: number;
  readonly delay: number;
}
const sizeOf = (extensions: number) => ({
  extensions,
  queues: Math.max(5, extensions / 20),
  agentsPerQueue: 20,
  static: true,
});

export async function measure(site: Pick<Exchange, 'data' | 'instance'>, who: string): Promise<Reading> {
  const { ami_port, ami_events, ami_actions } = site.instance;
  const [events, actions] = [ami_events, ami_actions].map((a) => `${a.user}:${a.secret}`);
  if (who === 'raw') {
    const { ms, frames } = await run<{ ms: number[]; frames: number }>(
      'raw-lists.ts',
      [ami_port, actions!, TIMES + 1],
      SUBJECT_CORE,
    );
    return { first: ms[0]!, again: series(ms.slice(1)).median, frames, delay: 0 };
  }
  // A new folder: no stored state makes the first reading cheaper.
  using folder = temporaryFolder();
  const data = folder.path;
  await fs.copyFile(path.join(site.data, 'offhook.db'), path.join(data, 'offhook.db'));
  const service = start(
    'service-subject.ts',
    [data, ami_port, events!, actions!],
    SUBJECT_CORE,
    SERVICE_FLAGS,
  );
  try {
    const { connected_ms } = await firstLine<{ connected_ms: number }>(service);
    await ask(service, { ask: 'delay' });
    const again: number[] = [];
    for (let i = 0; i < TIMES; i++) again.push((await ask<{ ms: number }>(service, { ask: 'resync' })).ms);
    const { p99 } = await ask<{ p99: number }>(service, { ask: 'delay' });
    return { first: connected_ms, again: series(again).median, frames: 0, delay: p99 };
  } finally {
    await end(service);
  }
}

let kept: { resync: Row; coldStart: Row } | undefined;
/** Both rows share the large engine, whose start takes most of the time. */
async function both(): Promise<{ resync: Row; coldStart: Row }> {
  if (kept !== undefined) return kept;
  const points: [size: number, ms: readonly number[]][] = [];
  for (const extensions of [100, 1_000]) {
    await using site = await startExchange(sizeOf(extensions));
    await site.stop('SIGUSR2');
    const readings = await interleave(['ours'], ROUNDS, (who) => measure(site, who));
    points.push([extensions, readings.get('ours')!.map((r) => r.again)]);
  }
  await using site = await startExchange(sizeOf(10_000));
  const firstStart = site.readyMs;
  const starts: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await site.stop('SIGUSR2');
    await site.start();
    starts.push(site.readyMs);
  }
  await site.stop('SIGUSR2');
  const readings = await interleave(['ours', 'raw'], ROUNDS, (who) => measure(site, who));
  const all = (who: string, what: keyof Reading): number[] => (readings.get(who) ?? []).map((r) => r[what]);
  points.push([10_000, all('ours', 'again')]);
  const { growth, gate } = growthOf({ name: 'a resync over extensions', unit: 'ms', most: 1.1 }, points);
  const times = ratiosOf(all('ours', 'again'), all('raw', 'again'));
  const frames = all('raw', 'frames')[0] ?? 0;
  const resync: Row = {
    id: 'P15',
    title: 'The whole state read anew: 10,000 extensions with three devices each, 500 queues of 20',
    figures: [
      figure('Offhook, read, compared and in the journal', 'ms', 'ours', all('ours', 'again')),
      figure('Offhook, first time: connect, read and journal everything', 'ms', 'ours', all('ours', 'first')),
      figure(`the same lists thrown away (${count(frames)} frames)`, 'ms', 'limit', all('raw', 'again')),
      figure('the same lists thrown away, first time', 'ms', 'limit', all('raw', 'first')),
      figure('times the limit', '×', 'ours', times, 'higher'),
      figure("delay of the service's event loop meanwhile, p99", 'ms', 'ours', all('ours', 'delay')),
    ],
    gates: [
      atMost('times the limit', 1.5, times, '×'),
      atMost('delay of the event loop meanwhile, p99', 20, all('ours', 'delay'), ' ms'),
      gate,
    ],
    growth: [growth],
    notes: ['No phone is registered, so the list of contacts is empty.'],
  };
  const cold = figure('start of the service to ready', 'ms', 'ours', starts);
  kept = {
    resync,
    coldStart: {
      id: 'P16',
      title: 'Start of the service on that site, the engine running',
      figures: [
        cold,
        figure('the very first start, the engine booted and everything written', 'ms', 'ours', [firstStart]),
      ],
      gates: [
        atMost(
          'start to ready, over the first time of P15',
          1_500,
          beyond(starts, all('ours', 'first')),
          ' ms',
        ),
      ],
    },
  };
  return kept;
}
export const p15 = async (): Promise<Row> => (await both()).resync;
export const p16 = async (): Promise<Row> => (await both()).coldStart;
