/** A small site: the time of a start, and the memory of the idle service. */
import fs from 'node:fs';
import { startExchange } from '../exchange.ts';
import { ROUNDS, atMost, figure } from '../lib.ts';
import type { Row } from '../lib.ts';

const IDLE_MS = 10_000;
const rssOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024;

export async function start(): Promise<Row> {
  await using site = await startExchange(undefined, true);
  const ready: number[] = [];
  const memory: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await site.stop('SIGINT');
    await site.start();
    ready.push(site.readyMs / 1000);
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    memory.push(rssOf(site.pid));
  }
  const seconds = figure('start to ready, engine included', 's', 'ours', ready);
  const mib = figure(
    `memory of the idle service after ${IDLE_MS / 1000} s (RSS)`,
    'MB',
    'ours',
    memory,
    'higher',
  );
  return {
    id: 'START',
    title: 'The demo company, started again',
    figures: [seconds, mib],
    gates: [
      atMost('second start to ready', 3, seconds.series.values, ' s'),
      atMost('memory of the idle service', 120, mib.series.values, ' MB'),
    ],
  };
}
