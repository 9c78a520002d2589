/** Records of conversations: history, recordings and exports. */
import type { CallRecords } from '../ports/call-records.ts';
import path from 'node:path';
import { CallerRules } from '../features/caller-rules/service.ts';
import { sharedEndpoint } from '../features/pbx-config/site.ts';
import { Alerts, MOST_EVENTS, tellsAlert } from '../features/alerts/service.ts';
import { EmergencyCalls } from '../features/emergency/service.ts';
import { Refusals } from '../features/call-limits/refusals.ts';
import { Exports } from '../features/exports/service.ts';
import { createConversationRows } from '../features/history/query/export-rows.ts';
import { createHistory } from '../features/history/feature.ts';
import { createRecordings } from '../features/recordings/feature.ts';
import type { Recordings } from '../features/recordings/feature.ts';
import { eventOf } from '../journal/journal.ts';
import type { EngineParts, EngineSide } from './engine.ts';
import { DISK_FLOOR_BYTES } from './health.ts';

export interface RecordParts extends EngineParts, EngineSide {}
export type RecordFeatures = Awaited<ReturnType<typeof createRecordFeatures>>;

/** Runs the migrations; history reads and publishes nothing before its `begin`. */
export async function createRecordFeatures(parts: RecordParts, stack: AsyncDisposableStack) {
  const { clock, common, config, directory, engine, engineSite, journal, loop } = parts;
  const { apiKeys, node, records, sessions, store, storeGaps } = parts;
  // History and recordings need each other.
  const made = Promise.withResolvers<Recordings>();
  const { callRecords, folders } = engineSite;
  const callerRules = await CallerRules.open({ ...common, engine, country: config.siteCountry });
  stack.defer(() => callerRules.close());
  const alerts = new Alerts({ publish: loop.publish, clock });
  alerts.restore(
    journal
      .read(Math.max(journal.head - MOST_EVENTS, journal.tail - 1), MOST_EVENTS)
      .filter(({ type }) => tellsAlert(type))
      .map(eventOf),
  );
  const emergencies = new EmergencyCalls({
    ...common,
    publish: alerts.publish,
    person(extension) {
      const found = directory.config().people.find(({ person }) => person.extension === extension);
      return found === undefined ? null : { name: found.person.name, location: found.location };
    },
    sharedPhone: (endpoint) =>
      directory.config().phones.find(({ id }) => sharedEndpoint(id) === endpoint)?.location ?? null,
    locations: () => directory.config().network.locations,
    contacts: () => directory.config().network.emergency_contacts,
  });
  const refusals = new Refusals({ ...common, publish: alerts.publish, ruleWritten: callerRules.written });
  const history = await createHistory({
    ...common,
    store: records,
    node: config.node,
    zone: config.siteZone,
    ...watchedSources(
      {
        records: callRecords,
        others: new Map(directory.config().engines.map(({ node }) => [node, engineSite.otherRecords(node)])),
      },
      async (source) => emergencies.watching(refusals.watching((await made.promise).watching(source))),
    ),
    recordings: {
      ofCalls: async (ids) => (await made.promise).index.ofCalls(ids),
      withRecording: async (ids) => (await made.promise).index.withRecording(ids),
      erase: async (ids) => (await made.promise).index.erase(ids),
    },
    country: config.siteCountry,
    journal,
    feedEpoch: records === store ? storeGaps.feedEpoch(journal.epoch) : journal.epoch,
    eventOf,
    settled: loop.settled,
  });
  const recordings = await createRecordings({
    ...common,
    store: records,
    conversations: history.known,
    node,
    tell: loop.tell,
    folder: folders.recordings,
    shared: config.sharedFiles !== null,
    homes: () => directory.config().engines.map(({ node: name }) => name),
    days: config.recordingDays,
    own: config.ownRecordings === 'yes',
  });
  made.resolve(recordings);
  const exports = await Exports.open({
    ...common,
    store: records,
    rows: createConversationRows({
      store: records,
      recordings: recordings.index,
      country: config.siteCountry,
    }),
    credentials: {
      onSessionEnded: (listener) => sessions.onSessionEnded(listener),
      onKeyEnded: (listener) => apiKeys.onKeyEnded(listener),
    },
    folder: path.join(config.data, 'exports'),
    hours: config.exportHours,
    diskFloor: DISK_FLOOR_BYTES,
  });
  stack.defer(() => exports.close());
  return { alerts, history, recordings, exports, callerRules };
}

/**
 * The call records of all engines, as `watch` reads them: recordings, refusals and emergency calls at another engine are
 * reported as those at the engine of this node.
 */
export function watchedSources(
  given: { readonly records: CallRecords; readonly others: ReadonlyMap<string, CallRecords> },
  watch: (source: CallRecords) => Promise<CallRecords>,
): typeof given {
  const watched = (source: CallRecords): CallRecords => ({
    async *read(from, signal) {
      yield* (await watch(source)).read(from, signal);
    },
    ...(source.caughtUpAt !== undefined && { caughtUpAt: () => source.caughtUpAt!() }),
  });
  return {
    records: watched(given.records),
    others: new Map([...given.others].map(([node, source]) => [node, watched(source)])),
  };
}
