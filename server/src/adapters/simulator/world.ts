/** The simulated exchange: people who dial, answer, hold, transfer and hang up, as one state machine. */
import type { ChannelId, NodeId } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../core/errors.ts';
import type { CallRecord } from '../../ports/call-records.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EndpointKind } from '../../ports/directory.ts';
import type { EngineEvent } from '../../ports/engine-events.ts';
import type { EngineSnapshot } from '../../ports/engine-state.ts';
import type { PlacedCall, QueuePlace } from '../../ports/engine-verbs.ts';
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import type { Site, SiteExtension } from '../../ports/site.ts';
import { Diallings } from './diallings.ts';
import { Members } from './members.ts';
import { QueueLines } from './queue-lines.ts';
import { Switch } from './switch.ts';
import type { Channel } from './switch.ts';

const NORMAL = 16;
const UNALLOCATED = 1;
const UNREACHABLE = 20;
const NO_ANSWER = 19;
const BUSY = 17;
const REJECTED = 21;
const SERVICE_APPS: Readonly<Record<string, string>> = {
  echo: 'echo',
  music_on_hold: 'musiconhold',
  voicemail: 'voicemailmain',
};

export interface WorldOptions {
  readonly node: NodeId;
  readonly clock: Clock;
  readonly fact: (event: EngineEvent) => void;
  readonly record: (record: CallRecord) => void;
}
const refused = (words: string): ServiceError => new ServiceError('engine_refused', words);

