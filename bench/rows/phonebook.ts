/** P23: lookup and search of the phonebook, in process, with bare statements on the same tables. */
import {
  QUICK,
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  atMost,
  count,
  figure,
  growthOf,
  quantile,
  run,
} from '../lib.ts';
import type { Figure, Row } from '../lib.ts';

const LOOKUPS = QUICK ? [1_000, 10_000] : [1_000, 10_000, 100_000, 1_000_000];
/** Size at which the limit of the search applies. */
const SEARCHED = QUICK ? 10_000 : 500_000;
const KINDS = { words: 'words', prefix: 'the beginning of a number' } as const;
type Way = 'ours' | 'bare';
type Measured = Record<`${Way} ${'lookup' | keyof typeof KINDS}`, number[]>;

const measured = (size: number): Promise<Measured> =>
  run('phonebook-subject.ts', [size, QUICK ? 20 : 100], SUBJECT_CORE, SERVICE_FLAGS);

export async function p23(): Promise<Row> {
  const figures: Figure[] = [];
  const points: [size: number, ms: readonly number[]][] = [];
  const gates: Row['gates'][number][] = [];
  for (const size of new Set([...LOOKUPS, SEARCHED])) {
    const rounds: Measured[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measured(size));
    const of = (kind: keyof Measured, share: number): number[] =>
      rounds.map((ms) => quantile(ms[kind], share));
    const name = `${count(size)} customers`;
    if (LOOKUPS.includes(size)) {
      figures.push(
        figure(`${name}: lookup of a number, p50`, 'ms', 'ours', of('ours lookup', 0.5)),
        figure(`${name}: lookup by the bare statement, p50`, 'ms', 'peer', of('bare lookup', 0.5)),
      );
      points.push([size, of('ours lookup', 0.5)]);
    }
    if (size !== SEARCHED) continue;
    for (const [kind, title] of Object.entries(KINDS) as [keyof typeof KINDS, string][]) {
      figures.push(
        figure(`${name}: search of ${title}, p50`, 'ms', 'ours', of(`ours ${kind}`, 0.5)),
        figure(`${name}: search of ${title}, p99`, 'ms', 'ours', of(`ours ${kind}`, 0.99)),
        figure(`${name}: search of ${title} by LIKE, p50`, 'ms', 'peer', of(`bare ${kind}`, 0.5)),
      );
      gates.push(atMost(`${name}: search of ${title}, p99`, 20, of(`ours ${kind}`, 0.99), ' ms'));
    }
  }
  const { growth, gate } = growthOf({ name: 'the lookup over customers', unit: 'ms', most: 0.1 }, points);
  return {
    id: 'P23',
    title: 'Lookup and search of the phonebook: a page of 50',
    figures,
    gates: [...gates, gate],
    growth: [growth],
    notes: ['Words that all, some and no customers have; beginnings of 5 to 11 characters.'],
  };
}
