import { nodeId } from '@offhook/contract/ids.ts';
import type { NodeId } from '@offhook/contract/ids.ts';
import { LOGIN, WRAP_UP } from '../../pbx/agent-reasons.ts';
import { Backoff } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { QueueMember } from '../../ports/engine-state.ts';
import type { Common } from '../../ports/common.ts';
import { CONFIRM_MS, applyChanges, changeTo } from './changes.ts';
import type { Change, EngineDeps } from './changes.ts';
import { Doubts } from './doubts.ts';
import { intended } from './intents.ts';
import type { Intents, Wish } from './intents.ts';
import { Queue } from '../../core/queue.ts';
import type { Lanes } from '../../commands/lanes.ts';
import { ABSENT, READY, choiceOf, pausedWith, rowIn, sameMembership } from './membership.ts';
import type { Membership } from './membership.ts';
import { createReloads, followDirectory } from './reload.ts';
import type { Reloads } from './reload.ts';
import type { Fact, Facts, Intent } from './store.ts';
import { Workers } from './workers.ts';

/** Time after which the engine has stored a membership on its own disk, which it does once a second. */
const SETTLE_MS = 3_000;
const BACKOFF = { first_ms: 500, most_ms: 30_000 } as const;
/** Agents restored at the same time, so that a restart of a large site does not flood the engine. */
const PARALLEL = 16;

/** A change of one agent in one queue, from an event. */
export interface AgentFact {
  readonly extension: string;
  readonly queue: string;
  readonly state: Membership;
  readonly observed: 'live' | 'resync';
  readonly at: number;
}
export interface ReconcileDeps extends EngineDeps, Common<'directory' | 'log'> {
  readonly intents: Intents;
  readonly lanes: Lanes;
}

/**
 * How the engine got its members: `same` boot, `restart` while connected, `cold` restart while disconnected,
 * `reload` of its configuration; `moved`: it is the engine of another leading node than before.
 */
type Mode = 'same' | 'restart' | 'cold' | 'reload' | 'moved';

/** Decides whether intent or engine wins when they differ (rules in README.md), and brings the engine to the intent. */
export class Reconciler {
  readonly #deps: ReconcileDeps;
  /** Boot id of each engine that reported the facts so far, by node; absent until its first resync of this process. */
  readonly #boots = new Map<NodeId, string>();
  /** State shown by the engine when the intent won, by agent and queue. */
  readonly #pending = new Map<string, Map<string, Membership>>();
  readonly #busy = new Map<string, Set<string>>();
  readonly #doubts: Doubts;
  readonly #workers: Workers;
  readonly #restores = new Queue({ places: PARALLEL });
  readonly #reloads: Reloads;
  readonly #stayed: ReturnType<typeof followDirectory>;
  #settling = false;
  #savingBoot: Promise<void> | null = null;

