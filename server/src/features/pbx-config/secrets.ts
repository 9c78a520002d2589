import { randomBytes, randomInt } from 'node:crypto';
import { CONFIG_SECRETS } from '@offhook/contract/config-objects.ts';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';
import type { StoredObject } from './model.ts';

/** 192 random bits, letters and digits only with `-` and `_`: what phones and configuration files carry unharmed. */
export const newSipPassword = (): string => randomBytes(24).toString('base64url');
export const newPin = (): string => String(randomInt(0, 1_000_000)).padStart(6, '0');

/** Kinds whose objects are given secrets that the answer shows. */
const MADE_UP: readonly ConfigKind[] = ['extension', 'mailbox'];
const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** Whether an object, or a patch of one, gives, renews or takes away a secret. Whatever it is, it is not checked yet. */
export const setsSecrets = (kind: ConfigKind, given: unknown): boolean =>
  isFields(given) && CONFIG_SECRETS[kind].some((name) => name in given);
/** Whether a new object would be shown with secrets, or has some. */
export const makesSecrets = (kind: ConfigKind, given: unknown): boolean =>
  MADE_UP.includes(kind) || setsSecrets(kind, given);
/** Whether any of many changes touches a secret. */
export function changesSecrets(body: unknown): boolean {
  const changes = isFields(body) ? body['changes'] : null;
  if (!Array.isArray(changes)) return false;
  return changes.some((change: unknown) => {
    if (!isFields(change)) return false;
    const { op, create, object, patch } = change;
    const kind = change['kind'] as ConfigKind;
    if (!(kind in CONFIG_SECRETS)) return false;
    return op === 'create' || create === true
      ? makesSecrets(kind, object)
      : setsSecrets(kind, object) || setsSecrets(kind, patch);
  });
}

/** The object with the secrets it cannot be without; those it has stay. */
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
  return body;
}
/** What was given for an object that is there, with the secrets it has where none are given. */
export function keepSecrets(stored: StoredObject, given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  // A trunk without a user name has nothing a password would be for.
  if (stored.kind === 'trunk' && ((given as { username?: unknown }).username ?? null) === null) return given;
  const kept = CONFIG_SECRETS[stored.kind].flatMap((name) => {
    const value = (stored.body as Record<string, unknown>)[name];
    return value === undefined || name in given ? [] : [[name, value] as const];
  });
  return { ...given, ...Object.fromEntries(kept) };
}
