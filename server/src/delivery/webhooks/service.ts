import { randomBytes } from 'node:crypto';
import type {
  DeliveriesQuery,
  DisabledReason,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookTested,
} from '@offhook/contract/webhooks.ts';
import { MAX_WEBHOOKS, ROTATION_GRACE_HOURS } from '@offhook/contract/webhooks.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { heardAs } from '../../core/rights.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Store } from '../../ports/store.ts';
import { headersOf, isSuccess, startLane } from './lane.ts';
import type { Hook, Lane, LaneDeps } from './lane.ts';
import { newSecret } from './signature.ts';
import { createSlots } from './slots.ts';
import { KEPT_LINES, createWebhookStore } from './store.ts';
import type { DeliveryRow, Group, Progress, Settings } from './store.ts';
import { createSubscription } from './subscription.ts';
import type { FindOwner } from './subscription.ts';
import { createGuard } from './target.ts';
import type { Allow } from './target.ts';
import { createResolve, createTransport } from './transport.ts';
import type { Resolve } from './transport.ts';

/** Progress reaches the database within this time of a delivery; what a crash forgets is delivered twice. */
const SAVE_AFTER_MS = 250;
/** Rows that were only passed over are written this often. */
const SAVE_EVERY_MS = 5_000;
const PURGE_EVERY_MS = 3_600_000;
/** Deliveries under way at once, and those of them that failed before. */
const FRESH_AT_ONCE = 96;
const FAILING_AT_ONCE = 32;
const STOP_GRACE_MS = 2_000;
const RESOLVE_MS = 2_000;
const GRACE_MS = ROTATION_GRACE_HOURS * 3_600_000;

export interface WebhooksOptions {
  readonly store: Store;
  readonly journal: LaneDeps['journal'] & Pick<Journal, 'head'>;
  readonly clock: Clock;
  readonly audit: Required<Audit>;
  readonly log: Log;
  readonly owner: FindOwner;
  readonly allow: Allow;
  readonly version: string;
  /** The source of an envelope, e.g. `/offhook/ast1`. */
  readonly source: string;
  readonly resolve?: Resolve;
  readonly chance?: () => number;
}
export interface WebhookFigures {
  readonly webhooks: number;
  readonly retrying: number;
  /** Attempts that wait for their answer now. */
  readonly under_way: number;
  /** Events that the webhook farthest behind has not looked at. */
  readonly lag: number;
  readonly delivered: number;
  readonly failed: number;
  readonly parked: number;
  /** Those that were disabled by themselves since the start. */
  readonly disabled: number;
}
/** Everything throws `not_found` for a webhook that is not there or, to an API key, not its own. */
export interface Webhooks {
  list(caller: Caller): Webhook[];
  one(caller: Caller, id: number): Webhook;
  /** Throws `invalid_request`, `webhook_target_refused`, `forbidden`, `limit_reached`. */
  create(actor: Actor, wanted: NewWebhook): Promise<{ webhook: Webhook; secret: string }>;
  change(actor: Actor, id: number, wanted: WebhookChange): Promise<Webhook>;
  remove(actor: Actor, id: number): Promise<void>;
  rotate(actor: Actor, id: number): Promise<{ webhook: Webhook; secret: string }>;
  /** Throws `too_many_requests` while another test of it runs. */
  test(actor: Actor, id: number): Promise<WebhookTested>;
  /** Throws `webhook_disabled`, and `invalid_request` for a range that was not passed yet. */
  replay(actor: Actor, id: number, range: { readonly from: number; readonly to: number }): Promise<Webhook>;
  deliveries(
    caller: Caller,
    id: number,
    query: DeliveriesQuery,
  ): Promise<{ deliveries: WebhookDelivery[]; next_cursor: string | null }>;
  figures(): WebhookFigures;
  /** Somebody's rights changed or ended: webhooks without an owner are disabled now, not at their next event. */
  ownersChanged(): void;
  /** Writes what is only in memory. */
  save(): Promise<void>;
  close(): Promise<void>;
}

interface Running extends Hook {
  lane: Lane;
  /** Log lines not written yet, by number. */
  readonly lines: Map<number, DeliveryRow>;
  settings_changed: boolean;
  testing: boolean;
}

