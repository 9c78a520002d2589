/** Checks and names of uploaded prompt files, which the engine plays as they are. */
import { PROMPT_NAME } from '@offhook/contract/sounds.ts';
import { notAudio } from './formats/source.ts';
import { say } from '../../core/said.ts';
import { readWav } from './formats/wav.ts';

/** Endings under which the engine finds a prompt. */
export const ENDINGS = ['wav16', 'wav', 'gsm'] as const;
type Ending = (typeof ENDINGS)[number];

const GSM_FRAME = 33;
const isGsm = (bytes: Buffer): boolean =>
  bytes.length > 0 &&
  bytes.length % GSM_FRAME === 0 &&
  bytes.every((byte, at) => at % GSM_FRAME !== 0 || byte >>> 4 === 0xd);

/** Ending under which the engine plays these bytes. Throws `not_audio`. */
export function endingOf(name: string, bytes: Buffer): Ending {
  if (name.endsWith('.gsm')) {
    if (isGsm(bytes)) return 'gsm';
    throw notAudio(say`${name}: must be GSM of 8 kHz`);
  }
  if (bytes.toString('latin1', 0, 4) === 'RIFF') {
    const { channels, sample_rate, plain } = readWav(bytes);
    if (plain && channels === 1 && sample_rate === 8_000) return 'wav';
    if (plain && channels === 1 && sample_rate === 16_000) return 'wav16';
  }
  throw notAudio(say`${name}: must be WAV of 8 or 16 kHz, mono, 16 bit`);
}
/**
 * Name of the prompt in a file of an archive, without the ending and without the folder of the language; null for other
 * files, such as a licence.
 */
export function promptOf(path: string, language: string): string | null {
  const [, named = ''] = /^(.+)\.(?:wav|wav16|gsm)$/.exec(path) ?? [];
  const parts = named.split('/');
  if (parts[0] === language || parts[0]!.startsWith(`${language}_`)) parts.shift();
  const name = parts.join('/');
  return PROMPT_NAME.test(name) ? name : null;
}
