/** Features that work on live calls: agents, queues, call control and people's own call settings. */
import { createConnectorVerbs } from './connector-verbs.ts';
import path from 'node:path';
import { hasCode } from '../core/errors.ts';
import { keptText } from '../core/files.ts';
import { outboundFinder, outboundOrder } from '../routing/routes.ts';
import { createAgents } from '../features/agents/feature.ts';
import type { Agents } from '../features/agents/feature.ts';
import { createCallbacks } from '../features/callbacks/feature.ts';
import { createCallControlFeature } from '../features/calls/feature.ts';
import type { CallControlFeature } from '../features/calls/feature.ts';
import { createLiveCalls } from '../features/calls/live.ts';
import { createSipCalls } from '../features/calls/sip-calls.ts';
import { createLiveParking } from '../features/calls/parking.ts';
import { createConnectors } from '../features/connectors/feature.ts';
import type { Connectors } from '../features/connectors/feature.ts';
import { FEATURE_CODES } from '../features/feature-codes/feature-codes.ts';
import { ConfigApplies } from '../features/pbx-config/apply/service.ts';
import { toPbxConfig } from '../features/pbx-config/config.ts';
import { otherNumbers } from '../features/pbx-config/live.ts';
import { toSite } from '../features/pbx-config/site.ts';
import { NightSwitches } from '../features/night-switches/service.ts';
import { CallCustomers } from '../features/phonebook/call-customers.ts';
import { EngineCustomers } from '../features/phonebook/engine-customers.ts';
import { createPhonebook } from '../features/phonebook/service.ts';
import { createPhonebookSources } from '../features/phonebook/sync/service.ts';
import { PathChecks } from '../features/path-check/service.ts';
import { Presence } from '../features/presence/service.ts';
import { ExternalAddress } from '../features/reachability/service.ts';
import { TrunkServerLookup } from '../features/reachability/trunk-servers.ts';
import { proveServer } from '../adapters/resolver/trunk-certificate.ts';
import { findServers } from '../adapters/resolver/trunk-servers.ts';
import { createTrunkProxy, followsServers } from './trunk-lookup.ts';
import { createQueues } from '../features/queues/service.ts';
import { createSelfService } from '../features/self-service/service.ts';
import { Wallboard } from '../features/wallboard/service.ts';
import { eventOf } from '../journal/journal.ts';
import type { ConversationFeed } from '../ports/conversations.ts';
import type { CustomerSources, Customers } from '../ports/customers.ts';
import type { EngineConfig } from '../ports/engine-config.ts';
import { createLdap } from './ldap.ts';
import { doctorFile } from './origins.ts';
import { createPhones } from './phones.ts';
import { createPrivacy } from './privacy.ts';
import type { PrivacyParts } from './privacy.ts';
import type { RecordFeatures, RecordParts } from './records.ts';

export interface CallParts extends RecordParts, RecordFeatures {
  readonly agents: Agents;
}
export type CallFeatures = Awaited<ReturnType<typeof createCallFeatures>>;
/** All features of the service and their dependencies. */
export interface Features extends CallParts, CallFeatures, ConfigFeatures {}
export type ConfigFeatures = Awaited<ReturnType<typeof createConfigFeatures>>;

export const createAgentFeature = (parts: RecordParts): Promise<Agents> => {
  const { common, config, engine, loop } = parts;
  return createAgents({
    ...common,
    engine,
    tell: loop.tell,
    noAnswerLimit: config.noAnswerLimit,
    unreachableMs: config.unreachableSeconds * 1000,
  });
};

const createCalls = (parts: CallParts): Promise<CallControlFeature> => {
  const { common, config, directory, engine, loop, recordings, sessions, siteConsole } = parts;
  return createCallControlFeature({
    ...common,
    engine,
    recordings: recordings.keeper,
    mayListen: (caller) =>
      !siteConsole.settings().confirm_supervision || sessions.confirmation.holds(caller.session_id),
    sessions: {
      holders: (ids) => sessions.holders(ids),
      onSessionEnded: (listener) => sessions.onSessionEnded(listener),
    },
    tell: loop.tell,
    numbers: () => {
      const now = directory.config();
      return { services: otherNumbers(now), parking_lots: now.parking_lots };
    },
    zone: config.siteZone,
  });
};

/** Conversations of the feed that a feature reads at once. */
const FEED_PAGE = 200;
/** Connector files of the release. */
const CONNECTOR_FILES = path.resolve(import.meta.dirname, '../../../connectors');

function feedOf({ history }: Pick<CallParts, 'history'>): ConversationFeed {
  // No person: every conversation of the site.
  const reader = { extension: '', level: 'admin', key: null } as const;
  return {
    changes: (cursor) =>
      history.conversations.changes(reader, { limit: FEED_PAGE, ...(cursor !== null && { cursor }) }),
    async one(id) {
      try {
        return (await history.conversations.one(reader, id)).conversation;
      } catch (error) {
        if (hasCode(error, 'not_found')) return null;
        throw error;
      }
    },
  };
}

function createConnectorFeature(
  parts: CallParts,
  calls: CallControlFeature,
  customers: CustomerSources,
): Promise<Connectors> {
  const { common, config, directory, history, live, recordings, webhooks } = parts;
  return createConnectors({
    ...common,
    customers,
    verbs: createConnectorVerbs({ directory, live, calls, notes: history.notes }),
    feed: feedOf(parts),
    audio: recordings.audioFiles,
    guard: webhooks.guard,
    folders: { release: CONNECTOR_FILES, own: path.join(config.data, 'connectors') },
    publicUrl: config.publicUrl,
    country: config.siteCountry,
    siteZone: config.siteZone,
  });
}

