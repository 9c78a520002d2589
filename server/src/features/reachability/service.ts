/** Determines the external address of the site by STUN or from an interface, and applies a new one to the engine. */
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { isIP } from 'node:net';
import { Backoff } from '../../core/backoff.ts';
import { messageOf } from '../../core/errors.ts';
import type { KeptText } from '../../core/files.ts';
import type { Log } from '../../core/log.ts';
import type { Finding } from '../../ports/engine-site.ts';
import type { AddressSource, FindAddress, FoundAddress } from '../../ports/external-address.ts';
import type { Common } from '../../ports/common.ts';
import type { SiteNetwork } from '../../ports/site.ts';
import { disbelief, sourceOf, wordsOf } from './source.ts';

export interface ExternalAddressDeps extends Common<'clock' | 'log' | 'publish'> {
  /** The applied network. */
  readonly network: () => SiteNetwork;
  readonly find: FindAddress;
  /** True while a running engine can accept another address. */
  readonly up: () => boolean;
  /** Applies the present version again, rendered with `found()`. Throws if no apply can begin now. */
  readonly renew: (comment: string) => Promise<ConfigApply>;
  /** Stores the address across restarts, as text. */
  readonly kept: KeptText;
}
const EVERY_MS = { stun: 15_000, interface: 5_000 } as const;
/** Interval after which a new address must be confirmed by a second answer. */
const CONFIRM_MS = 2_000;
/** Shortest interval between two changes; it doubles with each change, until an hour (`CALM_MS`) passes without one. */
const HOLD = { first_ms: 60_000, most_ms: 1_800_000 } as const;
const CALM_MS = 3_600_000;
/** Shortest interval between two events `network.address_doubted`. */
const DOUBT_MS = 600_000;

const same = (a: FoundAddress | null, b: FoundAddress): boolean =>
  a?.address === b.address && a.local === b.local;

/** Parses a stored address; null if the text is invalid. */
function readFound(text: string | null): FoundAddress | null {
  try {
    const { address, local } = JSON.parse(text ?? '{}') as Partial<FoundAddress>;
    const valid = typeof address === 'string' && isIP(address) !== 0;
    return valid ? { address, local: typeof local === 'string' && isIP(local) !== 0 ? local : null } : null;
  } catch {
    return null;
  }
}

