import { randomBytes } from '../../core/chance.ts';

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 10;
const CHANCE_BYTES = 16;

/** Common prefix (ten characters) of the ids of one millisecond. */
export function timeOf(ms: number): string {
  let text = '';
  for (let rest = Math.max(0, Math.floor(ms)); text.length < TIME_LENGTH; rest = Math.floor(rest / 32)) {
    text = DIGITS.charAt(rest % 32) + text;
  }
  return text;
}
/** The time at which the recording with this id began, in milliseconds since 1970. */
export function msOf(id: string): number {
  let ms = 0;
  for (const digit of id.slice(0, TIME_LENGTH)) ms = ms * 32 + DIGITS.indexOf(digit);
  return ms;
}
/** Sorts before every id of this millisecond. */
export const lowestOf = (ms: number): string =>
  timeOf(ms).padEnd(TIME_LENGTH + CHANCE_BYTES, DIGITS.charAt(0));
/** An id that sorts by `ms`, as a ULID does; the rest is random, so that ids cannot be guessed. */
export const newRecordingId = (ms: number): string =>
  timeOf(ms) + [...randomBytes(CHANCE_BYTES, 'recording')].map((byte) => DIGITS.charAt(byte & 31)).join('');

/**
 * File name without a folder, in the form that the service and the dialplan use. A name from a database or a call
 * record must not lead out of the folder.
 */
const FILE = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,120}\.wav$/;
export const isFileName = (text: string): boolean => FILE.test(text);
