/** What the desk says of an agent, worked out from the agent's own record. */
import type { CallState } from '@offhook/client';
import type { Agent, AgentSummary } from '@offhook/contract/agents.ts';

export type Tone = 'ok' | 'warn' | 'alert' | 'info' | 'idle';
const TONES: Readonly<Record<AgentSummary['state'], Tone>> = {
  logged_out: 'idle',
  unreachable: 'alert',
  talking: 'info',
  held: 'info',
  offered: 'alert',
  wrap_up: 'warn',
  busy_other: 'info',
  not_responding: 'alert',
  not_ready: 'warn',
  available: 'ok',
};
/** `now` in seconds since 1970: who is past the longest time of a reason is marked. */
export const isPast = ({ readiness, state }: AgentSummary, now: number): boolean =>
  state === 'not_ready' && readiness.until !== null && Date.parse(readiness.until) / 1000 <= now;
export const toneOf = (agent: AgentSummary, now: number): Tone =>
  isPast(agent, now) ? 'alert' : TONES[agent.state];

/** While one of these lasts, what the agent chooses waits for its end. */
const BUSY: ReadonlySet<AgentSummary['engagement']> = new Set(['offered', 'talking', 'held', 'wrap_up']);
export const choicesWait = ({ engagement }: AgentSummary): boolean => BUSY.has(engagement);

/** Queues an agent can leave of its own will, and those the configuration keeps it in. */
export const canLeave = ({ queues }: Agent): readonly string[] =>
  queues.filter((q) => q.member && q.membership === 'dynamic').map((q) => q.queue);
export const mustStay = ({ queues }: Agent): readonly string[] =>
  queues.filter((q) => q.member && q.membership !== 'dynamic').map((q) => q.queue);

export interface Party {
  readonly number: string;
  readonly name: string;
}
/** Who is at the other end of a call of `extension`. */
export function otherParty(call: CallState, extension: string): Party {
  const others = call.legs.filter((leg) => leg.extension !== extension);
  const [first] = call.legs;
  if (first !== undefined && first.extension === extension) {
    return others.at(-1) ?? { number: call.dialled, name: '' };
  }
  return others[0] ?? call.caller;
}
export const ownLeg = (call: CallState, extension: string): CallState['legs'][number] | undefined =>
  call.legs.find((leg) => leg.extension === extension && leg.state !== 'ringing') ??
  call.legs.find((leg) => leg.extension === extension);

/** The call the desk is about: that of the queue, else the one talked in, else what rings. */
export function currentCall(
  agent: AgentSummary,
  calls: ReadonlyMap<string, CallState>,
): CallState | undefined {
  const own = [...calls.values()].filter((call) => ownLeg(call, agent.extension) !== undefined);
  const rank = (call: CallState): number => {
    const leg = ownLeg(call, agent.extension);
    return leg === undefined || leg.state === 'ringing' ? 2 : leg.held ? 1 : 0;
  };
  return (
    own.find((call) => call.call_id === agent.call_id) ??
    own.toSorted((a, b) => rank(a) - rank(b) || (a.started_at < b.started_at ? -1 : 1))[0]
  );
}
