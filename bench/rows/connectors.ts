/** P24 to P26: connectors beside the same work by hand, in one process and on one core. */
import { QUICK, ROUNDS, SERVICE_FLAGS, SUBJECT_CORE, count, figure, ratiosOf, run } from '../lib.ts';
import type { Row } from '../lib.ts';

async function rounds<T>(part: string, size: number, times = ROUNDS): Promise<T[]> {
  const all: T[] = [];
  for (let round = 0; round < times; round += 1)
    all.push(await run<T>('connectors-subject.ts', [part, size], SUBJECT_CORE, SERVICE_FLAGS));
  return all;
}
interface Pair {
  readonly ours: number;
  readonly bare: number;
}

export async function p24(): Promise<Row> {
  const all = await rounds<Pair>('expressions', QUICK ? 20_000 : 300_000);
  const [ours, bare] = [all.map((one) => one.ours), all.map((one) => one.bare)];
  return {
    id: 'P24',
    title: 'Evaluation of an expression of a connector file',
    figures: [
      figure('Offhook', 'µs', 'ours', ours),
      figure('the same as a function of JavaScript', 'µs', 'limit', bare),
    ],
    gates: [],
    notes: ['A field, a condition and a search in a list, one after the other.'],
  };
}
export async function p25(): Promise<Row> {
  const all = await rounds<Pair>('entries', QUICK ? 100 : 1_000);
  const [ours, bare] = [all.map((one) => one.ours), all.map((one) => one.bare)];
  return {
    id: 'P25',
    title: 'Entries through one connector, four requests at once',
    figures: [
      figure('Offhook', 'entries/s', 'ours', ours),
      figure('a loop of fetch that writes nothing down', 'entries/s', 'limit', bare),
      figure('share of the loop', '×', 'ours', ratiosOf(ours, bare), 'lower'),
    ],
    gates: [],
    notes: [
      'Each entry is stored before it is sent and after it is answered (ADR 0026), so that a death leaves none twice. The system answers at once, in the same process.',
    ],
  };
}
export async function p26(): Promise<Row> {
  const size = QUICK ? 5_000 : 200_000;
  const all = await rounds<{ seconds: number; mb: number; bare: number }>('sync', size, 1);
  return {
    id: 'P26',
    title: `Sync of ${count(size)} customers of a connected system into the phonebook`,
    figures: [
      figure(
        'Offhook',
        's',
        'ours',
        all.map((one) => one.seconds),
      ),
      figure(
        'memory that it adds at most (RSS)',
        'MB',
        'ours',
        all.map((one) => one.mb),
      ),
      figure(
        'the same pages into one table without a search',
        's',
        'limit',
        all.map((one) => one.bare),
      ),
    ],
    gates: [],
    notes: [
      'Pages of 1,000, with one number each. The memory includes that of the system, which is in the same process.',
    ],
  };
}
