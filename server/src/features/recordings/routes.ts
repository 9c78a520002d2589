import {
  RecordingPath,
  RecordingReply,
  RecordingsQuery,
  RecordingsReply,
} from '@offhook/contract/recordings.ts';
import { z } from 'zod';
import { endedWithService } from '../../core/open-answers.ts';
import type { App } from '../../ports/http.ts';
import { answerPart } from '../../core/byte-range.ts';
import type { RecordingService } from './service.ts';

/** Reading and playing recordings. */
export function recordingRoutes(app: App, recordings: RecordingService): void {
  const tags = ['recordings'];
  const access = { level: 'user', scope: 'recordings:read' } as const;
  const success = true as const;
  const sending = endedWithService(app);
  app.get(
    '/api/v1/recordings',
    {
      config: { ...access, errors: ['invalid_request', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'Recordings, newest first; below supervisor those of the own extension or conversation',
        querystring: RecordingsQuery,
        response: { 200: RecordingsReply },
      },
    },
    async (request) => ({ success, ...(await recordings.page(request.person(), request.query)) }),
  );
  app.get(
    '/api/v1/recordings/:id',
    {
      config: { ...access, errors: ['invalid_request', 'not_found', 'store_unavailable'] },
      schema: {
        tags,
        summary: 'One recording, without its sound',
        params: RecordingPath,
        response: { 200: RecordingReply },
      },
    },
    async (request) => ({
      success,
      recording: await recordings.one(request.person(), request.params.id),
    }),
  );
  app.get(
    '/api/v1/recordings/:id/audio',
    {
      config: {
        ...access,
        errors: [
          'invalid_request',
          'not_found',
          'no_audio',
          'range_not_satisfiable',
          'too_many_requests',
          'store_unavailable',
        ],
      },
      schema: {
        tags,
        summary:
          'The sound of a recording, whole or a part (Range); each listening stands in the audit trail',
        params: RecordingPath,
        produces: ['audio/wav'],
        response: { 200: z.string().meta({ format: 'binary' }), 206: z.string().meta({ format: 'binary' }) },
      },
    },
    async (request, reply) => {
      const audio = await recordings.audio({ caller: request.person(), ip: request.ip }, request.params.id);
      try {
        const file = { size: audio.bytes, etag: `"${audio.sha256}"` };
        const { status, start, end, headers } = answerPart(request.headers, file, (name, value) =>
          reply.header(name, value),
        );
        const playing = await audio.play();
        // Who has gone meanwhile is not told of again.
        if (reply.raw.destroyed) playing.done();
        else {
          sending(reply.raw);
          reply.raw.once('close', () => playing.done());
        }
        const stream = audio.handle.createReadStream({ start, end: Math.max(start, end) });
        return reply
          .code(status)
          .headers({
            ...headers,
            'content-type': 'audio/wav',
            'content-disposition': `attachment; filename="${audio.name}"`,
          })
          .send(
            // The schema is for the document: a stream goes out as it is.
            stream as unknown as string,
          );
      } catch (error) {
        await audio.handle.close();
        throw error;
      }
    },
  );
}
