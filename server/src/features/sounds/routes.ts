import type { Readable } from 'node:stream';
import { SoundPath, SoundUploadQuery, SoundsReply, UploadedSound } from '@offhook/contract/sounds.ts';
import { z } from 'zod';
import { answerPart } from '../../core/byte-range.ts';
import { endedWithService } from '../../core/open-answers.ts';
import type { App } from '../../ports/http.ts';
import { MAX_UPLOAD } from './service.ts';
import type { Sounds } from './service.ts';

/** Taking sounds in, and listening to them. For administrators in person: no API key changes what callers hear. */
export function soundRoutes(app: App, sounds: Sounds): void {
  const tags = ['config'];
  const level = 'admin' as const;
  const sending = endedWithService(app);
  app.get(
    '/api/v1/config/sounds',
    {
      config: { level },
      schema: {
        tags,
        summary: "Uploaded sounds, and the names of the engine's own",
        response: { 200: SoundsReply },
      },
    },
    () => sounds.list(),
  );
  app.post(
    '/api/v1/config/sounds',
    {
      config: {
        level,
        body: 'audio',
        bodyBytes: MAX_UPLOAD,
        errors: ['sound_too_long', 'not_audio', 'overloaded', 'storage_full', 'store_unavailable'],
      },
      schema: {
        tags,
        summary:
          'Upload a sound: WAV, MP3, FLAC, Ogg Opus or Ogg Vorbis, known by its content; the body is the file itself',
        querystring: SoundUploadQuery,
        response: { 201: UploadedSound },
      },
    },
    async (request, reply) => {
      const actor = { caller: request.person(), ip: request.ip };
      const body = (request.body ?? null) as Readable | null;
      return reply.code(201).send(await sounds.upload(actor, request.query.kind, body));
    },
  );
  app.get(
    '/api/v1/config/sounds/:sound',
    {
      config: { level, errors: ['invalid_request', 'not_found', 'range_not_satisfiable'] },
      schema: {
        tags,
        summary: 'An uploaded sound as it is kept, whole or a part (Range)',
        params: SoundPath,
        produces: ['audio/wav'],
        response: { 200: z.string().meta({ format: 'binary' }), 206: z.string().meta({ format: 'binary' }) },
      },
    },
    async (request, reply) => {
      const { sound } = request.params;
      const file = await sounds.open(sound);
      try {
        const { status, start, end, headers } = answerPart(
          request.headers,
          { size: file.bytes, etag: `"${sound}"` },
          (name, value) => reply.header(name, value),
        );
        sending(reply.raw);
        return reply
          .code(status)
          .headers({ ...headers, 'content-type': 'audio/wav' })
          .send(
            // The schema is for the document: a stream goes out as it is.
            file.handle.createReadStream({ start, end }) as unknown as string,
          );
      } catch (error) {
        await file.handle.close();
        throw error;
      }
    },
  );
}
