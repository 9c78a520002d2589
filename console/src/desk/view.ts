/** State of an agent for the desk, derived from the agent's record. */
import type { z } from 'zod';
import type { CallState } from '@offhook/client';
import type { Agent, AgentSummary } from '@offhook/contract/agents.ts';
import type {
  ConversationLeg,
  ConversationSummary,
  LegDisposition,
} from '@offhook/contract/conversations.ts';

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
/** `now` in seconds since 1970; a pause over the limit of its reason is marked. */
export const isPast = ({ readiness, state }: AgentSummary, now: number): boolean =>
  state === 'not_ready' && readiness.until !== null && Date.parse(readiness.until) / 1000 <= now;
export const toneOf = (agent: AgentSummary, now: number): Tone =>
  isPast(agent, now) ? 'alert' : TONES[agent.state];

/** While one of these lasts, a chosen state is pending until its end. */
const BUSY: ReadonlySet<AgentSummary['engagement']> = new Set(['offered', 'talking', 'held', 'wrap_up']);
export const choicesWait = ({ engagement }: AgentSummary): boolean => BUSY.has(engagement);

/** Queues that the agent can sign out of; those of `mustStay` are in its configuration. */
export const canLeave = ({ queues }: Agent): readonly string[] =>
  queues.filter((q) => q.member && q.membership === 'dynamic').map((q) => q.queue);
export const mustStay = ({ queues }: Agent): readonly string[] =>
  queues.filter((q) => q.member && q.membership !== 'dynamic').map((q) => q.queue);

export interface Party {
  readonly number: string;
  readonly name: string;
}
/** The other side of a call of `extension`; an outside party has the name of its customer. */
export function otherParty(call: CallState, extension: string): Party {
  const others = call.legs.filter((leg) => leg.extension !== extension);
  const [first] = call.legs;
  const isOwn = first !== undefined && first.extension === extension;
  const leg = isOwn ? others.at(-1) : others[0];
  const { number, name } = leg ?? (isOwn ? { number: call.dialled, name: '' } : call.caller);
  const isOutside = leg === undefined || leg.extension === null;
  return { number, name: (isOutside ? call.customer?.name : undefined) ?? name };
}
export const ownLeg = (call: CallState, extension: string): CallState['legs'][number] | undefined =>
  call.legs.find((leg) => leg.extension === extension && leg.state !== 'ringing') ??
  call.legs.find((leg) => leg.extension === extension);

/** A call that the person has a leg in. */
export interface OwnCall {
  readonly call: CallState;
  readonly state: 'talking' | 'calling' | 'held' | 'ringing';
}
/** Every call of `extension`, the oldest first. */
export const ownCalls = (calls: Iterable<CallState>, extension: string): readonly OwnCall[] =>
  [...calls]
    .flatMap((call): OwnCall[] => {
      const leg = ownLeg(call, extension);
      if (leg === undefined) return [];
      if (leg.state === 'ringing' || leg.state === 'calling') return [{ call, state: leg.state }];
      return [{ call, state: leg.held ? 'held' : 'talking' }];
    })
    .toSorted((a, b) => (a.call.started_at < b.call.started_at ? -1 : 1));
const RANKS: Readonly<Record<OwnCall['state'], number>> = { talking: 0, calling: 0, held: 1, ringing: 2 };
export const isTalkedIn = ({ state }: OwnCall): boolean => RANKS[state] === 0;
/**
 * The call the desk shows: the active one, else a held one, else a ringing one. `began`: the order in which calls became active;
 * without a difference the shown call stays.
 */
export function shownCall(
  own: readonly OwnCall[],
  before: string | null,
  began: ReadonlyMap<string, number>,
): OwnCall | undefined {
  const stays = ({ call }: OwnCall): number => Number(call.call_id === before);
  const at = ({ call }: OwnCall): number => began.get(call.call_id) ?? 0;
  return own.toSorted((a, b) => RANKS[a.state] - RANKS[b.state] || at(b) - at(a) || stays(b) - stays(a))[0];
}

/** Ways in which an ended call went for one person. */
export type Ending = 'talked' | 'missed' | 'elsewhere';
type OwnLeg = Pick<z.output<typeof ConversationLeg>, 'participant' | 'role' | 'disposition'>;
/** `seen`: the furthest state of the person's leg that this page saw; the record may be older. */
export function endingOf(
  legs: readonly OwnLeg[],
  extension: string,
  seen: 'ringing' | 'talked' | undefined,
): Ending {
  if (seen === 'talked') return 'talked';
  const own = legs.filter((leg) => leg.participant.extension === extension);
  if (own.length === 0) return seen === 'ringing' ? 'missed' : 'talked';
  if (own.some((leg) => leg.role === 'caller' || leg.disposition === 'answered')) return 'talked';
  return own.every((leg) => leg.disposition === 'answered_elsewhere') ? 'elsewhere' : 'missed';
}
/** Reason for which an ended outgoing call failed; null if the customer answered, or was not called. */
export const vainEndOf = ({
  state,
  customer_disposition: end,
}: Pick<ConversationSummary, 'state' | 'customer_disposition'>): Exclude<LegDisposition, 'answered'> | null =>
  state === 'open' || end === 'answered' ? null : end;
