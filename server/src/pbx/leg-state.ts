import type { LiveLeg } from '../ports/live.ts';
import { touchAgent } from './agent-state.ts';
import { touchCall } from './calls.ts';
import type { Channel, State, Turn } from './state.ts';

/**
 * State of a leg, derived from its channel:
 *
 *   initiated --rings--> alerting --up--> connected <--hold--> held
 *        \--waits in a queue--> queued --/        \--parked--> parked
 */
export const isConnected = (leg: LiveLeg['state']): boolean => leg === 'connected' || leg === 'held';
export function legState(ch: Omit<Channel, 'leg' | 'leg_since'>): LiveLeg['state'] {
  if (ch.holding || ch.slot !== null) return 'parked';
  if (ch.queued !== null) return 'queued';
  if (ch.state === 'up') return isHeld(ch) ? 'held' : 'connected';
  return ch.state === 'ringing' ? 'alerting' : 'initiated';
}

export const isHeld = (ch: Pick<Channel, 'held' | 'held_here'>): boolean => ch.held || ch.held_here;

/** Replaces one channel and updates the leg state, the call view and the agent. */
export function setChannel(s: State, t: Turn, ch: Channel, patch: Partial<Channel>): Channel {
  const next: { -readonly [K in keyof Channel]: Channel[K] } = { ...ch, ...patch };
  const leg = legState(next);
  s.channels.set(ch.id, next);
  touchCall(s, next.call);
  if (leg === ch.leg) return next;
  next.leg = leg;
  next.leg_since = t.at;
  if (isConnected(leg)) next.leg_answered_at ??= t.at;
  if (next.extension !== null) touchAgent(t, next.extension);
  return next;
}
