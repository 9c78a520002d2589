import type { Activity, Reachability } from '@offhook/contract/extensions.ts';
import { rfc3339, rfc3339OrNull } from '../core/clock.ts';
import type { EndpointKind } from '../ports/directory.ts';
import type { DeviceState, ExtensionFeatures } from '../ports/engine-state.ts';
import type { LiveExtension, PresenceSaid, Said } from '../ports/live.ts';
import { isInCall, notReadyReason, touchAgent } from './agent-state.ts';
import type { PublishedPresence } from './facts.ts';
import { emit } from './state.ts';
import type { Extension, State, Turn } from './state.ts';

/** Most changes that a reader may lag behind before it must reload everything. */
export const RING = 8192;

/** Of several devices of one kind the highest weight is shown. */
const WEIGHT: Readonly<Record<DeviceState, number>> = {
  UNKNOWN: 0,
  INVALID: 1,
  UNAVAILABLE: 2,
  NOT_INUSE: 3,
  BUSY: 4,
  ONHOLD: 5,
  INUSE: 6,
  RINGING: 7,
  RINGINUSE: 8,
};
const REACHABLE = WEIGHT.NOT_INUSE;

/** Reachability over all devices (domain.md section 4); `unknown` before the first device state. */
export function reachabilityOf(states: readonly DeviceState[]): Reachability {
  let unknown = states.length > 0;
  for (const state of states) {
    if (WEIGHT[state] >= REACHABLE) return 'online';
    if (state !== 'UNKNOWN') unknown = false;
  }
  return unknown ? 'unknown' : 'offline';
}
/** `holds`: the person has put every call on hold, which no device state shows: `ONHOLD` is the device of the held side. */
export function activityOf(states: readonly DeviceState[], holds: boolean): Activity {
  let talking = false;
  let busy = false;
  let ringing = false;
  for (const state of states) {
    talking ||= state === 'INUSE' || state === 'RINGINUSE' || state === 'ONHOLD';
    busy ||= state === 'BUSY';
    ringing ||= state === 'RINGING' || state === 'RINGINUSE';
  }
  if (ringing) return talking || busy ? 'in_call_and_ringing' : 'ringing';
  if (talking) return holds ? 'on_hold' : 'in_call';
  return busy ? 'busy' : 'idle';
}
/** Start of the newest hold while the person holds every call that it is in, else null. */
function holdsSince(s: State, extension: string): number | null {
  let since: number | null = null;
  for (const id of s.legsOf.get(extension) ?? []) {
    const leg = s.channels.get(id);
    if (leg === undefined || !isInCall(leg)) continue;
    if (leg.leg !== 'held') return null;
    since = Math.max(since ?? 0, leg.leg_since);
  }
  return since;
}
/** Summary for lists; precedence: do not disturb, ringing, in call, own status, pause reason, available, offline. */
export function summaryOf(
  live: Pick<LiveExtension, 'reachability' | 'activity' | 'personal'>,
  notReady: string,
): string {
  if (live.personal === 'dnd') return 'dnd';
  if (live.activity === 'ringing') return 'ringing';
  if (live.activity !== 'idle') return 'in_call';
  if (live.personal === 'away' || live.personal === 'xa' || live.personal === 'unavailable')
    return live.personal;
  if (notReady !== '') return notReady;
  return live.reachability === 'online' || live.reachability === 'push_only' ? 'available' : 'offline';
}

function bumpPresence(s: State, extension: string): void {
  s.presence_version += 1;
  s.presenceRing[s.presence_version % RING] = extension;
}
export function changedSince(s: State, version: number): readonly string[] | null {
  const behind = s.presence_version - version;
  if (behind < 0 || behind > RING) return null;
  const changed = new Set<string>();
  for (let v = version + 1; v <= s.presence_version; v++) changed.add(s.presenceRing[v % RING] ?? '');
  return [...changed];
}

/** Removes an extension that is no longer in the directory. */
export function dropExtension(s: State, extension: string): void {
  s.publishedPresence.delete(extension);
  if (s.extensions.delete(extension)) bumpPresence(s, extension);
}

