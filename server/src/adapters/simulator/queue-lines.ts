/** Callers who wait in queues of the simulated engine, and the agents whom they are offered to. */
import type { ChannelId } from '@offhook/contract/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { QueueCaller, QueueMember } from '../../ports/engine-state.ts';
import type { SiteQueue } from '../../ports/site.ts';
import type { Members } from './members.ts';
import type { Channel, Switch } from './switch.ts';
import { createTimers } from './timers.ts';

const ANSWERED_ELSEWHERE = 26;
/** Pause after a round without an answer. */
const RETRY_MS = 1_000;

interface Offer {
  readonly queue: string;
  readonly member: QueueMember;
  readonly caller: Channel;
  readonly near: Channel;
  readonly far: Channel;
  readonly phone: Channel;
  readonly since: number;
}
interface Waiting {
  readonly queue: SiteQueue;
  readonly channel: Channel;
  readonly since: number;
  readonly priority: number;
  /** Earliest time of the next round. */
  notBefore: number;
}
interface Served {
  readonly member: QueueMember;
  readonly caller: Channel;
  readonly agent: Channel;
  readonly near: ChannelId;
  readonly since: number;
}
export interface QueueLinesOptions {
  readonly sw: Switch;
  readonly members: Members;
  readonly clock: Clock;
  /** Called with a caller who waited too long. */
  readonly gaveUp: (caller: Channel) => void;
}

export class QueueLines {
  readonly #options: QueueLinesOptions;
  readonly #timers;
  readonly #waiting: Waiting[] = [];
  readonly #offers: Offer[] = [];
  readonly #served: Served[] = [];
  /** Interfaces in the order in which they were last offered a call, per queue. */
  readonly #turns = new Map<string, string[]>();
  #pairs = 0;
  constructor(options: QueueLinesOptions) {
    this.#options = options;
    this.#timers = createTimers(options.clock);
  }

