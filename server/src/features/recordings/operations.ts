import { RecordingPath, RecordingReply } from '@offhook/contract/recordings.ts';
import { NoFields } from '@offhook/contract/session.ts';
import type { AnyOperation, DefineOperation } from '../../ports/operations.ts';
import type { RecordingService } from './service.ts';

/** What is done to recordings, the same by REST and on the stream. */
export const recordingOperations = (
  define: DefineOperation,
  recordings: RecordingService,
): AnyOperation[] => [
  define({
    method: 'DELETE',
    level: 'supervisor',
    tag: 'recordings',
    action: 'recordings.delete',
    path: '/api/v1/recordings/:id',
    errors: ['invalid_request', 'not_found', 'no_audio', 'store_unavailable'],
    summary: 'Delete the sound of a recording; that it existed is kept',
    params: RecordingPath,
    body: NoFields,
    reply: RecordingReply,
    run: async (actor, { params }) => ({
      success: true,
      recording: await recordings.remove(actor, params.id),
    }),
  }),
];
