import type { SpokenText } from '@offhook/contract/sounds.ts';

/**
 * Writes a text as WAV to a file. Throws `invalid_request` where its language has no voice, `sound_too_long`, and
 * `speech_unavailable`; the file may then be incomplete. The signal's reason when aborted.
 */
export type Speak = (wanted: SpokenText, to: string, signal: AbortSignal) => Promise<void>;
