import { LOGIN, WRAP_UP } from '../../pbx/agent-reasons.ts';
import { Backoff } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { Directory } from '../../ports/directory.ts';
import type { QueueMember } from '../../ports/engine.ts';
import { CONFIRM_MS, applyChanges, changeTo } from './changes.ts';
import type { Change, EngineDeps } from './changes.ts';
import { intended } from './intents.ts';
import type { Intents, Wish } from './intents.ts';
import { Queue } from '../../core/queue.ts';
import type { Lanes } from '../../commands/lanes.ts';
import { ABSENT, READY, choiceOf, pausedWith, rowIn, sameMembership } from './membership.ts';
import type { Membership } from './membership.ts';
import { createReloads, followDirectory } from './reload.ts';
import type { Intent } from './store.ts';

/** After this long the engine has put a membership on its own disk, which it does once a second. */
const SETTLE_MS = 3_000;
/** How long after a failed action, or after the link came back, the engine may still do what was asked; then it is somebody's wish. */
const LATE_MS = 10_000;
const BACKOFF = { first_ms: 500, most_ms: 30_000 } as const;
/** How many agents are restored at the same time, so that a restart of a large site does not flood the engine. */
const PARALLEL = 16;

export interface Reconciler {
  /** True while the engine shown is a new life whose restart was not worked through yet. */
  restoring(): boolean;
  /** Queues of this agent that still wait to be restored. */
  waiting(extension: string): string[];
  /** While an action of ours runs, its own traces in the event feed are not taken for somebody's new intent. */
  begin(extension: string): void;
  end(extension: string): void;
  /** As `Reloads.hold`. */
  hold(): Promise<() => void>;
  /** What was asked for in queues that somebody does not work in any more holds no longer: who is in one is taken out. */
  onDirectory(): void;
  onResynced(boot: string, at: number): void;
  onAgentEvent(event: AgentFact): void;
  /** Puts the given members in once in the life of the site; resolves when that is written down. */
  seed(members: readonly { extension: string; queue: string }[]): Promise<void>;
  /** The action that asked for this failed and could not be taken back: should the engine still do it, it is undone. */
  doubt(extension: string, wanted: ReadonlyMap<string, Membership>): void;
  onLinkDown(): void;
  /** Keeps what the engine now shows as the new intent, on disk, with lines of the audit trail in the same transaction. */
  keepShown(
    extension: string,
    wanted: ReadonlyMap<string, Membership>,
    trail?: readonly AuditEntry[],
  ): Promise<void>;
  idle(): Promise<void>;
  close(): void;
}
/** A change of one agent in one queue, as the event feed tells it. */
export interface AgentFact {
  readonly extension: string;
  readonly queue: string;
  readonly state: Membership;
  readonly observed: 'live' | 'resync';
  readonly at: number;
}
export interface ReconcileDeps extends EngineDeps {
  readonly directory: Directory;
  readonly intents: Intents;
  readonly lanes: Lanes;
  readonly log: Log;
}

/**
 * Decides who is right when intent and engine differ (the rules stand in README.md), and brings the engine to the
 * intent where ours is.
 */
