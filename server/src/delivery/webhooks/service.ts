import { randomBytes } from 'node:crypto';
import type {
  DeliveriesQuery,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookTested,
} from '@offhook/contract/webhooks.ts';
import { MAX_WEBHOOKS, ROTATION_GRACE_HOURS } from '@offhook/contract/webhooks.ts';
import { rfc3339 } from '../../core/clock.ts';
import { pageOf } from '../../core/page.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import { heardAs } from '../../rights/rights.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Store } from '../../ports/store.ts';
import { headersOf, isSuccess, releasedOf } from './lane.ts';
import type { LaneDeps } from './lane.ts';
import { createRunner } from './runner.ts';
import type { Running } from './runner.ts';
import { newSecret } from './signature.ts';
import { createWebhookStore } from './store.ts';
import type { Progress, Settings } from './store.ts';
import { namesFor } from './subscription.ts';
import type { FindOwner, Owner } from './subscription.ts';
import { createTargetSettings } from './settings.ts';
import type { TargetSettings } from './settings.ts';
import { createGuard } from './target.ts';
import type { Allow } from './target.ts';
import { createResolve, createTransport } from './transport.ts';
import type { Resolve } from './transport.ts';
import { deliveryOf, webhookOf } from './view.ts';

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
  /** Sends what waits at once, with a fresh schedule. Throws `webhook_disabled`. */
  retry(actor: Actor, id: number): Promise<Webhook>;
  /** Which addresses that are not public may be called. */
  readonly targets: TargetSettings;
  deliveries(
    caller: Caller,
    id: number,
    query: DeliveriesQuery,
  ): Promise<{ deliveries: WebhookDelivery[]; next_cursor: string | null }>;
  figures(): WebhookFigures;
  /** Somebody's rights changed or ended: webhooks without an owner, or whose owner may hear none of their topics, are disabled now, not at their next event. */
  ownersChanged(): void;
  /** Writes what is only in memory. */
  save(): Promise<void>;
  close(): Promise<void>;
}

