import { z } from 'zod';

/** A sound is identified by its content: the SHA-256 of the stored file, in lower-case hex. */
export const SoundId = z.string().regex(/^[0-9a-f]{64}$/, 'not the id of a sound');
export const SoundPath = z.strictObject({ sound: SoundId });

/** Detected format of an upload. */
export const SoundFormat = z.enum(['wav', 'mp3', 'flac', 'ogg_opus', 'ogg_vorbis']);
export type SoundFormat = z.infer<typeof SoundFormat>;

/** The kind limits the duration: a prompt 10 minutes, music on hold 60. */
export const SoundKind = z.enum(['prompt', 'music_class']);
export type SoundKind = z.infer<typeof SoundKind>;
export const SoundUploadQuery = z.strictObject({ kind: SoundKind.default('prompt') });

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
