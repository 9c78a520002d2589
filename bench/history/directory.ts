/** The directory of the recorded calls: `EXTENSIONS` people with three devices each, and the queues of the recordings. */
import type { Directory, Person, QueueEntry } from '../../server/src/ports/directory.ts';
import type { Store } from '../../server/src/ports/store.ts';
import { systemClock as clock } from '../../server/src/core/clock.ts';
import { silent as log } from '../../server/src/core/log.ts';
import { createHistory } from '../../server/src/features/history/feature.ts';
import type { History, HistoryDeps } from '../../server/src/features/history/feature.ts';
import { eventOf } from '../../server/src/journal/journal.ts';
import type { CallRecords } from '../../server/src/ports/call-records.ts';
import { EXTENSIONS } from './cel.ts';

export const QUEUES = ['support', 'sales'] as const;

export function benchDirectory(): Directory {
  const people = Array.from({ length: EXTENSIONS }, (_, i): Person => {
    const extension = String(1_000 + i);
    return {
      id: i + 1,
      extension,
      username: `person${extension}`,
      name: `Person ${extension}`,
      email: null,
      mobile: null,
      department: null,
      pickup_group: null,
      level: 'agent',
      active: true,
      endpoints: [
        { name: extension, kind: 'sip' },
        { name: `${extension}-web`, kind: 'webrtc' },
        { name: `${extension}-mobile`, kind: 'mobile' },
      ],
    };
  });
  const queues = QUEUES.map((name, i): QueueEntry => ({
    name,
    number: String(600 + i),
    title: name,
    wrap_up_seconds: 10,
    agents: [],
  }));
  const byExtension = new Map(people.map((p) => [p.extension, p]));
  const byEndpoint = new Map(people.flatMap((p) => p.endpoints.map((e) => [e.name, p] as const)));
  return {
    version: 1,
    people: () => people,
    byExtension: (extension) => byExtension.get(extension),
    byUsername: (username) => people.find((p) => p.username === username),
    byEndpoint: (endpoint) => byEndpoint.get(endpoint),
    queues: () => queues,
    queue: (name) => queues.find((q) => q.name === name),
    queuesOf: () => [],
    trunks: () => [],
    trunkByEndpoint: () => undefined,
    leadsOut: () => false,
    mayCall: () => true,
    isEmergency: () => false,
    pauseReasons: () => [],
    sipPassword: () => '',
    onChange: () => () => {},
  };
}

/** The history feature alone: without audit trail and recordings; its published events are committed at once. */
export async function benchHistory(store: Store, records: CallRecords): Promise<History> {
  const history: History = await createHistory({
    ...bare(store),
    records,
    publish: (events) => events.forEach((event) => history.onDomainEvent(event)),
  });
  history.begin();
  return history;
}
export const bare = (store: Store): Omit<HistoryDeps, 'records' | 'publish'> => ({
  store,
  clock,
  directory: benchDirectory(),
  log,
  zone: 'UTC',
  recordings: {
    ofCalls: async () => new Map(),
    withRecording: async () => new Set(),
    erase: async () => ({ erased: 0, bytes: 0 }),
  },
  audit: { record: async () => {} } as unknown as HistoryDeps['audit'],
  country: '',
  journal: { epoch: 'bench', head: 0, tail: 1, read: () => [] },
  feedEpoch: 'bench',
  eventOf,
  settled: () => true,
});
