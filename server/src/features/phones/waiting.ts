import type { Clock } from '../../ports/clock.ts';

/** A phone that sent a request to the common address. */
interface Waiting {
  readonly mac: string;
  address: string;
  agent: string;
  readonly first: number;
  last: number;
  /** Assigned to this phone until `until`. */
  phone: string | null;
  until: number;
}
type From = { readonly ip: string; readonly agent: string };
const MOST = 200;
const ASSIGNED_MS = 15 * 60_000;

/** Phones without a token, in memory. Beyond `MOST`, the unassigned phone with the oldest request is dropped. */
export class WaitingPhones {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();
  constructor(clock: Clock) {
    this.#clock = clock;
  }
  saw(mac: string, { ip, agent }: From): void {
    const now = this.#clock.now();
    const known = this.#waiting.get(mac);
    // A request from another address must not take over an assignment.
    if (known !== undefined && this.#assigned(known) && known.address !== ip) return;
    this.#waiting.delete(mac);
    if (this.#waiting.size >= MOST) {
      const oldest = [...this.#waiting.values()].find((one) => !this.#assigned(one));
      if (oldest === undefined) return;
      this.#waiting.delete(oldest.mac);
    }
    this.#waiting.set(mac, {
      mac,
      first: known?.first ?? now,
      phone: known?.phone ?? null,
      until: known?.until ?? 0,
      address: ip,
      agent: agent.slice(0, 200).replaceAll(/\p{C}/gu, '?'),
      last: now,
    });
  }
  has = (mac: string): boolean => this.#waiting.has(mac);
  /**
   * False if the phone does not wait at `address`, where the person saw it: another device may have sent the same MAC
   * address since and must not receive the configuration.
   */
  assign(mac: string, phone: string, address?: string): boolean {
    const one = this.#waiting.get(mac);
    if (one === undefined || (address !== undefined && one.address !== address)) return false;
    one.phone = phone;
    one.until = this.#clock.now() + ASSIGNED_MS;
    return true;
  }
  /** Phone to which the device is assigned; null if none, or if the request comes from another address. */
  take(mac: string, { ip }: From): string | null {
    const one = this.#waiting.get(mac);
    return one !== undefined && one.address === ip && this.#assigned(one) ? one.phone : null;
  }
  remove(mac: string): void {
    this.#waiting.delete(mac);
  }
  /** Newest first. */
  list(): Waiting[] {
    return [...this.#waiting.values()]
      .toReversed()
      .map((one) => ({ ...one, phone: this.#assigned(one) ? one.phone : null }));
  }
  #assigned({ phone, until }: Waiting): boolean {
    return phone !== null && until > this.#clock.now();
  }
}