/** Status and do not disturb of a person; from the journal until the engine and the service have reported them. */
function saidBy(s: State, extension: string): Pick<LiveExtension, 'personal' | 'note' | 'expires_at'> {
  const published = s.publishedPresence.get(extension);
  const dnd = s.features === null ? published?.personal === 'dnd' : s.features.get(extension)?.dnd === true;
  const { personal, note, expires_at } =
    s.said === null ? asSaid(published) : (s.said.get(extension) ?? NOTHING);
  return { personal: dnd ? 'dnd' : personal, note, expires_at };
}
const NOTHING: Said = { personal: 'not_set', note: null, expires_at: null };
function asSaid(published: PublishedPresence | undefined): Said {
  if (published === undefined) return NOTHING;
  const { personal, note, expires_at } = published;
  return {
    personal: personal === 'dnd' ? 'not_set' : personal,
    note,
    // Missing in events of the first release.
    expires_at: expires_at == null ? null : Date.parse(expires_at),
  };
}
/** Stores the status that persons set; the first report replaces what the journal says. */
export function presenceSaid(s: State, t: Turn, people: PresenceSaid['people']): void {
  const first = s.said === null;
  s.said ??= new Map();
  for (const [extension, said] of people) {
    if (said === null) s.said.delete(extension);
    else s.said.set(extension, said);
  }
  const changed = new Set(people.keys());
  if (first)
    for (const [extension, published] of s.publishedPresence)
      if (!saysNothing(asSaid(published))) changed.add(extension);
  for (const extension of changed) refreshPresence(s, t, extension);
}
const saysNothing = ({ personal, note, expires_at }: Said): boolean =>
  personal === NOTHING.personal && note === NOTHING.note && expires_at === NOTHING.expires_at;
export function wakeableChanged(s: State, t: Turn, now: ReadonlySet<string>): void {
  const before = s.wakeable;
  s.wakeable = now;
  for (const extension of new Set([...before, ...now]))
    if (before.has(extension) !== now.has(extension)) refreshPresence(s, t, extension);
}
/** Stores the features of all extensions, as the engine has them. */
export function featuresSeen(s: State, t: Turn, now: ReadonlyMap<string, ExtensionFeatures>): void {
  const before = s.features;
  if (before === null) {
    s.features = now;
    for (const who of s.extensions.keys())
      if (now.get(who)?.dnd === true || s.publishedPresence.get(who)?.personal === 'dnd')
        refreshPresence(s, t, who);
    return;
  }
  if (before.size === now.size && [...now].every(([who, f]) => sameFeatures(before.get(who), f))) return;
  s.features = now;
  for (const who of new Set([...before.keys(), ...now.keys()])) {
    if (before.get(who)?.dnd !== now.get(who)?.dnd) refreshPresence(s, t, who);
  }
}
const sameFeatures = (a: ExtensionFeatures | undefined, b: ExtensionFeatures): boolean =>
  a !== undefined &&
  a.changed_at === b.changed_at &&
  a.dnd === b.dnd &&
  a.forward === b.forward &&
  a.forward_busy === b.forward_busy &&
  a.forward_no_answer === b.forward_no_answer &&
  a.ring_seconds === b.ring_seconds &&
  a.devices === b.devices;

type Times = Pick<Extension, 'since' | 'activity_since' | 'in_call_since'>;
const phaseOf = (activity: Activity): Activity =>
  activity === 'in_call_and_ringing' || activity === 'busy' ? 'in_call' : activity;
/** A call keeps its start while another one rings and after a hold; until the engine's first snapshot the journal has it. */
function timesOf(
  s: State,
  at: number,
  extension: string,
  now: Pick<LiveExtension, 'activity' | 'summary'>,
): Times {
  const { activity, summary } = now;
  const before = s.extensions.get(extension);
  const phase = phaseOf(activity);
  const isCall = phase === 'in_call' || phase === 'on_hold';
  const named = summary === 'ringing' || summary === 'in_call';
  const published = s.synced ? undefined : s.publishedPresence.get(extension);
  if (published?.summary === summary && (!named || phaseOf(published.activity) === phase)) {
    const since = Date.parse(published.since);
    const activity_since = named ? since : at;
    return { since, activity_since, in_call_since: isCall ? activity_since : null };
  }
  const in_call_since = isCall ? (before?.in_call_since ?? at) : null;
  const goesOn = before !== undefined && phaseOf(before.activity) === phase;
  const begun = phase === 'in_call' ? in_call_since : phase === 'on_hold' ? holdsSince(s, extension) : null;
  const activity_since = goesOn ? before.activity_since : (begun ?? at);
  const since = named ? activity_since : before?.summary === summary ? before.since : at;
  return { since, activity_since, in_call_since };
}

