/** Calls and legs as the live view shows them. */
import type { CallId, ChannelId } from '@offhook/contract/ids.ts';
import type { LiveCall, LiveLeg } from '../ports/live.ts';
import { customerSoFar, knownCustomer, legParty } from './legs.ts';
import type { Call, Channel, State } from './state.ts';

export function callView(s: State, call: Call): LiveCall {
  const known = s.callViews.get(call.id);
  if (known !== undefined) return known;
  const legs: LiveLeg[] = [];
  for (const id of call.channels) {
    const ch = s.channels.get(id);
    if (ch?.kind === 'endpoint') legs.push(legView(s, ch, call.id));
  }
  const view = Object.freeze({
    id: call.id,
    direction: call.direction ?? 'internal',
    extensions: call.extensions,
    dialled: call.numbers[0] ?? '',
    numbers: call.numbers,
    ...(call.placed === undefined ? {} : { placed: call.placed }),
    started_at: call.started_at,
    answered_at: call.answered_at,
    ...customerSoFar(s, call),
    ...knownCustomer(call),
    legs: Object.freeze(legs),
  });
  s.callViews.set(call.id, view);
  return view;
}
const legView = (s: State, ch: Channel, call: CallId): LiveLeg =>
  Object.freeze({
    id: ch.id,
    call,
    extension: ch.extension,
    endpoint: ch.endpoint,
    party: legParty(s, ch),
    state: ch.leg,
    since: ch.leg_since,
    answered_at: ch.leg_answered_at,
    held: ch.held || ch.held_here,
    queue: ch.queued,
    slot: ch.slot,
    held_here: ch.held_here,
    recording: ch.recordings > 0,
    recording_paused: ch.recording_paused,
    digits: ch.digits,
    listens_to: ch.listens_to,
    listenings: ch.listenings,
  });
const isShown = (call: Call): boolean => call.started && call.channels.length > 0;
export function callList(s: State): readonly LiveCall[] {
  s.callList ??= Object.freeze([...s.calls.values()].filter(isShown).map((c) => callView(s, c)));
  return s.callList;
}
export function callById(s: State, id: CallId): LiveCall | undefined {
  const call = s.calls.get(s.aliases.get(id) ?? id);
  return call !== undefined && isShown(call) ? callView(s, call) : undefined;
}
export function legById(s: State, id: ChannelId): LiveLeg | undefined {
  const ch = s.channels.get(id);
  return ch?.kind === 'endpoint' && ch.call !== null ? legView(s, ch, ch.call) : undefined;
}
