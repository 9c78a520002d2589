import { readFlac } from './flac.ts';
import { looksLikeMp3, readMp3 } from './mp3.ts';
import { readOgg } from './ogg.ts';
import { notAudio } from './source.ts';
import type { Source } from './source.ts';
import { readWav } from './wav.ts';

/** Detects the format from the content. Throws `not_audio`. */
export function readSource(bytes: Uint8Array): Source {
  const word = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  if (bytes.length === 0) throw notAudio('there is nothing in it');
  if (word === 'RIFF') return readWav(bytes);
  if (word === 'fLaC') return readFlac(bytes);
  if (word === 'OggS') return readOgg(bytes);
  if (looksLikeMp3(bytes)) return readMp3(bytes);
  throw notAudio('this is none of WAV, MP3, FLAC, Ogg Opus and Ogg Vorbis');
}
