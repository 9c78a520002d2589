import {
  ApnsService,
  FcmService,
  PushDeviceReply,
  PushRegistration,
  PushServicePath,
  PushServiceReply,
  PushServicesReply,
  PushTest,
  PushTestReply,
} from '../push.ts';
import { area } from '../operation.ts';
import { Done } from '../session.ts';

const removal = {
  method: 'DELETE',
  audit: 'push_service.removed',
  level: 'admin',
  reply: Done,
  errors: ['not_found', 'store_unavailable'],
} as const;
const service = {
  method: 'PUT',
  audit: 'push_service.changed',
  level: 'admin',
  confirm: true,
  reply: PushServiceReply,
  tool: false,
} as const;

export const push = area('push', {
  device: {
    method: 'GET',
    path: '/api/v1/session/push',
    level: 'user',
    reply: PushDeviceReply,
    errors: [],
    summary: 'How calls wake the app of this session',
  },
  register: {
    method: 'PUT',
    path: '/api/v1/session/push',
    audit: 'push.registered',
    level: 'user',
    paced: 'own',
    body: PushRegistration,
    reply: PushDeviceReply,
    errors: ['invalid_request', 'not_authenticated', 'store_unavailable'],
    summary: 'Register the app of this session for pushes',
    description:
      'A call to an extension whose app has no connection then sends a push that wakes it, and rings it as soon as it registers. The registration ends with the session, with `DELETE`, and when the push service reports the token as gone.',
    tool: false,
  },
  unregister: {
    method: 'DELETE',
    path: '/api/v1/session/push',
    audit: 'push.unregistered',
    level: 'user',
    reply: Done,
    errors: ['store_unavailable'],
    summary: 'End the push registration of this session',
  },
  services: {
    method: 'GET',
    path: '/api/v1/push-services',
    level: 'admin',
    reply: PushServicesReply,
    errors: [],
    summary: 'Push services of the site',
  },
  setFcm: {
    ...service,
    path: '/api/v1/push-services/fcm',
    body: FcmService,
    errors: ['invalid_request', 'webhook_target_refused', 'store_unavailable'],
    summary: 'Set Firebase Cloud Messaging (FCM v1)',
    description: 'With the fields of a service account. `push_config` of the sign-in shows the public ones.',
  },
  setApns: {
    ...service,
    path: '/api/v1/push-services/apns',
    body: ApnsService,
    errors: ['invalid_request', 'webhook_target_refused', 'store_unavailable'],
    summary: 'Set Apple Push Notification service (APNs)',
    description: 'With a key for token-based connections (.p8).',
  },
  removeFcm: {
    ...removal,
    path: '/api/v1/push-services/fcm',
    summary: 'Remove Firebase Cloud Messaging',
  },
  removeApns: {
    ...removal,
    path: '/api/v1/push-services/apns',
    summary: 'Remove Apple Push Notification service',
  },
  test: {
    method: 'POST',
    path: '/api/v1/push-services/:platform/test',
    audit: 'push_service.tested',
    level: 'admin',
    params: PushServicePath,
    body: PushTest,
    reply: PushTestReply,
    errors: ['invalid_request', 'not_found', 'store_unavailable'],
    summary: 'Send a test push to the apps of a person',
    description:
      'The reply has the answer of the push service for each app; it does not prove that an app showed it.',
    slow: true,
  },
});
