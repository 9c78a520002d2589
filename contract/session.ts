import { z } from 'zod';

/** The name of the session cookie over plain HTTP. Over HTTPS it is `HOST_SESSION_COOKIE`; both are read. */
export const SESSION_COOKIE = 'offhook_session';
/** Browsers accept it over HTTPS only, for exactly this host and all its paths: no other host of the domain can set it. */
export const HOST_SESSION_COOKIE = '__Host-offhook_session';
/** Recognises a browser that signed in before. Its HTTPS name follows that of the session cookie. */
export const DEVICE_COOKIE = 'offhook_device';

const text = (max: number) => z.string().max(max);
const bytes = (s: string): number => new TextEncoder().encode(s).length;
/** Any possible password: NUL or more than 1024 bytes of UTF-8 is an input error, not a wrong password. */
const Password = z
  .string()
  .min(1)
  .refine((s) => bytes(s) <= 1024, 'must have at most 1024 bytes')
  .refine((s) => !s.includes('\0'), 'must not contain a NUL character');
/** A password to set: 8 to 1024 bytes of UTF-8, no control characters. */
export const NewPassword = z
  .string()
  .refine((s) => bytes(s) >= 8, 'must have at least 8 bytes')
  .refine((s) => bytes(s) <= 1024, 'must have at most 1024 bytes')
  .refine((s) => !/\p{Cc}/u.test(s), 'must not contain control characters')
  .meta({ minLength: 8, maxLength: 1024 });
/** A form sends strings; JSON sends strings, and null for absent values. No other type is converted. */
export const LoginRequest = z
  .object({
    username: text(128).nullish().describe('The extension, or the user name.'),
    extension: text(128).nullish().describe('Another name for `username`.'),
    password: Password,
    otp: text(16).nullish().describe('Six digits of the second factor, where it is on.'),
    device_name: text(128).nullish(),
    platform: text(64).nullish(),
  })
  .refine((b) => Boolean(b.username || b.extension), {
    path: ['username'],
    message: 'username is missing or empty',
  });

export const Sip = z
  .object({
    extension: z.string(),
    sip_username: z.string(),
    native_sip_username: z.string(),
    webrtc_username: z.string(),
    sip_password: z.string(),
    domain: z.string(),
    sip_port: z.int(),
    ws_url: z.string(),
    turn: z.object({ username: z.string(), credential: z.string(), urls: z.array(z.string()) }).nullable(),
  })
  .meta({ id: 'Sip' });
export const PushConfig = z
  .object({
    enabled: z.boolean(),
    provider: z.string(),
    fcm_project_id: z.string(),
    fcm_app_id: z.string(),
    fcm_api_key: z.string(),
    fcm_sender_id: z.string(),
  })
  .meta({ id: 'PushConfig' });
export const SessionUser = z
  .object({
    id: z.int(),
    username: z.string(),
    full_name: z.string().nullable(),
    email: z.string().nullable(),
    extension: z.string(),
    role: z.enum(['user', 'cc_agent', 'cc_manager', 'admin']),
    level: z.enum(['user', 'agent', 'supervisor', 'admin']),
  })
  .meta({ id: 'SessionUser' });
/** 200 of login and refresh (wire.md section 2). */
export const LoginReply = z
  .object({
    success: z.literal(true),
    token: z.string(),
    expires_at: z.string(),
    user: SessionUser,
    sip: Sip,
    push_config: PushConfig,
  })
  .meta({ id: 'LoginReply' });
export const Ping = z.object({
  success: z.literal(true),
  service: z.string(),
  version: z.string(),
  site_title: z.string(),
  brand_title: z.string(),
  brand_sub: z.string(),
  server_time: z.int(),
  signed_in: z.boolean().describe('True where the request had a valid session or API key.'),
  company_sign_in: z
    .string()
    .nullable()
    .describe(
      'Title of the sign-in by the company account, to which a browser goes at `/sign-in/company`; null where the site has none.',
    ),
});
/** Of a code that a phone exchanges for a session. */
export const SignInCodeReply = z
  .object({
    success: z.literal(true),
    code: z.string().describe('For one use.'),
    uri: z
      .string()
      .describe(
        'Text of the QR code: `offhook://sign-in` with the address `site` of this service and the `code`.',
      ),
    expires_at: z.string().describe('Two minutes after the code was created.'),
  })
  .meta({ id: 'SignInCodeReply' });
/** Body of `POST /api/auth/code`. */
export const CodeSignIn = z.strictObject({
  code: text(128).min(1),
  device_name: text(128).nullish(),
  platform: text(64).nullish(),
});
/** Body of `POST /api/auth/company-logout`; as OpenID Connect Back-Channel Logout 1.0 requires, other fields are ignored. */
export const CompanyLogout = z.object({ logout_token: text(8192).min(1) });
/** Body of `POST /api/v1/session/password`. */
export const PasswordChange = z.strictObject({
  current_password: Password,
  new_password: NewPassword,
});
/** Whether the second factor is on. */
export const OtpState = z.object({ success: z.literal(true), enabled: z.boolean() });
/** Body of `POST /api/v1/session/otp`. */
export const OtpEnrolment = z.strictObject({
  current_password: Password.optional().describe(
    'Omitted in a session that was confirmed in the last five minutes, as a person who signs in with the company account does.',
  ),
});
/** `secret` is base32, `uri` the same as a QR code; active once it is confirmed. */
export const OtpSecret = z.object({ success: z.literal(true), secret: z.string(), uri: z.string() });
export const OtpConfirmation = z.strictObject({ otp: text(16).min(1) });
/** Each recovery code replaces the digits once. Shown only in this reply. */
export const OtpConfirmed = z.object({ success: z.literal(true), recovery_codes: z.array(z.string()) });
export const OtpRemoval = z.strictObject({ current_password: Password, otp: text(16).min(1) });
/** Body of `POST /api/v1/session/confirm`. */
export const SessionConfirmation = z.strictObject({
  password: Password,
  otp: text(16).nullish().describe('Six digits of the second factor, where it is on.'),
});
export const SessionConfirmed = z.object({
  success: z.literal(true),
  confirmed_until: z.string().describe('This session needs no further confirmation until then.'),
});
/** A success without further data. */
export const Done = z.object({ success: z.literal(true) });
/** For POSTs that take no fields: an empty body or an empty object. */
export const NoFields = z.strictObject({}).nullable();
export const WhoAmI = z.object({ success: z.literal(true), user: SessionUser, expires_at: z.string() });
/** SIP credentials of a softphone. */
export const SipReply = z.object({ success: z.literal(true), sip: Sip });
export const DeviceSession = z
  .object({
    id: z.int(),
    device_name: z.string().nullable(),
    platform: z.string().nullable(),
    address: z.string().nullable().describe('Address of the sign-in; null for older sessions.'),
    created_at: z.string(),
    last_used_at: z.string(),
    expires_at: z.string(),
    current: z.boolean(),
  })
  .meta({ id: 'DeviceSession' });
export const DeviceSessions = z.object({ success: z.literal(true), sessions: z.array(DeviceSession) });
