import type { Webhook, WebhookDelivery } from '@offhook/contract/webhooks.ts';
import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import type { Hook } from './lane.ts';
import type { DeliveryRow } from './store.ts';

/** A webhook as the API shows it, at `now` and with the journal's newest seq. */
export function webhookOf({ id, settings, progress }: Hook, head: number, now: number): Webhook {
  const { live, replay } = progress;
  const waits = settings.enabled ? (replay ?? live).head : null;
  const { previous_until } = settings;
  return {
    id,
    url: settings.url,
    topics: [...settings.topics],
    types: settings.types === null ? null : [...settings.types],
    description: settings.description,
    enabled: settings.enabled,
    disabled_reason: settings.disabled_reason,
    disabled_at: rfc3339OrNull(settings.disabled_at),
    created_at: rfc3339(settings.created_at),
    created_by: settings.created_by,
    cursor: live.at,
    lag: Math.max(0, head - live.at),
    retrying:
      waits === null
        ? null
        : {
            seq: waits.seq,
            attempts: waits.attempts,
            next_attempt_at: rfc3339(waits.next_at),
            failing_since: rfc3339(waits.first_at),
          },
    replay: replay === null ? null : { from: replay.at + 1, to: replay.to },
    previous_secret_until: rfc3339OrNull(
      previous_until === null || now >= previous_until ? null : previous_until,
    ),
  };
}

/** A row of the delivery log; only a delivery that the line waits for has a next attempt. */
export function deliveryOf(row: DeliveryRow, { settings, progress }: Hook): WebhookDelivery {
  const { live, replay } = progress;
  const waits = settings.enabled && [live.head?.number, replay?.head?.number].includes(row.number);
  return {
    id: row.number,
    state: row.state,
    seq: row.seq,
    to_seq: row.to_seq,
    event_id: row.event_id,
    type: row.type,
    replay: row.replay === 1,
    attempts: row.attempts,
    status: row.status,
    error: row.error,
    latency_ms: row.latency_ms,
    excerpt: row.excerpt,
    first_attempt_at: rfc3339(row.first_at),
    last_attempt_at: rfc3339(row.last_at),
    next_attempt_at: waits ? rfc3339OrNull(row.next_at) : null,
  };
}
