import { z } from 'zod';
import { RecordingPath, RecordingReply, RecordingsQuery, RecordingsReply } from '../recordings.ts';
import type { ErrorCode } from '../errors.ts';
import { area } from '../operation.ts';

const ERRORS = ['invalid_request', 'not_found', 'store_unavailable'] as const satisfies readonly ErrorCode[];

export const recordings = area('recordings', {
  list: {
    method: 'GET',
    path: '/api/v1/recordings',
    level: 'user',
    scope: 'recordings:read',
    query: RecordingsQuery,
    reply: RecordingsReply,
    errors: ['invalid_request', 'store_unavailable'],
    summary:
      'Recordings, newest first; below supervisor those of the own extension or of a conversation in which it talked',
  },
  get: {
    method: 'GET',
    path: '/api/v1/recordings/:id',
    level: 'user',
    scope: 'recordings:read',
    params: RecordingPath,
    reply: RecordingReply,
    errors: ERRORS,
    summary: 'One recording, without its audio',
  },
  audio: {
    method: 'GET',
    path: '/api/v1/recordings/:id/audio',
    audit: 'recordings.play',
    level: 'user',
    scope: 'recordings:read',
    params: RecordingPath,
    reply: z.string().meta({ format: 'binary' }),
    others: { 206: z.string().meta({ format: 'binary' }) },
    file: true,
    produces: ['audio/wav'],
    errors: [...ERRORS, 'no_audio', 'range_not_satisfiable', 'too_many_requests'],
    summary: 'Audio of a recording, whole or a part (Range); recorded in the audit trail',
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/recordings/:id',
    action: 'recordings.delete',
    audit: 'recordings.delete',
    level: 'supervisor',
    params: RecordingPath,
    reply: RecordingReply,
    errors: [...ERRORS, 'no_audio'],
    summary: 'Delete the audio of a recording; its entry stays',
  },
});
