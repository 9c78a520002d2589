import type { DisabledReason } from '@offhook/contract/webhooks.ts';
import { messageOf } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import { Lane } from './lane.ts';
import type { Hook, LaneDeps } from './lane.ts';
import { KEPT_LINES } from './store.ts';
import type { DeliveryRow, Group, WebhookStore } from './store.ts';
import { createSubscription } from './subscription.ts';
import type { FindOwner } from './subscription.ts';

/** Progress reaches the database within this time of a delivery; what a crash forgets is delivered twice. */
const SAVE_AFTER_MS = 250;
/** Rows that were only passed over are written this often. */
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
/** Runs the lanes and writes what they did. */
export interface Runner {
  readonly hooks: ReadonlyMap<number, Running>;
  /** Since the start. `disabled` counts those that were disabled by themselves. */
  readonly counts: Readonly<Record<'delivered' | 'failed' | 'parked' | 'disabled', number>>;
  start(hook: Hook): Running;
  /** Ends the lane of a webhook that was deleted. */
  drop(hook: Running): void;
  /** One write after the other, so that none undoes what another decided. */
  inTurn<R>(work: () => Promise<R>): Promise<R>;
  /** Throws `store_unavailable`; nothing is forgotten then. */
  save(): Promise<void>;
  close(): Promise<void>;
}

function keepLine(lines: Map<number, DeliveryRow>, line: DeliveryRow): void {
  lines.set(line.number, line);
  if (lines.size <= KEPT_LINES) return;
  const oldest = lines.values().find(({ state }) => state !== 'parked') ?? line;
  lines.delete(oldest.number);
}

export function createRunner(deps: RunnerDeps): Runner {
  const { store, audit, clock, log, owner } = deps;
  const hooks = new Map<number, Running>();
  const unsaved = new Set<Running>();
  const counts = { delivered: 0, failed: 0, parked: 0, disabled: 0 };
  let notices: AuditEntry[] = [];
  let timer: NodeJS.Timeout | null = null;
  const writes = new Queue();
  async function write(): Promise<void> {
    const portion = [...unsaved].filter((hook) => hooks.get(hook.id) === hook);
    unsaved.clear();
    if (portion.length === 0 && notices.length === 0) return;
    const told = notices;
    notices = [];
    const taken = portion.map((hook) => {
      const group: Group = {
        id: hook.id,
        settings: hook.settings_changed ? hook.settings : null,
        progress: hook.progress,
        lines: [...hook.lines.values()],
      };
      hook.lines.clear();
      hook.settings_changed = false;
      return { hook, group };
    });
    try {
      await store.save(
        taken.map(({ group }) => group),
        async (trx) => {
          for (const entry of told) await audit.recordIn(trx, entry);
        },
      );
    } catch (error) {
      notices = [...told, ...notices];
      for (const { hook, group } of taken) {
        const newer = [...hook.lines.values()];
        hook.lines.clear();
        for (const line of [...group.lines, ...newer]) keepLine(hook.lines, line);
        if (group.settings !== null) hook.settings_changed = true;
        unsaved.add(hook);
      }
      throw error;
    }
  }
  const save = (): Promise<void> => writes.run(write);
  const saveQuietly = (): void => {
    timer = null;
    save().catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'how far webhooks are could not be written; it is tried again');
      arm(SAVE_EVERY_MS);
    });
  };
  function arm(ms: number): void {
    timer ??= setTimeout(saveQuietly, ms).unref();
  }

  const shared: Omit<LaneDeps, 'heard'> = {
    ...deps,
    parked: store.parked.bind(store),
    changed(hook, line) {
      const running = hook as Running;
      unsaved.add(running);
      if (line === undefined) return;
      if (line.state === 'delivered') counts.delivered += 1;
      else if (line.state !== 'gap') counts.failed += 1;
      if (line.state === 'parked') counts.parked += 1;
      keepLine(running.lines, line);
      arm(SAVE_AFTER_MS);
    },
    disable(hook, reason: DisabledReason) {
      const running = hook as Running;
      const disabled_at = clock.now();
      running.settings = { ...hook.settings, enabled: false, disabled_reason: reason, disabled_at };
      running.settings_changed = true;
      counts.disabled += 1;
      const detail = { reason, target: new URL(hook.settings.url).origin };
      notices.push({
        action: 'webhook.disabled',
        actor: null,
        object: `webhook:${hook.id}`,
        outcome: 'ok',
        ip: null,
        detail,
      });
      log.warn({ webhook: hook.id, ...detail }, 'a webhook is disabled');
      unsaved.add(running);
      arm(SAVE_AFTER_MS);
    },
  };
  const timers = [
    setInterval(() => {
      if (unsaved.size > 0) arm(0);
    }, SAVE_EVERY_MS),
    setInterval(() => {
      writes
        .run(() => store.purge(clock.now()))
        .catch((error: unknown) => {
          log.warn({ error: messageOf(error) }, 'old lines of the delivery log could not be deleted');
        });
    }, PURGE_EVERY_MS),
  ];
  for (const each of timers) each.unref();

  return {
    hooks,
    counts,
    inTurn: (work) => writes.run(work),
    save,
    start(hook) {
      const running: Running = { ...hook, lines: new Map(), settings_changed: false, lane: NO_LANE };
      hooks.set(hook.id, running);
      running.lane = new Lane(running, { ...shared, heard: createSubscription(owner) });
      return running;
    },
    drop(hook) {
      hooks.delete(hook.id);
      unsaved.delete(hook);
      // Not waited for: what it still does no longer counts.
      void hook.lane.close(AbortSignal.abort());
    },
    async close() {
      for (const each of timers) clearInterval(each);
      const grace = new AbortController();
      const over = setTimeout(() => grace.abort(), STOP_GRACE_MS);
      await Promise.all([...hooks.values()].map((hook) => hook.lane.close(grace.signal)));
      clearTimeout(over);
      if (timer !== null) clearTimeout(timer);
      timer = null;
      await save().catch((error: unknown) => {
        log.warn(
          { error: messageOf(error) },
          'how far webhooks are could not be written; some is sent again',
        );
      });
    },
  };
}
const NO_LANE: Running['lane'] = {
  wake: () => undefined,
  release: () => undefined,
  close: () => Promise.resolve(),
};
