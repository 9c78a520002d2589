/** Text to speech by eSpeak NG from Debian's packages, got with the first text. */
import path from 'node:path';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import type { Speak } from '../../../ports/speech.ts';
import { run } from '../provision/run.ts';
import type { UnpackedPackages } from '../provision/tree.ts';

const PACKAGE = 'espeak-ng';
/** A request waits this long for the packages, 22 MB. */
const GET_MS = 120_000;
/** A text of the largest size takes less than a second. */
const SPEAK_MS = 30_000;
const VARIANTS = { female: 'f2', male: 'm3' } as const;

/** `obtain` gets Debian packages; rejects where they cannot be had. */
export function createSpeak(
  obtain: (packages: readonly string[], signal?: AbortSignal) => Promise<UnpackedPackages>,
): Speak {
  async function packages(signal: AbortSignal): Promise<UnpackedPackages> {
    try {
      return await obtain([PACKAGE], AbortSignal.any([signal, AbortSignal.timeout(GET_MS)]));
    } catch (error) {
      signal.throwIfAborted();
      const why = say`the speech program could not be downloaded: ${messageOf(error)}`;
      throw new ServiceError('speech_unavailable', why, { cause: error });
    }
  }
  return async ({ text, language, voice }, to, signal) => {
    const tree = await packages(signal);
    const spoken = `${language.replace('_', '-').toLowerCase()}+${VARIANTS[voice]}`;
    const data = path.join(tree.root, 'usr', 'lib', tree.triplet);
    // The text comes by stdin, where nothing of it can be an option. Its bytes are UTF-8 (`-b 1`); without `-D` the same text
    // differs in the noise of its consonants, and would be another sound each time.
    const { code, stderr, timed_out } = await run(
      [
        ...tree.command('usr/bin/espeak-ng'),
        `--path=${data}`,
        '-v',
        spoken,
        '-D',
        '-b',
        '1',
        '--stdin',
        '-w',
        to,
      ],
      { input: text, env: { LANG: 'C.UTF-8' }, signal, timeout_ms: SPEAK_MS },
    );
    if (timed_out) throw new ServiceError('sound_too_long', 'the spoken text is too long; shorten it');
    if (code === 0) return;
    if (stderr.includes('voice does not exist'))
      throw new ServiceError('invalid_request', say`there is no voice for the language ${language}`);
    throw new ServiceError('speech_unavailable', 'the speech program failed', {
      cause: new Error(stderr.slice(-500)),
    });
  };
}
