/** Selects the SIP proxy for trunks: another one if it stops answering, so that calls to carriers continue. */
import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import type { Finding } from '../../ports/engine-site.ts';
import type { Common } from '../../ports/common.ts';

export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
}
export interface TrunkProxyDeps extends Common<'clock' | 'log'> {
  /** In order of preference. */
  readonly proxies: readonly ProxyAddress[];
  /** Rejects with one sentence if the proxy does not answer. */
  readonly ask: (proxy: ProxyAddress) => Promise<unknown>;
  /** True while an applied trunk uses the proxy. */
  readonly needed: () => boolean;
  /** True while a running engine can accept another proxy. */
  readonly up: () => boolean;
  /** Applies the present version again, rendered with `used()`. Throws if no apply can begin now. */
  readonly renew: (comment: string) => Promise<ConfigApply>;
}
const EVERY_MS = 2_000;
/** Consecutive checks without an answer after which a proxy counts as dead. */
const MOST_SILENT = 2;
/** Shortest interval between two changes, so that unstable proxies do not cause constant reloads of the engine. */
const HOLD_MS = 30_000;
const nameOf = ({ host, port }: ProxyAddress): string => `${host}:${port}`;

export class TrunkProxy implements AsyncDisposable {
  readonly #deps: TrunkProxyDeps;
  readonly #log: Log;
  readonly #stop = new AbortController();
  /** Consecutive checks without an answer and the last error, by proxy. */
  readonly #silent = new Map<ProxyAddress, { readonly looks: number; readonly why: string }>();
  #used: ProxyAddress | null;
  #changedAt = Number.NEGATIVE_INFINITY;
  #fault: string | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: TrunkProxyDeps) {
    this.#deps = deps;
    this.#log = deps.log.child({ part: 'trunk-proxy' });
    this.#used = deps.proxies[0] ?? null;
  }
  /** The proxy in use; null if the site has none. */
  used(): ProxyAddress | null {
    return this.#used;
  }
  begin(): void {
    if (this.#deps.proxies.length > 0) this.#running = this.#run();
  }
  finding(): Finding {
    const { proxies } = this.#deps;
    if (proxies.length === 0) return { ok: true, detail: 'none is used' };
    const words = proxies.map((one) => {
      const state = this.#isSilent(one) ? this.#silent.get(one)!.why : 'answers';
      return `${nameOf(one)}: ${state}${one === this.#used ? ', trunks pass it' : ''}`;
    });
    if (this.#fault !== null) words.push(this.#fault);
    const ok = this.#fault === null && !proxies.some((one) => this.#isSilent(one));
    return { ok, detail: words.join('; ') };
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #isSilent(proxy: ProxyAddress): boolean {
    return (this.#silent.get(proxy)?.looks ?? 0) >= MOST_SILENT;
  }
  async #run(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#look();
      await clock.sleep(EVERY_MS, signal).catch(() => undefined);
    }
  }
  async #look(): Promise<void> {
    const { ask, clock, needed, proxies, up } = this.#deps;
    await Promise.all(
      proxies.map(async (one) => {
        try {
          await ask(one);
          this.#silent.delete(one);
        } catch (error) {
          const looks = (this.#silent.get(one)?.looks ?? 0) + 1;
          this.#silent.set(one, { looks, why: messageOf(error) });
        }
      }),
    );
    if (this.#used === null || !this.#isSilent(this.#used)) {
      this.#fault = null;
      return;
    }
    const next = proxies.find((one) => !this.#silent.has(one));
    const held = clock.now() - this.#changedAt < HOLD_MS;
    if (next === undefined || held || !needed() || !up() || this.#stop.signal.aborted) return;
    await this.#change(next);
  }
  async #change(next: ProxyAddress): Promise<void> {
    const former = this.#used;
    this.#used = next;
    try {
      const { detail, state } = await this.#deps.renew(`trunks pass the SIP proxy ${nameOf(next)}`);
      if (state !== 'applied') throw new Error(detail ?? state);
      this.#fault = null;
      this.#changedAt = this.#deps.clock.now();
      this.#log.warn({ proxy: nameOf(next) }, 'trunks use another SIP proxy');
    } catch (error) {
      this.#used = former;
      const fault = `${nameOf(next)} not brought to the engine: ${messageOf(error)}`;
      if (fault !== this.#fault)
        this.#log.warn({ detail: fault }, 'trunks could not be switched to another SIP proxy');
      this.#fault = fault;
    }
  }
}