const createCallCustomers = (
  { common, loop }: CallParts,
  phonebook: Customers,
  systems: Connectors['service'],
): CallCustomers =>
  new CallCustomers({
    ...common,
    find: (numbers) => phonebook.named(null, numbers),
    pop: (customer, call, number) => systems.pop(customer, call, number),
    unknown: (number) => systems.seek(number),
    tell: loop.tell,
  });

/** Runs the migrations of the features. */
export async function createCallFeatures(parts: CallParts) {
  const { agents, clock, common, config, directory, engine, journal, live, log, loop } = parts;
  const wallboard = await Wallboard.open({ ...common, journal, eventOf, zone: config.siteZone });
  const calls = await createCalls(parts);
  const selfService = await createSelfService({
    ...common,
    engine,
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
  });
  const presence = await Presence.open({
    ...common,
    doNotDisturb: selfService.doNotDisturb,
    tell: loop.tell,
  });
  const phonebook = await createPhonebook({ ...common, country: config.siteCountry });
  const phonebookSources = await createPhonebookSources({
    ...common,
    customers: phonebook.sources,
    guard: parts.webhooks.guard,
  });
  const connectors = await createConnectorFeature(parts, calls, phonebook.sources);
  const callbacks = await createCallbacks({ ...common, customers: phonebook, feed: feedOf(parts) });
  const callCustomers = createCallCustomers(parts, phonebook, connectors.service);
  const engineCustomers = new EngineCustomers({
    store: phonebook.store,
    engine,
    country: config.siteCountry,
    clock,
    log,
  });
  const queues = createQueues({
    ...common,
    engine,
    settings: () => directory.config().queues,
    memberships: agents.memberships,
    tell: loop.tell,
  });
  const liveCalls = createLiveCalls(live, clock);
  const sipCalls = createSipCalls(live, engine);
  const parking = createLiveParking(live, clock);
  return {
    wallboard,
    calls,
    callCustomers,
    selfService,
    presence,
    phonebook,
    phonebookSources,
    engineCustomers,
    callbacks,
    connectors,
    queues,
    liveCalls,
    sipCalls,
    parking,
  };
}

/** Features for personal data and for applying a configuration. */
export async function createConfigFeatures(
  parts: PrivacyParts,
  engineConfig: { readonly here: EngineConfig; readonly whole: EngineConfig },
  stack: AsyncDisposableStack,
) {
  const { agents, clock, common, config, directory, draft, engineSite, house, log, objects, sessions } =
    parts;
  const { exchange } = engineSite;
  const privacy = await createPrivacy(parts);
  stack.defer(() => privacy.close());
  const trunks = () => directory.config().trunks;
  const up = () => exchange.running();
  const renew: ConfigApplies['renew'] = (comment) => applies.renew(comment);
  const externalAddress = await ExternalAddress.open({
    ...common,
    network: () => directory.config().network,
    find: engineSite.findAddress,
    up,
    renew,
    kept: keptText(path.join(config.data, 'external-address.json')),
  });
  stack.use(externalAddress);
  const trunkServers = await TrunkServerLookup.open({
    trunks,
    follows: followsServers(config),
    find: findServers(config.dnsServers),
    prove: proveServer(engineSite.certificates?.files.trusted ?? null),
    up,
    renew,
    clock,
    log,
    kept: keptText(path.join(config.data, 'trunk-servers.json')),
  });
  stack.use(trunkServers);
  const trunkProxy = stack.use(createTrunkProxy({ config, trunks, up, renew, clock, log }));
  const applies: ConfigApplies = new ConfigApplies({
    ...common,
    node: config.node,
    objects,
    engine: engineConfig.whole,
    here: engineConfig.here,
    house,
    site: (wanted) => {
      const wished = toPbxConfig(wanted);
      const found = {
        address: externalAddress.found(),
        servers: trunkServers.found(wished.trunks),
        proxy: trunkProxy.used(),
      };
      return toSite(wished, FEATURE_CODES, found);
    },
    up: () => exchange.running(),
    draftTag: () => draft.etag(),
    alone: (work) => draft.alone(work),
    hold: () => agents.hold(),
    mailboxes: (owners) => engineSite.moveMailboxes(owners),
    disabling: (trx, people) => sessions.endWith(trx, people),
    committed: () => directory.reload(),
    restart: () => exchange.restartWhenConvenient(),
  });
  const { phones, shared: sharedPhones } = await createPhones(parts);
  const nightSwitches = new NightSwitches({ ...parts, conditions: () => directory.config().time_conditions });
  directory.onChange(() => nightSwitches.followSite());
  stack.defer(
    directory.onChange(() => {
      externalAddress.follow();
      trunkServers.follow();
    }),
  );
  const ldap = await createLdap({ ...parts, phones, externalAddress });
  const pathChecks = await PathChecks.open({
    ...common,
    probe: engineSite.paths,
    up: () => parts.live.live,
    file: doctorFile(config.data),
  });
  return {
    privacy,
    applies,
    externalAddress,
    trunkProxy,
    trunkServers,
    pathChecks,
    phones,
    sharedPhones,
    nightSwitches,
    ldap,
  };
}
