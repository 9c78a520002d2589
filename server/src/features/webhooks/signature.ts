import { createHmac } from 'node:crypto';
import { randomBytes } from '../../core/chance.ts';

const PREFIX = 'whsec_';

/** A new secret: 32 random bytes as Standard Webhooks writes them. */
export const newSecret = (): string => PREFIX + randomBytes(32, 'webhook secret').toString('base64');

/**
 * Value of the header `webhook-signature` (Standard Webhooks 1.0): a signature of `id.timestamp.body` for each secret.
 * `id` and `timestamp` (whole seconds since 1970) contain no full stop.
 */
export function signatures(secrets: readonly string[], id: string, timestamp: number, body: string): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
