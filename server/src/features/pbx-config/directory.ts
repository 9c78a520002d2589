import { ServiceError } from '../../core/errors.ts';
import type { Directory, QueueEntry, TrunkEntry } from '../../ports/directory.ts';
import type { Store } from '../../ports/store.ts';
import { readPbxConfig } from './config.ts';
import type { PbxConfig } from './config.ts';

/** Everything the directory answers from, built once for each version of the configuration. */
function indexOf(config: PbxConfig) {
  const queues: QueueEntry[] = config.queues.map(({ name, number, title, wrap_up_seconds, agents }) =>
    Object.freeze({ name, number, title, wrap_up_seconds, agents }),
  );
  const queuesOf = new Map<string, QueueEntry[]>();
  for (const queue of queues) {
    for (const extension of queue.agents) {
      const own = queuesOf.get(extension);
      if (own === undefined) queuesOf.set(extension, [queue]);
      else own.push(queue);
    }
  }
  // Without what it signs in with.
  const trunks: TrunkEntry[] = config.trunks.map(({ name, title, endpoint }) =>
    Object.freeze({ name, title, endpoint }),
  );
  const people = config.people.map((p) => p.person);
  return {
    people,
    byExtension: new Map(people.map((p) => [p.extension, p])),
    byUsername: new Map(people.map((p) => [p.username.toLowerCase(), p])),
    byEndpoint: new Map(people.flatMap((p) => p.endpoints.map((e) => [e.name, p] as const))),
    queues,
    queue: new Map(queues.map((q) => [q.name, q])),
    queuesOf,
    trunks,
    trunkByEndpoint: new Map(trunks.map((t) => [t.endpoint, t])),
    prefixes: config.outbound_routes.map((r) => r.prefix),
    reasons: config.pause_reasons,
    secrets: new Map(config.people.map((p) => [p.person.extension, p.sip_password])),
  };
}

/** The directory of the store; `reload` reads it again and tells the listeners when something is different. */
export interface StoredDirectory extends Directory {
  /** What was read last, for the renderer: the directory and the engine's files then show the same version. */
  config(): PbxConfig;
  /** Resolves when the newest state is in force. On an error everything stays as it was. */
  reload(): Promise<void>;
}

/** User names are found whatever their case. `sipPassword` of an unknown extension is `not_found`. */
export async function createDirectory(store: Store): Promise<StoredDirectory> {
  let config = await readPbxConfig(store);
  let index = indexOf(config);
  let version = 1;
  const listeners = new Set<() => void>();
  // One at a time, so that an older reading never replaces a newer one.
  let last: Promise<void> = Promise.resolve();
  const read = async (): Promise<void> => {
    const next = await readPbxConfig(store);
    if (JSON.stringify(next) === JSON.stringify(config)) return;
    config = next;
    index = indexOf(next);
    version += 1;
    for (const listener of listeners) listener();
  };
  return {
    get version() {
      return version;
    },
    people: () => index.people,
    byExtension: (extension) => index.byExtension.get(extension),
    byUsername: (username) => index.byUsername.get(username.toLowerCase()),
    byEndpoint: (endpoint) => index.byEndpoint.get(endpoint),
    queues: () => index.queues,
    queue: (name) => index.queue.get(name),
    queuesOf: (extension) => index.queuesOf.get(extension) ?? [],
    trunks: () => index.trunks,
    trunkByEndpoint: (endpoint) => index.trunkByEndpoint.get(endpoint),
    leadsOut: (number) => index.prefixes.some((p) => number.startsWith(p) && number.length > p.length),
    pauseReasons: () => index.reasons,
    sipPassword(extension) {
      const password = index.secrets.get(extension);
      if (password === undefined)
        throw new ServiceError('not_found', `there is no extension ${JSON.stringify(extension)}`);
      return password;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    config: () => config,
    reload: () => (last = last.then(read, read)),
  };
}
