import { CONNECTOR_SOURCE } from '@offhook/contract/phonebook.ts';
import type { CallCustomer } from '@offhook/contract/phonebook.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CustomerFound, LiveCall, LiveView } from '../../ports/live.ts';

export interface CallCustomersDeps {
  readonly live: Pick<LiveView, 'call' | 'calls'>;
  /** The shared customer of each of these numbers that has one. */
  readonly find: (numbers: readonly string[]) => Promise<ReadonlyMap<string, CallCustomer>>;
  /** Address that shows the customer of a call in its connected system; undefined where there is none. */
  readonly pop: (
    customer: CallCustomer,
    call: Pick<LiveCall, 'id' | 'direction'>,
    number: string,
  ) => string | undefined;
  readonly tell: (input: CustomerFound) => void;
  /** Called with a new call's number that no customer of the site itself has, to search the connected systems. */
  readonly unknown: (number: string) => void;
  readonly clock: Clock;
  readonly log: Log;
}
/** Limit of calls per query. */
const AT_ONCE = 200;

/** Number of the outside party as in the conversation, the caller's if both are outside; null without such a leg. */
function outsideNumber({ direction, dialled, legs }: LiveCall): string | null {
  const outside = legs.find((leg) => leg.extension === null);
  if (outside === undefined) return null;
  return outside.party.number || (direction === 'out' ? dialled : '');
}

/**
 * Looks up the customer of each live call, beside the engine loop: one query at a time for all calls that wait for one. The
 * result enters the model as a decision, so that the call's state, its later events and the journal have it.
 */
export class CallCustomers {
  readonly #deps: CallCustomersDeps;
  /** Number of the last or next lookup of each live call. */
  readonly #numbers = new Map<string, string>();
  /** Calls to look up, at most all live ones; true for a call whose number is new since its last lookup. */
  readonly #wanted = new Map<string, boolean>();
  #running: Promise<void> | null = null;
  #closed = false;
  constructor(deps: CallCustomersDeps) {
    this.#deps = deps;
  }

  onEvent(event: DomainEvent): void {
    if (event.type === 'engine.resynced') return this.#checkAll();
    if (event.type === 'phonebook.changed' && event.data.extension === null) return this.#findAgain();
    if (event.type === 'call.customer' || !event.type.startsWith('call.')) return;
    const { call_id, merged_into } = event.data as { call_id: string; merged_into?: string | null };
    if (event.type === 'call.ended') {
      this.#numbers.delete(call_id);
      this.#wanted.delete(call_id);
    }
    this.#check(merged_into ?? call_id);
  }
  /** Resolves when no call waits for its lookup. */
  async idle(): Promise<void> {
    await this.#running;
  }
  async close(): Promise<void> {
    this.#closed = true;
    await this.idle();
  }

  /** After a lost link or a restart: numbers of calls, and customers, may have changed meanwhile. */
  #checkAll(): void {
    this.#numbers.clear();
    this.#wanted.clear();
    for (const { id } of this.#deps.live.calls()) this.#check(id);
  }
  #findAgain(): void {
    for (const [id, number] of this.#numbers) if (number !== '') this.#want(id);
  }
  #want(id: string, fresh = false): void {
    this.#wanted.set(id, fresh || this.#wanted.get(id) === true);
    this.#running ??= this.#run().finally(() => (this.#running = null));
  }
  #check(id: string): void {
    const call = this.#deps.live.call(id);
    if (call === undefined) return;
    const number = outsideNumber(call);
    // The leg of the outside party may end before the call, which then keeps its customer.
    if (number === null || this.#numbers.get(call.id) === number) return;
    this.#numbers.set(call.id, number);
    if (number !== '' || call.customer !== undefined) this.#want(call.id, true);
  }
  async #run(): Promise<void> {
    while (this.#wanted.size > 0 && !this.#closed) {
      const calls = [...this.#wanted]
        .slice(0, AT_ONCE)
        .map(([id, fresh]) => [id, this.#numbers.get(id)!, fresh] as const);
      for (const [id] of calls) this.#wanted.delete(id);
      await this.#find(calls);
    }
  }
  #popped(id: string, number: string, customer: CallCustomer | null): CallCustomer | null {
    const call = this.#deps.live.call(id);
    if (customer === null || call === undefined) return customer;
    const { url: _page, ...known } = customer;
    const url = this.#deps.pop(customer, call, number);
    return url === undefined ? known : { ...known, url };
  }
  async #find(calls: readonly (readonly [id: string, number: string, fresh: boolean])[]): Promise<void> {
    const { clock, find, log, tell, unknown } = this.#deps;
    let found: ReadonlyMap<string, CallCustomer>;
    try {
      found = await find(calls.map(([, number]) => number).filter((number) => number !== ''));
    } catch (cause) {
      log.warn({ err: cause, calls: calls.length }, 'customers of live calls could not be looked up');
      for (const [id, , fresh] of calls) {
        if (this.#wanted.has(id)) this.#want(id, fresh);
        // The next event of the call tries again.
        else this.#numbers.delete(id);
      }
      return;
    }
    for (const [id, number, fresh] of calls) {
      if (this.#closed) return;
      if (this.#numbers.get(id) !== number) continue;
      const customer = this.#popped(id, number, found.get(number) ?? null);
      tell({ type: 'call.customer', at: clock.now(), call: id, customer });
      const isOwn = customer !== null && !customer.source.startsWith(CONNECTOR_SOURCE);
      if (fresh && number !== '' && !isOwn) unknown(number);
    }
  }
}
