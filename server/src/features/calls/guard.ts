/**
 * Protects against toll fraud, which needs calls that cost money: the guard decides which numbers may be called, before
 * the engine gets a request.
 */
import type { CallSettings, Destination } from '@offhook/contract/call-settings.ts';
import { DESTINATIONS } from '@offhook/contract/call-settings.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import type { Directory } from '../../ports/directory.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Actor } from '../../ports/operations.ts';
import { classify } from './destinations.ts';
import type { OwnNumbers } from './destinations.ts';
import { NOTHING_USED } from './store.ts';
import type { CallStore, Usage } from './store.ts';

const MINUTE_MS = 60_000;
/** Limit of persons whose calls of the last minute are kept; the least recent are dropped first. */
const MOST_REMEMBERED = 10_000;

export interface GuardDeps {
  readonly settings: () => CallSettings;
  readonly own: OwnNumbers;
  /** Outbound routes: whether one leads over a trunk, and whether its class is permitted to the calling extension. */
  readonly outside: Pick<Directory, 'leadsOut' | 'mayCall' | 'isEmergency'>;
  readonly store: Pick<CallStore, 'keepUsage'>;
  /** Usage of the current day counted before this start. */
  readonly used: ReadonlyMap<string, Usage>;
  readonly clock: Clock;
  /** The day in the site's zone, `2026-11-21`, and its remaining seconds. */
  readonly today: () => { readonly day: string; readonly seconds_left: number };
}
export interface Guard {
  /**
   * Admits a call to this number and counts it for `who`; throws `destination_not_allowed`,
   * `too_many_requests` or `no_route`.
   */
  admit(actor: Actor, who: string, number: string): Promise<Destination>;
  /** Checks that the extension may show this caller number. Throws `destination_not_allowed`. */
  checkCallerId(extension: string, shown: string): void;
  /** Number of refusals by destination. */
  refusals(): Readonly<Record<Destination, number>>;
}

export function createGuard({ settings, own, outside, store, used, clock, today }: GuardDeps): Guard {
  const refused = Object.fromEntries(DESTINATIONS.map((d) => [d, 0])) as Record<Destination, number>;
  const lastMinute = new Map<string, number[]>();
  let usage = new Map(used);
  let usageDay = today().day;

  const recent = (who: string, now: number): number[] => {
    const times = (lastMinute.get(who) ?? []).filter((at) => at > now - MINUTE_MS && at <= now);
    lastMinute.delete(who);
    if (lastMinute.size >= MOST_REMEMBERED) {
      for (const [idle, at] of lastMinute) {
        if ((at.at(-1) ?? 0) <= now - MINUTE_MS || lastMinute.size >= MOST_REMEMBERED)
          lastMinute.delete(idle);
        else break;
      }
    }
    lastMinute.set(who, times);
    return times;
  };
  const refuse = (destination: Destination, error: ServiceError): never => {
    refused[destination] += 1;
    throw error;
  };
  const notAllowed = (detail: Said | string): ServiceError =>
    new ServiceError('destination_not_allowed', detail);
  const checkDay = (now: Usage, country: string | null, seconds_left: number): ServiceError | null => {
    const { per_day, countries_per_day } = settings();
    if (now.calls >= per_day) {
      return new ServiceError('too_many_requests', say`${per_day} calls were placed today already`, {
        retry_after_seconds: seconds_left,
      });
    }
    const fresh = country !== null && !now.countries.includes(country);
    return fresh && now.countries.length >= countries_per_day
      ? notAllowed(say`${countries_per_day} different countries were called today already`)
      : null;
  };

  return {
    async admit(actor, who, number) {
      const site = settings();
      const { destination, country } = classify(number, own, site);
      // Emergency calls are neither counted nor limited.
      if (destination === 'emergency' || (destination !== 'internal' && outside.isEmergency(number)))
        return outside.leadsOut(number) ? 'emergency' : refuse('emergency', noRoute(number));
      if (!site.enabled) return refuse(destination, notAllowed('calls from the API are switched off'));
      const level = actor.caller.key === null ? actor.caller.level : 'user';
      if (!(site.allowed[level] as readonly Destination[]).includes(destination)) {
        return refuse(destination, notAllowed(say`${level} may not call ${described(destination)}`));
      }
      const now = clock.now();
      const times = recent(who, now);
      if (times.length >= site.per_minute) {
        const wait = Math.ceil((times[0]! + MINUTE_MS - now) / 1000);
        return refuse(
          destination,
          new ServiceError('too_many_requests', say`${times.length} calls were placed in the last minute`, {
            retry_after_seconds: Math.max(1, wait),
          }),
        );
      }
      const { day, seconds_left } = today();
      if (day !== usageDay) [usage, usageDay] = [new Map(), day];
      const before = usage.get(who) ?? NOTHING_USED;
      const overDay = checkDay(before, country, seconds_left);
      if (overDay !== null) return refuse(destination, overDay);
      if (destination !== 'internal' && !outside.leadsOut(number))
        return refuse(destination, noRoute(number));
      if (destination !== 'internal' && !outside.mayCall(who, number))
        return refuse(destination, notAllowed(say`${who} may not call numbers of this class of route`));
      // Counted before the first await, so that simultaneous requests cannot exceed the limit together.
      const countries = country === null ? before.countries : [...new Set([...before.countries, country])];
      const after = { calls: before.calls + 1, countries };
      times.push(now);
      usage.set(who, after);
      await store.keepUsage(who, day, after);
      return destination;
    },
    checkCallerId(extension, shown) {
      if (shown === extension || settings().caller_ids.includes(shown)) return;
      throw notAllowed('this number may not be shown as the caller');
    },
    refusals: () => refused,
  };
}

const noRoute = (number: string): ServiceError =>
  new ServiceError('no_route', say`no route of this site leads to ${number}`);
const described = (destination: Destination): Said => ({
  key: destination === 'unknown' ? 'a number of no known kind' : `${destination.replace('_', ' ')} numbers`,
  values: [],
});
