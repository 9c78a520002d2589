import { nodeOf } from '@offhook/contract/ids.ts';
import type { ChannelId, NodeId } from '@offhook/contract/ids.ts';
import type { EngineEventOf } from '../ports/engine-events.ts';
import type { EngineSnapshot, ParkedChannel } from '../ports/engine-state.ts';
import { legBeside, legOf } from './leg-beside.ts';
import { setChannel } from './leg-state.ts';
import { callRef, legRef, notePublished } from './legs.ts';
import { freeSlot, occupySlot, slotKey } from './slots.ts';
import { emit } from './state.ts';
import type { State, Turn } from './state.ts';

export function channelParked(s: State, t: Turn, { channel, slot, lot, since }: ParkedChannel): void {
  const ch = s.channels.get(channel);
  if (ch === undefined || ch.slot === slot) return;
  const node = nodeOf(channel);
  if (ch.slot !== null) freeSlot(s, t, node, ch.slot, 'picked_up');
  const next = setChannel(s, t, ch, { slot });
  const leg = legOf(s, next);
  const key = slotKey(node, slot);
  const before = s.parked.get(key);
  // A slot holds one call at a time, so the end of the previous call was missed.
  if (before !== undefined && before.leg !== leg?.id) freeMissed(s, t, node, slot, before.leg);
  const call = leg?.call == null ? undefined : s.calls.get(leg.call);
  if (leg === null || call === undefined) return;
  // The slot was already published before a restart.
  if (s.parked.get(key)?.leg === leg.id) return;
  for (const other of s.channels.values()) {
    if (other.slot === slot && other.id !== channel && nodeOf(other.id) === node)
      setChannel(s, t, other, { slot: null });
  }
  emit(t, 'call.parked', `calls/${call.id}`, {
    ...notePublished(s, { ...callRef(call), leg: legRef(s, leg) }),
    slot,
  });
  occupySlot(s, t, { call, leg, node, slot, lot, since });
}

const FREED = { retrieved: 'picked_up', timeout: 'timed_out', gave_up: 'hung_up' } as const;
export function channelUnparked(
  s: State,
  t: Turn,
  { id, slot, reason }: Pick<EngineEventOf<'channel.unparked'>, 'id' | 'slot' | 'reason'>,
): void {
  const ch = s.channels.get(id);
  if (ch === undefined || ch.slot !== slot) return;
  setChannel(s, t, ch, { slot: null });
  freeSlot(s, t, nodeOf(id), slot, FREED[reason]);
}

/** Applies the slots of a snapshot; runs after its channels and bridges. */
export function seeParked(s: State, t: Turn, rows: EngineSnapshot['parked']): void {
  const slots = new Map(rows?.map((row) => [row.channel, row.slot]));
  for (const row of rows ?? []) channelParked(s, t, row);
  for (const ch of s.channels.values()) {
    if (ch.slot === null || (rows === undefined ? ch.holding : slots.get(ch.id) === ch.slot)) continue;
    setChannel(s, t, ch, { slot: null });
    freeMissed(s, t, nodeOf(ch.id), ch.slot, ch.id);
  }
  const occupied = new Set(
    [...s.channels.values()].map(({ id, slot }) => (slot === null ? null : slotKey(nodeOf(id), slot))),
  );
  for (const [key, { node, slot, leg }] of s.parked) {
    if (occupied.has(key)) continue;
    const ch = s.channels.get(leg);
    // If the engine does not list its slots, the journal's slot is kept while the call waits.
    if (rows === undefined && ch?.holding === true && ch.slot === null) setChannel(s, t, ch, { slot });
    else freeMissed(s, t, node, slot, leg);
  }
}
function freeMissed(s: State, t: Turn, node: NodeId, slot: string, id: ChannelId): void {
  const ch = s.channels.get(id);
  const talks = ch !== undefined && legBeside(s, ch) !== null;
  freeSlot(s, t, node, slot, talks ? 'picked_up' : ch === undefined ? 'engine_lost' : 'timed_out');
}
