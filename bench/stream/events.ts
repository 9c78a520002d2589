import type { DomainEvent } from '@offhook/contract/events.ts';
import { rfc3339 } from '../../server/src/core/clock.ts';
import { extensionOf } from '../site-data.ts';
import { SCRIPT_MS } from './script.ts';

/** The n-th event of the script as built by the model. */
export function presenceEvent(n: number, extensions = 1_000): DomainEvent {
  const extension = extensionOf(n % extensions);
  const at = SCRIPT_MS + n;
  return {
    type: 'presence.changed',
    subject: `presence/${extension}`,
    at,
    observed: 'live',
    data: {
      extension,
      reachability: 'online',
      activity: 'in_call',
      personal: 'not_set',
      note: null,
      expires_at: null,
      summary: 'in_call',
      since: rfc3339(at),
    },
  };
}
