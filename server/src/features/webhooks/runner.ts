import type { DisabledReason } from '@offhook/contract/webhooks.ts';
import { messageOf } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import { Lane } from './lane.ts';
import type { Hook, LaneDeps } from './lane.ts';
import { KEPT_LINES } from './store.ts';
import type { DeliveryRow, Group, InTransaction, Progress, Settings, WebhookStore } from './store.ts';
import { createSubscription } from './subscription.ts';
import type { FindOwner } from './subscription.ts';

/** Time within which the progress of a delivery is stored; deliveries that a crash loses are repeated. */
const SAVE_AFTER_MS = 250;
/** Interval at which progress over skipped rows is stored. */
const SAVE_EVERY_MS = 5_000;
const PURGE_EVERY_MS = 3_600_000;
const STOP_GRACE_MS = 2_000;

/** A webhook with its lane. */
export interface Running extends Hook {
  lane: Pick<Lane, 'wake' | 'release' | 'close'>;
  /** Log lines not written yet, by number. */
  readonly lines: Map<number, DeliveryRow>;
  settings_changed: boolean;
}
export interface RunnerDeps extends Omit<LaneDeps, 'heard' | 'parked' | 'changed' | 'disable'> {
  readonly store: WebhookStore;
  readonly audit: Required<Audit>;
  readonly owner: FindOwner;
}

function keepLine(lines: Map<number, DeliveryRow>, line: DeliveryRow): void {
  lines.set(line.number, line);
  if (lines.size <= KEPT_LINES) return;
  const oldest = lines.values().find(({ state }) => state !== 'parked') ?? line;
  lines.delete(oldest.number);
}
/**
 * Takes the log lines that wait, together with `progress` as it is now: progress beyond a parked event must never be
 * stored without the line that holds the event.
 */
function takeGroup({ id, lines }: Running, settings: Settings | null, progress: Progress): Group {
  const group = { id, settings, progress: JSON.stringify(progress), lines: [...lines.values()] };
  lines.clear();
  return group;
}
/** After a failed write: the lines wait again, in front of those since. */
function putBack({ lines }: Running, group: Group): void {
  const newer = [...lines.values()];
  lines.clear();
  for (const line of [...group.lines, ...newer]) keepLine(lines, line);
}

