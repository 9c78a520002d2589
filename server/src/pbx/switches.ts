/** Night switches, as the engine's store has them. */
import type { EngineEventOf } from '../ports/engine-events.ts';
import type { EngineSnapshot } from '../ports/engine-state.ts';
import { emit } from './state.ts';
import type { State, Turn } from './state.ts';

function follow(s: State, t: Turn, name: string, to: 'open' | 'closed' | null, by: string | null): void {
  if (to === null) s.switched.delete(name);
  else s.switched.set(name, to);
  if ((s.publishedSwitches.get(name) ?? null) === to) return;
  if (to === null) s.publishedSwitches.delete(name);
  else s.publishedSwitches.set(name, to);
  emit(t, 'night_switch.changed', `night-switches/${name}`, { name, to, by });
}
export const switchChanged = (s: State, t: Turn, e: EngineEventOf<'night_switch.changed'>): void =>
  follow(s, t, e.name, e.to, e.by);
export function seeSwitches(s: State, t: Turn, now: EngineSnapshot['switches']): void {
  if (now === undefined) return;
  for (const name of new Set([...s.switched.keys(), ...s.publishedSwitches.keys()]))
    if (!now.has(name)) follow(s, t, name, null, null);
  for (const [name, to] of now) follow(s, t, name, to, null);
}
