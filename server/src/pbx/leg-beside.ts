/** The other side of a leg, over bridges and internal pairs. */
import type { ChannelId } from '@offhook/contract/ids.ts';
import type { LiveSide } from '../ports/live.ts';
import type { Channel, State } from './state.ts';

/** Finds another leg of this channel's component: over bridges that do not hold and across internal pairs. */
export function legBeside(s: State, start: Channel): Channel | null {
  const seen = new Set<ChannelId>([start.id]);
  const todo: Channel[] = [start];
  const look = (id: ChannelId): Channel | null => {
    if (seen.has(id)) return null;
    seen.add(id);
    const ch = s.channels.get(id);
    if (ch === undefined) return null;
    if (ch.kind === 'endpoint') return ch;
    if (ch.kind === 'local') todo.push(ch);
    return null;
  };
  for (let ch = todo.pop(); ch !== undefined; ch = todo.pop()) {
    for (const id of neighbours(s, ch)) {
      const leg = look(id);
      if (leg !== null) return leg;
    }
  }
  return null;
}
function* neighbours(s: State, ch: Channel): Generator<ChannelId> {
  if (ch.pair !== null) yield* s.pairs.get(ch.pair) ?? [];
  if (ch.bridge !== null && !ch.holding) yield* s.bridges.get(ch.bridge) ?? [];
}
/** The leg that a fact about this channel concerns: the channel itself, or the leg behind an internal pair. */
export const legOf = (s: State, ch: Channel): Channel | null =>
  ch.kind === 'endpoint' ? ch : legBeside(s, ch);

export function sideOf(s: State, id: ChannelId): LiveSide | undefined {
  const ch = s.channels.get(id);
  if (ch === undefined || ch.bridge === null || ch.holding) return undefined;
  const channels = [...(s.bridges.get(ch.bridge) ?? [])].filter((other) => other !== id);
  if (channels.length === 0) return undefined;
  // A half with an endpoint leads to another engine and stays.
  const passing = channels.some((other) => {
    const { kind, endpoint } = s.channels.get(other) ?? {};
    return kind === 'local' && endpoint === null;
  });
  return { leg: legBeside(s, ch)?.id ?? null, channels, passing };
}
