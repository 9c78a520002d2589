import { createHash } from 'node:crypto';
import { closeSync, fchmodSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import type { SoundFormat } from '@offhook/contract/sounds.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { readFlac } from './formats/flac.ts';
import { looksLikeMp3, readMp3 } from './formats/mp3.ts';
import { readOgg } from './formats/ogg.ts';
import { notAudio } from './formats/source.ts';
import type { Source } from './formats/source.ts';
import { readWav } from './formats/wav.ts';
import { createResampler } from './resample.ts';

/** Sample rate of stored sounds: mono, 16 bit. */
export const KEPT_RATE = 16_000;
export const HEAD_BYTES = 44;
const LOUDEST = 32_767;
/** Limit of samples, where full scale is 1; larger floats are faulty data. */
const ABSURD = 16;
const SHORTEST_SECONDS = 0.02;

/** Detects the format from the content. Throws `not_audio`. */
function readSource(bytes: Uint8Array): Source {
  const word = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  if (bytes.length === 0) throw notAudio('the file is empty');
  if (word === 'RIFF') return readWav(bytes);
  if (word === 'fLaC') return readFlac(bytes);
  if (word === 'OggS') return readOgg(bytes);
  if (looksLikeMp3(bytes)) return readMp3(bytes);
  throw notAudio('the file must be WAV, MP3, FLAC, Ogg Opus or Ogg Vorbis');
}

export interface Converted {
  /** Hash of the stored file in lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
  readonly seconds: number;
  readonly format: SoundFormat;
  /** Rate of the upload. */
  readonly sample_rate: number;
}

/** WAV header of a stored file with `samples` samples. */
function wavHead(samples: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(HEAD_BYTES - 8 + samples * 2, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(KEPT_RATE, 24);
  head.writeUInt32LE(KEPT_RATE * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples * 2, 40);
  return head;
}
const checkLength = (seconds: number, most: number): void => {
  if (seconds <= most) return;
  throw new ServiceError(
    'sound_too_long',
    say`the audio must last at most ${most} seconds for this kind of sound`,
  );
};
function mono(channels: readonly Float32Array[]): Float32Array {
  const [left = new Float32Array(), right] = channels;
  const mixed = right === undefined ? left : left.map((value, i) => (value + right[i]!) / 2);
  for (const value of mixed) {
    // Negated, so that NaN is rejected, too.
    if (!(Math.abs(value) <= ABSURD)) throw notAudio('the audio has samples outside the valid range');
  }
  return mixed;
}
/** Decodes the whole sound once; returns the number of samples and the peak before `gain`. */
async function run(source: Source, most: number, gain: number, write: (pcm: Buffer) => void) {
  const resampler = createResampler(source.sample_rate, KEPT_RATE);
  let [taken, samples, peak] = [0, 0, 0];
  const put = (values: Float32Array): void => {
    const pcm = Buffer.alloc(values.length * 2);
    for (let i = 0; i < values.length; i++) {
      const value = values[i]! * 32_768;
      peak = Math.max(peak, Math.abs(value));
      pcm.writeInt16LE(Math.max(-32_768, Math.min(LOUDEST, Math.round(value * gain))), i * 2);
    }
    samples += values.length;
    write(pcm);
  };
  for await (const channels of source.blocks()) {
    taken += channels[0]?.length ?? 0;
    checkLength(taken / source.sample_rate, most);
    put(resampler.push(mono(channels)));
  }
  put(resampler.flush());
  return { samples, peak };
}

/**
 * Converts the sound in `bytes` into a new file `to` (0640, flushed): mono, 16 bit, 16 kHz. A sound above full scale is
 * attenuated as a whole, never clipped. Blocks its thread. Throws `not_audio`, `sound_too_long` or errors of the file
 * system; `to` may then exist and is invalid.
 */
export async function convert(bytes: Uint8Array, to: string, mostSeconds: number): Promise<Converted> {
  const source = readSource(bytes);
  if (source.seconds !== null) checkLength(source.seconds, mostSeconds);
  const file = openSync(to, 'wx', 0o640);
  try {
    fchmodSync(file, 0o640);
    const pass = (gain: number) => {
      let at = HEAD_BYTES;
      return run(source, mostSeconds, gain, (pcm) => {
        // A full disk may accept a part of a write before it fails.
        for (let done = 0; done < pcm.length;)
          done += writeSync(file, pcm, done, pcm.length - done, at + done);
        at += pcm.length;
      });
    };
    const first = await pass(1);
    const { samples } = first.peak > LOUDEST + 1 ? await pass(LOUDEST / first.peak) : first;
    if (samples < SHORTEST_SECONDS * KEPT_RATE) throw notAudio('the file has no audio');
    writeSync(file, wavHead(samples), 0, HEAD_BYTES, 0);
    fsyncSync(file);
    return {
      sha256: hashOf(to),
      bytes: HEAD_BYTES + samples * 2,
      seconds: samples / KEPT_RATE,
      format: source.format,
      sample_rate: source.sample_rate,
    };
  } finally {
    closeSync(file);
  }
}
function hashOf(name: string): string {
  const file = openSync(name, 'r');
  try {
    const hash = createHash('sha256');
    const piece = Buffer.alloc(1_048_576);
    for (let read = readSync(file, piece); read > 0; read = readSync(file, piece)) {
      hash.update(piece.subarray(0, read));
    }
    return hash.digest('hex');
  } finally {
    closeSync(file);
  }
}
