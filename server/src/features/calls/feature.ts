import type { CallSettings, Destination } from '@offhook/contract/call-settings.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { ensureLive } from '../../commands/confirm.ts';
import { Commands } from '../../commands/kernel.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { say } from '../../core/said.ts';
import { zoneOffset } from '../../core/zone.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Directory } from '../../ports/directory.ts';
import type { CallVerbs } from '../../ports/engine-verbs.ts';
import type { Engine } from '../../ports/engine.ts';
import type { RecordingKeeper } from '../../ports/recordings.ts';
import type { Store } from '../../ports/store.ts';
import type { SiteParking } from '../../ports/site.ts';
import type { CallControlDeps } from './deps.ts';
import { classify } from './destinations.ts';
import type { OwnNumbers } from './destinations.ts';
import { createGuard } from './guard.ts';
import type { Guard } from './guard.ts';
import type { Actor } from '../../ports/operations.ts';
import { CONFIRM_MS, nameOf } from './perform.ts';
import { createCallControl } from './service.ts';
import type { CallControl } from './service.ts';
import { LostRights } from './lost-rights.ts';
import type { LostRightsDeps } from './lost-rights.ts';
import { createEndedCalls } from './reach.ts';
import { createCallStore } from './store.ts';

export interface CallControlFeatureDeps extends Pick<
  CallControlDeps,
  'live' | 'clock' | 'tell' | 'confirm_ms' | 'mayListen'
> {
  readonly engine: Pick<Engine, 'node' | 'nodeOf' | 'settled' | 'roundTrip'> & CallVerbs;
  readonly log: Log;
  readonly publish: (events: readonly DomainEvent[]) => void;
  readonly directory: Directory;
  readonly audit: Required<Audit>;
  readonly store: Store;
  readonly recordings: RecordingKeeper;
  /** Numbers that can be dialled besides those of people and queues. */
  readonly numbers: () => {
    readonly services: readonly string[];
    readonly parking_lots: readonly Pick<SiteParking, 'number' | 'first_slot' | 'last_slot'>[];
  };
  readonly sessions: Pick<LostRightsDeps, 'holders'> & {
    onSessionEnded(listener: () => void): () => void;
  };
  /** IANA name of the site's time zone, which defines the day of the limits. */
  readonly zone: string;
}
export interface CallControlFeature extends CallControl {
  readonly guard: Pick<Guard, 'refusals'>;
  settings(): CallSettings;
  /** Kind of a number, for its cost. */
  destinationOf(number: string): Destination;
  /** Applies new settings once they and their audit entry are stored. */
  changeSettings(actor: Actor, settings: CallSettings): Promise<CallSettings>;
  /** Resolves once every leg without a right to it is ended. */
  looked(): Promise<void>;
  close(): Promise<void>;
}

/** Runs the migrations and reads the settings. */
export async function createCallControlFeature(deps: CallControlFeatureDeps): Promise<CallControlFeature> {
  const { directory, clock, numbers } = deps;
  const store = await createCallStore(deps.store, deps.audit);
  let settings = await store.settings();
  const isSlot = (number: string): boolean => {
    const n = Number(number);
    return (
      String(n) === number && numbers().parking_lots.some((lot) => n >= lot.first_slot && n <= lot.last_slot)
    );
  };
  const isLot = (number: string): boolean => numbers().parking_lots.some((lot) => lot.number === number);
  const own: OwnNumbers = {
    has(number) {
      if (directory.byExtension(number)?.active === true) return true;
      if (directory.queues().some((q) => q.number === number)) return true;
      return numbers().services.includes(number) || isSlot(number) || isLot(number);
    },
  };
  const today = dayOf(deps.zone, () => clock.now());
  const used = await store.usageOf(today().day);
  const guard = createGuard({
    settings: () => settings,
    own,
    outside: directory,
    store,
    used,
    clock,
    today,
  });
  const commands = new Commands(deps, {
    prefix: 'op',
    confirm_ms: CONFIRM_MS,
    ensureReady: () => ensureLive(deps.live),
    limit: { counts: 'planned', refusal: (count, who) => say`${count} operations of ${who} are under way` },
    unsent: 'refused',
    publish: deps.publish,
  });
  const lostRights = new LostRights({ ...deps, holders: deps.sessions.holders });
  const look = (): void => void lostRights.look();
  const stops = [deps.sessions.onSessionEnded(look), directory.onChange(look)];
  const control = createCallControl({ ...deps, guard, commands, ended: createEndedCalls(), isSlot, isLot });
  return {
    ...control,
    guard,
    settings: () => settings,
    destinationOf: (number) => classify(number, own, settings).destination,
    async changeSettings(actor, wanted) {
      await store.saveSettings(wanted, {
        action: 'calls.configure',
        actor: nameOf(actor),
        object: null,
        outcome: 'ok',
        ip: actor.ip,
        detail: { enabled: wanted.enabled, allowed: JSON.stringify(wanted.allowed) },
      });
      settings = wanted;
      return settings;
    },
    looked: () => lostRights.look(),
    async close() {
      stops.forEach((stop) => stop());
      await lostRights.close();
      await commands.close();
    },
  };
}

const DAY_MS = 86_400_000;
/** The day in a zone and its remaining seconds, off by up to an hour on a change of clocks. */
function dayOf(zone: string, now: () => number): () => { day: string; seconds_left: number } {
  const offsetAt = zoneOffset(zone);
  return () => {
    const ms = now();
    const shown = ms + offsetAt(ms);
    return {
      day: rfc3339(shown).slice(0, 10),
      seconds_left: Math.max(1, Math.ceil((DAY_MS - (shown % DAY_MS)) / 1000)),
    };
  };
}
