/**
 * The engines of a site as one engine: one stream with the facts of all, and each verb at the engine that it concerns. The first engine
 * is that of the leading node; the state of the link is that of the first. The model replaces its state by a snapshot, so a snapshot of
 * one engine is completed by the present state of the others.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { nodeId, nodeOf } from '@offhook/contract/ids.ts';
import type { ChannelId, NodeId } from '@offhook/contract/ids.ts';
import type { EngineEvent, EngineEventOf } from '../../ports/engine-events.ts';
import type { EngineSnapshot } from '../../ports/engine-state.ts';
import type { SiteEngine } from '../../ports/engine-site.ts';
import type { Homes } from '../../ports/site.ts';
import { ServiceError } from '../../core/errors.ts';
import { copyStores } from './copied-stores.ts';
import { Mirror } from './mirror.ts';

export interface JoinedEngineOptions {
  readonly first: SiteEngine;
  readonly others: readonly SiteEngine[];
  /** Node of the engine where the owner of an extension, or a queue, is homed; null for the first. */
  readonly homeOf: Homes;
  /** Time for which the first snapshot waits for those of the other engines. */
  readonly patience_ms?: number;
  /** Time for which a requested snapshot waits for those of the other engines. */
  readonly resync_ms?: number;
}
const PATIENCE_MS = 5_000;
/** By then the link to an engine that vanished counts as lost. */
const RESYNC_MS = 10_000;

/**
 * Facts of several sources in the order in which they come; each waits until its last batch was taken. Ends with the first source, or
 * where one fails; `end` then has the others end, which may wait for facts that never come.
 */
async function* merged(
  sources: readonly AsyncIterable<readonly EngineEvent[]>[],
  each: (batch: readonly EngineEvent[], source: number) => readonly EngineEvent[],
  end: () => void,
): AsyncGenerator<readonly EngineEvent[]> {
  const ready: { readonly batch: readonly EngineEvent[]; readonly i: number; readonly taken: () => void }[] =
    [];
  let over = false;
  let failure: { readonly error: unknown } | null = null;
  let wake = (): void => {};
  const iterators = sources.map((one) => one[Symbol.asyncIterator]());
  const pump = async (i: number): Promise<void> => {
    try {
      for (;;) {
        const next = await iterators[i]!.next();
        if (next.done === true || over) return;
        await new Promise<void>((taken) => {
          ready.push({ batch: next.value, i, taken });
          wake();
        });
      }
    } catch (error) {
      failure ??= { error };
    } finally {
      // Without the first engine there is no site.
      if (i === 0 || failure !== null) over = true;
      wake();
    }
  };
  const pumps = sources.map((_, i) => pump(i));
  try {
    while (!over || ready.length > 0) {
      const next = ready.shift();
      if (next === undefined) {
        await new Promise<void>((resolve) => (wake = resolve));
        continue;
      }
      try {
        const batch = each(next.batch, next.i);
        if (batch.length > 0) yield batch;
      } finally {
        // Also where the consumer fails: its pump waits for this.
        next.taken();
      }
    }
    if (failure !== null) throw (failure as { readonly error: unknown }).error;
  } finally {
    over = true;
    end();
    for (const { taken } of ready) taken();
    for (const one of iterators) await one.return?.();
    await Promise.all(pumps);
  }
}

interface Facts {
  readonly all: readonly SiteEngine[];
  readonly ofExtension: (extension: string) => SiteEngine;
  readonly patience_ms: number;
  /** Engines that failed to execute a write meant for all. */
  readonly lacks: Map<SiteEngine, 'stores' | 'last callers'>;
}
/**
 * Facts that only the first engine reports: time conditions are switched at every engine, and every engine has the trunks, but only
 * the first one registers them.
 */
