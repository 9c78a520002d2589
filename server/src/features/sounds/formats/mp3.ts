import { say } from '../../../core/said.ts';
import { MPEGDecoder } from 'mpg123-decoder';
import { checkShape, notAudio } from './source.ts';
import type { Source } from './source.ts';

/** Kilobits per second of layer III: MPEG 1, and MPEG 2 with 2.5. */
const BITRATES = [
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const RATES: Readonly<Record<number, readonly number[]>> = {
  3: [44_100, 48_000, 32_000],
  2: [22_050, 24_000, 16_000],
  0: [11_025, 12_000, 8_000],
};
const MAX_TAGS = 4;
/** Two frames may follow each other by chance. */
const FEWEST_FRAMES = 3;
const BITE = 16_384;

interface Frame {
  readonly length: number;
  readonly samples: number;
  readonly sample_rate: number;
  readonly channels: number;
}
function frameAt(bytes: Uint8Array, at: number): Frame | null {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(at, at + 4);
  if (a !== 0xff || (b & 0xe6) !== 0xe2) return null;
  const version = (b >> 3) & 3;
  const sample_rate = RATES[version]?.[(c >> 2) & 3];
  const rate = BITRATES[version === 3 ? 0 : 1][(c >> 4) - 1];
  if (sample_rate === undefined || rate === undefined) return null;
  const samples = version === 3 ? 1_152 : 576;
  const length = Math.floor((samples * rate * 125) / sample_rate) + ((c >> 1) & 1);
  return { length, samples, sample_rate, channels: d >> 6 === 3 ? 1 : 2 };
}
const startsWith = (bytes: Uint8Array, at: number, word: string): boolean =>
  Buffer.from(bytes.subarray(at, at + word.length)).toString('latin1') === word;

/** Position of the first frame, after leading tags. */
function afterTags(bytes: Uint8Array): number {
  let at = 0;
  for (let tags = 0; startsWith(bytes, at, 'ID3') && tags < MAX_TAGS; tags++) {
    const [flags = 0, ...size] = bytes.subarray(at + 5, at + 10);
    if (size.length < 4 || size.some((byte) => byte > 127)) throw notAudio('MP3: the tag is damaged');
    at += 10 + size.reduce((sum, byte) => sum * 128 + byte, 0) + (flags & 0x10 ? 10 : 0);
  }
  while (at < bytes.length && bytes[at] === 0) at++;
  return at;
}
/** True for valid data after the last frame: tags, or only zeros. */
function isTail(bytes: Uint8Array, at: number): boolean {
  if (startsWith(bytes, at, 'TAG')) return bytes.length - at === 128;
  if (startsWith(bytes, at, 'APETAGEX') || startsWith(bytes, at, 'LYRICSBEGIN')) return true;
  return bytes.subarray(at).every((byte) => byte === 0);
}

/** True for a leading tag or two consecutive frames. */
export function looksLikeMp3(bytes: Uint8Array): boolean {
  if (startsWith(bytes, 0, 'ID3')) return true;
  const first = frameAt(bytes, 0);
  return first !== null && frameAt(bytes, first.length) !== null;
}
/** MPEG layer III, frame by frame without a gap, so that the length is known before decoding. Throws `not_audio`. */
export function readMp3(bytes: Uint8Array): Source {
  const start = afterTags(bytes);
  const first = frameAt(bytes, start);
  if (first === null) throw notAudio('MP3: no audio follows the tags');
  let [at, frames, samples] = [start, 0, 0];
  while (at < bytes.length) {
    const frame = frameAt(bytes, at);
    if (frame === null) {
      if (isTail(bytes, at)) break;
      throw notAudio(say`MP3: the data at byte ${at} is not an audio frame`);
    }
    if (frame.sample_rate !== first.sample_rate || frame.channels !== first.channels) {
      throw notAudio('MP3: the sample rate or number of channels changes within the file');
    }
    if (at + frame.length > bytes.length) throw notAudio('MP3: the file ends within a frame');
    at += frame.length;
    frames++;
    samples += frame.samples;
  }
  if (frames < FEWEST_FRAMES) throw notAudio('MP3: the file has too little audio');
  const { sample_rate, channels } = first;
  checkShape('MP3', sample_rate, channels);
  return {
    format: 'mp3',
    sample_rate,
    channels,
    seconds: samples / sample_rate,
    async *blocks() {
      const decoder = new MPEGDecoder();
      await decoder.ready;
      for (let from = start; from < at; from += BITE) {
        const decoded = decoder.decode(bytes.subarray(from, Math.min(from + BITE, at)));
        const [error] = decoded.errors;
        if (error !== undefined) throw notAudio(say`MP3: ${error.message.slice(0, 100)}`);
        if (decoded.samplesDecoded > 0) yield decoded.channelData;
      }
      decoder.free();
    },
  };
}
