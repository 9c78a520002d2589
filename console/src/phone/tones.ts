/** Tones generated in the page; no audio file is loaded. */
import { playOn } from './devices.ts';
import { isUp } from './phone-state.ts';
import type { PhoneCall } from './phone-state.ts';

/** Simultaneous frequencies in Hz, with start and length in seconds. */
type Note = readonly [at: number, seconds: number, ...hertz: number[]];
interface Pattern {
  readonly notes: readonly Note[];
  readonly every: number;
  readonly loud: number;
}
const RING: Pattern = {
  notes: [
    [0, 0.18, 784],
    [0.2, 0.18, 988],
    [0.4, 0.32, 1175],
    [0.9, 0.18, 784],
    [1.1, 0.18, 988],
    [1.3, 0.32, 1175],
  ],
  every: 3.2,
  loud: 0.25,
};
/** ITU-T E.180: 425 Hz, a second of tone and four of silence; busy is 0.4 s of tone and of silence. */
const RINGBACK: Pattern = { notes: [[0, 1, 425]], every: 5, loud: 0.08 };
const BUSY: Pattern = {
  notes: [
    [0, 0.4, 425],
    [0.8, 0.4, 425],
    [1.6, 0.4, 425],
  ],
  every: 0,
  loud: 0.08,
};
const WAITING: Pattern = {
  notes: [
    [0, 0.15, 425],
    [0.25, 0.15, 425],
  ],
  every: 6,
  loud: 0.06,
};
const TEST: Pattern = {
  notes: [
    [0, 0.3, 523],
    [0.3, 0.3, 659],
    [0.6, 0.5, 784],
  ],
  every: 0,
  loud: 0.2,
};
export const TONES = { ring: RING, ringback: RINGBACK, busy: BUSY, waiting: WAITING, test: TEST } as const;
export type Tone = keyof typeof TONES;
/** The tone that belongs to the states of the calls. */
export function toneOf(calls: readonly PhoneCall[]): Tone | null {
  if (calls.some((call) => call.state === 'incoming')) return calls.some(isUp) ? 'waiting' : 'ring';
  return calls.some((call) => call.state === 'ringing') ? 'ringback' : null;
}

const ROWS = [697, 770, 852, 941];
const COLUMNS = [1_209, 1_336, 1_477];
const PAD = '123456789*0#';
/** The local tone of a pressed key. */
function keyNote(key: string): Note | null {
  const at = PAD.indexOf(key);
  return at < 0 ? null : [0, 0.12, ROWS[Math.floor(at / 3)]!, COLUMNS[at % 3]!];
}

export interface Sounder {
  /** Plays a tone on a device, repeated if it is periodic; returns the function that ends it. */
  play(tone: Tone, device: string): () => void;
  key(key: string, device: string): void;
  close(): void;
}
/** Silent until the first click in the page, as browsers require. */
export function createSounder(): Sounder {
  let context: AudioContext | null = null;
  function schedule(to: AudioNode, context: AudioContext, { notes, loud }: Pattern): void {
    for (const [at, seconds, ...hertz] of notes) {
      const begins = context.currentTime + at;
      const gain = context.createGain();
      gain.connect(to);
      // Without a ramp a tone begins and ends with a click.
      gain.gain.setValueAtTime(0, begins);
      gain.gain.linearRampToValueAtTime(loud / hertz.length, begins + 0.01);
      gain.gain.setValueAtTime(loud / hertz.length, begins + seconds - 0.02);
      gain.gain.linearRampToValueAtTime(0, begins + seconds);
      for (const frequency of hertz) {
        const source = context.createOscillator();
        source.frequency.value = frequency;
        source.connect(gain);
        source.start(begins);
        source.stop(begins + seconds);
      }
    }
  }
  function start(pattern: Pattern, device: string): () => void {
    context ??= new AudioContext();
    const own = context;
    void own.resume();
    const out = own.createMediaStreamDestination();
    const player = new Audio();
    player.srcObject = out.stream;
    void playOn(player, device);
    void player.play().catch(() => undefined);
    schedule(out, own, pattern);
    const timer =
      pattern.every > 0 ? setInterval(() => schedule(out, own, pattern), pattern.every * 1000) : undefined;
    return () => {
      clearInterval(timer);
      player.pause();
      player.srcObject = null;
      out.disconnect();
    };
  }
  return {
    play: (tone, device) => start(TONES[tone], device),
    key(key, device) {
      const note = keyNote(key);
      if (note === null) return;
      const end = start({ notes: [note], every: 0, loud: 0.08 }, device);
      setTimeout(end, 400);
    },
    close: () => void context?.close(),
  };
}