/** Loads the webhooks and begins to deliver. */
export async function createWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const { clock, journal, audit, owner } = options;
  const log = options.log.child({ part: 'webhooks' });
  const resolve = options.resolve ?? createResolve();
  const store = await createWebhookStore(options.store);
  const guard = createGuard(options.allow);
  const targets = await createTargetSettings({
    store: options.store,
    audit,
    fixed: options.allow,
    apply: (allow) => guard.allow(allow),
  });
  const transport = createTransport({ guard, clock, resolve });
  const agent = `Offhook/${options.version}`;
  const chance = options.chance ?? Math.random;
  const runner = createRunner({ journal, clock, transport, log, agent, chance, store, audit, owner });
  const { hooks } = runner;
  const testing = new Set<number>();
  for (const row of await store.all()) runner.start(row);

  const shown = (hook: Running): Webhook => webhookOf(hook, journal.head, clock.now());
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
        say`url: ${url.hostname} does not resolve to a public address`,
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
    throw new ServiceError(
      'forbidden',
      say`topics: ${refused} is beyond the rights of who owns this webhook`,
    );
  }
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
      return runner.inTurn(async () => {
        const { caller } = actor;
        checkTopics(caller.person_id, wanted.topics);
        if (hooks.size >= MAX_WEBHOOKS) {
          throw new ServiceError(
            'limit_reached',
            say`a site has at most ${MAX_WEBHOOKS} webhooks; delete one`,
          );
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
        const hook = runner.start({ id, settings, progress, last_number: 0 });
        return { webhook: shown(hook), secret: settings.secret };
      });
    },
    async change(actor, id, wanted) {
      find(actor.caller, id);
      const url = wanted.url === undefined ? undefined : await checkTarget(wanted.url);
      return runner.inTurn(async () => {
        const hook = find(actor.caller, id);
        const { settings, progress } = hook;
        if (wanted.topics !== undefined) checkTopics(settings.owner, wanted.topics);
        const enabled = wanted.enabled ?? settings.enabled;
        const who = owner(settings.owner);
        if (wanted.enabled === true && who === null) {
          throw new ServiceError('forbidden', 'who owns this webhook is gone; delete it and create another');
        }
        if (wanted.enabled === true && deaf(who!, wanted.topics ?? settings.topics)) {
          throw new ServiceError('forbidden', 'topics: who owns this webhook may hear none of them');
        }
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
        if (next.url !== settings.url || wanted.enabled === true) {
          progress.failing_since = null;
          hook.lane.release();
        } else hook.lane.wake();
        return shown(hook);
      });
    },
    remove: (actor, id) =>
      runner.inTurn(async () => {
        const hook = find(actor.caller, id);
        await store.remove(id, told(actor, 'webhook.deleted', hook.settings.url)(id));
        runner.drop(hook);
      }),
    rotate: (actor, id) =>
      runner.inTurn(async () => {
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
      if (testing.has(id)) throw new ServiceError('too_many_requests', 'a test of this webhook is under way');
      testing.add(id);
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
        const delivered = isSuccess(outcome);
        if (delivered && hooks.get(id) === hook) hook.lane.release();
        return { success: true, delivered, status, error, latency_ms, excerpt };
      } finally {
        testing.delete(id);
      }
    },
    replay: (actor, id, range) =>
      runner.inTurn(async () => {
        const hook = find(actor.caller, id);
        const { progress, settings } = hook;
        if (!settings.enabled) throw new ServiceError('webhook_disabled', 'enable this webhook first');
        if (progress.replay !== null) {
          throw new ServiceError('replay_running', say`a replay is under way, up to ${progress.replay.to}`);
        }
        if (range.from > progress.live.at) {
          throw new ServiceError(
            'invalid_request',
            say`from: nothing after ${progress.live.at} was passed yet`,
          );
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
    retry: (actor, id) =>
      runner.inTurn(async () => {
        const hook = find(actor.caller, id);
        const { settings, progress } = hook;
        if (!settings.enabled) throw new ServiceError('webhook_disabled', 'enable this webhook first');
        const next = releasedOf(progress, clock.now());
        await put(hook, settings, next, told(actor, 'webhook.retried', settings.url)(id));
        hook.lane.release();
        return shown(hook);
      }),
    targets: {
      settings: () => targets.settings(),
      async change(actor, wanted) {
        const settings = await targets.change(actor, wanted);
        for (const hook of hooks.values()) hook.lane.release();
        return settings;
      },
    },
    async deliveries(caller, id, { limit = 50, cursor, state }) {
      const hook = find(caller, id);
      // What cannot be written now can still be read as of the last time.
      await runner.save().catch(() => undefined);
      const before = cursor === undefined ? null : Number(cursor);
      const rows = await store.lines(id, { limit: limit + 1, before, state: state ?? null });
      const { page, next_cursor } = pageOf(rows, limit, (row) => row.number);
      return { deliveries: page.map((row) => deliveryOf(row, hook)), next_cursor };
    },
    figures() {
      const all = [...hooks.values()].filter(({ settings }) => settings.enabled);
      return {
        webhooks: hooks.size,
        retrying: all.filter(({ progress }) => progress.live.head !== null).length,
        under_way: transport.under_way,
        lag: Math.max(0, ...all.map(({ progress }) => journal.head - progress.live.at)),
        ...runner.counts,
      };
    },
    ownersChanged() {
      for (const hook of hooks.values()) {
        const who = owner(hook.settings.owner);
        if (who === null || deaf(who, hook.settings.topics)) hook.lane.wake();
      }
    },
    save: () => runner.save(),
    async close() {
      await runner.close();
      transport.close();
    },
  };
}

const deaf = (who: Owner, topics: readonly string[]): boolean => namesFor(who, topics).length === 0;
const nameOf = (caller: Caller): string => (caller.key === null ? caller.extension : caller.username);
