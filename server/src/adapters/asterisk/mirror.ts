import type { BridgeId, ChannelId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import type {
  DeviceState,
  EngineChannel,
  EngineSnapshot,
  EngineTrunk,
  ExtensionFeatures,
  ParkedChannel,
  QueueCaller,
  QueueMember,
  SignedIn,
} from '../../ports/engine-state.ts';
import { withContact, withRegistration } from '../../ports/trunk-facts.ts';
import { ENGINE } from './conf/elsewhere.ts';
import type { Known } from './events/decoding.ts';

interface MirroredQueue {
  readonly strategy: string;
  readonly members: Map<string, QueueMember>;
  readonly callers: Map<ChannelId, QueueCaller>;
}
type Bridged = EngineSnapshot['bridged'][number];

const NONE: ReadonlySet<ChannelId> = new Set();

/**
 * The state that follows from the facts emitted so far. It serves three ends: a decoder sees what a channel was before,
 * a snapshot is brought up to date with what happened while it was read, and drift is what a fresh one shows beside it.
 */
export class Mirror implements Known {
  #channels = new Map<ChannelId, EngineChannel>();
  #bridged = new Map<ChannelId, Bridged>();
  #bridges = new Map<BridgeId, Set<ChannelId>>();
  #heldHere = new Set<ChannelId>();
  #parked = new Map<ChannelId, ParkedChannel>();
  #queues = new Map<string, MirroredQueue>();
  #devices = new Map<string, DeviceState>();
  /** Counted as devices change: the status of the engine, which has them, is read for each agent and each queue event. */
  #unreached = new Set<string>();
  #features = new Map<string, ExtensionFeatures>();
  #trunks = new Map<string, EngineTrunk>();
  #signed = new Map<string, SignedIn>();
  #switches = new Map<string, 'open' | 'closed'>();

  channel(id: ChannelId): EngineChannel | undefined {
    return this.#channels.get(id);
  }
  channelsIn(bridge: BridgeId): ReadonlySet<ChannelId> {
    return this.#bridges.get(bridge) ?? NONE;
  }

  /** Nodes of the other engines of the site that do not answer OPTIONS of this one. */
  get unreached(): readonly string[] {
    return [...this.#unreached];
  }

  #setDevice({ endpoint, state }: EngineSnapshot['devices'][number]): void {
    this.#devices.set(endpoint, state);
    if (!endpoint.startsWith(ENGINE)) return;
    const node = endpoint.slice(ENGINE.length);
    if (state === 'UNAVAILABLE') this.#unreached.add(node);
    else this.#unreached.delete(node);
  }
  #patch(id: ChannelId, change: Partial<EngineChannel>): void {
    const known = this.#channels.get(id);
    if (known !== undefined) this.#channels.set(id, { ...known, ...change });
  }
  #leave(id: ChannelId): void {
    const was = this.#bridged.get(id);
    if (was === undefined) return;
    this.#bridged.delete(id);
    const others = this.#bridges.get(was.bridge);
    others?.delete(id);
    if (others?.size === 0) this.#bridges.delete(was.bridge);
  }
  #enter(row: Bridged): void {
    this.#leave(row.channel);
    this.#bridged.set(row.channel, row);
    const others = this.#bridges.get(row.bridge);
    if (others === undefined) this.#bridges.set(row.bridge, new Set([row.channel]));
    else others.add(row.channel);
  }

  /** A caller may get in before others, whose places then follow from the order. */
  #join(caller: QueueCaller): void {
    const callers = this.#queues.get(caller.queue)?.callers;
    if (callers === undefined) return;
    const behind = [...callers].slice(Math.max(0, caller.position - 1));
    callers.set(caller.channel, caller);
    for (const [channel, other] of behind) {
      callers.delete(channel);
      callers.set(channel, other);
    }
  }

  /** The transferee waits instead of the channel that waited to consult an agent. */
  #replaceCaller(channel: ChannelId, by: ChannelId): void {
    for (const { callers } of this.#queues.values()) {
      if (!callers.has(channel)) continue;
      const all = [...callers.values()];
      callers.clear();
      for (const caller of all) {
        const now = caller.channel === channel ? { ...caller, channel: by } : caller;
        callers.set(now.channel, now);
      }
    }
  }

  /** Follows one fact. A fact about something unknown changes nothing. */
  apply(e: EngineEvent): void {
    switch (e.type) {
      case 'channel.created':
        this.#channels.set(e.channel.id, e.channel);
        return;
      case 'channel.state':
        this.#patch(e.id, { state: e.state, caller: e.caller, connected: e.connected });
        return;
      case 'channel.party':
        this.#patch(e.id, { caller: e.caller, connected: e.connected });
        return;
      case 'channel.linked':
        this.#patch(e.id, { call: e.call });
        return;
      case 'channel.renamed':
        if (this.#channels.has(e.id)) this.#channels.set(e.id, e.channel);
        return;
      case 'channel.held':
        if (e.by !== 'operation') return;
        if (e.held) this.#heldHere.add(e.id);
        else this.#heldHere.delete(e.id);
        return;
      case 'channel.hungup':
        this.#channels.delete(e.id);
        this.#heldHere.delete(e.id);
        this.#parked.delete(e.id);
        this.#leave(e.id);
        return;
      case 'bridge.entered':
        if (this.#channels.has(e.id)) this.#enter({ bridge: e.bridge, channel: e.id, holding: e.holding });
        return;
      case 'bridge.left':
        if (this.#bridged.get(e.id)?.bridge === e.bridge) this.#leave(e.id);
        return;
      case 'channel.parked':
        this.#parked.set(e.id, { channel: e.id, slot: e.slot, lot: e.lot, since: e.at });
        return;
      case 'channel.unparked':
        if (this.#parked.get(e.id)?.slot === e.slot) this.#parked.delete(e.id);
        return;
      case 'queue.caller_joined':
        this.#join(e.caller);
        return;
      case 'queue.caller_left':
      case 'queue.caller_abandoned':
        this.#queues.get(e.queue)?.callers.delete(e.channel);
        return;
      case 'transfer.attended':
        if (e.succeeded && e.transferee !== undefined) this.#replaceCaller(e.second, e.transferee);
        return;
      case 'queue.member':
        this.#queues.get(e.member.queue)?.members.set(e.member.interface, e.member);
        return;
      case 'queue.member_removed':
        this.#queues.get(e.queue)?.members.delete(e.interface);
        return;
      case 'device.state':
        this.#setDevice(e);
        return;
      case 'trunk.contact': {
        const { endpoint } = e;
        this.#trunks.set(endpoint, withContact(this.#trunks.get(endpoint) ?? { endpoint, servers: [] }, e));
        return;
      }
      case 'trunk.registration':
        for (const [endpoint, trunk] of this.#trunks) this.#trunks.set(endpoint, withRegistration(trunk, e));
        return;
      case 'extension.features':
        if (e.features.changed_at === 0) this.#features.delete(e.extension);
        else this.#features.set(e.extension, e.features);
        return;
      case 'night_switch.changed':
        if (e.to === null) this.#switches.delete(e.name);
        else this.#switches.set(e.name, e.to);
        return;
      case 'phone.signed':
        if (e.now === null) this.#signed.delete(e.endpoint);
        else this.#signed.set(e.endpoint, e.now);
        return;
      case 'engine.snapshot':
        this.load(e.snapshot);
        return;
      case 'engine.link':
      case 'channel.recording':
      case 'channel.recording_paused':
      case 'channel.digit':
      case 'channel.listening':
      case 'channel.ending':
      case 'dial.begun':
      case 'dial.ended':
      case 'transfer.blind':
      case 'channel.picked_up':
      case 'offer.created':
      case 'offer.accepted':
      case 'offer.timeout':
      case 'agent.released':
      case 'phone.pin_refused':
        return;
      default:
        e satisfies never;
    }
  }

  /** Takes over what another mirror holds; that one must not be used any more. */
  adopt(other: Mirror): void {
    this.#channels = other.#channels;
    this.#bridged = other.#bridged;
    this.#bridges = other.#bridges;
    this.#heldHere = other.#heldHere;
    this.#parked = other.#parked;
    this.#queues = other.#queues;
    this.#devices = other.#devices;
    this.#unreached = other.#unreached;
    this.#features = other.#features;
    this.#trunks = other.#trunks;
    this.#signed = other.#signed;
    this.#switches = other.#switches;
  }

  load(s: EngineSnapshot): void {
    this.adopt(new Mirror());
    for (const c of s.channels) this.#channels.set(c.id, c);
    for (const b of s.bridged) this.#enter(b);
    for (const id of s.held_here ?? []) this.#heldHere.add(id);
    for (const p of s.parked ?? []) this.#parked.set(p.channel, p);
    for (const q of s.queues)
      this.#queues.set(q.name, {
        strategy: q.strategy,
        members: new Map(q.members.map((m) => [m.interface, m])),
        callers: new Map(q.callers.toSorted((a, b) => a.position - b.position).map((c) => [c.channel, c])),
      });
    for (const d of s.devices) this.#setDevice(d);
    for (const [extension, f] of s.features ?? []) this.#features.set(extension, f);
    for (const trunk of s.trunks ?? []) this.#trunks.set(trunk.endpoint, trunk);
    for (const [name, to] of s.switches ?? []) this.#switches.set(name, to);
    for (const [endpoint, now] of s.signed ?? []) this.#signed.set(endpoint, now);
  }

  /** The mirrored state in the form of a snapshot. */
  parts(): Pick<
    EngineSnapshot,
    | 'channels'
    | 'bridged'
    | 'held_here'
    | 'parked'
    | 'queues'
    | 'devices'
    | 'features'
    | 'trunks'
    | 'signed'
    | 'switches'
  > {
    return {
      channels: [...this.#channels.values()],
      bridged: [...this.#bridged.values()],
      held_here: [...this.#heldHere],
      parked: [...this.#parked.values()],
      queues: Array.from(this.#queues, ([name, q]) => ({
        name,
        strategy: q.strategy,
        members: [...q.members.values()],
        callers: [...q.callers.values()].map((c, i) => ({ ...c, position: i + 1 })),
      })),
      devices: Array.from(this.#devices, ([endpoint, state]) => ({ endpoint, state })),
      features: new Map(this.#features),
      trunks: [...this.#trunks.values()],
      signed: new Map(this.#signed),
      switches: new Map(this.#switches),
    };
  }

  /** Number of facts that only one of `fresh` and this mirror has. */
  drift(fresh: Mirror): number {
    let n = 0;
    n += differences(this.#channels, fresh.#channels, sameChannel);
    n += differences(this.#bridged, fresh.#bridged, (a, b) => a.bridge === b.bridge);
    n += differences(this.#parked, fresh.#parked, (a, b) => a.slot === b.slot);
    n += differences(this.#devices, fresh.#devices, (a, b) => a === b);
    n += differences(this.#features, fresh.#features, (a, b) => a.changed_at === b.changed_at);
    n += differences(this.#switches, fresh.#switches, (a, b) => a === b);
    n += differences(this.#signed, fresh.#signed, (a, b) => a.extension === b.extension);
    n += differences(this.#queues, fresh.#queues, (a, b) => a.strategy === b.strategy);
    for (const [name, queue] of fresh.#queues) {
      const had = this.#queues.get(name);
      if (had === undefined) continue;
      n += differences(had.members, queue.members, sameMember);
      n += differences(had.callers, queue.callers, () => true);
    }
    return n;
  }
}

// Names, times and places in the queue are left out: the wire has them in several precisions.
const sameChannel = (a: EngineChannel, b: EngineChannel): boolean =>
  a.state === b.state && a.call === b.call && a.name === b.name;
// The beginning of a queue call is left out, too: no event reports it.
const sameMember = (a: QueueMember, b: QueueMember): boolean =>
  a.paused === b.paused &&
  a.paused_reason === b.paused_reason &&
  a.state === b.state &&
  a.penalty === b.penalty;

const differences = <K, V>(
  a: ReadonlyMap<K, V>,
  b: ReadonlyMap<K, V>,
  same: (a: V, b: V) => boolean,
): number => {
  let n = 0;
  for (const [key, value] of b) {
    const had = a.get(key);
    if (had === undefined || !same(had, value)) n++;
  }
  for (const key of a.keys()) if (!b.has(key)) n++;
  return n;
};
