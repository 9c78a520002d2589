/** The push services of the site: their settings, the counts of results, and the sending of a push. */
import { ApnsService, FcmService, PUSH_PLATFORMS } from '@offhook/contract/push.ts';
import type { PushPlatform, PushService } from '@offhook/contract/push.ts';
import type { PushConfig } from '@offhook/contract/session.ts';
import type { z } from 'zod';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Guard } from '../../outbound/address-guard.ts';
import { Transport, createResolve } from '../../outbound/transport.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Actor } from '../../ports/operations.ts';
import { Apns } from './apns.ts';
import { Fcm } from './fcm.ts';
import { readKey } from './jwt.ts';
import type { PushMessage, PushResult, Pusher } from './pusher.ts';
import { failed } from './pusher.ts';
import type { PushStore } from './store.ts';
import type { ServiceRow } from './tables.ts';

export interface ServicesDeps {
  readonly store: PushStore;
  readonly audit: Required<Audit>;
  readonly clock: Clock;
  readonly guard: Guard;
}
interface Running {
  readonly row: ServiceRow;
  readonly pusher: Pusher;
  readonly sent: PushService['sent'];
  /** Why it refused the last push to an app that stays registered, by registration. */
  readonly faults: WeakMap<PushMessage['device'], string>;
  lastError: PushService['last_error'];
}
/** Limit of one push: a later wake-up would miss the call. */
const PUSH_MS = 10_000;

export class PushServices {
  readonly #deps: ServicesDeps;
  readonly #resolve = createResolve();
  readonly #transport: Transport;
  readonly #running = new Map<PushPlatform, Running>();
  readonly #end = new AbortController();
  #config: z.infer<typeof PushConfig> | null = null;

  constructor(deps: ServicesDeps, rows: readonly ServiceRow[]) {
    this.#deps = deps;
    this.#transport = new Transport({ ...deps, resolve: this.#resolve });
    for (const row of rows) this.#start(row);
  }
  has(platform: PushPlatform): boolean {
    return this.#running.has(platform);
  }
  /** Settings with which an app registers with FCM; null without that service. */
  config(): z.infer<typeof PushConfig> | null {
    return this.#config;
  }
  list(devices: (platform: PushPlatform) => number): PushService[] {
    return PUSH_PLATFORMS.flatMap((platform) => this.#shown(platform, devices(platform)) ?? []);
  }
  /** Throws `invalid_request` for a key that cannot be used, `webhook_target_refused` for an address that may not be called. */
  async set(
    actor: Actor,
    wanted: { platform: 'fcm'; body: FcmService } | { platform: 'apns'; body: ApnsService },
    devices: number,
  ): Promise<PushService> {
    const { store, clock, guard } = this.#deps;
    const { platform, body } = wanted;
    readKey(body.private_key, platform === 'fcm' ? 'RS256' : 'ES256');
    const urls = [body.base_url, platform === 'fcm' ? wanted.body.token_url : null];
    for (const url of urls) if (url !== null) guard.readTarget(url);
    const { private_key, ...settings } = body;
    const row = { platform, settings: JSON.stringify(settings), private_key, changed_at: clock.now() };
    await store.setService(row, (trx) =>
      this.#deps.audit.recordIn(trx, this.#line(actor, 'push_service.changed', platform)),
    );
    this.#running.get(platform)?.pusher.close();
    this.#start(row);
    return this.#shown(platform, devices)!;
  }
  /** Throws `not_found`. */
  async remove(actor: Actor, platform: PushPlatform): Promise<void> {
    const found = this.#require(platform);
    await this.#deps.store.removeService(platform, (trx) =>
      this.#deps.audit.recordIn(trx, this.#line(actor, 'push_service.removed', platform)),
    );
    found.pusher.close();
    this.#running.delete(platform);
    if (platform === 'fcm') this.#config = null;
  }
  tested(actor: Actor, platform: PushPlatform): Promise<void> {
    this.#require(platform);
    return this.#deps.audit.record(this.#line(actor, 'push_service.tested', platform));
  }
  /** Sends one push within ten seconds; never throws. */
  async push(platform: PushPlatform, message: PushMessage): Promise<PushResult> {
    const running = this.#running.get(platform);
    if (running === undefined) return failed('refused', 'the site has no such push service');
    const signal = AbortSignal.any([this.#end.signal, AbortSignal.timeout(PUSH_MS)]);
    const result = await running.pusher.push(message, signal);
    const { outcome, detail } = result;
    running.sent[outcome] += 1;
    if (detail !== '') running.lastError = { at: rfc3339(this.#deps.clock.now()), detail };
    // A push service that is away says nothing about the settings.
    if (outcome !== 'unavailable') running.faults.delete(message.device);
    if (outcome === 'refused' || (outcome === 'accepted' && detail !== ''))
      running.faults.set(message.device, detail);
    return result;
  }
  /** Wrong setting, of the site or the app, that the last push to a registration found; null for none. */
  fault(platform: PushPlatform, device: PushMessage['device']): string | null {
    return this.#running.get(platform)?.faults.get(device) ?? null;
  }
  close(): void {
    this.#end.abort();
    for (const { pusher } of this.#running.values()) pusher.close();
    this.#transport.close();
  }

  #start(row: ServiceRow): void {
    const { clock, guard } = this.#deps;
    const resolve = this.#resolve;
    const now = (): number => clock.now();
    const given: unknown = { ...(JSON.parse(row.settings) as object), private_key: row.private_key };
    let pusher: Pusher;
    if (row.platform === 'fcm') {
      const settings = FcmService.parse(given);
      const { project_id, app_id, api_key, sender_id } = settings;
      this.#config = {
        enabled: true,
        provider: 'fcm',
        fcm_project_id: project_id,
        fcm_app_id: app_id,
        fcm_api_key: api_key,
        fcm_sender_id: sender_id,
      };
      pusher = new Fcm(settings, (request, signal) => this.#transport.send(request, signal), now);
    } else pusher = new Apns(ApnsService.parse(given), { guard, resolve, now });
    const sent = { accepted: 0, gone: 0, refused: 0, unavailable: 0 };
    this.#running.set(row.platform, { row, pusher, sent, faults: new WeakMap(), lastError: null });
  }
  #shown(platform: PushPlatform, devices: number): PushService | undefined {
    const found = this.#running.get(platform);
    if (found === undefined) return undefined;
    const { row, sent, lastError } = found;
    return {
      platform,
      settings: JSON.parse(row.settings) as PushService['settings'],
      changed_at: rfc3339(row.changed_at),
      devices,
      sent: { ...sent },
      last_error: lastError,
    };
  }
  #require(platform: PushPlatform): Running {
    const found = this.#running.get(platform);
    if (found === undefined) throw new ServiceError('not_found', 'the site has no such push service');
    return found;
  }
  #line({ caller, ip }: Actor, action: string, platform: PushPlatform) {
    return {
      action,
      actor: caller.username,
      object: `push_service:${platform}`,
      outcome: 'ok' as const,
      ip,
    };
  }
}
