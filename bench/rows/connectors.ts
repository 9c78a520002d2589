/** P24 to P26: connectors beside the same work by hand, in one process and on one core. */
import {
  QUICK,
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  atLeast,
  atMost,
  count,
  figure,
  interleave,
  ratiosOf,
  run,
} from '../lib.ts';
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
  const all = await rounds<{ ours: number; same: number; creates: number }>('entries', QUICK ? 100 : 1_000);
  const [ours, same] = [all.map((one) => one.ours), all.map((one) => one.same)];
  const share = ratiosOf(ours, same);
  return {
    id: 'P25',
    title: 'Entries through one connector that allows four requests at once',
    figures: [
      figure('Offhook', 'entries/s', 'ours', ours),
      figure('a loop of fetch with the same two requests that stores nothing', 'entries/s', 'limit', same),
      figure(
        'a loop of fetch that looks nobody up and stores nothing',
        'entries/s',
        'limit',
        all.map((one) => one.creates),
      ),
      figure('share of the loop with the same requests', '×', 'ours', share, 'lower'),
    ],
    gates: [atLeast('share of the loop with the same requests', 0.33, share, ' ×')],
    notes: [
      'Each entry looks its customer up, is on the disk before it is sent and after it is answered (ADR 0026), so that a death leaves none twice. Three entries are under way, since one request stays free for a live call; the loops have four. The system answers at once, in the same process.',
    ],
  };
}
export async function p26(): Promise<Row> {
  const size = QUICK ? 5_000 : 200_000;
  interface Synced {
    readonly seconds: number;
    readonly cpu: number;
    readonly held_ms: number;
    readonly mb: number;
    readonly bare: number;
  }
  const all = await rounds<Synced>('sync', size, QUICK ? 1 : 3);
  const of = (name: keyof Synced): number[] => all.map((one) => one[name]);
  const memory = await interleave(['all', 'quarter'], QUICK ? 1 : 5, (which) => {
    const customers = which === 'all' ? size : size / 4;
    return run<{ most: number }>('connectors-subject.ts', ['memory', customers], SUBJECT_CORE, SERVICE_FLAGS);
  });
  const most = (which: 'all' | 'quarter'): number[] => memory.get(which)!.map((one) => one.most);
  return {
    id: 'P26',
    title: `Sync of ${count(size)} customers of a connected system into the phonebook`,
    figures: [
      figure('Offhook', 's', 'ours', of('seconds')),
      figure('of it time of the processor', 's', 'ours', of('cpu')),
      figure('the same pages into one table without a search', 's', 'limit', of('bare')),
      figure('memory that it adds at most (RSS)', 'MB', 'ours', of('mb')),
      figure('memory in use, most', 'MB', 'ours', most('all')),
      figure('memory in use, most, of a quarter of the customers', 'MB', 'ours', most('quarter')),
      figure('hold of the event loop, p99', 'ms', 'ours', of('held_ms')),
    ],
    gates: [
      atMost('sync', 20, of('seconds'), ' s'),
      atMost(
        'memory in use beside a quarter of the customers',
        1.5,
        ratiosOf(most('all'), most('quarter')),
        ' ×',
      ),
    ],
    notes: [
      'Pages of 1,000, with one number each. Memory and time include those of the system, which is in the same process. Memory in use is that after a collection, five times a second in a run of its own; RSS also holds what V8 has not collected yet.',
    ],
  };
}
