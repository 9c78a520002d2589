/** P8: search of the directory, in process, with LIKE in SQLite and an array in memory. */
import { QUICK, ROUNDS, SERVICE_FLAGS, SUBJECT_CORE, atMost, count, figure, quantile, run } from '../lib.ts';
import type { Figure, Row } from '../lib.ts';

const SIZES = QUICK ? [10_000, 100_000] : [10_000, 100_000, 500_000];
type Way = 'ours' | 'like' | 'scan';

export async function p8(): Promise<Row> {
  const figures: Figure[] = [];
  let p99: readonly number[] = [];
  for (const size of SIZES) {
    const rounds: Record<Way, number[]>[] = [];
    for (let round = 0; round < ROUNDS; round += 1)
      rounds.push(await run('search-subject.ts', [size, QUICK ? 10 : 40], SUBJECT_CORE, SERVICE_FLAGS));
    const of = (way: Way, share: number): number[] => rounds.map((ms) => quantile(ms[way], share));
    const name = `${count(size)} entries`;
    figures.push(
      figure(`${name}, p50`, 'ms', 'ours', of('ours', 0.5)),
      figure(`${name}, p99`, 'ms', 'ours', of('ours', 0.99)),
      figure(`${name}: LIKE in SQLite, p50`, 'ms', 'peer', of('like', 0.5)),
      figure(`${name}: an array of folded texts, p50`, 'ms', 'limit', of('scan', 0.5)),
    );
    p99 = of('ours', 0.99);
  }
  return {
    id: 'P8',
    title: 'Search of the directory: a page of 50 and its total',
    figures,
    gates: [atMost(`${count(SIZES.at(-1)!)} entries, p99`, 20, p99, ' ms')],
    notes: ['Names and numbers, rare, common and absent. The search of the history is measured with P9.'],
  };
}
