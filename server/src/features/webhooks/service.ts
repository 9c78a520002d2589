import type { EventType } from '@offhook/contract/events.ts';
import type {
  DeliveriesQuery,
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookTested,
} from '@offhook/contract/webhooks.ts';
import { MAX_WEBHOOKS, ROTATION_GRACE_HOURS } from '@offhook/contract/webhooks.ts';
import { randomBytes } from '../../core/chance.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { pageOf } from '../../core/page.ts';
import { say } from '../../core/said.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Caller } from '../../ports/http.ts';
import type { FollowableJournal } from '../../ports/journal-store.ts';
import type { Actor } from '../../ports/operations.ts';
import { heardAs } from '../../rights/rights.ts';
import { isPublishedOn, topicsOfType } from '../../rights/topics.ts';
import { releasedOf } from './lane.ts';
import { post } from './post.ts';
import type { Runner, Running } from './runner.ts';
import type { TargetSettings } from './settings.ts';
import { newSecret } from './signature.ts';
import type { InTransaction, Progress, Settings, WebhookStore } from './store.ts';
import { isDeaf } from './subscription.ts';
import type { FindOwner } from './subscription.ts';
import type { Guard } from '../../outbound/address-guard.ts';
import type { Resolve, Transport } from '../../outbound/transport.ts';
import { deliveryOf, webhookOf } from './view.ts';

const RESOLVE_MS = 2_000;
const GRACE_MS = ROTATION_GRACE_HOURS * 3_600_000;

export interface WebhookServiceParts {
  readonly journal: FollowableJournal;
  readonly clock: Clock;
  readonly audit: Required<Audit>;
  readonly owner: FindOwner;
  /** The source of an envelope, e.g. `/offhook/ast1`. */
  readonly source: string;
  readonly store: WebhookStore;
  readonly guard: Guard;
  readonly targets: TargetSettings;
  readonly transport: Transport;
  /** The `User-Agent` of a delivery. */
  readonly agent: string;
  readonly resolve: Resolve;
  readonly runner: Runner;
}

/** Every method throws `not_found` for a webhook that does not exist or does not belong to the API key. */
export class WebhookService {
  /** Settings about private addresses that webhooks may call; a change retries all failed deliveries. */
  readonly targets: TargetSettings;
  readonly #parts: WebhookServiceParts;
  /** Ids of webhooks with a test in progress. */
  readonly #testing = new Set<number>();
  constructor(parts: WebhookServiceParts) {
    const { runner, targets } = parts;
    this.#parts = parts;
    this.targets = {
      settings: () => targets.settings(),
      async change(actor, wanted) {
        const settings = await targets.change(actor, wanted);
        for (const { lane } of runner.hooks.values()) lane.release();
        return settings;
      },
    };
  }

