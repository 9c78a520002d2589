import type { EventData } from '@offhook/contract/events.ts';
import { nodeId, nodeOf } from '@offhook/contract/ids.ts';
import type { CallId, ChannelId, NodeId } from '@offhook/contract/ids.ts';
import type { LiveParked } from '../ports/live.ts';
import { legParty } from './legs.ts';
import { emit } from './state.ts';
import type { Call, Channel, State, Turn } from './state.ts';
import { wireParked } from './wire-call.ts';

type FreedReason = EventData<'parking.slot_freed'>['reason'];

/** Two engines may have slots with the same number. */
export const slotKey = (node: NodeId, slot: string): string => `${node}:${slot}`;

export const parkedList = (s: State): readonly LiveParked[] =>
  [...s.parked.values()].toSorted((a, b) => Number(a.slot) - Number(b.slot));

export const readParked = (published: EventData<'parking.slot_occupied'>): LiveParked => ({
  slot: published.slot,
  lot: published.lot,
  node: nodeId(published.node ?? nodeOf(published.leg_id)),
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
  { call, leg, ...place }: { call: Call; leg: Channel } & Pick<LiveParked, 'node' | 'slot' | 'lot' | 'since'>,
): void {
  const by = s.peers.get(leg.id)?.extension ?? null;
  const parked: LiveParked = { ...place, call: call.id, leg: leg.id, party: legParty(s, leg), by };
  s.parked.set(slotKey(place.node, place.slot), parked);
  emit(t, 'parking.slot_occupied', `parking/${place.slot}`, wireParked(parked));
}

/** Emits `parking.slot_freed` once for each call on a slot of this engine. */
export function freeSlot(s: State, t: Turn, node: NodeId, slot: string, reason: FreedReason): void {
  const key = slotKey(node, slot);
  const parked = s.parked.get(key);
  if (parked === undefined) return;
  s.parked.delete(key);
  emit(t, 'parking.slot_freed', `parking/${slot}`, {
    slot,
    lot: parked.lot,
    node,
    call_id: parked.call,
    leg_id: parked.leg,
    reason,
  });
}
