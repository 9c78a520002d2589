import { recordings as operations } from '@offhook/contract/operations/recordings.ts';
import { answerPart } from '../../core/byte-range.ts';
import { endedWithService } from '../../core/open-answers.ts';
import type { App } from '../../ports/http.ts';
import type { Served } from '../../ports/operations.ts';
import type { RecordingService } from './service.ts';

/** Reading, playing and deleting recordings. */
export function recordingOperations(recordings: RecordingService, app: App): Served<typeof operations> {
  const sending = endedWithService(app);
  return {
    operations,
    handlers: {
      list: ({ caller }, { query }) => recordings.page(caller, query),
      get: async ({ caller }, { params }) => ({ recording: await recordings.one(caller, params.id) }),
      async audio({ caller, ip, request, reply }, { params }) {
        const audio = await recordings.audio({ caller, ip }, params.id);
        try {
          const file = { size: audio.bytes, etag: `"${audio.sha256}"` };
          const { status, start, end, headers } = answerPart(request.headers, file, (name, value) =>
            reply.header(name, value),
          );
          const playing = await audio.play();
          // A client that disconnected meanwhile emits no second `close`.
          if (reply.raw.destroyed) playing.done();
          else {
            sending(reply.raw);
            reply.raw.once('close', () => playing.done());
          }
          return reply
            .code(status)
            .headers({
              ...headers,
              'content-type': 'audio/wav',
              'content-disposition': `attachment; filename="${audio.name}"`,
            })
            .send(audio.handle.createReadStream({ start, end: Math.max(start, end) }));
        } catch (error) {
          await audio.handle.close();
          throw error;
        }
      },
      remove: async (actor, { params }) => ({ recording: await recordings.remove(actor, params.id) }),
    },
  };
}
