import type { PersonLevel } from '@offhook/contract/ids.ts';
import type { Directory, PauseReason, Person, QueueEntry, TrunkEntry } from '../../src/ports/directory.ts';

/** A directory in memory that a test can change; every change notifies the listeners, as in the real one. */
export interface DirectoryFixture extends Directory {
  /** Adds a person, or replaces the one with the same id. */
  put(person: Person): void;
  /** Changes fields of a person; throws if no person has this extension. */
  change(extension: string, fields: Partial<Omit<Person, 'id'>>): void;
  remove(extension: string): void;
  /** Time when the current holder received the extension, ms since 1970. */
  give(extension: string, since_ms: number): void;
  /** Time when the person was added to the site, ms since 1970. */
  meet(extension: string, known_ms: number): void;
  setQueues(queues: readonly QueueEntry[]): void;
}

/** A person with the three endpoints that every extension has. */
export function personFixture(
  id: number,
  extension: string,
  username: string,
  level: PersonLevel = 'user',
  fields: Partial<Person> = {},
): Person {
  return {
    id,
    extension,
    username,
    name: username[0]!.toUpperCase() + username.slice(1),
    email: `${username}@example.test`,
    mobile: null,
    department: null,
    pickup_group: null,
    level,
    active: true,
    endpoints: [
      { name: extension, kind: 'sip' },
      { name: `${extension}-web`, kind: 'webrtc' },
      { name: `${extension}-mobile`, kind: 'mobile' },
    ],
    ...fields,
  };
}

/** A small company: 1001 ada (admin), 1002 sam (supervisor), 1003 and 1004 agents, 1005 and 1006 users, 1007 inactive. */
export const demoPeople = (): Person[] => [
  personFixture(1, '1001', 'ada', 'admin'),
  personFixture(2, '1002', 'sam', 'supervisor'),
  personFixture(3, '1003', 'bea', 'agent'),
  personFixture(4, '1004', 'cem', 'agent'),
  personFixture(5, '1005', 'dan'),
  personFixture(6, '1006', 'eve'),
  personFixture(7, '1007', 'off', 'user', { active: false }),
];
export const demoQueues = (): QueueEntry[] => [
  { name: 'support', number: '500', title: 'Support', wrap_up_seconds: 5, agents: ['1003', '1004'] },
  { name: 'sales', number: '510', title: 'Sales', wrap_up_seconds: 0, agents: ['1003'] },
];
export const demoTrunks = (): TrunkEntry[] => [
  { name: 'north', title: 'North', endpoint: 'trunk-north' },
  { name: 'south', title: 'South', endpoint: 'trunk-south' },
];
export const reasonFixture = (id: string, name: string, fields: Partial<PauseReason> = {}): PauseReason => ({
  id,
  name,
  paid: true,
  longest_seconds: null,
  supervisor_only: false,
  ...fields,
});
export const demoReasons = (): PauseReason[] => [
  reasonFixture('break', 'Break', { longest_seconds: 900 }),
  reasonFixture('lunch', 'Lunch'),
  reasonFixture('meeting', 'Meeting'),
];

export function directoryFixture(
  people: readonly Person[] = demoPeople(),
  queues: readonly QueueEntry[] = demoQueues(),
  reasons: readonly PauseReason[] = demoReasons(),
  trunks: readonly TrunkEntry[] = demoTrunks(),
): DirectoryFixture {
  let persons = [...people];
  let queueList = [...queues];
  let version = 1;
  const listeners = new Set<() => void>();
  const held = new Map<string, number>();
  const known = new Map<number, number>();
  const changed = (): void => {
    version += 1;
    for (const listener of listeners) listener();
  };
  const byExtension = (extension: string) => persons.find((p) => p.extension === extension);
  return {
    get version() {
      return version;
    },
    people: () => persons,
    byExtension,
    byUsername: (username) => persons.find((p) => p.username === username),
    byEndpoint: (endpoint) => persons.find((p) => p.endpoints.some((e) => e.name === endpoint)),
    heldSince: (extension) => held.get(extension) ?? 0,
    knownSince: (id) => known.get(id) ?? 0,
    queues: () => queueList,
    queue: (name) => queueList.find((q) => q.name === name),
    queuesOf: (extension) => queueList.filter((q) => q.agents.includes(extension)),
    trunks: () => trunks,
    trunkByEndpoint: (endpoint) => trunks.find((t) => t.endpoint === endpoint),
    leadsOut: () => false,
    mayCall: () => true,
    isEmergency: (number) => number === '112',
    pauseReasons: () => reasons,
    sipPassword: (extension) => `sip-secret-of-${extension}`,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    put(person) {
      persons = [...persons.filter((p) => p.id !== person.id), person].sort((a, b) =>
        a.extension < b.extension ? -1 : 1,
      );
      changed();
    },
    change(extension, fields) {
      const person = byExtension(extension);
      if (person === undefined) throw new Error(`the fixture has no extension ${extension}`);
      persons = persons.map((p) => (p === person ? { ...p, ...fields } : p));
      changed();
    },
    remove(extension) {
      persons = persons.filter((p) => p.extension !== extension);
      changed();
    },
    meet(extension, known_ms) {
      const person = persons.find((p) => p.extension === extension);
      if (person !== undefined) known.set(person.id, known_ms);
      changed();
    },
    give(extension, since_ms) {
      held.set(extension, since_ms);
      changed();
    },
    setQueues(next) {
      queueList = [...next];
      changed();
    },
  };
}
