import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Directory, QueueEntry, TrunkEntry } from '../../ports/directory.ts';
import { isEmergency, isNumber, mayCall } from '../../routing/plan.ts';
import { outboundFinder, outboundOrder } from '../../routing/routes.ts';
import { toPbxConfig } from './config.ts';
import type { PbxConfig } from './config.ts';
import type { ObjectStore } from './objects.ts';

/** Indexes of the directory, built once for each version of the configuration. */
function indexOf(config: PbxConfig) {
  const queues: QueueEntry[] = config.queues.map(
    ({ name, number, title, wrap_up_seconds, agents, members }) =>
      Object.freeze({
        name,
        number,
        title,
        wrap_up_seconds,
        agents,
        penalties: new Map(members.filter((m) => m.penalty > 0).map((m) => [m.extension, m.penalty])),
      }),
  );
  const queuesOf = new Map<string, QueueEntry[]>();
  for (const queue of queues) {
    for (const extension of queue.agents) {
      const own = queuesOf.get(extension);
      if (own === undefined) queuesOf.set(extension, [queue]);
      else own.push(queue);
    }
  }
  // Without the credentials of trunks.
  const trunks: TrunkEntry[] = config.trunks.map(({ name, title, endpoint }) =>
    Object.freeze({ name, title, endpoint }),
  );
  const people = config.people.map((p) => p.person);
  const enabled = new Set(config.trunks.filter((t) => t.enabled).map((t) => t.name));
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
    outside: outboundFinder(
      outboundOrder(config.outbound_routes.filter((r) => r.trunks.some((t) => enabled.has(t.trunk)))),
    ),
    callers: new Map(config.people.map((p) => [p.person.extension, p])),
    reasons: config.pause_reasons,
    secrets: new Map(config.people.map((p) => [p.person.extension, p.sip_password])),
  };
}

/** Directory of the applied configuration; `reload` reads the newest version and notifies listeners of a change. */
export interface StoredDirectory extends Directory {
  /** Configuration this directory was made from; the renderer uses it, so that directory and engine files match. */
  config(): PbxConfig;
  reload(): void;
}

/** Looks up user names without regard to case. `sipPassword` throws `not_found` for an unknown extension. */
export function createDirectory(
  objects: Pick<ObjectStore, 'applied'> & Partial<Pick<ObjectStore, 'heldSince' | 'knownSince'>>,
): StoredDirectory {
  let model = objects.applied();
  let config = toPbxConfig(model);
  let index = indexOf(config);
  let version = 1;
  const listeners = new Set<() => void>();
  /** Finds no route for a number that is not only digits. */
  const route = (number: string) => (isNumber(number) ? index.outside(number) : null);
  return {
    get version() {
      return version;
    },
    people: () => index.people,
    byExtension: (extension) => index.byExtension.get(extension),
    byUsername: (username) => index.byUsername.get(username.toLowerCase()),
    byEndpoint: (endpoint) => index.byEndpoint.get(endpoint),
    heldSince: (extension) => objects.heldSince?.(extension) ?? 0,
    knownSince: (person) => objects.knownSince?.(person) ?? 0,
    queues: () => index.queues,
    queue: (name) => index.queue.get(name),
    queuesOf: (extension) => index.queuesOf.get(extension) ?? [],
    trunks: () => index.trunks,
    trunkByEndpoint: (endpoint) => index.trunkByEndpoint.get(endpoint),
    leadsOut: (number) => route(number) !== null,
    mayCall(extension, number) {
      const found = route(number);
      const caller = index.callers.get(extension);
      return found === null || caller === undefined || mayCall(caller, found);
    },
    isEmergency(number) {
      const found = route(number);
      return found !== null && isEmergency(found);
    },
    pauseReasons: () => index.reasons,
    sipPassword(extension) {
      const password = index.secrets.get(extension);
      if (password === undefined)
        throw new ServiceError('not_found', say`there is no extension ${JSON.stringify(extension)}`);
      return password;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    config: () => config,
    reload() {
      const next = objects.applied();
      if (next === model) return;
      model = next;
      config = toPbxConfig(next);
      index = indexOf(config);
      version += 1;
      for (const listener of listeners) listener();
    },
  };
}
