/** Sounds for tests: generated here, or encoded once by other programs. */
import { readFileSync } from 'node:fs';

/** Half a second of 1 kHz at 44.1 kHz, encoded by other programs. */
export const encoded = (name: 'tone.mp3' | 'tone.flac' | 'tone-opus.ogg' | 'tone-vorbis.ogg'): Buffer =>
  readFileSync(new URL(`../../src/features/sounds/fixtures/${name}`, import.meta.url));

export interface WavOptions {
  readonly rate?: number;
  readonly hz?: number;
  readonly seconds?: number;
  readonly channels?: number;
  /** Full scale is 1. */
  readonly amplitude?: number;
  /** `pcm16`, … */
  readonly kind?: keyof typeof KINDS;
  readonly sample?: (i: number, channel: number) => number;
}
const ulaw = (v: number): number => {
  const s = Math.round(v * 32_768);
  const m = Math.min(Math.abs(s), 32_635) + 132;
  const exponent = Math.floor(Math.log2(m)) - 7;
  return ~((s < 0 ? 0x80 : 0) | (exponent << 4) | ((m >> (exponent + 3)) & 15)) & 0xff;
};
const alaw = (v: number): number => {
  const s = Math.min(32_767, Math.abs(Math.round(v * 32_768))) >> 4;
  const exponent = s < 32 ? (s < 16 ? 0 : 1) : Math.floor(Math.log2(s)) - 3;
  const mantissa = exponent < 2 ? s & 15 : (s >> (exponent - 1)) & 15;
  return ((v < 0 ? 0 : 0x80) | (exponent << 4) | mantissa) ^ 0x55;
};
const KINDS = {
  pcm8: [1, 8, (b: Buffer, v: number, at: number) => b.writeUInt8(Math.round(v * 127) + 128, at)],
  pcm16: [1, 16, (b: Buffer, v: number, at: number) => b.writeInt16LE(Math.round(v * 32_767), at)],
  pcm24: [1, 24, (b: Buffer, v: number, at: number) => b.writeIntLE(Math.round(v * 8_388_607), at, 3)],
  pcm32: [1, 32, (b: Buffer, v: number, at: number) => b.writeInt32LE(Math.round(v * 2_147_483_647), at)],
  float32: [3, 32, (b: Buffer, v: number, at: number) => b.writeFloatLE(v, at)],
  float64: [3, 64, (b: Buffer, v: number, at: number) => b.writeDoubleLE(v, at)],
  ulaw: [7, 8, (b: Buffer, v: number, at: number) => b.writeUInt8(ulaw(v), at)],
  alaw: [6, 8, (b: Buffer, v: number, at: number) => b.writeUInt8(alaw(v), at)],
} as const;
export const WAV_KINDS = Object.keys(KINDS) as (keyof typeof KINDS)[];

export const chunk = (name: string, content: Buffer, length = content.length): Buffer => {
  const head = Buffer.alloc(8);
  head.write(name, 'latin1');
  head.writeUInt32LE(length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
};
export const riff = (...chunks: readonly Buffer[]): Buffer =>
  chunk('RIFF', Buffer.concat([Buffer.from('WAVE'), ...chunks]));
export function wavFormat(tag: number, channels: number, rate: number, bits: number): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt16LE(tag, 0);
  head.writeUInt16LE(channels, 2);
  head.writeUInt32LE(rate, 4);
  head.writeUInt32LE(((rate * channels * bits) / 8) >>> 0, 8);
  head.writeUInt16LE((channels * bits) / 8, 12);
  head.writeUInt16LE(bits, 14);
  return chunk('fmt ', head);
}
/** A WAV file with a tone, or with the samples of `sample`. */
export function wav(options: WavOptions = {}): Buffer {
  const { rate = 16_000, hz = 1_000, seconds = 0.5, channels = 1, amplitude = 0.4, kind = 'pcm16' } = options;
  const tone = (i: number): number => amplitude * Math.sin((2 * Math.PI * hz * i) / rate);
  const sample = options.sample ?? tone;
  const [tag, bits, write] = KINDS[kind];
  const frames = Math.round(seconds * rate);
  const data = Buffer.alloc((frames * channels * bits) / 8);
  for (let i = 0; i < frames * channels; i++) {
    write(data, sample(Math.floor(i / channels), i % channels), (i * bits) / 8);
  }
  return riff(wavFormat(tag, channels, rate, bits), chunk('data', data));
}
/** Amplitude of one frequency in 16-bit samples; full scale is 1. */
export function levelOf(samples: Int16Array | readonly number[], hz: number, rate: number): number {
  let [re, im] = [0, 0];
  for (const [i, v] of samples.entries()) {
    re += v * Math.cos((2 * Math.PI * hz * i) / rate);
    im += v * Math.sin((2 * Math.PI * hz * i) / rate);
  }
  return (2 * Math.hypot(re, im)) / samples.length / 32_768;
}
/** The samples of a stored file. */
export const samplesOf = (kept: Buffer): Int16Array =>
  Int16Array.from({ length: (kept.length - 44) / 2 }, (_, i) => kept.readInt16LE(44 + i * 2));

const crc = (width: 8 | 16, polynomial: number, bytes: Buffer): number => {
  const top = 1 << (width - 1);
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << (width - 8);
    for (let bit = 0; bit < 8; bit++) sum = sum & top ? (sum << 1) ^ polynomial : sum << 1;
    sum &= width === 8 ? 0xff : 0xffff;
  }
  return sum;
};
/** A frame number of FLAC, encoded like UTF-8. */
const counted = (n: number): number[] =>
  n < 0x80
    ? [n]
    : n < 0x800
      ? [0xc0 | (n >> 6), 0x80 | (n & 63)]
      : n < 0x1_0000
        ? [0xe0 | (n >> 12), 0x80 | ((n >> 6) & 63), 0x80 | (n & 63)]
        : [0xf0 | (n >> 18), 0x80 | ((n >> 12) & 63), 0x80 | ((n >> 6) & 63), 0x80 | (n & 63)];
/** FLAC with 65,535 samples of silence per 14 bytes and an unknown total in its header; 48 kHz. */
export function flacSilence(frames: number): Buffer {
  const size = 65_535;
  const info = Buffer.alloc(34);
  info.writeUInt16BE(size, 0);
  info.writeUInt16BE(size, 2);
  info.writeUInt32BE(((48_000 << 12) | (15 << 4)) >>> 0, 10);
  const parts = [Buffer.from('fLaC'), Buffer.from([0x80, 0, 0, 34]), info];
  for (let n = 0; n < frames; n++) {
    const head = Buffer.from([0xff, 0xf8, 0x7a, 0x08, ...counted(n), (size - 1) >> 8, (size - 1) & 0xff]);
    const frame = Buffer.concat([head, Buffer.from([crc(8, 0x07, head), 0, 0, 0])]);
    const sum = Buffer.alloc(2);
    sum.writeUInt16BE(crc(16, 0x8005, frame));
    parts.push(frame, sum);
  }
  return Buffer.concat(parts);
}
/** MPEG layer III of 8 kbit/s and 8 kHz: silence, 72 bytes for each 72 ms. */
export function mp3Silence(frames: number): Buffer {
  const frame = Buffer.alloc(72);
  frame.set([0xff, 0xe3, 0x18, 0xc0]);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}
