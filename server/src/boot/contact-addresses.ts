/** Desk phones behind the SIP proxy over a failover: stored by the node that leads, registered at the engines of the others. */
import { messageOf } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineSite } from '../ports/engine-site.ts';
import type { Common } from '../ports/common.ts';
import type { LogHolder } from '../ports/site-log.ts';
import type { ContactAddress, SiteNodes } from '../ports/site-nodes.ts';

const READ_MS = 1_000;
const LIST_MS = 10_000;
/** The engine lists its phones for at most this share of the time. */
const LIST_SHARE = 0.02;
/** Longest pause between two lists, even if these are slow: a failover loses the phones that are not stored yet. */
const MOST_MS = 5_000;

const keyOf = ({ endpoint, uri }: ContactAddress): string => `${endpoint} ${uri}`;
const isSame = (a: ContactAddress | undefined, b: ContactAddress): boolean =>
  a?.path === b.path && a.until === b.until;
const byKey = (addresses: readonly ContactAddress[]): Map<string, ContactAddress> =>
  new Map(addresses.map((one) => [keyOf(one), one]));
/** Changes from `known` to `now`; the time of a phone that is gone ends at `at`, unix seconds. */
function changes(
  known: ReadonlyMap<string, ContactAddress>,
  now: ReadonlyMap<string, ContactAddress>,
  at: number,
): ContactAddress[] {
  const gone = [...known].filter(([key, { until }]) => until > at && !now.has(key));
  return [
    ...[...now].filter(([key, one]) => !isSame(known.get(key), one)).map(([, one]) => one),
    ...gone.map(([, one]) => ({ ...one, until: at })),
  ];
}
const secondsOf = (clock: Clock): number => Math.floor(clock.now() / 1_000);

export interface AddressesDeps extends Common<'clock' | 'log'> {
  readonly nodes: SiteNodes;
  readonly engineSite: Pick<EngineSite, 'contactAddresses' | 'registerAddresses' | 'exchange'>;
  readonly holder: LogHolder;
}
/** Stores the phones of the engine of the node that leads. */
export class AddressKeeper {
  readonly #deps: AddressesDeps;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  constructor(deps: AddressesDeps) {
    this.#deps = deps;
    this.#running = this.#run().catch(() => undefined);
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
  async #run(): Promise<void> {
    const { clock, engineSite, holder, log, nodes } = this.#deps;
    let known: Map<string, ContactAddress> | null = null;
    let away = false;
    for (;;) {
      const began = performance.now();
      try {
        if (engineSite.exchange.running()) {
          known ??= byKey((await nodes.addresses(0)).addresses);
          const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(LIST_MS)]);
          const now = byKey(await engineSite.contactAddresses(signal));
          const changed = changes(known, now, secondsOf(clock));
          if (changed.length > 0) await nodes.keepAddresses(holder, changed);
          known = now;
        }
        away = false;
      } catch (error) {
        this.#stop.signal.throwIfAborted();
        if (!away)
          log.warn({ error: messageOf(error) }, 'phone registrations could not be stored for other nodes');
        away = true;
      }
      const took = performance.now() - began;
      await clock.sleep(Math.min(MOST_MS, Math.max(READ_MS, took / LIST_SHARE)), this.#stop.signal);
    }
  }
}

/** Registers at the engine of a standby the phones that the node that leads stored. */
export class AddressCopy {
  readonly #deps: Omit<AddressesDeps, 'holder'>;
  #mark = 0;
  #lacking = 0;
  /** Null before the first comparison with an engine that runs. */
  #pending: Map<string, ContactAddress> | null = null;
  constructor(deps: Omit<AddressesDeps, 'holder'>) {
    this.#deps = deps;
  }
  /** Phones that this engine does not have yet. */
  get behind(): number {
    return this.#pending?.size ?? 0;
  }
  /** Call it every second or so, and once more before this node leads. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, engineSite, log, nodes } = this.#deps;
    const at = secondsOf(clock);
    if (!engineSite.exchange.running()) {
      // The next process of the engine may have lost the registrations of this one.
      this.#pending = null;
      return;
    }
    if (this.#pending === null) {
      const stored = await nodes.addresses(0);
      this.#mark = stored.mark;
      const living = byKey(stored.addresses.filter(({ until }) => until > at));
      this.#pending = byKey(changes(byKey(await engineSite.contactAddresses(signal)), living, at));
    } else {
      const { mark, addresses } = await nodes.addresses(this.#mark);
      this.#mark = mark;
      for (const one of addresses) this.#pending.set(keyOf(one), one);
    }
    if (this.#pending.size === 0) return;
    const lacking = await engineSite.registerAddresses([...this.#pending.values()]);
    this.#pending = byKey(lacking.filter(({ until }) => until > at));
    if (this.behind > this.#lacking)
      log.warn(
        { phones: this.behind },
        'the engine of this node did not accept the registrations of some phones',
      );
    this.#lacking = this.behind;
  }
}
