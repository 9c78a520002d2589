import type { ChannelId } from '@offhook/contract/ids.ts';
import { legOf } from './calls.ts';
import { setChannel } from './channels.ts';
import { callRef, legRef, nowTold } from './legs.ts';
import { emit } from './state.ts';
import type { State, Turn } from './state.ts';

export function channelParked(s: State, t: Turn, id: ChannelId, slot: string): void {
  const ch = s.channels.get(id);
  if (ch === undefined || ch.slot === slot) return;
  const next = setChannel(s, t, ch, { slot });
  const leg = legOf(s, next);
  const call = leg?.call == null ? undefined : s.calls.get(leg.call);
  if (leg === null || call === undefined) return;
  emit(t, 'call.parked', `calls/${call.id}`, {
    ...nowTold(s, { ...callRef(call), leg: legRef(s, leg) }),
    slot,
  });
}
export function channelUnparked(s: State, t: Turn, id: ChannelId): void {
  const ch = s.channels.get(id);
  if (ch !== undefined && ch.slot !== null) setChannel(s, t, ch, { slot: null });
}