  list(caller: Caller): Webhook[] {
    return [...this.#parts.runner.hooks.values()]
      .filter(({ settings }) => caller.key === null || settings.owner === caller.person_id)
      .toSorted((a, b) => a.id - b.id)
      .map((hook) => this.#shown(hook));
  }
  one(caller: Caller, id: number): Webhook {
    return this.#shown(this.#find(caller, id));
  }
  /** Throws `invalid_request`, `webhook_target_refused`, `forbidden`, `limit_reached`. */
  async create(actor: Actor, wanted: NewWebhook): Promise<{ webhook: Webhook; secret: string }> {
    const { clock, journal, runner, store } = this.#parts;
    checkTypes(wanted.topics, wanted.types);
    const url = await this.#checkTarget(wanted.url);
    return runner.inTurn(async () => {
      const { caller } = actor;
      this.#checkTopics(caller.person_id, wanted.topics);
      if (runner.hooks.size >= MAX_WEBHOOKS) {
        throw new ServiceError('limit_reached', say`a site has at most ${MAX_WEBHOOKS} webhooks; delete one`);
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
      const id = await store.add(settings, progress, (created) =>
        this.#audited(actor, 'webhook.created', created, url, detail),
      );
      const hook = runner.start({ id, settings, progress, last_number: 0 });
      return { webhook: this.#shown(hook), secret: settings.secret };
    });
  }
  /** Throws the errors of `create`. */
  async change(actor: Actor, id: number, wanted: WebhookChange): Promise<Webhook> {
    this.#find(actor.caller, id);
    const url = wanted.url === undefined ? undefined : await this.#checkTarget(wanted.url);
    return this.#parts.runner.inTurn(async () => {
      const hook = this.#find(actor.caller, id);
      const { settings, progress } = hook;
      if (wanted.topics !== undefined) this.#checkTopics(settings.owner, wanted.topics);
      if (wanted.topics !== undefined || wanted.types !== undefined)
        checkTypes(
          wanted.topics ?? settings.topics,
          wanted.types === undefined ? settings.types : wanted.types,
        );
      const enabled = wanted.enabled ?? settings.enabled;
      if (wanted.enabled === true) this.#checkOwner(settings.owner, wanted.topics ?? settings.topics);
      const next: Settings = {
        ...settings,
        url: url ?? settings.url,
        topics: wanted.topics ?? settings.topics,
        types: wanted.types === undefined ? settings.types : wanted.types,
        description: wanted.description ?? settings.description,
        enabled,
        disabled_reason: enabled ? null : settings.enabled ? 'request' : settings.disabled_reason,
        disabled_at: enabled ? null : settings.enabled ? this.#parts.clock.now() : settings.disabled_at,
      };
      const detail = { changed: Object.keys(wanted).join(' '), enabled };
      await this.#put(hook, next, progress, this.#audited(actor, 'webhook.changed', id, next.url, detail));
      if (next.url !== settings.url || wanted.enabled === true) {
        progress.failing_since = null;
        hook.lane.release();
      } else hook.lane.wake();
      return this.#shown(hook);
    });
  }
  remove(actor: Actor, id: number): Promise<void> {
    const { runner, store } = this.#parts;
    return runner.inTurn(async () => {
      const hook = this.#find(actor.caller, id);
      await store.remove(id, this.#audited(actor, 'webhook.deleted', id, hook.settings.url));
      runner.drop(hook);
    });
  }
  rotate(actor: Actor, id: number): Promise<{ webhook: Webhook; secret: string }> {
    const { clock, runner } = this.#parts;
    return runner.inTurn(async () => {
      const hook = this.#find(actor.caller, id);
      const { settings } = hook;
      const secret = newSecret();
      const next = {
        ...settings,
        secret,
        previous_secret: settings.secret,
        previous_until: clock.now() + GRACE_MS,
      };
      const line = this.#audited(actor, 'webhook.secret_rotated', id, next.url);
      await this.#put(hook, next, hook.progress, line);
      return { webhook: this.#shown(hook), secret };
    });
  }
  /** Throws `too_many_requests` while another test of the webhook runs. */
  async test(actor: Actor, id: number): Promise<WebhookTested> {
    const { agent, clock, runner, source, transport } = this.#parts;
    const hook = this.#find(actor.caller, id);
    if (this.#testing.has(id)) {
      throw new ServiceError('too_many_requests', 'a test of this webhook is under way');
    }
    this.#testing.add(id);
    try {
      const event_id = `test_${randomBytes(12, 'webhook test').toString('base64url')}`;
      const at = clock.now();
      const body = JSON.stringify({
        specversion: '1.0',
        id: event_id,
        source,
        type: 'webhook.test',
        subject: `webhooks/${id}`,
        time: rfc3339(at),
        data: { webhook_id: id },
      });
      const message = { id: event_id, body, at, agent };
      const result = await post(transport, hook.settings, message, new AbortController().signal);
      const { ok: delivered, status, error, latency_ms, excerpt } = result;
      if (delivered && runner.hooks.get(id) === hook) hook.lane.release();
      return { success: true, delivered, status, error, latency_ms, excerpt };
    } finally {
      this.#testing.delete(id);
    }
  }
  /** Throws `webhook_disabled`, and `invalid_request` for a range beyond the delivered events. */
  replay(actor: Actor, id: number, range: { readonly from: number; readonly to: number }): Promise<Webhook> {
    return this.#parts.runner.inTurn(async () => {
      const hook = this.#findEnabled(actor.caller, id);
      const { progress, settings } = hook;
      if (progress.replay !== null) {
        throw new ServiceError('replay_running', say`a replay is under way, up to ${progress.replay.to}`);
      }
      if (range.from > progress.live.at) {
        throw new ServiceError(
          'invalid_request',
          say`from: must be at most ${progress.live.at}, the last event that was delivered`,
        );
      }
      const to = Math.min(range.to, progress.live.at);
      const replay = { from: range.from, at: range.from - 1, to, head: null };
      const detail = { from: range.from, to };
      const line = this.#audited(actor, 'webhook.replayed', id, settings.url, detail);
      await this.#put(hook, settings, { ...progress, replay }, line);
      progress.replay = replay;
      hook.lane.wake();
      return this.#shown(hook);
    });
  }
  /** Sends waiting deliveries at once, with a fresh schedule. Throws `webhook_disabled`. */
  retry(actor: Actor, id: number): Promise<Webhook> {
    return this.#parts.runner.inTurn(async () => {
      const hook = this.#findEnabled(actor.caller, id);
      const { settings, progress } = hook;
      const next = releasedOf(progress, this.#parts.clock.now());
      await this.#put(hook, settings, next, this.#audited(actor, 'webhook.retried', id, settings.url));
      hook.lane.release();
      return this.#shown(hook);
    });
  }
  async deliveries(
    caller: Caller,
    id: number,
    { limit = 50, cursor, state }: DeliveriesQuery,
  ): Promise<{ deliveries: WebhookDelivery[]; next_cursor: string | null }> {
    const { runner, store } = this.#parts;
    const hook = this.#find(caller, id);
    // If the write fails, the lines stored before it are listed.
    await runner.save().catch(() => undefined);
    const before = cursor === undefined ? null : Number(cursor);
    const rows = await store.lines(id, { limit: limit + 1, before, state: state ?? null });
    const { page, next_cursor } = pageOf(rows, limit, (row) => row.number);
    return { deliveries: page.map((row) => deliveryOf(row, hook)), next_cursor };
  }

  #shown(hook: Running): Webhook {
    return webhookOf(hook, this.#parts.journal.head, this.#parts.clock.now());
  }
  #find(caller: Caller, id: number): Running {
    const hook = this.#parts.runner.hooks.get(id);
    const visible = caller.key === null || hook?.settings.owner === caller.person_id;
    if (hook === undefined || !visible) throw new ServiceError('not_found', 'there is no such webhook');
    return hook;
  }
  #findEnabled(caller: Caller, id: number): Running {
    const hook = this.#find(caller, id);
    if (!hook.settings.enabled) throw new ServiceError('webhook_disabled', 'enable this webhook first');
    return hook;
  }
  #audited(
    actor: Actor,
    action: string,
    id: number,
    url: string,
    more: AuditEntry['detail'] = {},
  ): InTransaction {
    return (trx) =>
      this.#parts.audit.recordIn(trx, {
        action,
        actor: nameOf(actor.caller),
        object: `webhook:${id}`,
        outcome: 'ok',
        ip: actor.ip,
        // Only the origin is audited: the rest of an address often holds a secret.
        detail: { target: new URL(url).origin, ...more },
      });
  }
  /** Throws if the target is refused now; a name that does not resolve yet is checked at each call. */
  async #checkTarget(text: string): Promise<string> {
    const { clock, guard, resolve } = this.#parts;
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
  #checkTopics(ownerId: number, topics: readonly string[]): void {
    const who = this.#parts.owner(ownerId);
    const refused = topics.find(
      (topic) => who === null || heardAs(who.principal, topic, who.queues) === null,
    );
    if (refused === undefined) return;
    throw new ServiceError('forbidden', say`topics: the owner of this webhook has no access to ${refused}`);
  }
  /** Throws `forbidden` if the owner is gone or may receive none of the topics. */
  #checkOwner(ownerId: number, topics: readonly string[]): void {
    const who = this.#parts.owner(ownerId);
    if (who === null) {
      throw new ServiceError(
        'forbidden',
        'the owner of this webhook no longer exists; delete the webhook and create another',
      );
    }
    if (isDeaf(who, topics)) {
      throw new ServiceError('forbidden', 'topics: the owner of this webhook has no access to any of them');
    }
  }
  /** Stores new settings; a lane that disabled the webhook meanwhile prevails. */
  async #put(hook: Running, next: Settings, progress: Progress, line: InTransaction): Promise<void> {
    const before = hook.settings;
    await this.#parts.runner.put(hook, next, progress, line);
    const { enabled, disabled_reason, disabled_at } = hook.settings;
    hook.settings = hook.settings === before ? next : { ...next, enabled, disabled_reason, disabled_at };
  }
}

/** Throws `invalid_request` if none of the types is published on one of the topics: nothing would ever be delivered. */
function checkTypes(topics: readonly string[], wanted: readonly string[] | null): void {
  const types = wanted as readonly EventType[] | null;
  if (types === null || types.some((type) => isPublishedOn(type, topics))) return;
  const [first] = types;
  const where = first === undefined ? '' : topicsOfType(first).join(', ');
  throw new ServiceError(
    'invalid_request',
    say`types: none of them is published on ${topics.join(', ')}; ${first ?? ''} is on ${where}`,
  );
}

const nameOf = (caller: Caller): string => (caller.key === null ? caller.extension : caller.username);
