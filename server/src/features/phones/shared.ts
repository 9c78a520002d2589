/** Signs people out of shared phones after the configured hours or when phone or person is deleted; audits sign-ins. */
import type { DomainEvent } from '@offhook/contract/events.ts';
import { hasCode, messageOf } from '../../core/errors.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { SignedBy } from '../../ports/engine-events.ts';
import type { PhoneVerbs } from '../../ports/engine-verbs.ts';
import type { LiveView } from '../../ports/live.ts';
import type { Common } from '../../ports/common.ts';

export interface SharedPhonesDeps extends Common<'audit' | 'clock' | 'log'> {
  readonly engine: Pick<PhoneVerbs, 'signOutPhone' | 'showIdleAtPhone'>;
  readonly live: Pick<LiveView, 'live' | 'signed' | 'calls'>;
  /** From the applied configuration: whether phone and person exist, and the hours until a person is signed out. */
  readonly site: () => {
    readonly has: (endpoint: string, extension: string) => boolean;
    readonly hours: number | null;
  };
}
const LOOK_MS = 10_000;
const HOUR_MS = 3_600_000;

export class SharedPhones {
  readonly #deps: SharedPhonesDeps;
  readonly #closing = new AbortController();
  readonly #looking: Promise<void>;
  #lines: Promise<void> = Promise.resolve();

  constructor(deps: SharedPhonesDeps) {
    this.#deps = deps;
    this.#looking = this.#watch();
  }
  /** Signs out people whose hours are over, and people at a phone or extension that is gone. */
  async look(): Promise<void> {
    const { clock, live, log, site } = this.#deps;
    if (!live.live) return;
    const { has, hours } = site();
    for (const [endpoint, { extension, since }] of live.signed) {
      const late = hours !== null && since + hours * HOUR_MS <= clock.now();
      if (!late && has(endpoint, extension)) continue;
      const by: SignedBy = late ? 'timeout' : 'administrator';
      try {
        await this.#deps.engine.signOutPhone(endpoint, by, { signal: this.#closing.signal });
      } catch (error) {
        if (hasCode(error, 'engine_unavailable')) return;
        log.warn({ endpoint, error: messageOf(error) }, 'a person could not be signed out of a shared phone');
      }
    }
  }
  onEvent(event: DomainEvent): void {
    if (event.type === 'engine.resynced' && event.data.restarted) void this.#idle();
    if (event.type === 'phone.signed_in') this.#line('phone.sign_in', 'ok', event.data);
    if (event.type === 'phone.sign_in_refused') this.#line('phone.sign_in', 'refused', event.data);
    if (event.type === 'phone.signed_out' && event.data.reason !== 'administrator')
      this.#line('phone.sign_out', 'ok', event.data, { reason: event.data.reason });
  }
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#looking;
    await this.#lines;
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#deps.clock.sleep(LOOK_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.look();
    }
  }
  /** Corrects the state of people whom a restarted engine still shows as busy, because it ended during their calls. */
  async #idle(): Promise<void> {
    const { engine, live, log } = this.#deps;
    const busy = new Set(live.calls().flatMap(({ legs }) => legs.map(({ endpoint }) => endpoint)));
    for (const [endpoint, { extension }] of live.signed) {
      if (busy.has(endpoint)) continue;
      await engine
        .showIdleAtPhone(extension, { signal: this.#closing.signal })
        .catch((error: unknown) =>
          log.warn({ extension, error: messageOf(error) }, 'a person at a shared phone may be shown as busy'),
        );
    }
  }
  #line(
    action: string,
    outcome: 'ok' | 'refused',
    { phone, extension }: { readonly phone: string; readonly extension: string | null },
    detail: AuditEntry['detail'] = {},
  ): void {
    const { audit, log } = this.#deps;
    this.#lines = this.#lines
      .then(() => audit.record({ action, actor: extension, object: phone, outcome, ip: null, detail }))
      .catch((error: unknown) =>
        log.error({ error: messageOf(error) }, 'a sign-in at a phone could not be audited'),
      );
  }
}
