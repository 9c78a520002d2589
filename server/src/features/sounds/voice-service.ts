/** Text to speech by an outside service that a file of the site describes; `other` speaks the remaining languages. */
import { readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { Language } from '@offhook/contract/config-fields.ts';
import type { SpokenText } from '@offhook/contract/sounds.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Guard } from '../../outbound/address-guard.ts';
import { Transport, createResolve } from '../../outbound/transport.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Speak } from '../../ports/speech.ts';

/** Largest answer: minutes of speech in any format. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const MAX_FILE_BYTES = 65_536;
const HEADER = /^[\t\x20-\x7E]{0,4096}$/;

const VoiceService = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).max(2_000),
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]{1,64}$/), z.string().regex(HEADER)).default({}),
  /** Sent as JSON; texts in it hold `{{text}}`, `{{language}}` and `{{voice}}`. */
  body: z.json(),
  /** The vendor's names for language and voices, by our language; languages that are missing here use `other`. */
  voices: z.record(
    Language,
    z.strictObject({ language: z.string().max(64), female: z.string().max(128), male: z.string().max(128) }),
  ),
  /** Field of a JSON answer that holds the sound in Base64; null if the answer itself is the sound. */
  base64: z.string().max(64).nullable().default(null),
});
type VoiceService = z.output<typeof VoiceService>;
type Json = z.output<typeof VoiceService>['body'];

/** Replaces the placeholders in all texts of a JSON value; the inserted values cannot change its structure. */
export function filled(body: Json, values: Readonly<Record<string, string>>): Json {
  if (typeof body === 'string')
    return body.replaceAll(/\{\{(text|language|voice)\}\}/g, (_all, name: string) => values[name] ?? '');
  if (Array.isArray(body)) return body.map((one) => filled(one, values));
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).map(([key, one]) => [key, filled(one, values)]));
}
const unavailable = (why: ReturnType<typeof say> | string, cause?: unknown): ServiceError =>
  new ServiceError('speech_unavailable', why, { cause });

async function read(file: string): Promise<VoiceService> {
  try {
    const text = await readFile(file, 'utf8');
    if (text.length > MAX_FILE_BYTES) throw new Error(`more than ${MAX_FILE_BYTES} bytes`);
    return VoiceService.parse(JSON.parse(text));
  } catch (error) {
    // A finding names the field and never its value, which may be the key of the service.
    const [issue] = error instanceof z.ZodError ? error.issues : [];
    if (issue === undefined) {
      const why = error instanceof SyntaxError ? 'it is not JSON' : messageOf(error);
      throw unavailable(say`the file of OFFHOOK_SPEECH cannot be used: ${why}`, error);
    }
    const field = issue.path.join('.') || (issue.code === 'unrecognized_keys' ? issue.keys.join() : '-');
    throw unavailable(say`the field ${field} in the file of OFFHOOK_SPEECH cannot be used`, error);
  }
}
/** The sound in an answer; null if there is none. */
function soundOf(body: Buffer, field: string | null): Buffer | null {
  if (field === null) return body;
  try {
    const value = (JSON.parse(body.toString('utf8')) as Record<string, unknown>)[field];
    return typeof value === 'string' ? Buffer.from(value, 'base64') : null;
  } catch {
    return null;
  }
}

/** `file` is read with each text, so that a change needs no restart. */
export function createVoiceService(deps: {
  readonly file: string;
  readonly guard: Guard;
  readonly clock: Clock;
  readonly other: Speak;
}): { readonly speak: Speak; readonly close: () => void } {
  const { file, guard, clock, other } = deps;
  const transport = new Transport({ guard, clock, resolve: createResolve() });
  const speak: Speak = async (wanted: SpokenText, to, signal) => {
    const { url, headers, body, voices, base64 } = await read(file);
    const voice = voices[wanted.language];
    if (voice === undefined) return await other(wanted, to, signal);
    const values = { text: wanted.text, language: voice.language, voice: voice[wanted.voice] };
    const result = await transport.send(
      {
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(filled(body, values)),
        max_bytes: MAX_ANSWER_BYTES,
        repeatable: false,
      },
      signal,
    );
    signal.throwIfAborted();
    if (result.status === null)
      throw unavailable(say`the voice service did not answer: ${result.error ?? 'no answer'}`);
    if (result.status !== 200)
      throw unavailable(say`the voice service refused the text with status ${result.status}`);
    const sound = result.whole ? soundOf(result.body, base64) : null;
    if (sound === null || sound.length === 0) throw unavailable('the voice service returned no usable audio');
    await writeFile(to, sound);
  };
  return { speak, close: () => transport.close() };
}
