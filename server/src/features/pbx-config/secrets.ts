import { CONFIG_SECRETS } from '@offhook/contract/config-objects.ts';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';
import { randomBytes, randomInt } from '../../core/chance.ts';
import type { StoredObject } from './model.ts';

/** 192 random bits in letters, digits, `-` and `_`, which phones and configuration files accept unchanged. */
const newSipPassword = (): string => randomBytes(24, 'SIP password').toString('base64url');
const newPin = (): string => String(randomInt(1_000_000, 'PIN')).padStart(6, '0');
/** 256 random bits. */
const newToken = (): string => randomBytes(32, 'token').toString('base64url');

/** The object with all required secrets; existing ones stay. */
export function withSecrets<K extends ConfigKind>(kind: K, body: ConfigBody<K>): ConfigBody<K> {
  if (kind === 'extension') {
    const {
      sip_password = newSipPassword(),
      voicemail_pin = newPin(),
      ...rest
    } = body as ConfigBody<'extension'>;
    return { ...rest, sip_password, voicemail_pin } as ConfigBody<K>;
  }
  if (kind === 'mailbox') {
    const { pin = newPin(), ...rest } = body as ConfigBody<'mailbox'>;
    return { ...rest, pin } as ConfigBody<K>;
  }
  if (kind === 'phone') {
    const { token = newToken(), sip_password, ...rest } = body as ConfigBody<'phone'>;
    const own = rest.shared ? { sip_password: sip_password ?? newSipPassword() } : {};
    return { ...rest, ...own, token } as ConfigBody<K>;
  }
  return body;
}
/** Stored instead of a secret in a former version: whether the next version kept or replaced it. */
const KEPT = '(kept)';
const REPLACED = '(replaced)';
/**
 * Body of an object in a former version without its secrets, so that no old version contains a valid secret. `next`:
 * body in the following version; null if it deletes the object.
 */
export function withoutSecrets(
  kind: ConfigKind,
  body: Readonly<Record<string, unknown>>,
  next: Readonly<Record<string, unknown>> | null,
): Record<string, unknown> {
  const over: Record<string, unknown> = { ...body };
  for (const name of CONFIG_SECRETS[kind]) {
    const value = over[name];
    if (typeof value === 'string' && value !== KEPT && value !== REPLACED)
      over[name] = value === next?.[name] ? KEPT : REPLACED;
  }
  return over;
}
export const isOver = (secret: unknown): boolean => secret === KEPT || secret === REPLACED;
/** True if a secret differs between two successive versions of an object. */
export const secretDiffers = (old: unknown, now: unknown): boolean =>
  isOver(old) ? old === REPLACED : !isOver(now) && old !== now;

/** Fields that determine where the password of a trunk is sent. */
const ADDRESS = ['host', 'port', 'transport', 'srv'] as const;
/** First changed field of the address; null if none changed. */
export function movedTo(before: ConfigBody<'trunk'>, after: ConfigBody<'trunk'>): string | null {
  return ADDRESS.find((name) => before[name] !== after[name]) ?? null;
}
/**
 * Body for the restore of a former object. Secrets, `level` and `active` stay the current ones, so that a restore
 * brings back neither a leaked password nor a former right. A deleted object gets new secrets, a deleted person the
 * level `user`. A trunk with another address is disabled and needs its login again.
 */
export function restoredBody(
  kind: ConfigKind,
  then: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>> | null,
): ConfigBody<ConfigKind> {
  const body: Record<string, unknown> = { ...then };
  for (const name of CONFIG_SECRETS[kind]) {
    delete body[name];
    if (now?.[name] !== undefined) body[name] = now[name];
    // A conference that had a PIN receives a new one instead of none.
    else if (kind === 'conference' && now === null && typeof then[name] === 'string') body[name] = newPin();
  }
  if (kind === 'extension') {
    body['level'] = now?.['level'] ?? 'user';
    if (now !== null) body['active'] = now['active'];
  }
  if (kind === 'trunk') {
    const [was, is] = [then, now] as unknown as [ConfigBody<'trunk'>, ConfigBody<'trunk'> | null];
    if (was.username === null) delete body['password'];
    else if (is?.password === undefined || movedTo(is, was) !== null) {
      // A user name without a password is invalid.
      delete body['password'];
      Object.assign(body, { enabled: false, register: false, username: null });
    }
  }
  return withSecrets(kind, body as unknown as ConfigBody<ConfigKind>);
}

/** The given object, completed by stored secrets that it lacks. */
export function keepSecrets(stored: StoredObject, given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  // A trunk without a user name needs no password.
  if (stored.kind === 'trunk' && ((given as { username?: unknown }).username ?? null) === null) return given;
  const kept = CONFIG_SECRETS[stored.kind].flatMap((name) => {
    const value = (stored.body as Record<string, unknown>)[name];
    return value === undefined || name in given ? [] : [[name, value] as const];
  });
  return { ...given, ...Object.fromEntries(kept) };
}
