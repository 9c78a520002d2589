/** An endless series of different queue calls, made from the recorded ones. */
import fs from 'node:fs';
import path from 'node:path';

const file = path.join(import.meta.dirname, '../server/test/transcripts/queue-calls.ami');
const text = fs.readFileSync(file, 'latin1');
/** Events in one copy of the recording. */
export const EVENTS_PER_COPY = text.split('\r\n\r\n').filter((frame) => frame.startsWith('Event: ')).length;
/** Parts that must differ between copies: times and ids of channels, the two phones, the member's name. */
const parts = text.split(/(pbx1-1795222\d{3}(?=\.)|PJSIP\/ua[cs](?![a-z])|Uas Static)/);

export const FIRST_EXTENSION = 100_000;
/**
 * One copy, about 60 kB: its channels have new ids, because the model knows the old ones as ended, and its phones are two
 * of the site's extensions, others in each copy.
 */
export function recordingCopy(n: number, extensions: number): Buffer {
  const caller = FIRST_EXTENSION + ((2 * n) % extensions);
  const agent = FIRST_EXTENSION + ((2 * n + 1) % extensions);
  const own = parts.map((part, i) => {
    if (i % 2 === 0) return part;
    if (part === 'Uas Static') return String(agent);
    if (part.startsWith('PJSIP/')) return `PJSIP/${part.endsWith('uac') ? caller : agent}`;
    return `pbx1-${Number(part.slice('pbx1-'.length)) + n * 1_000}`;
  });
  return Buffer.from(own.join(''), 'latin1');
}

const QUEUE_NAMES = [...new Set(text.match(/(?<=\r\nQueue: )\S+/g) ?? [])];
/** The queue of the recording whose calls the agent takes. */
const TAKEN = 'q1';
/** Number of the agent in the n-th copy, from 0. */
const agentIn = (n: number, extensions: number): number => (2 * n + 1) % extensions;
/** Frames of one copy. The queue `TAKEN` becomes that of the copy's agent, each other queue that of another agent. */
export function framesOf(n: number, extensions: number, queueOf: (agent: number) => string): string[] {
  const agent = agentIn(n, extensions);
  const names = new Map(QUEUE_NAMES.map((name, i) => [name, queueOf(name === TAKEN ? agent : n + 37 * i)]));
  return recordingCopy(n, extensions)
    .toString('latin1')
    .replaceAll(/(?<=\r\nQueue: )\S+/g, (name) => names.get(name) ?? name)
    .split('\r\n\r\n')
    .filter((frame) => frame.startsWith('Event: '))
    .map((frame) => `${frame}\r\n\r\n`);
}
/** The frame with the present time, to be sent at once. */
export const stampedNow = (frame: string): string =>
  frame.replace(/(?<=\r\nTimestamp: )[\d.]+/, (Date.now() / 1000).toFixed(6));
