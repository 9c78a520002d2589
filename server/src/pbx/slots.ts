import type { EventData } from '@offhook/contract/events.ts';
import type { CallId, ChannelId } from '@offhook/contract/ids.ts';
import type { LiveParked } from '../ports/live.ts';
import { legParty } from './legs.ts';
import { emit } from './state.ts';
import type { Call, Channel, State, Turn } from './state.ts';
import { wireParked } from './wire-call.ts';

type FreedReason = EventData<'parking.slot_freed'>['reason'];

export const parkedList = (s: State): readonly LiveParked[] =>
  [...s.parked.values()].toSorted((a, b) => Number(a.slot) - Number(b.slot));

export const readParked = (published: EventData<'parking.slot_occupied'>): LiveParked => ({
  slot: published.slot,
  lot: published.lot,
  call: published.call_id as CallId,
  leg: published.leg_id as ChannelId,
  party: published.party,
  since: Date.parse(published.since),
  by: published.parked_by,
});

/** Puts the leg on the slot; the extension that it last talked to parked it. */
export function occupySlot(
  s: State,
  t: Turn,
  { call, leg, ...place }: { call: Call; leg: Channel; slot: string; lot: string; since: number },
): void {
  const by = s.peers.get(leg.id)?.extension ?? null;
  const parked: LiveParked = { ...place, call: call.id, leg: leg.id, party: legParty(s, leg), by };
  s.parked.set(place.slot, parked);
  emit(t, 'parking.slot_occupied', `parking/${place.slot}`, wireParked(parked));
}

/** Emits `parking.slot_freed` once for each call on a slot. */
export function freeSlot(s: State, t: Turn, slot: string, reason: FreedReason): void {
  const parked = s.parked.get(slot);
  if (parked === undefined) return;
  s.parked.delete(slot);
  emit(t, 'parking.slot_freed', `parking/${slot}`, {
    slot,
    lot: parked.lot,
    call_id: parked.call,
    leg_id: parked.leg,
    reason,
  });
}
