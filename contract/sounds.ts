import { z } from 'zod';
import { Language } from './config-fields.ts';

/** A sound is identified by its content: the SHA-256 of the stored file, in lower-case hex. */
export const SoundId = z.string().regex(/^[0-9a-f]{64}$/, 'must be the id of a sound');
export const SoundPath = z.strictObject({ sound: SoundId });

/** Detected format of an upload. */
export const SoundFormat = z.enum(['wav', 'mp3', 'flac', 'ogg_opus', 'ogg_vorbis']);
export type SoundFormat = z.infer<typeof SoundFormat>;

/** The kind limits the duration: a prompt 10 minutes, music on hold 60. */
export const SoundKind = z.enum(['prompt', 'music_class']);
export type SoundKind = z.infer<typeof SoundKind>;
export const SoundUploadQuery = z.strictObject({ kind: SoundKind.default('prompt') });

/** Languages with prompts of the engine; sets of others are uploaded. */
export const ENGINE_LANGUAGES = ['en', 'es', 'fr', 'it', 'ru'] as const;
export const PROMPT_NAME = /^(?:[A-Za-z0-9][A-Za-z0-9_-]{0,63}\/){0,2}[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const PromptName = z.string().regex(PROMPT_NAME, 'must be the name of a prompt');
export const LanguagePath = z.strictObject({ language: Language });
export const LanguageUploadQuery = z.strictObject({
  prompt: PromptName.optional().describe(
    'Name of one prompt such as `vm-goodbye` or `digits/1`, of which the body is the sound. Without it the body is an archive.',
  ),
});
/** Prompts of the engine in one language. */
export const PromptLanguage = z
  .object({
    language: Language,
    uploaded: z.boolean().describe('False: the engine has the prompts.'),
    prompts: z.int().describe('Number of uploaded prompts.'),
    bytes: z.int(),
    used: z.boolean().describe('By the draft or the applied configuration.'),
    missing: z
      .array(z.string())
      .describe(
        'Prompts that the applied configuration can play and that the language lacks; they are heard in English. Empty while there is no engine.',
      ),
  })
  .meta({ id: 'PromptLanguage' });
export type PromptLanguage = z.infer<typeof PromptLanguage>;
export const LanguagesReply = z.object({
  success: z.literal(true),
  languages: z
    .array(PromptLanguage)
    .describe('Uploaded ones, and those that are used, in order of language.'),
});
export type LanguagesReply = z.infer<typeof LanguagesReply>;
export const LanguageUploaded = z.object({
  success: z.literal(true),
  prompts: z.int().describe('Number of prompts of the upload.'),
  ignored: z.int().describe('Number of files of the archive that are no prompts.'),
});
export type LanguageUploaded = z.infer<typeof LanguageUploaded>;

/** Largest text of a spoken prompt: about a minute and a half. */
const MOST_SPOKEN = 1_000;
export const SpokenText = z.strictObject({
  text: z
    .string()
    .trim()
    .min(1)
    .max(MOST_SPOKEN)
    .regex(
      /^(?:[^\p{Cc}]|[\n\r\t])*$/u,
      'must not contain control characters other than line breaks and tabs',
    )
    .regex(/[\p{L}\p{N}]/u, 'must be a text that can be spoken')
    .describe('What the voice says, as plain text; markup is not interpreted.'),
  language: Language,
  voice: z.enum(['female', 'male']).default('female'),
});
export type SpokenText = z.infer<typeof SpokenText>;

export const UploadedSound = z
  .object({
    success: z.literal(true),
    sound: SoundId,
    seconds: z.number(),
    format: SoundFormat,
    sample_rate: z.int().describe('Of the upload, samples per second.'),
    bytes: z.int().describe('Of the stored file: WAV, mono, 16 bit, 16 kHz.'),
  })
  .meta({ id: 'UploadedSound' });
export type UploadedSound = z.infer<typeof UploadedSound>;

export const Sound = z
  .object({
    sound: SoundId,
    seconds: z.number(),
    bytes: z.int(),
    used: z.boolean().describe('By the draft or any version of the configuration.'),
    expires_at: z
      .string()
      .nullable()
      .describe('Time of its deletion unless it is used before; null while it is used.'),
  })
  .meta({ id: 'Sound' });
export type Sound = z.infer<typeof Sound>;
export const SoundsReply = z.object({
  success: z.literal(true),
  sounds: z.array(Sound).describe('The uploaded ones, in order of id.'),
  bytes: z.int().describe('Of all of them together.'),
  bytes_at_most: z.int(),
  built_in: z.array(z.string()).describe("Names of the engine's own sounds."),
});
export type SoundsReply = z.infer<typeof SoundsReply>;
