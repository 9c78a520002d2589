import type { ChannelId } from '@offhook/contract/ids.ts';
import { legOf, legRef } from './calls.ts';
import { setChannel } from './channels.ts';
import { emit } from './state.ts';
import type { State, Turn } from './state.ts';

export function channelParked(s: State, t: Turn, id: ChannelId, slot: string): void {
  const ch = s.channels.get(id);
  if (ch === undefined || ch.slot === slot) return;
  const next = setChannel(s, t, ch, { slot });
  const leg = legOf(s, next);
  if (leg === null || leg.call === null) return;
  emit(t, 'call.parked', `calls/${leg.call}`, { call_id: leg.call, leg: legRef(s, leg), slot });
}
export function channelUnparked(s: State, t: Turn, id: ChannelId): void {
  const ch = s.channels.get(id);
  if (ch !== undefined && ch.slot !== null) setChannel(s, t, ch, { slot: null });
}