/** Updates one extension from its devices and its agent's readiness; O(its devices and legs). */
export function refreshPresence(s: State, t: Turn, extension: string): void {
  const endpoints = s.site.devices.get(extension);
  if (endpoints === undefined) return;
  const devices: Record<EndpointKind, DeviceState> = {
    sip: 'UNAVAILABLE',
    webrtc: 'UNAVAILABLE',
    mobile: 'UNAVAILABLE',
  };
  const states: DeviceState[] = [];
  const seen: EndpointKind[] = [];
  for (const { kind, name } of endpoints) {
    const state = s.devices.get(name)?.state ?? 'UNKNOWN';
    if (!seen.includes(kind) || WEIGHT[state] > WEIGHT[devices[kind]]) devices[kind] = state;
    seen.push(kind);
    states.push(state);
  }
  const before = s.extensions.get(extension);
  const reached = reachabilityOf(states);
  // If no device can be reached, a call wakes the app by a push.
  const reachability =
    reached === 'offline' && s.wakeable.has(extension) && seen.includes('mobile') ? 'push_only' : reached;
  const activity = activityOf(states, holdsSince(s, extension) !== null);
  const { personal, note, expires_at } = saidBy(s, extension);
  const summary = summaryOf({ reachability, activity, personal }, notReadyReason(s, extension));
  const same =
    before !== undefined &&
    before.reachability === reachability &&
    before.activity === activity &&
    before.personal === personal;
  const sameDevices =
    before !== undefined &&
    before.devices.sip === devices.sip &&
    before.devices.webrtc === devices.webrtc &&
    before.devices.mobile === devices.mobile;
  const sameWords =
    before !== undefined &&
    before.summary === summary &&
    before.note === note &&
    before.expires_at === expires_at;
  if (same && sameDevices && sameWords) return;
  const live: Extension = {
    extension,
    devices,
    reachability,
    activity,
    personal,
    note,
    expires_at,
    summary,
    ...timesOf(s, t.at, extension, { activity, summary }),
  };
  s.extensions.set(extension, live);
  bumpPresence(s, extension);
  if (s.synced) tellPresence(s, t, live);
  touchAgent(t, extension);
}

/**
 * Applies the holds of the touched extensions. A person whose last leg is gone has no call a moment later, by its device, so
 * its hold does not become a talk meanwhile.
 */
export function followHolds(s: State, t: Turn): void {
  for (let place = 0; place < t.agents.size; place++) {
    const extension = t.agents.extension(place);
    const activity = s.extensions.get(extension)?.activity;
    if ((activity !== 'in_call' && activity !== 'on_hold') || !s.legsOf.has(extension)) continue;
    if ((holdsSince(s, extension) !== null) !== (activity === 'on_hold')) refreshPresence(s, t, extension);
  }
}

/** Emits `presence.changed` if the journal's last one for this extension differs. */
export function tellPresence(s: State, t: Turn, live: LiveExtension): void {
  const { extension, reachability, activity, personal, note, summary } = live;
  const expires_at = rfc3339OrNull(live.expires_at);
  const published = s.publishedPresence.get(extension);
  if (
    published !== undefined &&
    published.reachability === reachability &&
    published.activity === activity &&
    published.personal === personal &&
    published.note === note &&
    (published.expires_at ?? null) === expires_at &&
    published.summary === summary
  ) {
    return;
  }
  const data: PublishedPresence = {
    extension,
    reachability,
    activity,
    personal,
    note,
    expires_at,
    summary,
    since: rfc3339(live.since),
  };
  s.publishedPresence.set(extension, data);
  emit(t, 'presence.changed', `presence/${extension}`, data);
}

const reached = (state: DeviceState): boolean | null =>
  state === 'UNKNOWN' ? null : state !== 'UNAVAILABLE' && state !== 'INVALID';
/** Stores a device state; false if it did not change. */
export function deviceSeen(s: State, at: number, endpoint: string, state: DeviceState): boolean {
  const before = s.devices.get(endpoint);
  if (before?.state === state) return false;
  const reachable = reached(state);
  const since = before?.reachable === reachable ? before.since : at;
  s.devices.set(endpoint, { state, reachable, since });
  return true;
}
export function deviceState(s: State, t: Turn, endpoint: string, state: DeviceState): void {
  if (!deviceSeen(s, t.at, endpoint, state)) return;
  const owner = s.site.endpoints.get(endpoint);
  if (owner !== undefined) refreshPresence(s, t, owner.extension);
}
