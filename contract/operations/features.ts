import { FeaturesChange, FeaturesPath, FeaturesReply, FeaturesRequest } from '../features.ts';
import type { ErrorCode } from '../errors.ts';
import { area, COMMAND_ERRORS } from '../operation.ts';

const ERRORS = ['invalid_request', 'not_found', 'forbidden'] as const satisfies readonly ErrorCode[];

const CHANGE_ERRORS = [
  ...ERRORS,
  'destination_not_allowed',
  'no_route',
  ...COMMAND_ERRORS,
] as const satisfies readonly ErrorCode[];

export const features = area('features', {
  own: {
    method: 'GET',
    path: '/api/mobile/features.php',
    level: 'user',
    reply: FeaturesReply,
    errors: ['not_found', 'forbidden'],
    summary: "The caller's own call settings",
  },
  setOwn: {
    method: 'POST',
    path: '/api/mobile/features.php',
    audit: 'features.change',
    level: 'user',
    bounded: true,
    paced: 'own',
    body: FeaturesRequest,
    takes: 'form',
    reply: FeaturesReply,
    errors: CHANGE_ERRORS,
    summary: 'Change do not disturb, forwards and ringing devices of the caller; takes effect at once',
  },
  get: {
    method: 'GET',
    path: '/api/v1/extensions/:extension/features',
    level: 'user',
    params: FeaturesPath,
    reply: FeaturesReply,
    errors: ERRORS,
    summary: 'Call settings of an extension; other extensions for supervisors',
  },
  set: {
    method: 'PUT',
    path: '/api/v1/extensions/:extension/features',
    action: 'features.set',
    audit: 'features.change',
    own: true,
    level: 'user',
    paced: 'any',
    params: FeaturesPath,
    body: FeaturesChange,
    reply: FeaturesReply,
    errors: CHANGE_ERRORS,
    summary: 'Change the call settings of an extension; other extensions for supervisors, audited',
  },
});