export class World {
  readonly members: Members;
  readonly lines: QueueLines;
  readonly #options: WorldOptions;
  readonly #switch: Switch;
  readonly #diallings: Diallings;
  #life = 1;
  constructor(options: WorldOptions) {
    const { node, clock, fact, record } = options;
    this.#options = options;
    this.#switch = new Switch({
      node,
      now: () => clock.now(),
      fact,
      record,
      deviceChanged: (endpoint) => {
        this.members.deviceChanged(endpoint);
        if (this.members.deviceState(endpoint) === 'NOT_INUSE') this.#serveSoon();
      },
    });
    this.#diallings = new Diallings(this.#switch, clock);
    this.members = new Members(this.#switch);
    this.lines = new QueueLines({
      sw: this.#switch,
      members: this.members,
      clock,
      gaveUp: (caller) => this.#switch.hangUp(caller, NORMAL, 'dialplan'),
    });
  }

  get bootId(): string {
    return `simulated-${this.#life}`;
  }
  load(site: Site): void {
    this.members.load(site);
  }
  snapshot(restarted: boolean | null): EngineSnapshot {
    const channels = [...this.#switch.channels.values()];
    return {
      node: this.#options.node,
      boot_id: this.bootId,
      restarted,
      channels: channels.map((c) => this.#switch.describe(c)),
      bridged: channels.flatMap((c) =>
        c.bridge === null ? [] : [{ bridge: c.bridge, channel: c.id, holding: false }],
      ),
      held_here: channels.filter(({ held }) => held === 'operation').map(({ id }) => id),
      queues: (this.members.site?.queues ?? []).map(({ name, strategy }) => ({
        name,
        strategy,
        members: this.members.rows(name),
        callers: this.lines.callers(name),
      })),
      devices: this.members
        .endpoints()
        .map((endpoint) => ({ endpoint, state: this.members.deviceState(endpoint) })),
      trunks: this.members.trunks(),
      features: new Map(this.members.features),
    };
  }
  /** The engine dies and starts anew: its calls are gone without an event. */
  restart(): void {
    this.#life += 1;
    for (const c of this.#switch.channels.values()) this.hangup(c.id);
    this.members.restart();
  }
  close(): void {
    this.#diallings.close();
    this.lines.close();
  }

  /** Somebody dials: a person by extension, anyone else over the first trunk. */
  call(from: string, to: string): Channel {
    const person = this.#person(from);
    const trunk = this.members.site?.trunks[0]?.endpoint;
    const endpoint = person === undefined ? trunk : this.members.devices(from)[0];
    if (endpoint === undefined)
      throw refused(
        person === undefined
          ? `${from} is no extension, and there is no trunk`
          : `no device of ${from} is registered`,
      );
    const caller = this.#switch.create({
      endpoint,
      caller: { number: from, name: person?.name ?? '' },
      dialled: to,
    });
    this.#route(caller, to);
    return caller;
  }
  /** The ringing device of an extension or outside number answers. */
  answer(who: string): void {
    const phone = this.#ringing(who);
    if (this.lines.isOffered(phone)) return this.lines.accept(phone);
    this.#diallings.answer(phone);
  }
  /** The ringing device declines: 17 for busy, 21 for rejected. */
  decline(who: string, cause: number): void {
    const phone = this.#ringing(who);
    if (this.lines.isOffered(phone)) return this.lines.decline(phone, cause);
    this.#diallings.decline(phone, cause);
  }
  hangUpBy(who: string): void {
    this.#hangUp(this.#legOf(who));
  }
  hold(who: string, on: boolean): void {
    this.#switch.hold(this.#talking(who), on ? 'device' : null);
  }
  transferBy(who: string, to: string): void {
    this.#transfer(this.#talking(who), to);
  }
  /** A person puts the other side on hold and calls another number on a second line. */
  consult(who: string, to: string): void {
    const first = this.#talking(who);
    this.#switch.hold(first, 'device');
    this.call(who, to);
  }
  /** Joins the two calls of a person, and leaves. */
  completeConsult(who: string): void {
    const own = this.#legsOf(who).filter((c) => this.#switch.beside(c).length > 0);
    const first = own.find(({ held }) => held !== null);
    const second = own.find((c) => c !== first);
    if (first === undefined || second === undefined)
      throw refused(`${who} has no call on hold and another one to join it with`);
    const [customer] = this.#switch.beside(first);
    const [third] = this.#switch.beside(second);
    const there = second.bridge!;
    this.lines.release(customer!, 'transfer');
    this.#switch.hold(first, null);
    this.#switch.fact({
      type: 'transfer.attended',
      first: first.id,
      second: second.id,
      first_call: first.call,
      second_call: second.call,
      to: '',
      succeeded: true,
    });
    this.#switch.leave(customer!);
    this.#switch.leave(second);
    const joined = second.call;
    third!.call = first.call;
    this.#switch.fact({ type: 'channel.linked', id: third!.id, call: first.call });
    this.#switch.enter(customer!, there);
    this.#switch.record(first, 'attended_transfer', { other: customer!.id });
    this.#switch.hangUp(second, NORMAL);
    this.#switch.hangUp(first, NORMAL);
    this.#switch.link(joined, first.call);
  }

  // Commands of the service, by channel.
  hangup(id: ChannelId): void {
    this.#hangUp(this.#channel(id), false);
  }
  blindTransfer(id: ChannelId, to: string): void {
    this.#transfer(this.#channel(id), to);
  }
  holdByCommand(id: ChannelId): void {
    this.#switch.hold(this.#channel(id), 'operation');
  }
  retrieve(others: readonly ChannelId[]): void {
    for (const id of others) {
      for (const other of this.#switch.beside(this.#channel(id)))
        if (other.held === 'operation') this.#switch.hold(other, null);
    }
  }
  digit(id: ChannelId): void {
    const c = this.#channel(id);
    this.#switch.fact({ type: 'channel.digit', id: c.id, direction: 'in' });
    for (const other of this.#switch.beside(c))
      this.#switch.fact({ type: 'channel.digit', id: other.id, direction: 'out' });
  }
  setPriority(caller: ChannelId, priority: number): void {
    if (!this.lines.setPriority(this.#channel(caller), priority)) throw noCaller();
  }
  takeCaller(caller: ChannelId, to: QueuePlace | null): void {
    const c = this.#channel(caller);
    const queue = to === null ? null : this.members.site?.queues.find(({ number }) => number === to.number);
    if (queue === undefined) throw refused(`there is no queue ${to?.number}`);
    if (!this.lines.withdraw(c)) throw noCaller();
    if (queue === null || to === null) this.#switch.hangUp(c, NORMAL, 'dialplan');
    else this.lines.join(c, queue, to);
  }
  /** The person's own devices ring first; the one that answers dials the number. */
  place({ pair, extension, device, number, ring_seconds, part }: PlacedCall): void {
    if (part.does !== 'call') throw refused('the simulator places calls only');
    const person = this.#person(extension);
    const devices = person === undefined ? [] : this.#devicesOf(person, device);
    if (person === undefined || devices.length === 0)
      throw refused(`no device of ${extension} is registered`);
    const name = `Local/${number}@place-call-${pair[0].slice(-8)}`;
    const near = this.#switch.create({ pair: name, half: 1, id: pair[0], dialled: number, placed: 'call' });
    const far = this.#switch.create({ pair: name, half: 2, id: pair[1], of: near, dialled: number });
    const end = (): void => {
      this.#switch.hangUp(far, NORMAL, 'dialplan');
      this.#switch.hangUp(near, NORMAL);
    };
    const party = { number: extension, name: person.name };
    this.#diallings.begin(far, devices, number, party, {
      failed: end,
      ring_seconds,
      answered: (own) => {
        this.#route(own, number);
        end();
      },
    });
  }
  channelOf(id: ChannelId): Channel {
    return this.#channel(id);
  }
  recording(id: ChannelId, on: boolean): void {
    const c = this.#channel(id);
    if (!on && c.recordings === 0) throw refused('the channel is not recorded');
    c.recordings += on ? 1 : -1;
    this.#switch.fact({ type: 'channel.recording', id, on });
  }
  pauseRecording(id: ChannelId, on: boolean): void {
    this.#switch.fact({ type: 'channel.recording_paused', id: this.#channel(id).id, on });
  }
  serve(): void {
    this.lines.serve();
  }

  #serveSoon(): void {
    queueMicrotask(() => this.lines.serve());
  }
  #person(extension: string): SiteExtension | undefined {
    return this.members.site?.extensions.find((one) => one.extension === extension);
  }
  #channel(id: ChannelId): Channel {
    const c = this.#switch.channels.get(id);
    if (c === undefined) throw refused('No such channel');
    return c;
  }
  #legsOf(who: string): readonly Channel[] {
    return [...this.#switch.channels.values()].filter(
      (c) => c.kind === 'endpoint' && c.caller.number === who,
    );
  }
  #ringing(who: string): Channel {
    const phone = this.#legsOf(who).find(({ state }) => state === 'ringing');
    if (phone === undefined) throw refused(`nothing rings at ${who}`);
    return phone;
  }
  #talking(who: string): Channel {
    const leg = this.#legsOf(who).findLast((c) => this.#switch.beside(c).length > 0);
    if (leg === undefined) throw refused(`${who} talks to nobody`);
    return leg;
  }
  #legOf(who: string): Channel {
    const leg = this.#legsOf(who).at(-1);
    if (leg === undefined) throw refused(`${who} is in no call`);
    return leg;
  }

  /** Sends a channel to the destination of a number: a person, a queue, a service, or outside. */
  #route(caller: Channel, number: string): void {
    caller.dialled = number;
    const site = this.members.site;
    const person = this.#person(number);
    const queue = site?.queues.find((one) => one.number === number);
    const service = site?.services.find((one) => one.number === number);
    if (queue !== undefined) return this.lines.join(caller, queue);
    if (service !== undefined) {
      this.#switch.answer(caller);
      return this.#switch.begin(caller, SERVICE_APPS[service.kind] ?? service.kind, '');
    }
    if (person !== undefined) return this.#toPerson(caller, person);
    const trunk = site?.trunks[0]?.endpoint;
    const isOurs = caller.endpoint !== null && this.members.person(caller.endpoint) !== undefined;
    if (trunk === undefined || !isOurs) return this.#switch.hangUp(caller, UNALLOCATED, 'dialplan');
    const outside = { number, name: '' };
    this.#diallings.begin(caller, [trunk], number, outside, {
      failed: (cause) => this.#switch.hangUp(caller, cause, 'dialplan'),
    });
  }
  #toPerson(caller: Channel, person: SiteExtension): void {
    const { extension } = person;
    const { dnd, ring_seconds } = this.members.features.get(extension) ?? FEATURES_OFF;
    const missed = (cause: number): void => {
      if (person.voicemail) {
        this.#switch.begin(caller, 'voicemail', `${extension}@default`);
        this.#switch.answer(caller);
      } else this.#switch.hangUp(caller, cause === 0 ? NO_ANSWER : cause, 'dialplan');
    };
    if (dnd) return missed(BUSY);
    const devices = this.#devicesOf(person, null);
    if (devices.length === 0) return missed(UNREACHABLE);
    const party = { number: extension, name: person.name };
    this.#diallings.begin(caller, devices, extension, party, { failed: missed, ring_seconds });
  }
  #devicesOf({ endpoints }: SiteExtension, device: EndpointKind | null): readonly string[] {
    return endpoints.flatMap(({ name, kind }) =>
      this.members.isRegistered(name) && (device === null || kind === device) ? [name] : [],
    );
  }
  /** A channel ends by its own side or by a command; a side that is left alone ends too. */
  #hangUp(c: Channel, itself = true): void {
    if (this.#diallings.rings(c)) return this.#diallings.decline(c, REJECTED);
    if (this.lines.isOffered(c)) return this.lines.decline(c, REJECTED);
    if (this.#diallings.cancel(c, itself)) return;
    const waited = this.lines.waits(c);
    this.lines.ends(c);
    const left = this.#switch.beside(c);
    const by = itself ? c : undefined;
    this.#switch.hold(c, null);
    this.#switch.hangUp(c, waited ? 0 : NORMAL, by);
    // The same holds for a supervisor who listened, and for a device that waited.
    if (left.length === 1) {
      const [other] = left;
      this.lines.ends(other!);
      if (this.#switch.channels.has(other!.id)) this.#switch.hangUp(other!, NORMAL, by);
    }
  }
  #transfer(by: Channel, to: string): void {
    const [other] = this.#switch.beside(by);
    if (other === undefined) throw refused('the channel talks to nobody');
    this.#switch.hold(by, null);
    this.#switch.record(by, 'blind_transfer', { other: other.id, target: to });
    this.#switch.fact({ type: 'transfer.blind', by: by.id, transferee: other.id, to, succeeded: true });
    this.lines.release(other, 'transfer');
    this.#switch.leave(other);
    this.#switch.hangUp(by, NORMAL);
    this.#switch.end(other);
    this.#route(other, to);
  }
}
const noCaller = (): ServiceError =>
  new ServiceError('no_such_caller', 'the caller is not waiting in any queue');
