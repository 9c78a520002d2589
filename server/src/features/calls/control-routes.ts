import { CallPath, TransferReply } from '@offhook/contract/call-control.ts';
import { CallSettingsReply } from '@offhook/contract/call-settings.ts';
import { ServiceError } from '../../core/errors.ts';
import type { App } from '../../ports/http.ts';
import type { CallControlFeature } from './feature.ts';

/** What call control shows: an attended transfer, and what calls from the API may cost. */
export function callControlRoutes(app: App, calls: CallControlFeature): void {
  app.get(
    '/api/v1/calls/:id/transfer',
    {
      config: { level: 'user', scope: 'calls:control', errors: ['invalid_request', 'not_found'] },
      schema: {
        tags: ['calls'],
        summary: 'The newest attended transfer of a call',
        params: CallPath,
        response: { 200: TransferReply },
      },
    },
    (request) => ({
      success: true as const,
      transfer: calls.transferOf({ caller: request.person(), ip: request.ip }, request.params.id),
    }),
  );
  app.get(
    '/api/v1/settings/calls',
    {
      config: { level: 'admin', scope: 'config:read' },
      schema: {
        tags: ['calls'],
        summary: 'Who may call what from the API, and how often',
        response: { 200: CallSettingsReply },
      },
    },
    (request) => {
      const { key } = request.person();
      if (key !== null && (key.queues !== null || key.extensions !== null))
        throw new ServiceError('forbidden', 'this API key is limited to some queues or extensions');
      return { success: true as const, settings: calls.settings() };
    },
  );
}