/** Runs the lanes and stores their progress. */
export class Runner {
  readonly #deps: RunnerDeps;
  readonly hooks = new Map<number, Running>();
  /** Totals since the start. `disabled`: webhooks disabled by the service. */
  readonly counts = { delivered: 0, failed: 0, parked: 0, disabled: 0 };
  readonly #unsaved = new Set<Running>();
  #notices: AuditEntry[] = [];
  #timer: NodeJS.Timeout | null = null;
  readonly #writes = new Queue();
  readonly #shared: Omit<LaneDeps, 'heard'>;
  readonly #timers: readonly NodeJS.Timeout[];

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#shared = {
      ...deps,
      parked: deps.store.parked.bind(deps.store),
      changed: (hook, line) => this.#changed(hook as Running, line),
      disable: (hook, reason) => this.#disable(hook as Running, reason),
    };
    this.#timers = [
      setInterval(() => {
        if (this.#unsaved.size > 0) this.#arm(0);
      }, SAVE_EVERY_MS),
      setInterval(() => this.#purge(), PURGE_EVERY_MS),
    ];
    for (const each of this.#timers) each.unref();
  }
  /** Runs writes one after the other, so that none undoes another. */
  inTurn<R>(work: () => Promise<R>): Promise<R> {
    return this.#writes.run(work);
  }
  /** Throws `store_unavailable`; the changes stay pending then. */
  save(): Promise<void> {
    return this.#writes.run(() => this.#write());
  }
  /** Stores a change of a webhook, while no other write runs. Throws `store_unavailable`. */
  async put(hook: Running, settings: Settings, progress: Progress, also: InTransaction): Promise<void> {
    const group = takeGroup(hook, settings, progress);
    try {
      await this.#deps.store.save([group], also);
    } catch (error) {
      putBack(hook, group);
      throw error;
    }
  }
  start(hook: Hook): Running {
    const running: Running = { ...hook, lines: new Map(), settings_changed: false, lane: NO_LANE };
    this.hooks.set(hook.id, running);
    running.lane = new Lane(running, { ...this.#shared, heard: createSubscription(this.#deps.owner) });
    return running;
  }
  /** Ends the lane of a webhook that was deleted. */
  drop(hook: Running): void {
    this.hooks.delete(hook.id);
    this.#unsaved.delete(hook);
    // Not awaited: the rest of its work no longer counts.
    void hook.lane.close(AbortSignal.abort());
  }
  async close(): Promise<void> {
    for (const each of this.#timers) clearInterval(each);
    const grace = new AbortController();
    const over = setTimeout(() => grace.abort(), STOP_GRACE_MS);
    await Promise.all([...this.hooks.values()].map((hook) => hook.lane.close(grace.signal)));
    clearTimeout(over);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.save().catch((error: unknown) => {
      this.#deps.log.warn(
        { error: messageOf(error) },
        'the cursors of webhooks could not be stored; some events will be sent again',
      );
    });
  }

  #changed(running: Running, line: DeliveryRow | undefined): void {
    this.#unsaved.add(running);
    if (line === undefined) return;
    if (line.state === 'delivered') this.counts.delivered += 1;
    else if (line.state !== 'gap') this.counts.failed += 1;
    if (line.state === 'parked') this.counts.parked += 1;
    keepLine(running.lines, line);
    this.#arm(SAVE_AFTER_MS);
  }
  #disable(running: Running, reason: DisabledReason): void {
    const disabled_at = this.#deps.clock.now();
    running.settings = { ...running.settings, enabled: false, disabled_reason: reason, disabled_at };
    running.settings_changed = true;
    this.counts.disabled += 1;
    const detail = { reason, target: new URL(running.settings.url).origin };
    this.#notices.push({
      action: 'webhook.disabled',
      actor: null,
      object: `webhook:${running.id}`,
      outcome: 'ok',
      ip: null,
      detail,
    });
    this.#deps.log.warn({ webhook: running.id, ...detail }, 'a webhook is disabled');
    this.#unsaved.add(running);
    this.#arm(SAVE_AFTER_MS);
  }
  #purge(): void {
    const { clock, log, store } = this.#deps;
    this.#writes
      .run(() => store.purge(clock.now()))
      .catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'old lines of the delivery log could not be deleted');
      });
  }
  async #write(): Promise<void> {
    const portion = [...this.#unsaved].filter((hook) => this.hooks.get(hook.id) === hook);
    this.#unsaved.clear();
    if (portion.length === 0 && this.#notices.length === 0) return;
    const pending = this.#notices;
    this.#notices = [];
    const taken = portion.map((hook) => {
      const group = takeGroup(hook, hook.settings_changed ? hook.settings : null, hook.progress);
      hook.settings_changed = false;
      return { hook, group };
    });
    try {
      await this.#deps.store.save(
        taken.map(({ group }) => group),
        async (trx) => {
          for (const entry of pending) await this.#deps.audit.recordIn(trx, entry);
        },
      );
    } catch (error) {
      this.#notices = [...pending, ...this.#notices];
      for (const { hook, group } of taken) {
        putBack(hook, group);
        if (group.settings !== null) hook.settings_changed = true;
        this.#unsaved.add(hook);
      }
      throw error;
    }
  }
  #saveQuietly(): void {
    this.#timer = null;
    this.save().catch((error: unknown) => {
      this.#deps.log.warn(
        { error: messageOf(error) },
        'the cursors of webhooks could not be stored; retrying',
      );
      this.#arm(SAVE_EVERY_MS);
    });
  }
  #arm(ms: number): void {
    this.#timer ??= setTimeout(() => this.#saveQuietly(), ms).unref();
  }
}
const NO_LANE: Running['lane'] = {
  wake: () => undefined,
  release: () => undefined,
  close: () => Promise.resolve(),
};
