import { z } from 'zod';

/** Limit of push registrations of one person; a further one replaces the oldest. */
export const MAX_PUSH_DEVICES = 10;

export const PUSH_PLATFORMS = ['fcm', 'apns'] as const;
export const PushPlatform = z.enum(PUSH_PLATFORMS);
export type PushPlatform = z.infer<typeof PushPlatform>;

const name = (max: number) =>
  z
    .string()
    .max(max)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:-]*$/,
      'must be letters, digits and "._:-", beginning with a letter or digit',
    );
const AppId = name(255).describe(
  'Of APNs the topic, which is the bundle id, with `.voip` for VoIP pushes; of FCM the app id.',
);
/** Body of `PUT /api/v1/session/push`. */
export const PushRegistration = z
  .strictObject({
    platform: PushPlatform,
    token: z
      .string()
      .min(8)
      .max(4096)
      .regex(/^[A-Za-z0-9_:.-]+$/, 'must be a token of a push service')
      .describe('As the push service gave it to the app.'),
    app_id: AppId,
    environment: z
      .enum(['production', 'sandbox'])
      .default('production')
      .describe('Of APNs: which of its two services issued the token.'),
  })
  .refine(({ platform, token }) => platform !== 'apns' || /^[0-9A-Fa-f]{8,200}$/.test(token), {
    message: 'must be hexadecimal for APNs',
    path: ['token'],
  })
  .meta({ id: 'PushRegistration' });
export type PushRegistration = z.output<typeof PushRegistration>;

/** The registration of this session, without its token. */
export const PushDevice = z
  .object({
    platform: PushPlatform,
    app_id: z.string(),
    environment: z.enum(['production', 'sandbox']),
    registered_at: z.string(),
    served: z.boolean().describe('True where the site has this push service, so that calls wake the app.'),
  })
  .meta({ id: 'PushDevice' });
export type PushDevice = z.infer<typeof PushDevice>;
export const PushDeviceReply = z.object({ success: z.literal(true), device: PushDevice.nullable() });

const Base = z
  .url({ protocol: /^https?$/, hostname: /./ })
  .max(200)
  .nullable()
  .default(null)
  .describe('Address of another service of the same protocol, for tests; null for the real one.');
const PrivateKey = z
  .string()
  .min(1)
  .max(8192)
  .refine((text) => /^-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----/.test(text), 'must be a key in PEM')
  .describe('In PEM. It is never shown again.');
/** Body of `PUT /api/v1/push-services/fcm`: the fields of a service account, and those an app needs to register. */
export const FcmService = z
  .strictObject({
    project_id: name(128),
    client_email: z
      .string()
      .min(3)
      .max(255)
      .refine((text) => text.includes('@'), 'must be an address'),
    private_key: PrivateKey,
    app_id: z.string().max(255).default('').describe('Shown to apps as `fcm_app_id` of `push_config`.'),
    api_key: z.string().max(255).default('').describe('Shown to apps as `fcm_api_key`; no secret.'),
    sender_id: z.string().max(64).default('').describe('Shown to apps as `fcm_sender_id`.'),
    base_url: Base,
    token_url: Base.describe('Where access tokens are issued; null for Google’s.'),
  })
  .meta({ id: 'FcmService' });
export type FcmService = z.output<typeof FcmService>;
/** Body of `PUT /api/v1/push-services/apns`: a key for token-based connections. */
export const ApnsService = z
  .strictObject({
    team_id: name(32),
    key_id: name(32),
    private_key: PrivateKey,
    base_url: Base,
  })
  .meta({ id: 'ApnsService' });
export type ApnsService = z.output<typeof ApnsService>;

/** Result of one push: accepted; the token is gone; refused for good; no answer or a passing fault. */
export const PushOutcome = z.enum(['accepted', 'gone', 'refused', 'unavailable']);
export type PushOutcome = z.infer<typeof PushOutcome>;
export const PushService = z
  .object({
    platform: PushPlatform,
    settings: z.record(z.string(), z.string().nullable()).describe('Without the private key.'),
    changed_at: z.string(),
    devices: z.int().describe('Apps that are registered for it.'),
    sent: z
      .object({ accepted: z.int(), gone: z.int(), refused: z.int(), unavailable: z.int() })
      .describe('Pushes since the start of the service, by outcome.'),
    last_error: z.object({ at: z.string(), detail: z.string() }).nullable(),
  })
  .meta({ id: 'PushService' });
export type PushService = z.infer<typeof PushService>;
export const PushServicesReply = z.object({ success: z.literal(true), services: z.array(PushService) });
export const PushServiceReply = z.object({ success: z.literal(true), service: PushService });
export const PushServicePath = z.strictObject({ platform: PushPlatform });
/** Body of `POST /api/v1/push-services/{platform}/test`. */
export const PushTest = z.strictObject({
  extension: z
    .string()
    .regex(/^\d{1,20}$/, 'must be an extension')
    .describe('Whose registered apps get the push.'),
});
export const PushTestReply = z.object({
  success: z.literal(true),
  results: z.array(
    z.object({ outcome: PushOutcome, detail: z.string(), app_id: z.string(), latency_ms: z.int() }),
  ),
});
export type PushTestReply = z.infer<typeof PushTestReply>;
