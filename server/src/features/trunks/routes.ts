import { TrunksReply } from '@offhook/contract/trunks.ts';
import type { App } from '../../ports/http.ts';
import { trunkStates } from './service.ts';
import type { TrunkDeps } from './service.ts';

/** How the connections to the outside are, from memory. */
export function trunkRoutes(app: App, deps: TrunkDeps): void {
  app.get(
    '/api/v1/trunks',
    {
      config: { level: 'supervisor', scope: 'system:read' },
      schema: { tags: ['trunks'], summary: 'Trunks, as they are now', response: { 200: TrunksReply } },
    },
    () => ({ success: true as const, trunks: trunkStates(deps) }),
  );
}
