import { randomBytes } from 'node:crypto';

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
const CHANCE_BYTES = 16;

/** The first ten places of every id of that millisecond. */
export function timeOf(ms: number): string {
  let text = '';
  for (let rest = Math.max(0, Math.floor(ms)); text.length < TIME_LENGTH; rest = Math.floor(rest / 32)) {
    text = DIGITS.charAt(rest % 32) + text;
  }
  return text;
}
/** An id that sorts by `ms`, as a ULID does; what follows is chance, so that nobody guesses another one. */
export const newRecordingId = (ms: number): string =>
  timeOf(ms) + [...randomBytes(CHANCE_BYTES)].map((byte) => DIGITS.charAt(byte & 31)).join('');

/**
 * A file name without any folder, as we and the dialplan make them. Everything else is refused: what stands in a database
 * or a call record is not to lead anywhere.
 */
const FILE = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,120}\.wav$/;
export const isFileName = (text: string): boolean => FILE.test(text);
