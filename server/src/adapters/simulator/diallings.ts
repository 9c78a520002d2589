/** Channels that ring others: answer, decline, cancel and timeout. */
import type { Clock } from '../../ports/clock.ts';
import type { Party } from '../../ports/engine-state.ts';
import type { Channel, Switch } from './switch.ts';
import { createTimers } from './timers.ts';

const ANSWERED_ELSEWHERE = 26;
/** The cause that the engine gives a caller who gives up before an answer. */
const GAVE_UP = 127;
const STATUS: Readonly<Record<number, string>> = { 17: 'BUSY', 21: 'BUSY', 34: 'CONGESTION' };

/** Result of a dialling. */
export interface Dialling {
  /** Called once no device rings any more, with the cause of the last one; 0 for no answer in time. */
  readonly failed: (cause: number) => void;
  /** Called with the device that answered a placed call; without it, caller and device are bridged. */
  readonly answered?: (device: Channel) => void;
  /** Without it the devices ring until a side hangs up. */
  readonly ring_seconds?: number;
}
interface Running extends Dialling {
  readonly caller: Channel;
  readonly rung: Channel[];
}

export class Diallings {
  readonly #switch: Switch;
  readonly #timers;
  readonly #running: Running[] = [];
  constructor(sw: Switch, clock: Clock) {
    this.#switch = sw;
    this.#timers = createTimers<Channel>(clock);
  }

  begin(caller: Channel, endpoints: readonly string[], dialled: string, party: Party, then: Dialling): void {
    this.#switch.begin(caller, 'dial', endpoints.map((endpoint) => `Phone/${endpoint}`).join('&'));
    const rung = endpoints.map((endpoint) =>
      this.#switch.create({
        endpoint,
        of: caller,
        rung: true,
        dialled,
        caller: party,
        connected: caller.caller,
      }),
    );
    const one: Running = { ...then, caller, rung: [...rung] };
    this.#running.push(one);
    for (const phone of rung) {
      this.#switch.fact({ type: 'dial.begun', from: caller.id, to: phone.id, dialled });
      this.#switch.ring(phone);
    }
    if (then.ring_seconds !== undefined)
      this.#timers.after(then.ring_seconds * 1000, caller, () => this.#unanswered(one));
  }
  rings(phone: Channel): boolean {
    return this.#running.some(({ rung }) => rung.includes(phone));
  }
  answer(phone: Channel): void {
    const one = this.#of(phone);
    const { caller, rung, answered } = one;
    this.#over(one);
    this.#switch.answer(phone);
    this.#ended(caller, phone, 'ANSWER');
    if (answered === undefined) {
      this.#switch.answer(caller);
      const bridge = this.#switch.newBridge();
      this.#switch.enter(phone, bridge);
      this.#switch.enter(caller, bridge);
    }
    for (const other of rung) {
      if (other === phone) continue;
      this.#ended(caller, other, 'CANCEL');
      this.#switch.hangUp(other, ANSWERED_ELSEWHERE);
    }
    answered?.(phone);
  }
  decline(phone: Channel, cause: number): void {
    const one = this.#of(phone);
    const { caller, rung, failed } = one;
    rung.splice(rung.indexOf(phone), 1);
    this.#ended(caller, phone, STATUS[cause] ?? 'BUSY');
    if (rung.length > 0) return this.#switch.hangUp(phone, cause, phone);
    this.#over(one);
    this.#switch.end(caller);
    this.#switch.hangUp(phone, cause, phone);
    failed(cause);
  }
  /** The caller hangs up, by itself or by a command; false for a channel that rings no device. */
  cancel(caller: Channel, itself: boolean): boolean {
    const one = this.#running.find((other) => other.caller === caller);
    if (one === undefined) return false;
    this.#over(one);
    for (const phone of one.rung) this.#ended(caller, phone, 'CANCEL');
    this.#switch.hangUp(caller, GAVE_UP, itself ? caller : undefined);
    for (const phone of one.rung) this.#switch.hangUp(phone, GAVE_UP);
    return true;
  }
  close(): void {
    this.#timers.close();
  }

  #of(phone: Channel): Running {
    return this.#running.find(({ rung }) => rung.includes(phone))!;
  }
  #ended(caller: Channel, to: Channel, status: string): void {
    caller.dial_status = status;
    this.#switch.fact({ type: 'dial.ended', from: caller.id, to: to.id, status });
  }
  #over(one: Running): void {
    this.#timers.cancel(one.caller);
    this.#running.splice(this.#running.indexOf(one), 1);
  }
  #unanswered(one: Running): void {
    const { caller, rung, failed } = one;
    this.#over(one);
    this.#switch.end(caller);
    for (const phone of rung) {
      this.#ended(caller, phone, 'NOANSWER');
      this.#switch.hangUp(phone, 0);
    }
    failed(0);
  }
}
