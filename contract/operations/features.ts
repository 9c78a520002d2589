import { FeaturesChange, FeaturesPath, FeaturesReply, FeaturesRequest } from '../features.ts';
import type { ErrorCode } from '../errors.ts';
import { area } from '../operation.ts';

const ERRORS = ['invalid_request', 'not_found', 'forbidden'] as const satisfies readonly ErrorCode[];

export const features = area({
  own: {
    method: 'GET',
    path: '/api/mobile/features.php',
    tag: 'features',
    level: 'user',
    reply: FeaturesReply,
    errors: ['not_found', 'forbidden'],
    summary: 'What the caller has set for its own calls',
  },
  setOwn: {
    method: 'POST',
    path: '/api/mobile/features.php',
    tag: 'features',
    audit: 'features.change',
    level: 'user',
    bounded: true,
    paced: 'own',
    body: FeaturesRequest,
    takes: 'form',
    reply: FeaturesReply,
    errors: [
      ...ERRORS,
      'destination_not_allowed',
      'no_route',
      'too_many_requests',
      'engine_refused',
      'engine_unavailable',
      'store_unavailable',
      'overloaded',
      'engine_timeout',
    ],
    summary: 'Do not disturb, forwards and which devices ring, for the own calls; at once',
  },
  get: {
    method: 'GET',
    path: '/api/v1/extensions/:extension/features',
    tag: 'features',
    level: 'user',
    params: FeaturesPath,
    reply: FeaturesReply,
    errors: ERRORS,
    summary: 'What an extension has set for its own calls; others than the own for supervisors',
  },
  set: {
    method: 'PUT',
    path: '/api/v1/extensions/:extension/features',
    tag: 'features',
    action: 'features.set',
    audit: 'features.change',
    own: true,
    level: 'user',
    paced: 'any',
    params: FeaturesPath,
    body: FeaturesChange,
    reply: FeaturesReply,
    errors: [
      ...ERRORS,
      'destination_not_allowed',
      'no_route',
      'too_many_requests',
      'engine_refused',
      'engine_unavailable',
      'store_unavailable',
      'overloaded',
      'engine_timeout',
    ],
    summary:
      'Change what an extension has set for its own calls; others than the own for supervisors, audited',
  },
});
