import { PresenceChange, PresenceReply } from '../presence.ts';
import { area } from '../operation.ts';

export const presence = area({
  get: {
    method: 'GET',
    path: '/api/v1/presence',
    tag: 'presence',
    level: 'user',
    reply: PresenceReply,
    errors: ['forbidden'],
    summary: 'What the caller says of itself: a word, a note, and until when',
  },
  set: {
    method: 'PUT',
    path: '/api/v1/presence',
    tag: 'presence',
    action: 'presence.set',
    level: 'user',
    paced: 'own',
    body: PresenceChange,
    reply: PresenceReply,
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
  },
});