  constructor(deps: ReconcileDeps) {
    this.#deps = deps;
    const { engine, live, clock, directory, intents, lanes, log } = deps;
    this.#doubts = new Doubts(clock, intents);
    this.#reloads = createReloads({ engine, intents, log, looked: () => this.#onReloaded() });
    this.#stayed = followDirectory(directory);
    this.#workers = new Workers({
      clock,
      log,
      retry: BACKOFF,
      failed: 'agent could not be brought back yet',
      isOpen: (extension) => live.live && this.#pending.has(extension),
      work: (extension) =>
        this.#restores.run(() => lanes.run(extension, () => this.#restore(extension), { urgent: true })),
      ended: () => {
        if (live.live) this.#kick();
      },
    });
  }

  /** See `Reloads.hold`. */
  hold(): Promise<() => void> {
    return this.#reloads.hold();
  }

  /** Removes agents from queues in which the directory no longer lists them; their intents become absent. */
  onDirectory(): void {
    const { clock, intents, live } = this.#deps;
    for (const { extension, queue } of this.#stayed()) {
      if (intents.get(extension, queue)?.member !== true) continue;
      const row = rowIn(live, extension, queue);
      intents.adopt({ ...this.#wish(extension, queue, ABSENT, clock.now()), row });
      if (row !== undefined) this.#expect(extension, queue, choiceOf(row));
    }
    if (live.live) this.#kick();
  }

  /** True after a restart of an engine until its resync was compared. */
  restoring(): boolean {
    return this.#deps.live.live && [...this.#boots.keys()].some((node) => !this.#ourBoot(node));
  }

  /** Queues of this agent that are still to be restored. */
  waiting(extension: string): string[] {
    return [...(this.#pending.get(extension)?.keys() ?? [])];
  }

  /** Until `end`, events of this agent are effects of our own action and no new intent. */
  begin(extension: string): void {
    this.#busy.set(extension, new Set());
  }

  end(extension: string): void {
    const { live } = this.#deps;
    const touched = this.#busy.get(extension) ?? [];
    this.#busy.delete(extension);
    if (!live.live || !this.#ourBoot(this.#nodeOf(extension))) return;
    for (const queue of touched) {
      if (this.#pending.get(extension)?.has(queue)) continue;
      const shown = choiceOf(rowIn(live, extension, queue));
      // The late effect of a failed action is no new intent.
      if (this.#doubts.isLate(extension, queue, shown)) this.#expect(extension, queue, shown);
      else this.#adoptShown(extension, queue, live.as_of);
    }
    this.#kick();
  }

  /** Compares the agents of this engine with their intents; after a reload, the agents of all engines. */
  onResynced(name: string, newBoot: string, at: number): void {
    const { engine, intents } = this.#deps;
    const node = nodeId(name);
    const shown = engine.status(node).boot_id;
    // The engine has restarted again; the resync of that restart follows and decides.
    if (shown !== null && shown !== newBoot) return;
    const first = node === engine.node;
    const before = this.#boots.get(node);
    const known = before ?? intents.fact(this.#bootFact(node)) ?? null;
    // Two engines may have started in the same second.
    const moved = first && before === undefined && (intents.fact('node') ?? node) !== node;
    const same = this.#reloads.open ? 'reload' : 'same';
    const away = before === undefined ? 'cold' : 'restart';
    const mode = moved ? 'moved' : known === newBoot ? same : away;
    this.#boots.set(node, newBoot);
    // Members may be missing because of a configuration that will be reverted.
    if (this.#reloads.held && mode === 'reload') return;
    const ofThis = (extension: string): boolean => this.#nodeOf(extension) === node;
    // A restarted engine does not perform commands accepted before.
    if (mode !== 'same') this.#doubts.clear(ofThis);
    this.#compare(mode, at, mode === 'reload' ? this.#isOurs : ofThis);
    if (first) this.#reloads.compared();
    this.#settleSoon();
    this.#kick();
    this.#doubts.onResynced();
  }

  /** A queue removed and added again by a reload has no members, and no event reports it. */
  #onReloaded(): void {
    const { engine, live } = this.#deps;
    if (this.#reloads.held || !this.#reloads.open || !live.live || !this.#ourBoot(engine.node)) return;
    this.#compare('reload', live.as_of, this.#isOurs);
    this.#reloads.compared();
    this.#settleSoon();
    this.#kick();
  }

  onAgentEvent({ extension, queue, state, observed, at }: AgentFact): void {
    const { intents, live, log } = this.#deps;
    const touched = this.#busy.get(extension);
    if (touched) {
      touched.add(queue);
      return;
    }
    const node = this.#nodeOf(extension);
    if (!this.#boots.has(node)) return;
    const ours = this.#ourBoot(node);
    if (observed === 'resync' && (!ours || this.#reloads.open)) return;
    const shown = ours ? choiceOf(rowIn(live, extension, queue)) : state;
    const base = this.#pending.get(extension)?.get(queue);
    if (base) {
      const intent = intended(intents.get(extension, queue)) ?? READY;
      const reasons = intent.paused ? [LOGIN, intent.reason] : [LOGIN];
      const onTheWay = shown.paused && reasons.includes(shown.reason);
      if (onTheWay || sameMembership(shown, base) || sameMembership(shown, intent)) return;
      this.#drop(extension, queue);
    }
    if (ours && this.#doubts.isLate(extension, queue, shown)) {
      log.info(
        { extension, queue, engine: shown },
        'an action took effect after its failure was reported; it is undone',
      );
      this.#expect(extension, queue, shown);
      if (live.live) this.#kick();
    } else if (ours) this.#adoptShown(extension, queue, at);
    else intents.adopt(this.#wish(extension, queue, state, at));
  }

  /** Adds the given members, once for each site; resolves when the intents are stored. */
  async seed(members: readonly { extension: string; queue: string }[]): Promise<void> {
    const { clock, engine, intents, live } = this.#deps;
    if (intents.fact('seeded') !== undefined) return;
    const fresh = members.filter((m) => intents.get(m.extension, m.queue) === undefined);
    const since = clock.now();
    await intents.keep(
      fresh.map((m) => this.#wish(m.extension, m.queue, READY, since)),
      { facts: { seeded: '1', boot: '' } },
    );
    for (const m of fresh) this.#expect(m.extension, m.queue, choiceOf(rowIn(live, m.extension, m.queue)));
    if (this.#boots.has(engine.node) && live.live) this.#kick();
  }

  /** Notes a failed action whose undo failed too; if the engine still performs it, it is undone. */
  doubt(extension: string, wanted: ReadonlyMap<string, Membership>): void {
    this.#doubts.add(extension, wanted, this.#deps.live.live);
  }

  onLinkDown(): void {
    this.#doubts.onLinkDown();
  }

  /**
   * Stores the shown state as the new intent (`wanted` while it is being restored), in one transaction with
   * audit entries.
   */
  async keepShown(
    extension: string,
    wanted: ReadonlyMap<string, Membership>,
    trail: readonly AuditEntry[] = [],
  ): Promise<void> {
    const { intents, live } = this.#deps;
    this.#doubts.forget(extension, wanted.keys());
    const since = live.as_of;
    const known = live.live && this.#isOurs(extension);
    const wishes = [...wanted].map(([queue, state]) => {
      const shown = choiceOf(rowIn(live, extension, queue));
      return this.#wish(
        extension,
        queue,
        known && !this.#pending.get(extension)?.has(queue) ? shown : state,
        since,
      );
    });
    await intents.keep(wishes, { trail });
    this.#settleSoon();
  }

  async idle(): Promise<void> {
    await this.#workers.idle();
    await this.#savingBoot;
  }

  close(): void {
    this.#workers.stop();
  }

  #nodeOf(extension: string): NodeId {
    const { engine } = this.#deps;
    return engine.nodeOf?.(extension) ?? engine.node;
  }
  #bootFact(node: NodeId): Fact {
    return node === this.#deps.engine.node ? 'boot' : `boot:${node}`;
  }
  #ourBoot(node: NodeId): boolean {
    const boot = this.#boots.get(node);
    if (boot === undefined) return false;
    const shown = this.#deps.engine.status(node).boot_id;
    return shown === null || shown === boot;
  }
  readonly #isOurs = (extension: string): boolean => this.#ourBoot(this.#nodeOf(extension));

  #wish(extension: string, queue: string, state: Membership, at: number): Wish {
    const { live } = this.#deps;
    const row = rowIn(live, extension, queue);
    const since = state.paused && sameMembership(state, choiceOf(row)) ? (row?.paused_at ?? at) : at;
    const shown = live.agent(extension)?.summary.readiness;
    const source = (shown?.reason ?? '') === state.reason ? (shown?.source ?? 'agent') : 'agent';
    return { extension, queue, state, since, source, row };
  }

  #adoptShown(extension: string, queue: string, since: number): void {
    const { intents, live } = this.#deps;
    const row = rowIn(live, extension, queue);
    // A row proves that the queue exists, so `live.queue` need not build a view.
    const known = row !== undefined || live.queue(queue) !== undefined;
    if (!known || (row === undefined && intents.get(extension, queue) === undefined)) return;
    intents.adopt(this.#wish(extension, queue, choiceOf(row), since));
    this.#settleSoon();
  }

  #expect(extension: string, queue: string, shown: Membership): void {
    const queues = this.#pending.get(extension) ?? new Map<string, Membership>();
    queues.set(queue, shown);
    this.#pending.set(extension, queues);
  }

  /** Ends the restoration of this queue, and its announcement, which would else describe a later change too. */
  #drop(extension: string, queue: string): void {
    const { clock, tell } = this.#deps;
    const queues = this.#pending.get(extension);
    if (queues?.delete(queue) !== true) return;
    if (queues.size === 0) this.#pending.delete(extension);
    const withdrawn = { reason: '', source: null, since: null };
    tell({ type: 'agent.intended', at: clock.now(), extension, queues: [queue], ...withdrawn });
  }

  async #settleLoop(): Promise<void> {
    const { clock, engine, intents, live } = this.#deps;
    const isUp = (node: NodeId): boolean => this.#ourBoot(node) && engine.status(node).link === 'up';
    for (;;) {
      await clock.sleep(SETTLE_MS, this.#workers.stopped);
      if (!live.live) break;
      const open = [...intents.all()].filter(
        (i) => !i.settled && !this.#pending.get(i.extension)?.has(i.queue) && isUp(this.#nodeOf(i.extension)),
      );
      if (open.length === 0) break;
      for (const intent of open) {
        if (intent.noted_at <= clock.now() - SETTLE_MS) intents.settle(intent, true);
      }
    }
  }

  #settleSoon(): void {
    if (this.#settling) return;
    this.#settling = true;
    void this.#settleLoop()
      .catch(() => {})
      .finally(() => {
        this.#settling = false;
      });
  }

  async #saveBoot(): Promise<void> {
    const { clock, intents, log } = this.#deps;
    const backoff = new Backoff(BACKOFF);
    for (let facts = this.#newBoots(); facts !== null; facts = this.#newBoots()) {
      try {
        await intents.keep([], { facts });
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'the boot of the engine could not be stored');
        await clock.sleep(backoff.next(), this.#workers.stopped);
      }
    }
  }

  /** Boots to store: those of engines whose agents are all brought to their intents; null if all are stored. */
  #newBoots(): Facts | null {
    const { engine, intents } = this.#deps;
    const open = new Set([...this.#pending.keys()].map((extension) => this.#nodeOf(extension)));
    const facts = [...this.#boots].flatMap(([node, boot]): [Fact, string][] =>
      open.has(node)
        ? []
        : [[this.#bootFact(node), boot], ...(node === engine.node ? [['node', node] as [Fact, string]] : [])],
    );
    return facts.every(([key, value]) => intents.fact(key) === value) ? null : Object.fromEntries(facts);
  }

  #saveBootSoon(): void {
    this.#savingBoot ??= this.#saveBoot()
      .catch(() => {})
      .finally(() => {
        this.#savingBoot = null;
      });
  }

  /** The change that brings this queue to its intent; else null, and the queue is no longer pending. */
  #stepFor(extension: string, queue: string): Change | null {
    const { directory, engine, intents, live } = this.#deps;
    const intent = intents.get(extension, queue);
    const row = rowIn(live, extension, queue);
    const cannotAdd =
      row === undefined && (!intent?.dynamic || directory.byExtension(extension)?.active !== true);
    const cannotRemove = row !== undefined && !intent?.member && row.membership !== 'dynamic';
    // An agent restored during a wrap-up is paused for the rest of it.
    const wraps = live.agent(extension)?.wrap_up_deadline != null;
    const wanted = intended(intent);
    const to = wraps && wanted !== undefined && sameMembership(wanted, READY) ? pausedWith(WRAP_UP) : wanted;
    const nothing =
      intent === undefined ||
      to === undefined ||
      live.queue(queue) === undefined ||
      cannotRemove ||
      (intent.member && cannotAdd) ||
      sameMembership(choiceOf(row), wanted!);
    const penalty = directory.queue(queue)?.penalties?.get(extension) ?? 0;
    const change = nothing ? null : changeTo(engine, extension, queue, row, to, penalty);
    if (change === null) this.#drop(extension, queue);
    return change;
  }

  async #restore(extension: string): Promise<void> {
    const { clock, intents, live, log, tell } = this.#deps;
    const queues = [...(this.#pending.get(extension)?.keys() ?? [])];
    const changes = queues.flatMap((queue) => this.#stepFor(extension, queue) ?? []);
    if (changes.length === 0) return;
    log.info(
      { extension, changes: changes.map((c) => ({ queue: c.queue, kind: c.kind })) },
      'the agent is restored to the requested state',
    );
    for (const { queue } of changes) {
      const { reason, since, source } = intents.get(extension, queue)!;
      tell({ type: 'agent.intended', at: clock.now(), extension, queues: [queue], reason, since, source });
    }
    await applyChanges(this.#deps, changes, CONFIRM_MS);
    for (const { queue } of changes) {
      const intent = intents.get(extension, queue);
      if (!intent || !sameMembership(intended(intent)!, choiceOf(rowIn(live, extension, queue)))) continue;
      this.#drop(extension, queue);
      intents.settle(intent, false);
    }
    this.#settleSoon();
  }

  #kick(): void {
    for (const extension of this.#pending.keys()) this.#workers.start(extension);
    this.#saveBootSoon();
  }

  /** True if the intent wins over the engine's state. */
  #oursWins(intent: Intent, row: QueueMember | undefined, mode: Exclude<Mode, 'same'>): boolean {
    if (!intent.member && row && row.membership !== 'dynamic') return false;
    if (mode !== 'cold' || !intent.settled) return true;
    if (row === undefined) return false;
    return row.membership !== 'dynamic';
  }

  /** Every agent and queue with an intent or a row in the engine. */
  #pairs(): Iterable<{ extension: string; queue: string; row: QueueMember | undefined }> {
    const { live, intents } = this.#deps;
    const pairs = new Map<string, { extension: string; queue: string; row: QueueMember | undefined }>();
    for (const { extension, queue } of intents.all()) {
      pairs.set(`${extension}/${queue}`, { extension, queue, row: rowIn(live, extension, queue) });
    }
    for (const queue of live.queues()) {
      for (const row of queue.members) {
        if (row.extension === null) continue;
        const key = `${row.extension}/${queue.name}`;
        if (!pairs.has(key)) pairs.set(key, { extension: row.extension, queue: queue.name, row });
      }
    }
    return pairs.values();
  }

  #compare(mode: Mode, at: number, concerns: (extension: string) => boolean): void {
    const { intents, live, log } = this.#deps;
    for (const { extension, queue, row } of this.#pairs()) {
      if (!concerns(extension)) continue;
      const intent = intents.get(extension, queue);
      if (live.queue(queue) === undefined) continue;
      const touched = this.#busy.get(extension);
      if (touched && (mode === 'same' || mode === 'reload')) {
        touched.add(queue);
        continue;
      }
      const shown = choiceOf(row);
      if (this.#pending.get(extension)?.has(queue)) {
        this.#expect(extension, queue, shown);
        continue;
      }
      if (intent && sameMembership(intended(intent)!, shown)) continue;
      const wins =
        intent &&
        (mode === 'same' ? this.#doubts.isLate(extension, queue, shown) : this.#oursWins(intent, row, mode));
      if (!wins) {
        this.#adoptShown(extension, queue, at);
        continue;
      }
      log.info({ extension, queue, intent: intended(intent), engine: shown, mode }, 'agent differs');
      this.#expect(extension, queue, shown);
      intents.settle(intent, false);
    }
  }
}
