import { randomBytes, randomInt } from 'node:crypto';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';

/** 192 random bits, letters and digits only with `-` and `_`: what phones and configuration files carry unharmed. */
export const newSipPassword = (): string => randomBytes(24).toString('base64url');
export const newPin = (): string => String(randomInt(0, 1_000_000)).padStart(6, '0');

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
