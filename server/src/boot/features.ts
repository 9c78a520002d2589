/** Features that work on live calls: agents, queues, call control and people's own call settings. */
import path from 'node:path';
import { moveMailboxes } from '../adapters/asterisk/mailbox-folders.ts';
import { outboundFinder, outboundOrder } from '../routing/routes.ts';
import { createAgents } from '../features/agents/feature.ts';
import type { Agents } from '../features/agents/feature.ts';
import { createCallControlFeature } from '../features/calls/feature.ts';
import type { CallControlFeature } from '../features/calls/feature.ts';
import { createLiveCalls } from '../features/calls/live.ts';
import { createLiveParking } from '../features/calls/parking.ts';
import { FEATURE_CODES } from '../features/feature-codes/feature-codes.ts';
import { createApplies } from '../features/pbx-config/apply/service.ts';
import { toPbxConfig } from '../features/pbx-config/config.ts';
import { otherNumbers } from '../features/pbx-config/live.ts';
import { toSite } from '../features/pbx-config/site.ts';
import { createPhonebook } from '../features/phonebook/service.ts';
import type { Phonebook } from '../features/phonebook/service.ts';
import { createPresence } from '../features/presence/service.ts';
import type { PresenceService } from '../features/presence/service.ts';
import { remainsOf } from '../features/privacy/remains.ts';
import { createPrivacy } from '../features/privacy/service.ts';
import { createQueues } from '../features/queues/service.ts';
import { createSelfService } from '../features/self-service/service.ts';
import { Wallboard } from '../features/wallboard/service.ts';
import { eventOf } from '../journal/journal.ts';
import type { EngineConfig } from '../ports/engine-config.ts';
import { DISK_FLOOR_BYTES } from './health.ts';
import type { RecordFeatures, RecordParts } from './records.ts';

export interface CallParts extends RecordParts, RecordFeatures {
  readonly agents: Agents;
}
export type CallFeatures = Awaited<ReturnType<typeof createCallFeatures>>;
/** All features of the service and their dependencies. */
export interface Features extends CallParts, CallFeatures, ConfigFeatures {}
export type ConfigFeatures = Awaited<ReturnType<typeof createConfigFeatures>>;

export const createAgentFeature = (parts: RecordParts): Promise<Agents> => {
  const { audit, clock, config, directory, engine, live, log, loop, store } = parts;
  return createAgents({
    engine,
    live,
    tell: loop.tell,
    directory,
    audit,
    store,
    clock,
    log,
    noAnswerLimit: config.noAnswerLimit,
    unreachableMs: config.unreachableSeconds * 1000,
  });
};

const createCalls = (parts: CallParts): Promise<CallControlFeature> => {
  const { audit, clock, config, directory, engine, live, log, loop, store } = parts;
  const { recordings, sessions, siteConsole } = parts;
  return createCallControlFeature({
    engine,
    live,
    directory,
    audit,
    store,
    recordings: recordings.keeper,
    mayListen: (caller) =>
      !siteConsole.settings().confirm_supervision || sessions.confirmation.holds(caller.session_id),
    clock,
    log,
    tell: loop.tell,
    publish: loop.publish,
    numbers: () => {
      const now = directory.config();
      return { services: otherNumbers(now), parking_lots: now.parking_lots };
    },
    zone: config.siteZone,
  });
};

/** Runs the migrations of the features. */
export async function createCallFeatures(parts: CallParts) {
  const { agents, audit, clock, config, directory, engine, journal, live, log, loop, store } = parts;
  const wallboard = await Wallboard.open({
    store,
    journal,
    eventOf,
    clock,
    directory,
    live,
    audit,
    log,
    zone: config.siteZone,
    publish: loop.publish,
  });
  const calls = await createCalls(parts);
  const selfService = await createSelfService({
    engine,
    live,
    directory,
    isPlace(number) {
      const { ring_groups, menus, time_conditions, conferences, mailboxes } = directory.config();
      return [ring_groups, menus, time_conditions, conferences, mailboxes].some((places) =>
        places.some((place) => place.number === number),
      );
    },
    mayForwardOutside(extension, number) {
      const { people, outbound_routes } = directory.config();
      const person = people.find((p) => p.person.extension === extension);
      const route = outboundFinder(outboundOrder(outbound_routes))(number);
      return (
        person?.forward_outside === true && route !== null && person.call_permission.includes(route.class)
      );
    },
    destinationOf: (number) => calls.destinationOf(number),
    store,
    audit,
    clock,
    log,
  });
  const presence = await createPresence({
    store,
    clock,
    log,
    directory,
    live,
    doNotDisturb: selfService.doNotDisturb,
    tell: loop.tell,
  });
  const phonebook = await createPhonebook({
    store,
    clock,
    directory,
    audit,
    country: config.siteCountry,
  });
  const queues = createQueues({
    engine,
    live,
    directory,
    settings: () => directory.config().queues,
    memberships: agents.memberships,
    audit,
    clock,
    log,
    tell: loop.tell,
  });
  const liveCalls = createLiveCalls(live, clock);
  const parking = createLiveParking(live, clock);
  return { wallboard, calls, selfService, presence, phonebook, queues, liveCalls, parking };
}

/** Features for personal data and for bringing a configuration to the engine. */
export async function createConfigFeatures(
  parts: CallParts & { readonly presence: PresenceService; readonly phonebook: Phonebook },
  engineConfig: EngineConfig,
  stack: AsyncDisposableStack,
) {
  const { agents, audit, callRecords, clock, config, directory, draft, exchange, exports } = parts;
  const { history, house, instance, log, loop, objects, phonebook, presence, records, store } = parts;
  const privacy = await createPrivacy({
    store,
    holders: [history.data, audit.data, presence.data, phonebook.data, exports.data],
    directory,
    audit,
    clock,
    log,
    folder: path.join(config.data, 'privacy'),
    hours: config.exportHours,
    diskFloor: DISK_FLOOR_BYTES,
    country: config.siteCountry,
    forget: (until) => callRecords.forget(until),
    forgetRows: async () => !(await Promise.all([store, records].map((one) => one.forget()))).includes(false),
    remains: remainsOf(config.journalDays),
  });
  stack.defer(() => privacy.close());
  const applies = createApplies({
    store,
    objects,
    engine: engineConfig,
    house,
    site: (wanted) => toSite(toPbxConfig(wanted), FEATURE_CODES),
    audit,
    clock,
    log,
    up: () => exchange.running(),
    draftTag: () => draft.etag(),
    publish: loop.publish,
    hold: () => agents.hold(),
    mailboxes: (owners) => moveMailboxes(instance, owners, clock),
    committed: () => directory.reload(),
    restart: () => exchange.restartWhenConvenient(),
  });
  return { privacy, applies };
}
