import { Done, NoFields } from '@offhook/contract/session.ts';
import { SoundPath } from '@offhook/contract/sounds.ts';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { Sounds } from './service.ts';

/** What changes sounds and is no upload. */
export function soundOperations(define: DefineOperation, sounds: Sounds): AnyOperation[] {
  return [
    define({
      action: 'sounds.remove',
      method: 'DELETE',
      path: '/api/v1/config/sounds/:sound',
      level: 'admin',
      tag: 'config',
      errors: ['invalid_request', 'not_found', 'in_use', 'store_unavailable'],
      summary: 'Delete an uploaded sound that nothing uses',
      params: SoundPath,
      body: NoFields,
      reply: Done,
      async run(actor, { params }) {
        await sounds.remove(actor, params.sound);
        return { success: true as const };
      },
    }),
  ];
}