const OF_FIRST: ReadonlySet<EngineEvent['type']> = new Set([
  'night_switch.changed',
  'trunk.contact',
  'trunk.registration',
]);
/** The present state of each engine, which completes the snapshots of the others. */
class States {
  readonly #facts: Facts;
  readonly #mirrors: readonly Mirror[];
  constructor(facts: Facts) {
    this.#facts = facts;
    this.#mirrors = facts.all.map(() => new Mirror());
  }
  mirror(own: number): Mirror {
    return this.#mirrors[own]!;
  }
  /** Facts of the engine at this position, as they concern the site. */
  take(batch: readonly EngineEvent[], own: number): readonly EngineEvent[] {
    const { all, ofExtension } = this.#facts;
    return batch.flatMap((event): EngineEvent[] => {
      this.#mirrors[own]!.apply(event);
      if (event.type === 'extension.features' && ofExtension(event.extension) !== all[own]) return [];
      if (own > 0 && OF_FIRST.has(event.type)) return [];
      return event.type === 'engine.snapshot'
        ? [{ ...event, snapshot: this.#whole(event.snapshot, own) }]
        : [event];
    });
  }
  /** A former snapshot of the engine at this position, with all facts since then. */
  renewed(snapshot: EngineSnapshot, own: number): EngineSnapshot {
    return this.#whole({ ...snapshot, ...this.#mirrors[own]!.parts() }, own);
  }
  #whole(snapshot: EngineSnapshot, own: number): EngineSnapshot {
    const { all, ofExtension } = this.#facts;
    const parts = this.#mirrors.map((mirror, i) => (i === own ? snapshot : mirror.parts()));
    return {
      ...snapshot,
      channels: parts.flatMap((part) => part.channels),
      bridged: parts.flatMap((part) => part.bridged),
      queues: parts.flatMap((part) => part.queues),
      devices: parts.flatMap((part) => part.devices),
      parked: parts.flatMap((part) => part.parked ?? []),
      held_here: parts.flatMap((part) => part.held_here ?? []),
      trunks: parts[0]!.trunks ?? [],
      signed: new Map(parts.flatMap((part) => [...(part.signed ?? [])])),
      switches: new Map(parts[0]!.switches),
      features: new Map(
        parts.flatMap((part, i) =>
          [...(part.features ?? [])].filter(([extension]) => ofExtension(extension) === all[i]),
        ),
      ),
    };
  }
}

/** Interval of retries for an engine that failed, and of reading what its own phones wrote, in ms. */
const COPY_AGAIN_MS = 5_000;
const COPY_EVERY_MS = 600_000;
const LOOK_MS = 500;
/** Copies the state that all engines share to this one: after each connect, after a failed write, and every ten minutes. */
async function keepCopied(
  { all: [first], lacks }: Facts,
  own: number,
  other: SiteEngine,
  states: States,
  signal: AbortSignal,
): Promise<void> {
  let copied = Number.NaN;
  let next = 0;
  while (!signal.aborted) {
    await wait(LOOK_MS, undefined, { signal }).catch(() => undefined);
    const { link, since } = other.status();
    if (link !== 'up' || first!.status().link !== 'up') continue;
    const now = performance.now();
    if (now < next && since === copied && !lacks.has(other)) continue;
    try {
      if (lacks.get(other) === 'last callers') await other.forgetLastCallers({ signal });
      lacks.delete(other);
      await copyStores(first!, other, { first: states.mirror(0), other: states.mirror(own) }, signal);
      copied = since;
      next = performance.now() + COPY_EVERY_MS;
    } catch {
      if (!lacks.has(other)) lacks.set(other, 'stores');
      await wait(COPY_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
interface Early {
  readonly link: EngineEventOf<'engine.link'> | null;
  readonly shown: EngineEventOf<'engine.snapshot'> | null;
}
const shownIn = (batch: readonly EngineEvent[]): EngineEventOf<'engine.snapshot'> | undefined =>
  batch.findLast((event) => event.type === 'engine.snapshot');
/** The first snapshot waits for the other engines: calls of an engine that is only slower would end without its state. */
async function* factsOf(facts: Facts, stop: AbortSignal): AsyncGenerator<readonly EngineEvent[]> {
  const over = new AbortController();
  const signal = AbortSignal.any([stop, over.signal]);
  const [first, ...others] = facts.all;
  const states = new States(facts);
  const known = others.map(() => Promise.withResolvers<void>());
  const patience = AbortSignal.any([signal, AbortSignal.timeout(facts.patience_ms)]);
  const late = new Promise<void>((resolve) =>
    patience.addEventListener('abort', () => resolve(), { once: true }),
  );
  let begun = false;
  /** Of each other engine, before the first snapshot: the newest state of its link, and its newest snapshot over this link. */
  const early = others.map((): Early => ({ link: null, shown: null }));
  async function* ofFirst(): AsyncGenerator<readonly EngineEvent[]> {
    for await (const batch of first!.events(signal)) {
      if (!begun && shownIn(batch) !== undefined)
        await Promise.race([Promise.all(known.map(({ promise }) => promise)), late]);
      yield batch;
    }
  }
  /** The first snapshot of the first engine was taken: facts of the others follow. */
  const begin = (at: number): EngineEvent[] => {
    begun = true;
    for (const [i, other] of others.entries()) void keepCopied(facts, i + 1, other, states, signal);
    return early.flatMap(({ link, shown }, i): EngineEvent[] => {
      if (link === null) return [];
      if (!link.up || shown === null) return [link];
      // Its facts until now were dropped, so it counts as linked from now.
      return [
        { ...link, at },
        { ...shown, at, why: 'connect', snapshot: states.renewed(shown.snapshot, i + 1) },
      ];
    });
  };
  const each = (batch: readonly EngineEvent[], i: number): readonly EngineEvent[] => {
    const events = states.take(batch, i);
    if (i > 0 && shownIn(batch) !== undefined) known[i - 1]!.resolve();
    if (begun) return events;
    if (i > 0) {
      for (const event of batch) {
        if (event.type === 'engine.link') early[i - 1] = { link: event, shown: null };
        else if (event.type === 'engine.snapshot') early[i - 1] = { ...early[i - 1]!, shown: event };
      }
      return [];
    }
    const shown = shownIn(batch);
    return shown === undefined ? events : [...events, ...begin(shown.at)];
  };
  yield* merged([ofFirst(), ...others.map((one) => one.events(signal))], each, () => over.abort());
}

/** Resolves with `work`, or after `ms`: an engine that vanished shows its state only after its next connect. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work, wait(ms, undefined, { signal: over.signal }).catch(() => undefined)]);
  } finally {
    over.abort();
  }
}

export function joinEngines({
  first,
  others,
  homeOf,
  patience_ms = PATIENCE_MS,
  resync_ms = RESYNC_MS,
}: JoinedEngineOptions): SiteEngine {
  const all = [first, ...others];
  const byNode = new Map<string, SiteEngine>(all.map((one) => [one.node as string, one]));
  const at = (node: string | null): SiteEngine => {
    const found = node === null ? first : byNode.get(node);
    if (found === undefined)
      throw new ServiceError('engine_unavailable', `the engine ${node} is not followed`);
    return found;
  };
  const ofChannel = (id: ChannelId): SiteEngine => at(nodeOf(id));
  const ofQueue = (queue: string): SiteEngine => at(homeOf.queue(queue));
  const ofExtension = (extension: string): SiteEngine => at(homeOf.extension(extension));
  const ofEndpoint = (endpoint: string): SiteEngine => ofExtension(endpoint.split('-', 1)[0]!);
  const everywhere = async (work: (one: SiteEngine) => Promise<void>): Promise<void> => {
    await Promise.all(all.map(work));
  };
  /** An engine that is away refuses its own commands and holds up none of the others. */
  const whereUp = async (work: (one: SiteEngine) => Promise<void>): Promise<void> => {
    await Promise.all(all.filter((one) => one === first || one.status().link === 'up').map(work));
  };
  const lacks: Facts['lacks'] = new Map();
  /** The first engine must execute it; another one that is away or fails gets it from there later. */
  const kept = async (
    work: (one: SiteEngine) => Promise<void>,
    lack: 'stores' | 'last callers' = 'stores',
  ): Promise<void> => {
    await Promise.all(
      all.map(async (one) => {
        if (one === first) return await work(one);
        const lacking = (): void => {
          if (lacks.get(one) !== 'last callers') lacks.set(one, lack);
        };
        if (one.status().link === 'up') await work(one).catch(lacking);
        else lacking();
      }),
    );
  };
  return {
    ...first,
    status: (node) => at(node ?? null).status(),
    events: (signal) => factsOf({ all, ofExtension, patience_ms, lacks }, signal),
    resync: () => all.forEach((one) => one.resync()),
    resynced: () => whereUp((one) => (one === first ? one.resynced() : within(resync_ms, one.resynced()))),
    settled: (ms) => whereUp((one) => one.settled(ms)),
    roundTrip: (ms) => whereUp((one) => one.roundTrip(ms)),
    pauseMember: (queue, ...rest) => ofQueue(queue).pauseMember(queue, ...rest),
    pauseEverywhere: async (queues, ...rest) => {
      const own = Map.groupBy(queues, ofQueue);
      await Promise.all(Array.from(own, ([one, names]) => one.pauseEverywhere(names, ...rest)));
    },
    addMember: (member, options) => ofQueue(member.queue).addMember(member, options),
    removeMember: (queue, ...rest) => ofQueue(queue).removeMember(queue, ...rest),
    close: () => everywhere((one) => one.close()),
    placeCall: (call, options) => ofChannel(call.pair[0]).placeCall(call, options),
    nodeOf: (extension: string): NodeId => nodeId(homeOf.extension(extension) ?? first.node),
    listenAs: (id, ...rest) => ofChannel(id).listenAs(id, ...rest),
    hangup: (id, ...rest) => ofChannel(id).hangup(id, ...rest),
    sessionOf: (id, ...rest) => ofChannel(id).sessionOf(id, ...rest),
    sipPortsOf: (id, ...rest) => ofChannel(id).sipPortsOf(id, ...rest),
    blindTransfer: (id, ...rest) => ofChannel(id).blindTransfer(id, ...rest),
    consult: (id, ...rest) => ofChannel(id).consult(id, ...rest),
    swapConsult: (id, ...rest) => ofChannel(id).swapConsult(id, ...rest),
    completeConsult: (id, ...rest) => ofChannel(id).completeConsult(id, ...rest),
    cancelConsult: (id, ...rest) => ofChannel(id).cancelConsult(id, ...rest),
    hold: (id, ...rest) => ofChannel(id).hold(id, ...rest),
    retrieve: (ids, ...rest) => (ids[0] === undefined ? first : ofChannel(ids[0])).retrieve(ids, ...rest),
    park: (id, ...rest) => ofChannel(id).park(id, ...rest),
    digit: (id, ...rest) => ofChannel(id).digit(id, ...rest),
    startRecording: (id, ...rest) => ofChannel(id).startRecording(id, ...rest),
    stopRecording: (id, ...rest) => ofChannel(id).stopRecording(id, ...rest),
    pauseRecording: (id, ...rest) => ofChannel(id).pauseRecording(id, ...rest),
    keepFeatures: (extension, ...rest) => ofExtension(extension).keepFeatures(extension, ...rest),
    notifyPhones: (endpoint, ...rest) => ofEndpoint(endpoint).notifyPhones(endpoint, ...rest),
    showIdleAtPhone: (extension, ...rest) => ofExtension(extension).showIdleAtPhone(extension, ...rest),
    keepSwitch: (name, to, options) => kept((one) => one.keepSwitch(name, to, options)),
    keepCustomers: (customers, options) => kept((one) => one.keepCustomers(customers, options)),
    keepCallerRules: (rules, options) => kept((one) => one.keepCallerRules(rules, options)),
    forgetLastCallers: (options) => kept((one) => one.forgetLastCallers(options), 'last callers'),
    keepWakeable: (changes, options) => kept((one) => one.keepWakeable(changes, options)),
    setCallerPriority: (queue, ...rest) => ofQueue(queue).setCallerPriority(queue, ...rest),
    async takeCaller(queue, caller, to, options) {
      const one = ofQueue(queue);
      const target = to === null ? one : ofQueue(to.queue);
      // Between two engines the caller is called over, and a call to an engine that is away would end it.
      if (target !== one && target.status().link !== 'up')
        throw new ServiceError('engine_unavailable', `the engine ${target.node} is not connected`);
      await one.takeCaller(queue, caller, to, options);
    },
  };
}
