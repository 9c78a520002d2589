import { FeaturesChange, FeaturesPath, FeaturesReply, FeaturesRequest } from '@offhook/contract/features.ts';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { ServiceError } from '../../core/errors.ts';
import type { App } from '../../ports/http.ts';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { SelfService } from './service.ts';

const ERRORS: readonly ErrorCode[] = [
  'invalid_request',
  'not_found',
  'forbidden',
  'destination_not_allowed',
  'no_route',
  'too_many_requests',
  'engine_refused',
  'engine_unavailable',
  'store_unavailable',
  'overloaded',
  'engine_timeout',
];
const tags = ['features'];
const success = true as const;
const PATH = '/api/mobile/features.php';
const SAVED = 'Your settings are saved.';

/** A form has only texts; in JSON a text is not a truth value. */
function changeOf(body: FeaturesRequest, json: boolean): FeaturesChange {
  const { dnd_enabled: dnd, ...rest } = body;
  if (dnd === undefined) return rest;
  if (json && typeof dnd !== 'boolean') {
    throw new ServiceError('invalid_request', 'dnd_enabled: expected true or false');
  }
  return { ...rest, dnd_enabled: dnd === true || dnd === 'true' || dnd === '1' };
}

/** GET and POST /api/mobile/features.php, and reading somebody's features. */
export function selfServiceRoutes(app: App, service: SelfService): void {
  app.get(
    PATH,
    {
      config: { level: 'user', errors: ['not_found', 'forbidden'] },
      schema: {
        tags,
        summary: 'What the caller has set for its own calls',
        response: { 200: FeaturesReply },
      },
    },
    (request) => {
      const who = request.person();
      return { success, features: service.read(who, who.extension) };
    },
  );
  app.post(
    PATH,
    {
      config: { level: 'user', body: 'form', errors: ERRORS },
      schema: {
        tags,
        summary: 'Do not disturb, forwards and which devices ring, for the own calls; at once',
        body: FeaturesRequest,
        response: { 200: FeaturesReply },
      },
    },
    async (request) => {
      const caller = request.person();
      const json = /^application\/json/i.test(request.headers['content-type'] ?? '');
      const change = changeOf(request.body, json);
      app.pace(caller, 'own');
      const features = await app.bounded(caller, () =>
        service.change({ caller, ip: request.ip }, caller.extension, change),
      );
      return { success, message: SAVED, features };
    },
  );
  app.get(
    '/api/v1/extensions/:extension/features',
    {
      config: { level: 'user', errors: ['invalid_request', 'not_found', 'forbidden'] },
      schema: {
        tags,
        summary: 'What an extension has set for its own calls; others than the own for supervisors',
        params: FeaturesPath,
        response: { 200: FeaturesReply },
      },
    },
    (request) => ({ success, features: service.read(request.person(), request.params.extension) }),
  );
}

/** Changing them, the same by REST and on the stream. */
export const selfServiceOperations = (define: DefineOperation, service: SelfService): AnyOperation[] => [
  define({
    action: 'features.set',
    own: true,
    method: 'PUT',
    path: '/api/v1/extensions/:extension/features',
    level: 'user',
    paced: 'any',
    tag: 'features',
    errors: ERRORS,
    summary:
      'Change what an extension has set for its own calls; others than the own for supervisors, audited',
    params: FeaturesPath,
    body: FeaturesChange,
    reply: FeaturesReply,
    run: async (actor, { params, body }) => ({
      success,
      message: SAVED,
      features: await service.change(actor, params.extension, body),
    }),
  }),
];