export class ExternalAddress implements AsyncDisposable {
  readonly #deps: ExternalAddressDeps;
  readonly #log: Log;
  readonly #stop = new AbortController();
  readonly #hold = new Backoff(HOLD);
  #found: FoundAddress | null;
  /** Fault of the newest answer; null if there is none. */
  #fault: string | null = null;
  /** True if an event reported this fault. */
  #reported = false;
  /** Last used source, in words; another source may change the address at once. */
  #asked = '';
  /** True while changes are refused because there were too many. */
  #damped = false;
  #doubtedAt = Number.NEGATIVE_INFINITY;
  #changedAt = Number.NEGATIVE_INFINITY;
  #heldUntil = Number.NEGATIVE_INFINITY;
  #wake: () => void = () => undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(deps: ExternalAddressDeps, found: FoundAddress | null) {
    this.#deps = deps;
    this.#log = deps.log.child({ part: 'external-address' });
    this.#found = found;
  }
  static async open(deps: ExternalAddressDeps): Promise<ExternalAddress> {
    return new ExternalAddress(deps, readFound(await deps.kept.read()));
  }
  /** The found address, which is used if the network has no fixed one; null if none was found yet. */
  found(): FoundAddress | null {
    return this.#found;
  }
  /** Address at which this machine is reached from outside; null if it is unknown. */
  shown(): string | null {
    const network = this.#deps.network();
    return (sourceOf(network) === null ? null : this.#found?.address) ?? network.external_address;
  }
  /** Starts a lookup now, e.g. after a change of the network or a reconnect of the engine. */
  follow(): void {
    this.#wake();
  }
  begin(): void {
    this.#running = this.#run();
  }
  finding(): Finding {
    const network = this.#deps.network();
    const source = sourceOf(network);
    if (source === null) {
      const { external_address: fixed } = network;
      return { ok: true, detail: fixed === null ? 'none is used' : `fixed: ${fixed}` };
    }
    const used = this.shown();
    if (this.#fault === null)
      return { ok: true, detail: used === null ? 'not known yet' : `${used}, of ${wordsOf(source)}` };
    return { ok: false, detail: `${this.#fault}; ${used === null ? 'there is none' : `${used} stays`}` };
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      const source = sourceOf(this.#deps.network());
      try {
        if (source === null) [this.#found, this.#fault] = [null, null];
        else if (this.#deps.up()) await this.#look(source);
      } catch (error) {
        if (!signal.aborted) this.#doubt(messageOf(error));
      }
      const pause = source === null ? CALM_MS : EVERY_MS[source.kind];
      await clock.sleep(pause, AbortSignal.any([signal, woken.signal])).catch(() => undefined);
    }
  }
  /** Asks the source once. Throws one sentence if there is no answer, or if `disbelief` rejects it. */
  async #ask(source: AddressSource): Promise<FoundAddress> {
    const words = wordsOf(source);
    const found = await this.#deps.find(source, this.#stop.signal).catch((error: unknown) => {
      throw new Error(`${words}: ${messageOf(error)}`, { cause: error });
    });
    const reason = disbelief(found, source, this.#deps.network());
    if (reason !== null) throw new Error(`${words} gives ${found.address}, ${reason}`);
    return found;
  }
  async #look(source: AddressSource): Promise<void> {
    const { clock } = this.#deps;
    if (wordsOf(source) !== this.#asked) {
      this.#hold.reset();
      [this.#asked, this.#heldUntil, this.#damped] = [wordsOf(source), Number.NEGATIVE_INFINITY, false];
    }
    const found = await this.#ask(source);
    if (same(this.#found, found)) {
      // A source that alternates stays faulty, even while it returns the present address.
      if (!this.#damped || clock.now() >= this.#heldUntil) [this.#fault, this.#damped] = [null, false];
      if (clock.now() - this.#changedAt >= CALM_MS) this.#hold.reset();
      return;
    }
    await clock.sleep(CONFIRM_MS, this.#stop.signal);
    const again = await this.#ask(source);
    const words = wordsOf(source);
    if (!same(found, again))
      throw new Error(`${words} gives ${found.address}, then ${again.address}: answers must agree`);
    const left = this.#heldUntil - clock.now();
    if (left > 0) {
      const seconds = Math.ceil(left / 1000);
      this.#damped = true;
      throw new Error(
        `${words} gives ${found.address}, but changes too often: the next change is possible in ${seconds} s`,
      );
    }
    await this.#change(found, source);
  }
  async #change(found: FoundAddress, source: AddressSource): Promise<void> {
    const { clock, kept, publish, renew } = this.#deps;
    const former = this.#found;
    const shown = this.shown();
    this.#found = found;
    try {
      const { detail, state } = await renew(`external address ${found.address} of ${wordsOf(source)}`);
      if (state !== 'applied') throw new Error(detail ?? state);
    } catch (error) {
      this.#found = former;
      throw new Error(
        `${found.address} was found, but could not be applied to the engine: ${messageOf(error)}`,
        {
          cause: error,
        },
      );
    }
    [this.#fault, this.#damped] = [null, false];
    this.#changedAt = clock.now();
    if (former !== null) this.#heldUntil = this.#changedAt + this.#hold.next();
    await kept
      .write(JSON.stringify(found))
      .catch((error: unknown) =>
        this.#log.warn({ error: messageOf(error) }, 'the external address could not be stored'),
      );
    this.#log.info({ ...found, former: shown }, 'the external address changed');
    if (found.address === shown) return;
    const data = { address: found.address, former: shown, source: source.kind };
    publish([this.#event('network.address_changed', data)]);
  }
  #doubt(detail: string): void {
    if (this.#fault === null) this.#reported = false;
    this.#fault = detail;
    const now = this.#deps.clock.now();
    if (this.#reported || now - this.#doubtedAt < DOUBT_MS) return;
    this.#reported = true;
    this.#doubtedAt = now;
    this.#log.warn({ detail }, 'the external address is not certain');
    this.#deps.publish([this.#event('network.address_doubted', { address: this.shown(), detail })]);
  }
  #event<T extends 'network.address_changed' | 'network.address_doubted'>(
    type: T,
    data: EventData<T>,
  ): DomainEvent {
    return { type, subject: 'network', at: this.#deps.clock.now(), observed: 'live', data } as DomainEvent;
  }
}
