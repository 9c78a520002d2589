/** Devices and queue members of the simulated engine, and what the engine keeps of people's call settings. */
import { FEATURES_OFF } from '../../ports/engine-state.ts';
import type { DeviceState, EngineTrunk, ExtensionFeatures, QueueMember } from '../../ports/engine-state.ts';
import type { Site, SiteExtension } from '../../ports/site.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Channel, Switch } from './switch.ts';

const INTERFACE = /^Local\/([0-9]{1,20})@queue-agent$/;
export const memberOf = (extension: string) => ({
  interface: `Local/${extension}@queue-agent`,
  state_interface: `hint:${extension}@hints`,
});
const BUSIEST: readonly DeviceState[] = ['RINGINUSE', 'RINGING', 'INUSE', 'ONHOLD', 'NOT_INUSE'];
const refused = (words: string): ServiceError => new ServiceError('engine_refused', words);

export class Members {
  readonly features = new Map<string, ExtensionFeatures>();
  readonly #switch: Switch;
  readonly #rows = new Map<string, QueueMember>();
  readonly #registered = new Set<string>();
  #site: Site | null = null;
  constructor(sw: Switch) {
    this.#switch = sw;
  }

  get site(): Site | null {
    return this.#site;
  }
  /** The engine loads a configuration: the first device of each new person registers, and members by configuration appear. */
  load(site: Site): void {
    const known = new Set(this.endpoints());
    this.#site = site;
    const endpoints = this.endpoints();
    for (const gone of known) if (!endpoints.includes(gone)) this.#registered.delete(gone);
    const first = site.extensions.flatMap((one) => one.endpoints[0]?.name ?? []);
    for (const endpoint of [...first, ...site.trunks.map((trunk) => trunk.endpoint)])
      if (!known.has(endpoint)) this.register(endpoint, true);
    for (const row of this.#rows.values()) {
      if (!site.queues.some(({ name }) => name === row.queue)) this.#drop(row);
    }
    for (const { name, static_members } of site.queues) {
      for (const extension of static_members) {
        if (this.row(name, memberOf(extension).interface) === undefined)
          this.#put(this.#member(name, extension, 'static'));
      }
    }
  }
  endpoints(): readonly string[] {
    const people = this.#site?.extensions.flatMap(({ endpoints }) => endpoints.map(({ name }) => name)) ?? [];
    return [...people, ...(this.#site?.trunks.map(({ endpoint }) => endpoint) ?? [])];
  }
  isRegistered(endpoint: string): boolean {
    return this.#registered.has(endpoint);
  }
  register(endpoint: string, on: boolean): void {
    if (on) this.#registered.add(endpoint);
    else this.#registered.delete(endpoint);
    this.deviceChanged(endpoint);
  }
  deviceState(endpoint: string): DeviceState {
    if (!this.#registered.has(endpoint)) return 'UNAVAILABLE';
    const own = [...this.#switch.channels.values()].filter((c) => c.endpoint === endpoint);
    if (own.length === 0) return 'NOT_INUSE';
    const rings = own.some(({ state }) => state === 'ringing');
    const talks = own.some(({ state }) => state !== 'ringing');
    if (rings) return talks ? 'RINGINUSE' : 'RINGING';
    // As in the engine, the device of the held side is on hold.
    const isHeld = (c: Channel): boolean => this.#switch.beside(c).some(({ held }) => held === 'device');
    return own.every(isHeld) ? 'ONHOLD' : 'INUSE';
  }
  /** Every far side answers, and accepts a registration. */
  trunks(): EngineTrunk[] {
    return (this.#site?.trunks ?? []).map(({ endpoint, register, host, port }) => ({
      endpoint,
      servers: [
        {
          server: `${host}:${port}`,
          reachable: this.#registered.has(endpoint),
          round_trip_ms: this.#registered.has(endpoint) ? 1 : null,
          registration: register ? { uri: `sip:${endpoint}`, state: 'registered' } : null,
        },
      ],
    }));
  }
  deviceChanged(endpoint: string): void {
    this.#switch.fact({ type: 'device.state', endpoint, state: this.deviceState(endpoint) });
    const owner = this.person(endpoint)?.extension;
    if (owner === undefined) return;
    const state = this.stateOf(owner);
    for (const row of this.#rows.values())
      if (row.extension === owner && row.state !== state) this.#put({ ...row, state });
  }
  /** The person with this device. */
  person(endpoint: string): SiteExtension | undefined {
    return this.#site?.extensions.find(({ endpoints }) => endpoints.some(({ name }) => name === endpoint));
  }
  /** Devices of an extension that are registered. */
  devices(extension: string): readonly string[] {
    const person = this.#site?.extensions.find((one) => one.extension === extension);
    return person?.endpoints.flatMap(({ name }) => (this.isRegistered(name) ? [name] : [])) ?? [];
  }
  /** The device state of an extension, from all of its devices. */
  stateOf(extension: string): DeviceState {
    const states = this.devices(extension).map((endpoint) => this.deviceState(endpoint));
    return BUSIEST.find((state) => states.includes(state)) ?? 'UNAVAILABLE';
  }
  rows(queue: string): readonly QueueMember[] {
    return [...this.#rows.values()].filter((row) => row.queue === queue);
  }
  row(queue: string, iface: string): QueueMember | undefined {
    return this.#rows.get(`${queue} ${iface}`);
  }
  add(queue: string, iface: string, more: Pick<QueueMember, 'paused' | 'paused_reason' | 'penalty'>): void {
    if (!this.#site?.queues.some(({ name }) => name === queue)) throw refused(`there is no queue ${queue}`);
    const extension = INTERFACE.exec(iface)?.[1];
    if (extension === undefined) throw refused(`${iface} is no member of ours`);
    if (this.row(queue, iface) !== undefined) throw refused('Unable to add interface: Already there');
    const paused_at = more.paused ? this.#switch.now : null;
    this.#put({ ...this.#member(queue, extension, 'dynamic'), ...more, paused_at }, 'added');
  }
  pause(queue: string, iface: string, paused: boolean, reason: string): void {
    const row = this.row(queue, iface);
    if (row === undefined) throw refused('Interface not found');
    const paused_at = paused ? this.#switch.now : row.paused_at;
    this.#put({ ...row, paused, paused_reason: paused ? reason : '', paused_at }, 'paused');
  }
  remove(queue: string, iface: string): void {
    const row = this.row(queue, iface);
    if (row === undefined) throw refused('Unable to remove interface: Not there');
    if (row.membership !== 'dynamic') throw refused('Unable to remove interface: Member not dynamic');
    this.#drop(row);
  }
  /** Marks a member as in a call of its queue, or as done with it. */
  inCall(row: QueueMember, in_call: boolean): void {
    const now = this.row(row.queue, row.interface);
    if (now === undefined) return;
    this.#put({ ...now, in_call, last_call_at: in_call ? now.last_call_at : this.#switch.now });
  }
  keep(extension: string, changes: Partial<ExtensionFeatures>): void {
    const features = { ...(this.features.get(extension) ?? FEATURES_OFF), ...changes };
    this.features.set(extension, features);
    this.#switch.fact({ type: 'extension.features', extension, features });
  }
  /** The engine starts anew: it forgets added members and keeps its database. */
  restart(): void {
    this.#rows.clear();
    if (this.#site !== null) this.load(this.#site);
  }

  #member(queue: string, extension: string, membership: QueueMember['membership']): QueueMember {
    return {
      queue,
      interface: memberOf(extension).interface,
      extension,
      name: extension,
      membership,
      paused: false,
      paused_reason: '',
      paused_at: null,
      login_at: this.#switch.now,
      last_call_at: null,
      in_call: false,
      penalty: 0,
      state: this.stateOf(extension),
    };
  }
  #put(member: QueueMember, why: 'added' | 'paused' | 'status' = 'status'): void {
    this.#rows.set(`${member.queue} ${member.interface}`, member);
    this.#switch.fact({ type: 'queue.member', why, member });
  }
  #drop({ queue, interface: iface }: QueueMember): void {
    this.#rows.delete(`${queue} ${iface}`);
    this.#switch.fact({ type: 'queue.member_removed', queue, interface: iface });
  }
}
