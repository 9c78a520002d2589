/** Call records of many calls, made of recorded ones with other times, channels and people. */
import fs from 'node:fs';
import path from 'node:path';

const FIXTURES = path.join(import.meta.dirname, '../../server/src/features/history/fixtures');
/** Kinds of calls of a day, with their frequency. */
const MIX: readonly (readonly [name: string, times: number])[] = [
  ['internal-answered', 8],
  ['three-devices', 8],
  ['queue-answered', 8],
  ['hold', 3],
  ['no-answer', 4],
  ['cancelled', 3],
  ['busy', 2],
  ['declined', 2],
  ['queue-abandoned', 2],
  ['queue-second-round', 1],
  ['blind-transfer', 2],
  ['attended-transfer', 1],
  ['unregistered-voicemail', 2],
  ['pickup', 1],
  ['park', 1],
];
export const EXTENSIONS = 1_000;
/** Every person in the recordings has a number of four digits that begins with 100. */
const person = (digit: number, i: number): string => String(1_000 + ((i * 37 + digit) % EXTENSIONS));

interface Recorded {
  readonly text: string;
  readonly lines: number;
  readonly first: number;
}
function read(name: string): Recorded {
  const text = fs.readFileSync(path.join(FIXTURES, `${name}.cel`), 'utf8');
  return {
    text,
    lines: text.trimEnd().split('\n').length,
    first: Number(/"(\d{10})\.\d{6}"/.exec(text)![1]),
  };
}
/** Times keep their six decimals; ids have fewer and get their own serial. */
const moved = (recorded: Recorded, i: number, seconds: number): string =>
  recorded.text
    .replaceAll(/\b(\d{10})\.(\d+)/g, (_all, at: string, rest: string) => {
      const moment = Number(at) - recorded.first + seconds;
      return rest.length === 6 ? `${moment}.${rest}` : `${moment}.${Number(rest) + i * 1_000}`;
    })
    .replaceAll(/\b100(\d)\b/g, (_all, digit: string) => person(Number(digit), i));

/**
 * Calls in order of their start, `perSecond` of them each second from `from` on, each as one text with its number of
 * records. Records of overlapping calls are not mixed, because the order between calls does not matter.
 */
export function* callsOf(
  calls: number,
  options: { readonly from: number; readonly perSecond: number },
): Generator<{ readonly text: string; readonly records: number }> {
  const bag = MIX.flatMap(([name, times]) => Array.from({ length: times }, () => name));
  const recordings = new Map(MIX.map(([name]) => [name, read(name)]));
  for (let i = 0; i < calls; i += 1) {
    // A stride without a common factor with the bag's size, so that no kind comes in series.
    const recorded = recordings.get(bag[(i * 29) % bag.length]!)!;
    yield {
      text: moved(recorded, i, options.from + Math.floor(i / options.perSecond)),
      records: recorded.lines,
    };
  }
}
/** Writes at least `records` records; returns the numbers of calls and records. */
export function writeRecords(
  file: string,
  records: number,
  options: { readonly from: number; readonly perSecond: number },
): { readonly calls: number; readonly records: number } {
  const handle = fs.openSync(file, 'w');
  const made = { calls: 0, records: 0 };
  let held: string[] = [];
  for (const call of callsOf(Infinity, options)) {
    held.push(call.text);
    made.calls += 1;
    made.records += call.records;
    if (held.length >= 500 || made.records >= records) {
      fs.writeSync(handle, held.join(''));
      held = [];
    }
    if (made.records >= records) break;
  }
  fs.closeSync(handle);
  return made;
}