export function createReconciler(deps: ReconcileDeps): Reconciler {
  const { engine, live, tell, clock, directory, intents, lanes, log } = deps;
  const stopped = new AbortController();
  /** The life of the engine all facts so far belong to; null until the first resync of this process. */
  let boot: string | null = null;
  /** What the engine showed when it was decided that ours wins, by agent and queue. */
  const pending = new Map<string, Map<string, Membership>>();
  const busy = new Map<string, Set<string>>();
  /** What failed actions asked for, by agent and queue; a later sight of the same is theirs and no new intent. */
  const doubted = new Map<string, { readonly wanted: Membership; readonly until: number }>();
  const workers = new Map<string, Promise<void>>();

  const ourBoot = (): boolean => {
    const shown = engine.status().boot_id;
    return boot !== null && (shown === null || shown === boot);
  };
  const wish = (extension: string, queue: string, state: Membership, at: number): Wish => {
    const row = rowIn(live, extension, queue);
    const since = state.paused && sameMembership(state, choiceOf(row)) ? (row?.paused_at ?? at) : at;
    const shown = live.agent(extension)?.summary.readiness;
    const source = (shown?.reason ?? '') === state.reason ? (shown?.source ?? 'agent') : 'agent';
    return { extension, queue, state, since, source, row };
  };
  const adoptShown = (extension: string, queue: string, since: number): void => {
    if (live.queue(queue) === undefined) return;
    const row = rowIn(live, extension, queue);
    if (row === undefined && intents.get(extension, queue) === undefined) return;
    intents.adopt(wish(extension, queue, choiceOf(row), since));
    settleSoon();
  };

  const expect = (extension: string, queue: string, shown: Membership): void => {
    const queues = pending.get(extension) ?? new Map<string, Membership>();
    queues.set(queue, shown);
    pending.set(extension, queues);
  };
  const drop = (extension: string, queue: string): void => {
    const queues = pending.get(extension);
    queues?.delete(queue);
    if (queues?.size === 0) pending.delete(extension);
  };

  /** Whether this is the late effect of an action that was reported as failed; looked at once. */
  const isLate = (extension: string, queue: string, shown: Membership): boolean => {
    const key = `${extension}/${queue}`;
    const doubt = doubted.get(key);
    const intent = intended(intents.get(extension, queue));
    if (doubt === undefined || intent === undefined || sameMembership(intent, shown)) return false;
    doubted.delete(key);
    return doubt.until >= clock.now() && sameMembership(doubt.wanted, shown);
  };
  /** An engine that went on has soon done what it still had in hand; while none is connected nobody knows when. */
  const limitDoubts = (until: (now: number) => number): void => {
    const end = until(clock.now());
    for (const [key, doubt] of doubted) {
      if (doubt.until < clock.now()) doubted.delete(key);
      else doubted.set(key, { ...doubt, until: end });
    }
  };

  let settling = false;
  const settleLoop = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(SETTLE_MS, stopped.signal);
      if (!live.live || !ourBoot()) break;
      const open = [...intents.all()].filter((i) => !i.settled && !pending.get(i.extension)?.has(i.queue));
      if (open.length === 0) break;
      for (const intent of open) {
        if (intent.noted_at <= clock.now() - SETTLE_MS) intents.settle(intent, true);
      }
    }
  };
  const settleSoon = (): void => {
    if (settling) return;
    settling = true;
    void settleLoop()
      .catch(() => {})
      .finally(() => {
        settling = false;
      });
  };

  const saveBoot = async (): Promise<void> => {
    const backoff = new Backoff(BACKOFF);
    while (boot !== null && pending.size === 0 && intents.fact('boot') !== boot) {
      try {
        await intents.keep([], { facts: { boot } });
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'the engine boot could not be written down');
        await clock.sleep(backoff.next(), stopped.signal);
      }
    }
  };
  let savingBoot: Promise<void> | null = null;
  const saveBootSoon = (): void => {
    savingBoot ??= saveBoot()
      .catch(() => {})
      .finally(() => {
        savingBoot = null;
      });
  };

  /** The step that still brings this queue to its intent; null, and no longer waited for, where there is none. */
  const stepFor = (extension: string, queue: string): Change | null => {
    const intent = intents.get(extension, queue);
    const row = rowIn(live, extension, queue);
    const cannotAdd =
      row === undefined && (!intent?.dynamic || directory.byExtension(extension)?.active !== true);
    const cannotRemove = row !== undefined && !intent?.member && row.membership !== 'dynamic';
    // One who comes back in the middle of a wrap-up is held back like the others.
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
    if (change === null) drop(extension, queue);
    return change;
  };
  const restore = async (extension: string): Promise<void> => {
    const queues = [...(pending.get(extension)?.keys() ?? [])];
    const changes = queues.flatMap((queue) => stepFor(extension, queue) ?? []);
    if (changes.length === 0) return;
    log.info(
      { extension, changes: changes.map((c) => ({ queue: c.queue, kind: c.kind })) },
      'agent is brought back to what was asked for',
    );
    for (const { queue } of changes) {
      const { reason, since, source } = intents.get(extension, queue)!;
      tell({ type: 'agent.intended', at: clock.now(), extension, queues: [queue], reason, since, source });
    }
    await applyChanges(deps, changes, CONFIRM_MS);
    for (const { queue } of changes) {
      const intent = intents.get(extension, queue);
      if (!intent || !sameMembership(intended(intent)!, choiceOf(rowIn(live, extension, queue)))) continue;
      drop(extension, queue);
      intents.settle(intent, false);
    }
    settleSoon();
  };
  const restores = new Queue({ places: PARALLEL });
  const work = async (extension: string): Promise<void> => {
    for (
      const backoff = new Backoff(BACKOFF);
      pending.has(extension) && live.live && !stopped.signal.aborted;
    ) {
      try {
        await restores.run(() => lanes.run(extension, () => restore(extension), { urgent: true }));
        backoff.reset();
      } catch (error) {
        const failures = backoff.failures + 1;
        log.warn({ extension, failures, error: messageOf(error) }, 'agent could not be brought back yet');
        await backoff.wait(clock, stopped.signal);
      }
    }
  };
  const kick = (): void => {
    for (const extension of pending.keys()) {
      if (workers.has(extension)) continue;
      const worker = work(extension).finally(() => {
        workers.delete(extension);
        if (live.live && !stopped.signal.aborted) kick();
      });
      workers.set(extension, worker);
    }
    if (pending.size === 0) saveBootSoon();
  };

  type Mode = 'same' | 'restart' | 'cold' | 'reload';
  /**
   * True where the intent wins over what the engine shows. `restart`: it died under us; `cold`: while we were away; `reload`:
   * it read its configuration again.
   */
  const oursWins = (intent: Intent, row: QueueMember | undefined, mode: Exclude<Mode, 'same'>): boolean => {
    if (!intent.member && row && row.membership !== 'dynamic') return false;
    if (mode !== 'cold' || !intent.settled) return true;
    if (row === undefined) return false;
    return row.membership !== 'dynamic';
  };
  const compare = (mode: Mode, at: number): void => {
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
    for (const { extension, queue, row } of pairs.values()) {
      const intent = intents.get(extension, queue);
      if (live.queue(queue) === undefined) continue;
      const touched = busy.get(extension);
      if (touched && (mode === 'same' || mode === 'reload')) {
        touched.add(queue);
        continue;
      }
      const shown = choiceOf(row);
      if (pending.get(extension)?.has(queue)) {
        expect(extension, queue, shown);
        continue;
      }
      if (intent && sameMembership(intended(intent)!, shown)) continue;
      const wins =
        intent && (mode === 'same' ? isLate(extension, queue, shown) : oursWins(intent, row, mode));
      if (!wins) {
        adoptShown(extension, queue, at);
        continue;
      }
      log.info({ extension, queue, intent: intended(intent), engine: shown, mode }, 'agent differs');
      expect(extension, queue, shown);
      intents.settle(intent, false);
    }
  };

  const reloads = createReloads({ engine, intents, log });
  const stayed = followDirectory(directory);

  return {
    hold: () => reloads.hold(),
    onDirectory() {
      for (const { extension, queue } of stayed()) {
        if (intents.get(extension, queue)?.member !== true) continue;
        const row = rowIn(live, extension, queue);
        intents.adopt({ ...wish(extension, queue, ABSENT, clock.now()), row });
        if (row !== undefined) expect(extension, queue, choiceOf(row));
      }
      if (live.live) kick();
    },
    restoring: () => live.live && boot !== null && !ourBoot(),
    waiting: (extension) => [...(pending.get(extension)?.keys() ?? [])],
    begin(extension) {
      busy.set(extension, new Set());
    },
    end(extension) {
      const touched = busy.get(extension) ?? [];
      busy.delete(extension);
      if (!live.live || !ourBoot()) return;
      for (const queue of touched) {
        if (pending.get(extension)?.has(queue)) continue;
        const shown = choiceOf(rowIn(live, extension, queue));
        // What is left of an action that failed is nobody's choice.
        if (isLate(extension, queue, shown)) expect(extension, queue, shown);
        else adoptShown(extension, queue, live.as_of);
      }
      kick();
    },
    onResynced(newBoot, at) {
      const shown = engine.status().boot_id;
      // The engine is in yet another life already: its own resync follows, and decides.
      if (shown !== null && shown !== newBoot) return;
      const known = boot ?? intents.fact('boot') ?? null;
      const same = reloads.open ? 'reload' : 'same';
      const mode = known === newBoot ? same : boot === null ? 'cold' : 'restart';
      boot = newBoot;
      // Members may be missing because of a configuration that does not stay.
      if (reloads.held && mode === 'reload') return;
      // What an engine had in hand dies with it.
      if (mode !== 'same') doubted.clear();
      compare(mode, at);
      reloads.compared();
      limitDoubts((now) => now + LATE_MS);
      settleSoon();
      kick();
    },
    onAgentEvent({ extension, queue, state, observed, at }) {
      const touched = busy.get(extension);
      if (touched) {
        touched.add(queue);
        return;
      }
      if (boot === null) return;
      const ours = ourBoot();
      if (observed === 'resync' && (!ours || reloads.open)) return;
      const shown = ours ? choiceOf(rowIn(live, extension, queue)) : state;
      const base = pending.get(extension)?.get(queue);
      if (base) {
        const intent = intended(intents.get(extension, queue)) ?? READY;
        const reasons = intent.paused ? [LOGIN, intent.reason] : [LOGIN];
        const onTheWay = shown.paused && reasons.includes(shown.reason);
        if (onTheWay || sameMembership(shown, base) || sameMembership(shown, intent)) return;
        drop(extension, queue);
      }
      if (ours && isLate(extension, queue, shown)) {
        log.info({ extension, queue, engine: shown }, 'a failed action came true late; it is undone');
        expect(extension, queue, shown);
        if (live.live) kick();
      } else if (ours) adoptShown(extension, queue, at);
      else intents.adopt(wish(extension, queue, state, at));
    },
    async seed(members) {
      if (intents.fact('seeded') !== undefined) return;
      const fresh = members.filter((m) => intents.get(m.extension, m.queue) === undefined);
      const since = clock.now();
      await intents.keep(
        fresh.map((m) => wish(m.extension, m.queue, READY, since)),
        { facts: { seeded: '1', boot: '' } },
      );
      for (const m of fresh) expect(m.extension, m.queue, choiceOf(rowIn(live, m.extension, m.queue)));
      if (boot !== null && live.live) kick();
    },
    doubt(extension, wanted) {
      const until = live.live ? clock.now() + LATE_MS : Number.POSITIVE_INFINITY;
      for (const [queue, state] of wanted) doubted.set(`${extension}/${queue}`, { wanted: state, until });
    },
    onLinkDown: () => limitDoubts(() => Number.POSITIVE_INFINITY),
    async keepShown(extension, wanted, trail = []) {
      for (const queue of wanted.keys()) doubted.delete(`${extension}/${queue}`);
      const since = live.as_of;
      const known = live.live && ourBoot();
      const wishes = [...wanted].map(([queue, state]) => {
        const shown = choiceOf(rowIn(live, extension, queue));
        return wish(extension, queue, known && !pending.get(extension)?.has(queue) ? shown : state, since);
      });
      await intents.keep(wishes, { trail });
      settleSoon();
    },
    async idle() {
      while (workers.size > 0) await Promise.all(workers.values());
      await savingBoot;
    },
    close: () => stopped.abort(),
  };
}
