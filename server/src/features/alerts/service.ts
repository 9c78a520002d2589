/** Alerts of the last half hour, for pages that are opened after them. */
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Alert, AlertsSnapshot } from '@offhook/contract/alerts.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { Clock } from '../../ports/clock.ts';

const RECENT_MS = 30 * 60_000;
/** Limit of alerts; during a flood of refused calls only the newest are kept. */
const MOST = 50;
/** Number of newest journal events that a start searches for alerts. */
export const MOST_EVENTS = 20_000;
/** True for the type of an event that can be an alert. */
export const tellsAlert = (type: string): boolean => type === 'call.emergency' || type === 'call.refused';

export interface AlertsDeps {
  readonly publish: (events: readonly DomainEvent[]) => void;
  readonly clock: Pick<Clock, 'now'>;
}
/** One entry for one cause: call records that are read again publish the same call again. */
const keyOf = (alert: Alert): string =>
  alert.type === 'call.emergency'
    ? `emergency ${alert.data.call_id}`
    : `refused ${alert.data.extension} ${alert.data.reason} ${alert.data.call_limit}`;

export class Alerts {
  readonly #deps: AlertsDeps;
  /** By cause, the newest last. */
  readonly #recent = new Map<string, { readonly alert: Alert; readonly at: number }>();

  constructor(deps: AlertsDeps) {
    this.#deps = deps;
  }
  /** Publishes and keeps alerts synchronously, so that a snapshot has exactly the alerts up to its cursor. */
  readonly publish = (events: readonly DomainEvent[]): void => {
    this.#deps.publish(events);
    this.restore(events);
  };
  /** Adds the alerts among these events, which are in the order of the journal. */
  restore(events: Iterable<DomainEvent>): void {
    for (const event of events) {
      if (!tellsAlert(event.type)) continue;
      if (event.type === 'call.refused' && event.data.reason === 'class') continue;
      const alert = { type: event.type, data: event.data } as Alert;
      const key = keyOf(alert);
      this.#recent.delete(key);
      this.#recent.set(key, { alert, at: event.at });
      const oldest = this.#recent.keys().next().value;
      if (this.#recent.size > MOST && oldest !== undefined) this.#recent.delete(oldest);
    }
  }
  /**
   * `objects`: extensions that see the emergency calls they were notified of; null for all alerts. Alerts before
   * `since_ms` are left out, because the extension had another holder then.
   */
  snapshot(objects: readonly string[] | null, since_ms: number): AlertsSnapshot {
    const now = this.#deps.clock.now();
    for (const [key, { at }] of this.#recent) if (at < now - RECENT_MS) this.#recent.delete(key);
    const alerts = [...this.#recent.values()].flatMap(({ alert, at }) => (at < since_ms ? [] : [alert]));
    const heard = (alert: Alert): boolean =>
      objects === null ||
      (alert.type === 'call.emergency' && alert.data.notified.some((one) => objects.includes(one)));
    return { as_of: rfc3339(now), alerts: alerts.filter(heard) };
  }
}
