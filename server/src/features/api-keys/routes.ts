import { ApiKeyId, ApiKeyReply, ApiKeys as ApiKeysReply } from '@offhook/contract/keys.ts';
import type { App } from '../../ports/http.ts';
import type { ApiKeys } from './service.ts';

/** Reading API keys, for administrators (wire.md section 2). */
export function apiKeyRoutes(app: App, keys: ApiKeys): void {
  const tags = ['api-keys'];
  app.get(
    '/api/v1/api-keys',
    {
      config: { level: 'admin' },
      schema: { tags, summary: 'The API keys of this site', response: { 200: ApiKeysReply } },
    },
    () => ({ success: true as const, api_keys: keys.list() }),
  );
  app.get(
    '/api/v1/api-keys/:id',
    {
      config: { level: 'admin', errors: ['invalid_request', 'not_found'] },
      schema: { tags, summary: 'One API key', params: ApiKeyId, response: { 200: ApiKeyReply } },
    },
    (request) => ({ success: true as const, api_key: keys.one(Number(request.params.id)) }),
  );
}
