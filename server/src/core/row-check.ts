import { crc32 } from 'node:zlib';

/**
 * Each row of the journal ends with a check of its content and of every row before it:
 * `…,"check":"1a2b3c4d"}`, a CRC-32 that begins with the epoch. Two journals that gave out the same seq for different
 * events differ in the check of that row and of all that follow; a flipped byte breaks the chain at its row. It finds
 * accidents, not forgery.
 */
interface Content {
  readonly type: string;
  readonly subject: string;
  readonly at: number;
  readonly topics: string;
  readonly json: string;
}
const LENGTH = ',"check":"00000000"}'.length;
const OPENING = ',"check":"';

const hex = (sum: number): string => sum.toString(16).padStart(8, '0');
const sumOf = (content: Content, body: string, before: string): number =>
  crc32(`${before} ${content.type} ${content.subject} ${content.at} ${content.topics} ${body}`);

/** Predecessor of the first row of an epoch. */
export const firstCheck = (epoch: string): string => hex(crc32(epoch));

/** The row's JSON with its check; `json` is an object without one. */
export function withCheck(content: Content, before: string): string {
  const body = content.json.slice(0, -1);
  return `${body}${OPENING}${hex(sumOf(content, body, before))}"}`;
}
/** Check at the end of a row's JSON; empty for a row that was written before the journal had checks. */
export function checkOf(json: string): string {
  const at = json.length - LENGTH;
  return at > 0 && json.startsWith(OPENING, at) ? json.slice(at + OPENING.length, -2) : '';
}
/** False where the row differs from the one that was written after `before`. Without either check it is accepted. */
export function follows(content: Content, before: string): boolean {
  const check = checkOf(content.json);
  if (check === '' || before === '') return true;
  return check === hex(sumOf(content, content.json.slice(0, -LENGTH), before));
}

interface Row extends Content {
  readonly seq: number;
}
/**
 * Seq of the newest of `rows` that differs from what was written; null where none does. The rows follow `after` in the
 * log; `checkAt` returns the check of a kept row, null for any other.
 */
export function newestDamaged(
  rows: readonly Row[],
  after: number,
  log: { readonly epoch: string; readonly began: number; checkAt(seq: number): string | null },
): number | null {
  let last: number | null = null;
  let at = after;
  let before = log.checkAt(after) ?? '';
  for (const row of rows) {
    if (row.seq === log.began) before = firstCheck(log.epoch);
    // The rows between are not stored, so there is nothing to compare.
    else if (row.seq !== at + 1) before = '';
    if (!follows(row, before)) last = row.seq;
    before = checkOf(row.json);
    at = row.seq;
  }
  return last;
}
