import type { BridgeId, CallId, ChannelId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../src/ports/engine-events.ts';
import type {
  DeviceState,
  EngineChannel,
  EngineSnapshot,
  QueueCaller,
  QueueMember,
} from '../../src/ports/engine-state.ts';
import { T0, bridge, channel, member, snapshot } from './model-scene.ts';

/** One step of a random call flow; the numbers select among the present objects. */
export interface Move {
  readonly do: (typeof MOVES)[number];
  readonly a: number;
  readonly b: number;
}
export const MOVES = [
  'dial',
  'dial',
  'answer',
  'answer',
  'hangup',
  'hangup',
  'hold',
  'join_queue',
  'join_queue',
  'offer',
  'offer',
  'accept',
  'accept',
  'reject',
  'leave_queue',
  'abandon',
  'send_on',
  'send_on',
  'release',
  'park',
  'unpark',
  'blind',
  'attended',
  'pickup',
  'pause',
  'login',
  'logout',
  'device',
  'conference',
] as const;

interface SimChannel extends EngineChannel {
  readonly at?: never;
}
interface SimOffer {
  readonly queue: string;
  readonly interface: string;
  readonly caller: ChannelId;
  readonly agent: ChannelId;
  readonly device: ChannelId;
}
type Body = EngineEvent extends infer E ? (E extends { at: number } ? Omit<E, 'at'> : never) : never;

const PHONES = ['1001', '1002', '1003', '1004', '1005', '1006'];
const TRUNKS = Array.from({ length: 6 }, (_, i) => `trunk${i}`);
const QUEUES = ['support', 'sales'];

/**
 * An engine that plays moves and emits frames in the order of a real Asterisk, one channel per endpoint, with linked ids
 * that only ever join, and its true state at any time.
 */
export class SimEngine {
  readonly log: EngineEvent[] = [];
  at = T0;
  #next = 1;
  readonly #channels = new Map<ChannelId, SimChannel>();
  readonly #bridges = new Map<ChannelId, { bridge: BridgeId; holding: boolean }>();
  readonly #held = new Set<ChannelId>();
  readonly #dialling = new Map<ChannelId, ChannelId>();
  readonly #down = new Set<string>();
  readonly #members = new Map<string, QueueMember>();
  readonly #callers: QueueCaller[] = [];
  readonly #offers: SimOffer[] = [];
  readonly #slots = new Map<ChannelId, string>();
  /** Callers of the members in a call. */
  readonly #served = new Map<string, ChannelId>();
  /** The leg that a blind transfer moves. */
  #passed: ChannelId | null = null;

  play(move: Move): void {
    this.at += 500;
    this[move.do](move.a, move.b);
  }
  hangupAll(): void {
    for (const id of this.#channels.keys()) {
      this.at += 500;
      this.#gone(id, 16);
    }
  }
  truth(): EngineSnapshot {
    return snapshot({
      channels: [...this.#channels.values()],
      bridged: [...this.#bridges].map(([id, b]) => ({ channel: id, ...b })),
      parked: Array.from(this.#slots, ([channel, slot]) => ({
        channel,
        slot,
        lot: 'default',
        since: this.at,
      })),
      queues: QUEUES.map((name) => ({
        name,
        strategy: 'ringall',
        members: [...this.#members.values()].filter((m) => m.queue === name),
        callers: this.#callers.filter((c) => c.queue === name).map((c, i) => ({ ...c, position: i + 1 })),
      })),
      devices: [...PHONES, ...TRUNKS].map((endpoint) => ({ endpoint, state: this.#device(endpoint) })),
    });
  }
  /** Channels in the order of a snapshot event. */
  snapshotEvent(): EngineEvent {
    return { at: this.at, type: 'engine.snapshot', why: 'resync', snapshot: this.truth() };
  }

  #tell(body: Body): void {
    this.log.push({ ...body, at: this.at } as EngineEvent);
  }
  #pick<T>(from: readonly T[], n: number): T | undefined {
    return from[n % Math.max(1, from.length)];
  }
  #legs(where: (c: SimChannel) => boolean = () => true): SimChannel[] {
    return [...this.#channels.values()].filter((c) => c.kind === 'endpoint' && where(c));
  }
  #isFree(endpoint: string): boolean {
    return !this.#down.has(endpoint) && !this.#legs((c) => c.endpoint === endpoint).length;
  }
  #device(endpoint: string): DeviceState {
    const own = this.#legs((c) => c.endpoint === endpoint)[0];
    if (own === undefined) return this.#down.has(endpoint) ? 'UNAVAILABLE' : 'NOT_INUSE';
    return own.state === 'ringing' ? 'RINGING' : 'INUSE';
  }
  #tellDevice(id: ChannelId | string | null): void {
    const endpoint = this.#channels.get(id as ChannelId)?.endpoint ?? id;
    if (endpoint === null || endpoint.includes(':')) return;
    const state = this.#device(endpoint);
    this.#tell({ type: 'device.state', endpoint, state });
    for (const m of this.#members.values()) {
      if (m.extension === endpoint && m.state !== state) this.#setMember({ ...m, state }, 'status');
    }
  }
  #setMember(m: QueueMember, why: 'added' | 'paused' | 'status'): void {
    this.#members.set(`${m.queue} ${m.interface}`, m);
    this.#tell({ type: 'queue.member', why, member: m });
  }
  #create(more: Parameters<typeof channel>[1]): SimChannel {
    const id = String(this.#next++);
    const made = channel(id, { created_at: this.at, ...more });
    this.#channels.set(made.id, made);
    this.#tell({ type: 'channel.created', channel: made });
    this.#tellDevice(made.id);
    return made;
  }
  #state(id: ChannelId, state: EngineChannel['state']): void {
    const ch = this.#channels.get(id);
    if (ch === undefined || ch.state === state) return;
    this.#channels.set(id, { ...ch, state });
    this.#tell({ type: 'channel.state', id, state, caller: ch.caller, connected: ch.connected });
    this.#tellDevice(id);
  }
  #link(from: CallId, into: CallId): void {
    if (from === into) return;
    for (const ch of this.#channels.values()) {
      if (ch.call !== from) continue;
      this.#channels.set(ch.id, { ...ch, call: into });
      this.#tell({ type: 'channel.linked', id: ch.id, call: into });
    }
  }
  #enter(b: BridgeId, id: ChannelId, holding = false): void {
    this.#leave(id);
    const ch = this.#channels.get(id);
    if (ch === undefined) return;
    this.#bridges.set(id, { bridge: b, holding });
    if (!holding) {
      for (const [other, at] of this.#bridges) {
        const call_ = this.#channels.get(other)?.call;
        if (at.bridge !== b || call_ === undefined || call_ === ch.call || b.includes('conf')) continue;
        this.#link(ch.call, call_);
      }
    }
    this.#tell({ type: 'bridge.entered', bridge: b, id, holding });
  }
  #leave(id: ChannelId): void {
    const was = this.#bridges.get(id);
    if (was === undefined) return;
    this.#bridges.delete(id);
    this.#tell({ type: 'bridge.left', bridge: was.bridge, id });
  }
  #unqueue(id: ChannelId): boolean {
    const i = this.#callers.findIndex((c) => c.channel === id);
    const [caller] = i < 0 ? [] : this.#callers.splice(i, 1);
    if (caller === undefined) return false;
    this.#tell({ type: 'queue.caller_left', queue: caller.queue, channel: id });
    return true;
  }
  #abandon(id: ChannelId): void {
    const i = this.#callers.findIndex((c) => c.channel === id);
    const caller = this.#callers[i];
    if (caller === undefined) return;
    const { queue } = caller;
    this.#tell({ type: 'channel.ending', id });
    this.#tell({ type: 'queue.caller_abandoned', queue, channel: id, hold_seconds: 1, position: 1 });
    this.#unqueue(id);
  }
  #endOffers(where: (o: SimOffer) => boolean, status: string): void {
    for (const o of this.#offers.filter(where)) {
      this.#offers.splice(this.#offers.indexOf(o), 1);
      this.#tell({ type: 'dial.ended', from: o.caller, to: o.agent, status });
      this.#gone(o.device, 26);
      for (const half of this.#pair(o.agent)) this.#gone(half, 26);
    }
  }
  #pair(id: ChannelId): ChannelId[] {
    const key = this.#channels.get(id)?.pair ?? null;
    return key === null ? [] : [...this.#channels.values()].filter((c) => c.pair === key).map((c) => c.id);
  }
  #gone(id: ChannelId, cause: number): void {
    const ch = this.#channels.get(id);
    if (ch === undefined) return;
    this.#endOffers((o) => o.caller === id, 'CANCEL');
    const i = this.#offers.findIndex((o) => o.device === id || o.agent === id);
    const [offer] = i < 0 ? [] : this.#offers.splice(i, 1);
    this.#abandon(id);
    // A leg left alone by the caller is hung up; a transferred one is not.
    const left: ChannelId[] = [];
    for (const m of this.#members.values()) {
      const served = this.#served.get(`${m.queue} ${m.interface}`);
      if (!m.in_call || (m.extension !== ch.endpoint && served !== id)) continue;
      const leg = this.#legs((c) => c.endpoint === m.extension && c.id !== id)[0];
      const at = leg && this.#bridges.get(leg.id);
      const company = [...this.#bridges].some(
        ([other, b]) => b.bridge === at?.bridge && other !== leg?.id && other !== id,
      );
      const stays = leg !== undefined && (leg.id === this.#passed || company || at?.holding === true);
      this.#release(m, id, stays ? 'transfer' : 'caller');
      if (leg !== undefined && !stays) left.push(leg.id);
    }
    for (const [callee, caller] of this.#dialling) {
      if (callee === id) {
        this.#dialling.delete(callee);
        this.#tell({ type: 'dial.ended', from: caller, to: callee, status: 'BUSY' });
      }
    }
    this.#leave(id);
    this.#held.delete(id);
    this.#slots.delete(id);
    this.#channels.delete(id);
    this.#tell({ type: 'channel.hungup', id, cause, cause_text: '' });
    this.#tellDevice(ch.endpoint);
    if (offer !== undefined)
      for (const half of [offer.device, ...this.#pair(offer.agent)]) this.#gone(half, 16);
    // A bridge of two ends with one of them; a dial with its caller.
    for (const [callee, caller] of this.#dialling) if (caller === id) this.#gone(callee, 26);
    for (const leg of left) if (this.#partner(leg) === undefined) this.#gone(leg, 16);
  }
  #release(m: QueueMember, caller: ChannelId, reason: 'caller' | 'transfer'): void {
    this.#tell({
      type: 'agent.released',
      queue: m.queue,
      interface: m.interface,
      caller,
      agent: caller,
      reason,
      talk_seconds: 1,
    });
    this.#setMember({ ...m, in_call: false, last_call_at: this.at }, 'status');
  }

  dial(a: number, b: number): void {
    const from = this.#pick(
      [...PHONES, ...TRUNKS].filter((e) => this.#isFree(e)),
      a,
    );
    const to = this.#pick(
      PHONES.filter((e) => e !== from && this.#isFree(e)),
      b,
    );
    if (from === undefined || to === undefined) return;
    const caller = this.#create({ endpoint: from, state: 'dialing', dialled: to });
    const callee = this.#create({ endpoint: to, of: caller.call.split(':')[1] ?? '' });
    this.#dialling.set(callee.id, caller.id);
    this.#tell({ type: 'dial.begun', from: caller.id, to: callee.id, dialled: to });
    this.#state(callee.id, 'ringing');
  }
  answer(a: number): void {
    const ringing = this.#pick([...this.#dialling], a);
    if (ringing === undefined) return;
    const [callee, caller] = ringing;
    this.#dialling.delete(callee);
    this.#state(callee, 'up');
    this.#tell({ type: 'dial.ended', from: caller, to: callee, status: 'ANSWER' });
    this.#state(caller, 'up');
    const b = bridge(`b${this.#next++}`);
    this.#enter(b, callee);
    this.#enter(b, caller);
  }
  hangup(a: number): void {
    const leg = this.#pick(this.#legs(), a);
    if (leg !== undefined) this.#gone(leg.id, 16);
  }
  hold(a: number): void {
    const leg = this.#pick(
      this.#legs((c) => this.#bridges.get(c.id)?.holding === false),
      a,
    );
    if (leg === undefined) return;
    const held = !this.#held.has(leg.id);
    if (held) this.#held.add(leg.id);
    else this.#held.delete(leg.id);
    this.#tell({ type: 'channel.held', id: leg.id, held });
  }
  join_queue(a: number, b: number): void {
    const from = this.#pick(
      [...TRUNKS, ...PHONES].filter((e) => this.#isFree(e)),
      a,
    );
    if (from === undefined) return;
    const caller = this.#create({ endpoint: from, state: 'dialing', dialled: '500' });
    this.#state(caller.id, 'up');
    const queue = QUEUES[b % 2] ?? 'support';
    const position = this.#callers.filter((c) => c.queue === queue).length + 1;
    const joined = { queue, channel: caller.id, position, joined_at: this.at, priority: null };
    this.#callers.push(joined);
    this.#tell({ type: 'queue.caller_joined', caller: joined });
  }
  offer(a: number, b: number): void {
    const caller = this.#pick(this.#callers, a);
    const m = this.#pick(
      [...this.#members.values()].filter(
        (x) => x.queue === caller?.queue && !x.paused && x.extension !== null && this.#isFree(x.extension),
      ),
      b,
    );
    if (caller === undefined || m?.extension == null) return;
    const of = this.#channels.get(caller.channel)?.call.split(':')[1] ?? '';
    const pair = `pair${this.#next++}`;
    const one = this.#create({ kind: 'local', pair, of });
    this.#create({ kind: 'local', pair, of });
    const ids = { queue: m.queue, interface: m.interface, caller: caller.channel, agent: one.id };
    this.#tell({ type: 'offer.created', ...ids });
    const device = this.#create({ endpoint: m.extension, of });
    this.#offers.push({ ...ids, device: device.id });
    this.#state(device.id, 'ringing');
  }
  accept(a: number): void {
    const o = this.#pick(this.#offers, a);
    if (o === undefined) return;
    this.#offers.splice(this.#offers.indexOf(o), 1);
    this.#state(o.device, 'up');
    this.#tell({ type: 'dial.ended', from: o.caller, to: o.agent, status: 'ANSWER' });
    this.#endOffers((x) => x.caller === o.caller, 'CANCEL');
    this.#unqueue(o.caller);
    const { queue, interface: iface, caller, agent } = o;
    const ids = { queue, interface: iface, caller, agent };
    this.#tell({ type: 'offer.accepted', ...ids, hold_seconds: 1, ring_seconds: 1 });
    const inner = bridge(`b${this.#next++}`);
    const outer = bridge(`b${this.#next++}`);
    const [one, two] = this.#pair(agent);
    if (one !== undefined && two !== undefined) {
      this.#enter(inner, two);
      this.#enter(inner, o.device);
      this.#enter(outer, one);
    }
    this.#enter(outer, caller);
    // The internal pair is optimised away.
    this.#enter(outer, o.device);
    for (const half of [one, two]) if (half !== undefined) this.#gone(half, 16);
    const m = this.#members.get(`${queue} ${iface}`);
    if (m === undefined) return;
    this.#served.set(`${queue} ${iface}`, caller);
    this.#setMember({ ...m, in_call: true }, 'status');
  }
  reject(a: number, b: number): void {
    const o = this.#pick(this.#offers, a);
    if (o === undefined) return;
    const { queue, interface: iface, caller, agent } = o;
    if (b % 2 === 0) {
      this.#tell({ type: 'offer.timeout', queue, interface: iface, caller, agent, ring_seconds: 9 });
      this.#endOffers((x) => x === o, 'CANCEL');
    } else this.#endOffers((x) => x === o, 'BUSY');
  }
  leave_queue(a: number): void {
    const caller = this.#pick(this.#callers, a);
    if (caller === undefined) return;
    this.#endOffers((o) => o.caller === caller.channel, 'CANCEL');
    this.#unqueue(caller.channel);
  }
  /** Timeout or removal: the engine emits "abandoned", and the call continues. */
  send_on(a: number, b: number): void {
    const caller = this.#pick(this.#callers, a);
    if (caller === undefined) return;
    const { queue, channel: id } = caller;
    this.#endOffers((o) => o.caller === id, 'CANCEL');
    this.#tell({ type: 'queue.caller_abandoned', queue, channel: id, hold_seconds: 1, position: 1 });
    this.#unqueue(id);
    if (b % 2 === 0) return;
    const into = QUEUES[b % 3 === 0 ? 0 : 1] ?? 'support';
    const others = this.#callers.filter((c) => c.queue === into);
    const position = (b % (others.length + 1)) + 1;
    const joined = { queue: into, channel: id, position, joined_at: this.at, priority: null };
    this.#callers.splice(
      others[position - 1] === undefined
        ? this.#callers.length
        : this.#callers.indexOf(others[position - 1]!),
      0,
      joined,
    );
    this.#tell({ type: 'queue.caller_joined', caller: joined });
  }
  abandon(a: number): void {
    const caller = this.#pick(this.#callers, a);
    if (caller !== undefined) this.#gone(caller.channel, 16);
  }
  release(a: number): void {
    const m = this.#pick(
      [...this.#members.values()].filter((x) => x.in_call),
      a,
    );
    const leg = m && this.#legs((c) => c.endpoint === m.extension)[0];
    if (leg !== undefined) this.#gone(leg.id, 16);
  }
  #talking(): SimChannel[] {
    return this.#legs((c) => this.#bridges.get(c.id)?.holding === false && !this.#held.has(c.id));
  }
  #partner(id: ChannelId): ChannelId | undefined {
    const own = this.#bridges.get(id)?.bridge;
    return [...this.#bridges].find(([other, b]) => other !== id && b.bridge === own)?.[0];
  }
  park(a: number): void {
    const by = this.#pick(this.#talking(), a);
    const parkee = by && this.#partner(by.id);
    if (parkee === undefined || by === undefined) return;
    this.#enter(bridge('lot'), parkee, true);
    const taken = new Set(this.#slots.values());
    let slot = '701';
    while (taken.has(slot)) slot = String(Number(slot) + 1);
    this.#slots.set(parkee, slot);
    this.#tell({ type: 'channel.parked', id: parkee, slot, lot: 'default' });
    this.#gone(by.id, 16);
  }
  unpark(a: number, b: number): void {
    const parked = this.#pick([...this.#slots], a);
    const from = this.#pick(
      PHONES.filter((e) => this.#isFree(e)),
      b,
    );
    if (parked === undefined || from === undefined) return;
    const [id, slot] = parked;
    const taker = this.#create({ endpoint: from, state: 'up', dialled: slot });
    this.#slots.delete(id);
    this.#tell({ type: 'channel.unparked', id, slot, reason: 'retrieved' });
    const next = bridge(`b${this.#next++}`);
    this.#enter(next, id);
    this.#enter(next, taker.id);
  }
  blind(a: number, b: number): void {
    const by = this.#pick(this.#talking(), a);
    const other = by && this.#partner(by.id);
    const to = this.#pick(
      PHONES.filter((e) => this.#isFree(e)),
      b,
    );
    if (by === undefined || other === undefined || to === undefined) return;
    this.#tell({ type: 'transfer.blind', by: by.id, transferee: other, to, succeeded: true });
    this.#passed = other;
    this.#leave(other);
    this.#gone(by.id, 16);
    this.#passed = null;
    const ch = this.#channels.get(other);
    if (ch === undefined) return;
    const callee = this.#create({ endpoint: to, of: ch.call.split(':')[1] ?? '' });
    this.#dialling.set(callee.id, other);
    this.#state(callee.id, 'ringing');
  }
  attended(a: number, b: number): void {
    const first = this.#pick(this.#talking(), a);
    const second = this.#pick(
      this.#talking().filter((c) => c.call !== first?.call),
      b,
    );
    const far = second && this.#partner(second.id);
    const near = first && this.#bridges.get(first.id)?.bridge;
    if (first === undefined || second === undefined || far === undefined || near === undefined) return;
    // The engine releases an agent of either call before or after it reports the other member.
    const early = b % 3 === 0 ? this.#served.entries().find(([, caller]) => caller === second.id) : undefined;
    const m = early && this.#members.get(early[0]);
    if (m?.in_call === true) this.#release(m, second.id, 'transfer');
    this.#tell({
      type: 'transfer.attended',
      first: first.id,
      second: second.id,
      first_call: first.call,
      second_call: second.call,
      to: '',
      succeeded: true,
    });
    this.#link(second.call, first.call);
    this.#enter(near, far);
    this.#gone(first.id, 16);
    this.#gone(second.id, 16);
  }
  pickup(a: number, b: number): void {
    const ringing = this.#pick([...this.#dialling], a);
    const from = this.#pick(
      PHONES.filter((e) => this.#isFree(e)),
      b,
    );
    if (ringing === undefined || from === undefined) return;
    const [target, caller] = ringing;
    const by = this.#create({ endpoint: from, state: 'up', dialled: '*8' });
    this.#tell({ type: 'channel.picked_up', by: by.id, target });
    this.#dialling.delete(target);
    const into = this.#channels.get(caller)?.call;
    if (into !== undefined) this.#link(by.call, into);
    this.#gone(target, 26);
    this.#state(caller, 'up');
    const next = bridge(`b${this.#next++}`);
    this.#enter(next, by.id);
    this.#enter(next, caller);
  }
  pause(a: number, b: number): void {
    const m = this.#pick([...this.#members.values()], a);
    if (m === undefined) return;
    const reason = ['lunch', 'break', ''][b % 3] ?? '';
    const paused = !m.paused || b % 5 === 0;
    this.#setMember({ ...m, paused, paused_reason: paused ? reason : '', paused_at: this.at }, 'paused');
  }
  login(a: number, b: number): void {
    const extension = this.#pick(PHONES, a) ?? '1001';
    const made = member(QUEUES[b % 2] ?? '', extension, {
      state: this.#device(extension),
      login_at: this.at,
      paused: b % 3 === 0,
      paused_reason: b % 3 === 0 ? 'login' : '',
    });
    if (!this.#members.has(`${made.queue} ${made.interface}`)) this.#setMember(made, 'added');
  }
  logout(a: number): void {
    const m = this.#pick(
      [...this.#members.values()].filter((x) => !x.in_call),
      a,
    );
    if (m === undefined) return;
    this.#endOffers((o) => o.queue === m.queue && o.interface === m.interface, 'CANCEL');
    this.#members.delete(`${m.queue} ${m.interface}`);
    this.#tell({ type: 'queue.member_removed', queue: m.queue, interface: m.interface });
  }
  device(a: number): void {
    const endpoint = this.#pick(PHONES, a) ?? '1001';
    if (!this.#legs((c) => c.endpoint === endpoint).length) {
      if (this.#down.has(endpoint)) this.#down.delete(endpoint);
      else this.#down.add(endpoint);
      this.#tellDevice(endpoint);
    }
  }
  conference(a: number): void {
    const from = this.#pick(
      [...PHONES, ...TRUNKS].filter((e) => this.#isFree(e)),
      a,
    );
    if (from === undefined) return;
    const ch = this.#create({ endpoint: from, state: 'up', dialled: '650' });
    this.#enter(bridge('conf1'), ch.id);
  }
}
