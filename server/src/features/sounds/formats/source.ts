import type { SoundFormat } from '@offhook/contract/sounds.ts';
import { ServiceError } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import type { Said } from '../../../core/said.ts';

/** An uploaded sound; its format was detected from the content. Nothing is decoded before `blocks` is read. */
export interface Source {
  readonly format: SoundFormat;
  readonly sample_rate: number;
  readonly channels: number;
  /** Length by the file's header, in seconds; null if only decoding shows it. */
  readonly seconds: number | null;
  /** The samples of each channel, full scale is 1; can be read more than once. Throws `not_audio`. */
  blocks(): AsyncIterable<readonly Float32Array[]> | Iterable<readonly Float32Array[]>;
}

export const notAudio = (detail: Said | string): ServiceError => new ServiceError('not_audio', detail);

const RATES = { min: 6_000, max: 192_000 } as const;
/** Throws `not_audio` for a rate or channel count out of range, before buffers are allocated by it. */
export function checkShape(format: string, sampleRate: number, channels: number): void {
  if (!Number.isInteger(sampleRate) || sampleRate < RATES.min || sampleRate > RATES.max) {
    throw notAudio(say`${format}: the sample rate ${sampleRate} must be from ${RATES.min} to ${RATES.max}`);
  }
  if (channels !== 1 && channels !== 2) {
    throw notAudio(say`${format}: ${channels} channels; the audio must be mono or stereo`);
  }
}
