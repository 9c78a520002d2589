/** Fields of an event in the bytes of its message, found without parsing the JSON of thousands of clients. */
import { queueOf } from '../site-data.ts';

export const DAY_MS = 86_400_000;
const SEQ = Buffer.from('"seq":');
/** Prefix of an event's time: in our and the peers' envelope, or the engine's own header in a naive bridge. */
const TIME = Buffer.from('"time":"');
const TYPE = Buffer.from('"type":"');
const STATS = Buffer.from('queue.stats"');
/** Followed by the number of the queue. */
const QUEUE = Buffer.from(`"subject":"queues/${queueOf(0).slice(0, -1)}`);
const STAMP = Buffer.from('"timestamp":"');
const PREV = Buffer.from('"prev":');
/** Last position of each mark; messages of one kind look alike. Only marks that every message has are searched. */
const guesses = new Map<Buffer, number>([TIME, STAMP, SEQ, TYPE, QUEUE].map((mark) => [mark, 0]));
function find(mark: Buffer, buffer: Buffer, from: number, to: number): number {
  const guess = from + guesses.get(mark)!;
  let i = 0;
  while (i < mark.length && buffer[guess + i] === mark[i]) i += 1;
  if (i === mark.length && guess + i < to) return guess + i;
  const found = buffer.indexOf(mark, from);
  if (found < 0 || found >= to) return -1;
  guesses.set(mark, found - from);
  return found + mark.length;
}
function digitsAt(buffer: Buffer, at: number): number {
  let value = 0;
  for (let i = at; ; i++) {
    const digit = buffer[i]! - 48;
    if (!(digit >= 0 && digit <= 9)) return value;
    value = value * 10 + digit;
  }
}
const two = (b: Buffer, at: number): number => (b[at]! - 48) * 10 + b[at + 1]! - 48;

/** True for the figures of a queue. */
export function isFigures(buffer: Buffer, from: number, to: number): boolean {
  const at = find(TYPE, buffer, from, to);
  return at >= 0 && buffer.compare(STATS, 0, STATS.length, at, at + STATS.length) === 0;
}
/** Number of the queue that an event is about. */
export const queueNumberOf = (buffer: Buffer, from: number, to: number): number =>
  digitsAt(buffer, find(QUEUE, buffer, from, to));
/** Number of the event in the script: its time of day in ms; -1 for other events. */
export function numberOf(buffer: Buffer, from: number, to: number): number {
  const at = find(TIME, buffer, from, to);
  if (at >= 0) {
    // 2026-11-21T00:00:00.000Z
    const ms = two(buffer, at + 20) * 10 + buffer[at + 22]! - 48;
    return ((two(buffer, at + 11) * 60 + two(buffer, at + 14)) * 60 + two(buffer, at + 17)) * 1000 + ms;
  }
  const stamp = find(STAMP, buffer, from, to);
  if (stamp < 0) return -1;
  return (digitsAt(buffer, stamp) * 1000 + Math.floor(digitsAt(buffer, stamp + 11) / 1000)) % DAY_MS;
}
/** NaN for a missing one. */
export function seqOf(buffer: Buffer, from: number, to: number): number {
  const at = find(SEQ, buffer, from, to);
  return at < 0 ? Number.NaN : digitsAt(buffer, at);
}
/** `prev` is the last field: `"prev":123}`. NaN for a missing one. */
export function prevOf(buffer: Buffer, to: number): number {
  let digit = to - 2;
  while (buffer[digit]! >= 48 && buffer[digit]! <= 57) digit -= 1;
  const begins = digit + 1 - PREV.length;
  const there = buffer.compare(PREV, 0, PREV.length, begins, begins + PREV.length) === 0;
  return there ? digitsAt(buffer, digit + 1) : Number.NaN;
}
