import type { Readable } from 'node:stream';
import { sounds as operations } from '@offhook/contract/operations/sounds.ts';
import { answerPart } from '../../core/byte-range.ts';
import { endedWithService } from '../../core/open-answers.ts';
import type { App } from '../../ports/http.ts';
import type { Served } from '../../ports/operations.ts';
import type { LanguageSets } from './language-sets.ts';
import type { Sounds } from './service.ts';

/** Uploads and playback of sounds. For administrators in person: no API key may change what callers hear. */
export function soundOperations(sounds: Sounds, sets: LanguageSets, app: App): Served<typeof operations> {
  const sending = endedWithService(app);
  return {
    operations,
    handlers: {
      list: () => sounds.list(),
      upload: ({ caller, ip, request }, { query }) =>
        sounds.upload({ caller, ip }, query.kind, (request.body ?? null) as Readable | null),
      speak: ({ caller, ip }, { body }) => sounds.speak({ caller, ip }, body),
      async file({ request, reply }, { params: { sound } }) {
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
            .send(file.handle.createReadStream({ start, end }));
        } catch (error) {
          await file.handle.close();
          throw error;
        }
      },
      languages: () => sets.list(),
      uploadLanguage: ({ caller, ip, request }, { params, query }) =>
        sets.upload({ caller, ip }, params.language, query.prompt, (request.body ?? null) as Readable | null),
      removeLanguage: (actor, { params }) => sets.remove(actor, params.language),
      remove: (actor, { params }) => sounds.remove(actor, params.sound),
    },
  };
}