/** Loads the webhooks and begins to deliver. */
export async function createWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const { clock, journal, audit, owner } = options;
  const log = options.log.child({ part: 'webhooks' });
  const resolve = options.resolve ?? createResolve();
  const store = await createWebhookStore(options.store);
  const guard = createGuard(options.allow);
  const transport = createTransport({ guard, clock, resolve });
  const agent = `Offhook/${options.version}`;
  const slots = { fresh: createSlots(FRESH_AT_ONCE), failing: createSlots(FAILING_AT_ONCE) };
  const hooks = new Map<number, Running>();
  const unsaved = new Set<Running>();
  let notices: AuditEntry[] = [];
  const counts = { delivered: 0, failed: 0, parked: 0, disabled: 0 };
  let timer: NodeJS.Timeout | null = null;

  /** One write after the other, so that none undoes what another decided. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <R>(work: () => Promise<R>): Promise<R> => {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  };
  const save = (): Promise<void> => inTurn(write);
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
        for (const line of [...group.lines, ...newer]) hook.lines.set(line.number, line);
        if (group.settings !== null) hook.settings_changed = true;
        unsaved.add(hook);
      }
      throw error;
    }
  }
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

  const shared = {
    journal,
    clock,
    transport,
    slots,
    log,
    agent,
    chance: options.chance ?? Math.random,
    parked: store.parked.bind(store),
    changed(hook: Hook, line?: DeliveryRow) {
      const running = hook as Running;
      unsaved.add(running);
      if (line === undefined) return;
      if (line.state === 'delivered') counts.delivered += 1;
      else if (line.state !== 'gap') counts.failed += 1;
      if (line.state === 'parked') counts.parked += 1;
      running.lines.set(line.number, line);
      if (running.lines.size > KEPT_LINES) {
        const oldest = running.lines.values().find(({ state }) => state !== 'parked');
        if (oldest !== undefined) running.lines.delete(oldest.number);
      }
      arm(SAVE_AFTER_MS);
    },
    disable(hook: Hook, reason: DisabledReason) {
      const running = hook as Running;
      running.settings = {
        ...hook.settings,
        enabled: false,
        disabled_reason: reason,
        disabled_at: clock.now(),
      };
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
  function start(hook: Hook): void {
    const heard = createSubscription(owner);
    const lines = new Map<number, DeliveryRow>();
    const running: Running = { ...hook, lines, settings_changed: false, testing: false, lane: NO_LANE };
    hooks.set(hook.id, running);
    running.lane = startLane(running, { ...shared, heard });
  }
  for (const row of await store.all()) start(row);

  const timers = [
    setInterval(() => {
      if (unsaved.size > 0) arm(0);
    }, SAVE_EVERY_MS),
    setInterval(() => {
      store.purge(clock.now()).catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'old lines of the delivery log could not be deleted');
      });
    }, PURGE_EVERY_MS),
  ];
  for (const each of timers) each.unref();

  const find = (caller: Caller, id: number): Running => {
    const hook = hooks.get(id);
    const visible = caller.key === null || hook?.settings.owner === caller.person_id;
    if (hook === undefined || !visible) throw new ServiceError('not_found', 'there is no such webhook');
    return hook;
  };
  const told =
    (actor: Actor, action: string, url: string, more: AuditEntry['detail'] = {}) =>
    (id: number) =>
    (trx: Parameters<Required<Audit>['recordIn']>[0]): Promise<void> =>
      audit.recordIn(trx, {
        action,
        actor: nameOf(actor.caller),
        object: `webhook:${id}`,
        outcome: 'ok',
        ip: actor.ip,
        // Only where it goes: the rest of an address is often a secret.
        detail: { target: new URL(url).origin, ...more },
      });
  /** Throws where the target is refused now; a name that does not resolve yet is judged when it is called. */
  async function checkTarget(text: string): Promise<string> {
    const url = guard.readTarget(text);
    const stop = new AbortController();
    const late = clock.sleep(RESOLVE_MS, stop.signal).then(
      () => null,
      () => null,
    );
    const found = await Promise.race([resolve(url.hostname).catch(() => null), late]);
    stop.abort();
    if (found !== null && found.length > 0 && guard.allowed(url.hostname, found).length === 0) {
      throw new ServiceError(
        'webhook_target_refused',
        `url: ${url.hostname} does not resolve to a public address`,
      );
    }
    return url.href;
  }
  function checkTopics(ownerId: number, topics: readonly string[]): void {
    const who = owner(ownerId);
    const refused = topics.find(
      (topic) => who === null || heardAs(who.principal, topic, who.queues) === null,
    );
    if (refused === undefined) return;
    throw new ServiceError('forbidden', `topics: ${refused} is beyond the rights of who owns this webhook`);
  }
  const shown = ({ id, settings, progress }: Running): Webhook => {
    const { head } = progress.replay ?? progress.live;
    const { previous_until } = settings;
    const { replay } = progress;
    return {
      id,
      url: settings.url,
      topics: [...settings.topics],
      types: settings.types === null ? null : [...settings.types],
      description: settings.description,
      enabled: settings.enabled,
      disabled_reason: settings.disabled_reason,
      disabled_at: settings.disabled_at === null ? null : rfc3339(settings.disabled_at),
      created_at: rfc3339(settings.created_at),
      created_by: settings.created_by,
      cursor: progress.live.at,
      lag: Math.max(0, journal.head - progress.live.at),
      retrying:
        head === null || !settings.enabled
          ? null
          : {
              seq: head.seq,
              attempts: head.attempts,
              next_attempt_at: rfc3339(head.next_at),
              failing_since: rfc3339(head.first_at),
            },
      replay: replay === null ? null : { from: replay.at + 1, to: replay.to },
      previous_secret_until:
        previous_until === null || clock.now() >= previous_until ? null : rfc3339(previous_until),
    };
  };
  /** Writes new settings; what the lane decided meanwhile stands. */
  async function put(
    hook: Running,
    next: Settings,
    progress: Progress,
    line: ReturnType<ReturnType<typeof told>>,
  ) {
    const before = hook.settings;
    await store.change(hook.id, next, progress, line);
    const { enabled, disabled_reason, disabled_at } = hook.settings;
    hook.settings = hook.settings === before ? next : { ...next, enabled, disabled_reason, disabled_at };
  }

  return {
    list: (caller) =>
      [...hooks.values()]
        .filter(({ settings }) => caller.key === null || settings.owner === caller.person_id)
        .toSorted((a, b) => a.id - b.id)
        .map(shown),
    one: (caller, id) => shown(find(caller, id)),
    async create(actor, wanted) {
      const url = await checkTarget(wanted.url);
      return inTurn(async () => {
        const { caller } = actor;
        checkTopics(caller.person_id, wanted.topics);
        if (hooks.size >= MAX_WEBHOOKS) {
          throw new ServiceError('limit_reached', `a site has at most ${MAX_WEBHOOKS} webhooks; delete one`);
        }
        const now = clock.now();
        const settings: Settings = {
          ...wanted,
          url,
          disabled_reason: wanted.enabled ? null : 'request',
          disabled_at: wanted.enabled ? null : now,
          created_at: now,
          created_by: nameOf(caller),
          owner: caller.person_id,
          secret: newSecret(),
          previous_secret: null,
          previous_until: null,
        };
        const progress: Progress = {
          epoch: journal.epoch,
          live: { at: journal.head, head: null },
          replay: null,
          failing_since: null,
        };
        const detail = { topics: wanted.topics.join(' ').slice(0, 500) };
        const id = await store.add(settings, progress, told(actor, 'webhook.created', url, detail));
        start({ id, settings, progress, last_number: 0 });
        return { webhook: shown(hooks.get(id)!), secret: settings.secret };
      });
    },
    async change(actor, id, wanted) {
      find(actor.caller, id);
      const url = wanted.url === undefined ? undefined : await checkTarget(wanted.url);
      return inTurn(async () => {
        const hook = find(actor.caller, id);
        const { settings, progress } = hook;
        if (wanted.topics !== undefined) checkTopics(settings.owner, wanted.topics);
        const enabled = wanted.enabled ?? settings.enabled;
        const now = clock.now();
        const next: Settings = {
          ...settings,
          url: url ?? settings.url,
          topics: wanted.topics ?? settings.topics,
          types: wanted.types === undefined ? settings.types : wanted.types,
          description: wanted.description ?? settings.description,
          enabled,
          disabled_reason: enabled ? null : settings.enabled ? 'request' : settings.disabled_reason,
          disabled_at: enabled ? null : settings.enabled ? now : settings.disabled_at,
        };
        const detail = { changed: Object.keys(wanted).join(' '), enabled };
        await put(hook, next, progress, told(actor, 'webhook.changed', next.url, detail)(id));
        if (next.url !== settings.url || (enabled && !settings.enabled)) {
          progress.failing_since = null;
          for (const line of [progress.live, progress.replay]) {
            if (line !== null && line.head !== null) line.head = { ...line.head, attempts: 0, next_at: now };
          }
        }
        hook.lane.wake();
        return shown(hook);
      });
    },
    remove: (actor, id) =>
      inTurn(async () => {
        const hook = find(actor.caller, id);
        await store.remove(id, told(actor, 'webhook.deleted', hook.settings.url)(id));
        hooks.delete(id);
        unsaved.delete(hook);
        // Not waited for: it may stand in line behind others, and what it does no longer counts.
        void hook.lane.close(AbortSignal.abort());
      }),
    rotate: (actor, id) =>
      inTurn(async () => {
        const hook = find(actor.caller, id);
        const { settings } = hook;
        const secret = newSecret();
        const next = {
          ...settings,
          secret,
          previous_secret: settings.secret,
          previous_until: clock.now() + GRACE_MS,
        };
        await put(hook, next, hook.progress, told(actor, 'webhook.secret_rotated', next.url)(id));
        return { webhook: shown(hook), secret };
      }),
    async test(actor, id) {
      const hook = find(actor.caller, id);
      if (hook.testing) throw new ServiceError('too_many_requests', 'a test of this webhook is under way');
      hook.testing = true;
      try {
        const event_id = `test_${randomBytes(12).toString('base64url')}`;
        const at = clock.now();
        const body = JSON.stringify({
          specversion: '1.0',
          id: event_id,
          source: options.source,
          type: 'webhook.test',
          subject: `webhooks/${id}`,
          time: rfc3339(at),
          data: { webhook_id: id },
        });
        const headers = headersOf(hook.settings, event_id, body, at, agent);
        const outcome = await transport.post(hook.settings.url, headers, body, new AbortController().signal);
        const { status, error, latency_ms, excerpt } = outcome;
        return { success: true, delivered: isSuccess(outcome), status, error, latency_ms, excerpt };
      } finally {
        hook.testing = false;
      }
    },
    replay: (actor, id, range) =>
      inTurn(async () => {
        const hook = find(actor.caller, id);
        const { progress, settings } = hook;
        if (!settings.enabled) throw new ServiceError('webhook_disabled', 'enable this webhook first');
        if (progress.replay !== null) {
          throw new ServiceError('replay_running', `a replay is under way, up to ${progress.replay.to}`);
        }
        if (range.from > progress.live.at) {
          throw new ServiceError('invalid_request', `from: nothing after ${progress.live.at} was passed yet`);
        }
        const to = Math.min(range.to, progress.live.at);
        const replay = { from: range.from, at: range.from - 1, to, head: null };
        const detail = { from: range.from, to };
        const line = told(actor, 'webhook.replayed', settings.url, detail)(id);
        await put(hook, settings, { ...progress, replay }, line);
        progress.replay = replay;
        hook.lane.wake();
        return shown(hook);
      }),
    async deliveries(caller, id, { limit = 50, cursor, state }) {
      const hook = find(caller, id);
      await save();
      const before = cursor === undefined ? null : Number(cursor);
      const rows = await store.lines(id, { limit: limit + 1, before, state: state ?? null });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const { live, replay } = hook.progress;
      const waits = hook.settings.enabled ? [live.head?.number, replay?.head?.number] : [];
      return {
        deliveries: page.map((row) => deliveryOf(row, waits.includes(row.number))),
        next_cursor: rows.length > limit && last !== undefined ? String(last.number) : null,
      };
    },
    figures() {
      const all = [...hooks.values()].filter(({ settings }) => settings.enabled);
      return {
        webhooks: hooks.size,
        retrying: all.filter(({ progress }) => progress.live.head !== null).length,
        under_way: slots.fresh.taken + slots.failing.taken,
        lag: Math.max(0, ...all.map(({ progress }) => journal.head - progress.live.at)),
        ...counts,
      };
    },
    ownersChanged() {
      for (const hook of hooks.values()) if (owner(hook.settings.owner) === null) hook.lane.wake();
    },
    save,
    async close() {
      for (const each of timers) clearInterval(each);
      const grace = new AbortController();
      const over = setTimeout(() => grace.abort(), STOP_GRACE_MS);
      await Promise.all([...hooks.values()].map((hook) => hook.lane.close(grace.signal)));
      clearTimeout(over);
      transport.close();
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

const NO_LANE: Lane = { wake: () => undefined, close: () => Promise.resolve() };
const nameOf = (caller: Caller): string => (caller.key === null ? caller.extension : caller.username);

function deliveryOf(row: DeliveryRow, waits: boolean): WebhookDelivery {
  return {
    id: row.number,
    state: row.state,
    seq: row.seq,
    to_seq: row.to_seq,
    event_id: row.event_id,
    type: row.type,
    replay: row.replay === 1,
    attempts: row.attempts,
    status: row.status,
    error: row.error,
    latency_ms: row.latency_ms,
    excerpt: row.excerpt,
    first_attempt_at: rfc3339(row.first_at),
    last_attempt_at: rfc3339(row.last_at),
    next_attempt_at: waits && row.next_at !== null ? rfc3339(row.next_at) : null,
  };
}