  callers(queue: string): readonly QueueCaller[] {
    const own = this.#waiting.filter((one) => one.queue.name === queue);
    return own.map(({ channel, since, priority }, i) => ({
      queue,
      channel: channel.id,
      position: i + 1,
      joined_at: since,
      priority,
    }));
  }
  waits(channel: Channel): boolean {
    return this.#waiting.some((one) => one.channel === channel);
  }
  /** Whether this phone rings for an offer. */
  isOffered(phone: Channel): boolean {
    return this.#offers.some((one) => one.phone === phone);
  }
  join(
    channel: Channel,
    queue: SiteQueue,
    { priority = 0, position }: { priority?: number; position?: number | null } = {},
  ): void {
    const { sw } = this.#options;
    sw.answer(channel);
    sw.begin(channel, 'queue', `${queue.name},C`, queue.name);
    sw.record(channel, 'music_start');
    const one: Waiting = { queue, channel, since: sw.now, priority, notBefore: sw.now };
    const own = this.#waiting.filter((other) => other.queue.name === queue.name);
    const equal = own.filter((other) => other.priority === priority);
    const at = position == null ? undefined : equal[position - 1];
    const next = at ?? own.find((other) => other.priority < priority);
    this.#waiting.splice(next === undefined ? this.#waiting.length : this.#waiting.indexOf(next), 0, one);
    const caller = this.callers(queue.name).find((shown) => shown.channel === channel.id)!;
    sw.fact({ type: 'queue.caller_joined', caller });
    if (queue.max_wait_seconds > 0)
      this.#timers.after(queue.max_wait_seconds * 1000, channel, () => this.#timeout(one));
    this.serve();
  }
  setPriority(channel: Channel, priority: number): boolean {
    const i = this.#waiting.findIndex((one) => one.channel === channel);
    const [one] = i < 0 ? [] : this.#waiting.splice(i, 1);
    if (one === undefined) return false;
    const own = this.#waiting.filter((other) => other.queue === one.queue);
    const next = own.find((other) => other.priority < priority);
    this.#waiting.splice(next === undefined ? this.#waiting.length : this.#waiting.indexOf(next), 0, {
      ...one,
      priority,
    });
    return true;
  }
  /** Removes a caller that continues elsewhere; false for one that does not wait. */
  withdraw(channel: Channel): boolean {
    const one = this.#waiting.find((other) => other.channel === channel);
    if (one === undefined) return false;
    this.#abandoned(one);
    this.#options.sw.end(channel);
    return true;
  }
  /** Offers waiting callers to agents who are free. */
  serve(): void {
    for (const one of this.#waiting) {
      if (this.#offers.some(({ caller }) => caller === one.channel)) continue;
      if (this.#options.sw.now < one.notBefore) continue;
      const free = this.#free(one.queue.name);
      for (const member of one.queue.strategy === 'ringall' ? free : free.slice(0, 1))
        this.#offer(one, member);
    }
  }
  /** The phone of an agent answers. */
  accept(phone: Channel): void {
    const { sw, members } = this.#options;
    const offer = this.#offers.find((one) => one.phone === phone)!;
    this.#offers.splice(this.#offers.indexOf(offer), 1);
    this.#timers.cancel(phone);
    const { queue, member, caller, near, far } = offer;
    sw.answer(phone);
    sw.answer(near);
    sw.answer(far);
    near.dial_status = far.dial_status = caller.dial_status = 'ANSWER';
    sw.fact({ type: 'dial.ended', from: caller.id, to: near.id, status: 'ANSWER' });
    this.#takeBack((one) => one.caller === caller, ANSWERED_ELSEWHERE);
    const waiting = this.#leave(caller)!;
    sw.record(caller, 'music_end');
    const ids = { queue, interface: member.interface, caller: caller.id, agent: near.id };
    const seconds = (from: number): number => Math.floor((sw.now - from) / 1000);
    sw.fact({
      type: 'offer.accepted',
      ...ids,
      hold_seconds: seconds(waiting.since),
      ring_seconds: seconds(offer.since),
    });
    const [inner, outer] = [sw.newBridge(), sw.newBridge()];
    sw.enter(phone, inner);
    sw.enter(far, inner);
    sw.enter(near, outer);
    sw.enter(caller, outer);
    // As in the real engine, the pair between caller and phone leaves once both have media.
    sw.leave(near);
    sw.enter(phone, outer);
    sw.hangUp(far, 16);
    sw.hangUp(near, 16);
    this.#served.push({ member, caller, agent: phone, near: near.id, since: sw.now });
    members.inCall(member, true);
  }
  /** The phone of an agent declines. */
  decline(phone: Channel, cause: number): void {
    const offer = this.#offers.find((one) => one.phone === phone)!;
    this.#endOffer(offer, 'BUSY', () => this.#options.sw.hangUp(phone, cause, phone));
    this.#roundOver(offer.caller);
  }
  /** A channel ends: whether it waited, was offered, or is served. */
  ends(channel: Channel): void {
    const { sw } = this.#options;
    const one = this.#waiting.find((other) => other.channel === channel);
    if (one !== undefined) {
      sw.fact({ type: 'channel.ending', id: channel.id });
      sw.record(channel, 'music_end');
      channel.dial_status = 'NOANSWER';
      this.#abandoned(one);
    }
    const served = this.#served.find(({ caller, agent }) => caller === channel || agent === channel);
    if (served !== undefined) this.release(channel, served.agent === channel ? 'agent' : 'caller');
  }
  /** The call leaves the queue for good. */
  release(channel: Channel, reason: 'agent' | 'caller' | 'transfer'): void {
    const { sw, members } = this.#options;
    const i = this.#served.findIndex(({ caller, agent }) => caller === channel || agent === channel);
    const [served] = i < 0 ? [] : this.#served.splice(i, 1);
    if (served === undefined) return;
    const { member, caller, near, since } = served;
    sw.fact({
      type: 'agent.released',
      queue: member.queue,
      interface: member.interface,
      caller: caller.id,
      agent: near,
      reason,
      talk_seconds: Math.floor((sw.now - since) / 1000),
    });
    members.inCall(member, false);
  }
  /** A member was removed or paused for good: its ring ends. */
  withdrawOffers(queue: string, iface: string): void {
    this.#takeBack((one) => one.queue === queue && one.member.interface === iface, ANSWERED_ELSEWHERE);
  }
  close(): void {
    this.#timers.close();
  }

  #free(queue: string): readonly QueueMember[] {
    const { members } = this.#options;
    const turns = this.#turns.get(queue) ?? [];
    return members
      .rows(queue)
      .filter((row) => {
        const now = row.extension === null ? 'UNAVAILABLE' : members.stateOf(row.extension);
        return !row.paused && !row.in_call && now === 'NOT_INUSE';
      })
      .toSorted((a, b) => a.penalty - b.penalty || turns.indexOf(a.interface) - turns.indexOf(b.interface));
  }
  #offer({ queue, channel: caller }: Waiting, member: QueueMember): void {
    const { sw, members } = this.#options;
    const extension = member.extension!;
    this.#pairs += 1;
    const pair = `Local/${extension}@queue-agent-${String(this.#pairs).padStart(8, '0')}`;
    const near = sw.create({ pair, half: 1, of: caller, dialled: extension });
    const far = sw.create({ pair, half: 2, of: caller, dialled: extension, caller: caller.caller });
    const ids = { queue: queue.name, interface: member.interface, caller: caller.id, agent: near.id };
    sw.fact({ type: 'offer.created', ...ids });
    sw.begin(far, 'dial', `Phone/${extension}`);
    const endpoint = members.devices(extension)[0]!;
    const name = members.person(endpoint)?.name ?? '';
    const phone = sw.create({
      endpoint,
      of: caller,
      rung: true,
      dialled: extension,
      caller: { number: extension, name },
      connected: caller.caller,
    });
    const offer: Offer = { queue: queue.name, member, caller, near, far, phone, since: sw.now };
    this.#offers.push(offer);
    const turns = (this.#turns.get(queue.name) ?? []).filter((one) => one !== member.interface);
    this.#turns.set(queue.name, [...turns, member.interface]);
    sw.ring(phone);
    this.#timers.after(queue.ring_seconds * 1000, phone, () => {
      sw.fact({ type: 'offer.timeout', ...ids, ring_seconds: queue.ring_seconds });
      this.#takeBack((one) => one === offer, ANSWERED_ELSEWHERE);
      this.#roundOver(caller);
    });
  }
  /** After the last ring of a round, the next one begins a moment later. */
  #roundOver(caller: Channel): void {
    const one = this.#waiting.find(({ channel }) => channel === caller);
    if (one === undefined || this.#offers.some((offer) => offer.caller === caller)) return;
    one.notBefore = this.#options.sw.now + RETRY_MS;
    this.#timers.after(RETRY_MS, caller, () => this.serve(), 'retry');
  }
  #takeBack(where: (offer: Offer) => boolean, cause: number): void {
    for (const offer of this.#offers.filter(where))
      this.#endOffer(offer, 'CANCEL', () => this.#options.sw.hangUp(offer.phone, cause));
  }
  #endOffer(offer: Offer, status: string, end: () => void): void {
    const { sw } = this.#options;
    const { caller, near, far, phone } = offer;
    this.#offers.splice(this.#offers.indexOf(offer), 1);
    this.#timers.cancel(phone);
    sw.fact({ type: 'dial.ended', from: caller.id, to: near.id, status });
    far.dial_status = status;
    const cause = status === 'CANCEL' ? ANSWERED_ELSEWHERE : 16;
    sw.hangUp(near, cause);
    end();
    sw.hangUp(far, cause);
  }
  #timeout(one: Waiting): void {
    const { sw, gaveUp } = this.#options;
    this.#abandoned(one);
    sw.record(one.channel, 'music_end');
    sw.end(one.channel);
    sw.record(one.channel, 'user_defined', { queue_status: 'timeout' });
    gaveUp(one.channel);
  }
  #abandoned({ queue, channel, since }: Waiting): void {
    const { sw } = this.#options;
    this.#takeBack((offer) => offer.caller === channel, ANSWERED_ELSEWHERE);
    const position = this.callers(queue.name).findIndex((one) => one.channel === channel.id) + 1;
    const hold_seconds = Math.floor((sw.now - since) / 1000);
    sw.fact({
      type: 'queue.caller_abandoned',
      queue: queue.name,
      channel: channel.id,
      hold_seconds,
      position,
    });
    this.#leave(channel);
  }
  #leave(channel: Channel): Waiting | undefined {
    this.#timers.cancel(channel);
    const i = this.#waiting.findIndex((one) => one.channel === channel);
    const [one] = i < 0 ? [] : this.#waiting.splice(i, 1);
    if (one !== undefined)
      this.#options.sw.fact({ type: 'queue.caller_left', queue: one.queue.name, channel: channel.id });
    return one;
  }
}
