import { CONFIG_SECRETS } from '@offhook/contract/config-objects.ts';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';
import { randomBytes, randomInt } from '../../core/chance.ts';
import type { StoredObject } from './model.ts';

/** 192 random bits, letters and digits only with `-` and `_`: what phones and configuration files carry unharmed. */
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
/** Shown instead of a secret in a former version, by whether the next version has the same one. */
const KEPT = '(kept)';
const REPLACED = '(replaced)';
/**
 * The body of an object in a former version without its secrets, so that no old version contains a valid one. `next` is the
 * following body, null where the object was deleted.
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
/** True when a secret differs between two successive versions of an object. */
export const secretDiffers = (old: unknown, now: unknown): boolean =>
  isOver(old) ? old === REPLACED : !isOver(now) && old !== now;

/** Fields that decide where the password of a trunk is sent. */
const ADDRESS = ['host', 'port', 'transport', 'srv'] as const;
/** The first changed field of the address; null where none changed. */
export function movedTo(before: ConfigBody<'trunk'>, after: ConfigBody<'trunk'>): string | null {
  return ADDRESS.find((name) => before[name] !== after[name]) ?? null;
}
/**
 * An object of a former version for a restore. Secrets, `level` and `active` are the current ones, so that a restore brings
 * back no leaked password and no former right. A deleted object receives new secrets and a person the level `user`; a trunk
 * whose address differs is disabled and has no login until it is given again.
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

/** A given object with the stored secrets where it has none. */
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
