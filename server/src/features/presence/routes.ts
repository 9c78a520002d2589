import { z } from 'zod';
import { PresenceChange, PresenceReply } from '@offhook/contract/presence.ts';
import type { App } from '../../ports/http.ts';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { PresenceService } from './service.ts';

const tag = 'presence';
const PATH = '/api/v1/presence';
const success = true as const;

/** GET /api/v1/presence. */
export function presenceRoutes(app: App, service: PresenceService): void {
  app.get(
    PATH,
    {
      config: { level: 'user', errors: ['forbidden'] },
      schema: {
        tags: [tag],
        summary: 'What the caller says of itself: a word, a note, and until when',
        response: { 200: PresenceReply },
      },
    },
    (request) => ({ success, presence: service.read(request.person()) }),
  );
}

/** Saying something else, the same by REST and on the stream. */
export const presenceOperations = (define: DefineOperation, service: PresenceService): AnyOperation[] => [
  define({
    action: 'presence.set',
    method: 'PUT',
    path: PATH,
    level: 'user',
    paced: 'own',
    tag,
    errors: [
      'invalid_request',
      'forbidden',
      'too_many_requests',
      'engine_refused',
      'engine_unavailable',
      'store_unavailable',
      'overloaded',
      'engine_timeout',
    ],
    summary: 'Say something else of oneself; everybody sees it at once, and no longer than it holds',
    params: z.strictObject({}),
    body: PresenceChange,
    reply: PresenceReply,
    run: async (actor, { body }) => ({ success, presence: await service.change(actor, body) }),
  }),
];
