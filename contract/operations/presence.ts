import { PresenceChange, PresenceReply } from '../presence.ts';
import { area, COMMAND_ERRORS } from '../operation.ts';

export const presence = area('presence', {
  get: {
    method: 'GET',
    path: '/api/v1/presence',
    level: 'user',
    reply: PresenceReply,
    errors: ['forbidden'],
    summary: "The caller's personal status: a word, a note, and its end",
  },
  set: {
    method: 'PUT',
    path: '/api/v1/presence',
    action: 'presence.set',
    level: 'user',
    paced: 'own',
    body: PresenceChange,
    reply: PresenceReply,
    errors: ['invalid_request', 'forbidden', ...COMMAND_ERRORS],
    summary: "Change the caller's personal status; visible to everybody at once, until its end",
  },
});
