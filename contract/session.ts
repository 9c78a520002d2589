import { z } from 'zod';

const text = (max: number) => z.string().max(max);
/** A form sends strings; JSON sends strings. Nothing is coerced from other types. */
export const LoginRequest = z
  .object({
    username: text(128).optional(),
    extension: text(128).optional(),
    password: text(1024).min(1),
    otp: text(16).optional(),
    device_name: text(128).optional(),
    platform: text(64).optional(),
  })
  .refine((b) => Boolean(b.username || b.extension), {
    path: ['username'],
    message: 'username is missing or empty',
  });

export const Sip = z.object({
  extension: z.string(),
  sip_username: z.string(),
  native_sip_username: z.string(),
  webrtc_username: z.string(),
  sip_password: z.string(),
  domain: z.string(),
  sip_port: z.int(),
  ws_url: z.string(),
  turn: z.object({ username: z.string(), credential: z.string(), urls: z.array(z.string()) }).nullable(),
});
export const PushConfig = z.object({
  enabled: z.boolean(),
  provider: z.string(),
  fcm_project_id: z.string(),
  fcm_app_id: z.string(),
  fcm_api_key: z.string(),
  fcm_sender_id: z.string(),
});
export const SessionUser = z.object({
  id: z.int(),
  username: z.string(),
  full_name: z.string().nullable(),
  email: z.string().nullable(),
  extension: z.string(),
  role: z.enum(['user', 'cc_agent', 'cc_manager', 'admin']),
  level: z.enum(['user', 'agent', 'supervisor', 'admin']),
});
/** 200 of login and refresh (wire.md section 2). */
export const LoginReply = z.object({
  success: z.literal(true),
  token: z.string(),
  expires_at: z.string(),
  user: SessionUser,
  sip: Sip,
  push_config: PushConfig,
});
export const Ping = z.object({
  success: z.literal(true),
  service: z.string(),
  version: z.string(),
  site_title: z.string(),
  brand_title: z.string(),
  brand_sub: z.string(),
  server_time: z.int(),
});
export const WhoAmI = z.object({ success: z.literal(true), user: SessionUser, expires_at: z.string() });
export const DeviceSession = z.object({
  id: z.int(),
  device_name: z.string().nullable(),
  platform: z.string().nullable(),
  created_at: z.string(),
  last_used_at: z.string(),
  expires_at: z.string(),
  current: z.boolean(),
});
export const DeviceSessions = z.object({ success: z.literal(true), sessions: z.array(DeviceSession) });
