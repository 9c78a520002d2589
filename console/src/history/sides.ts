/** Parties of a conversation as shown in one line. */
import type { Conversation, ConversationSummary } from '@offhook/contract/conversations.ts';

export type Party = ConversationSummary['parties'][number];
export const numberOf = (party: Party): string => party.extension ?? party.number;

type Sides = Pick<
  ConversationSummary,
  'caller' | 'parties' | 'dialled' | 'agents' | 'queues' | 'answered_at'
>;
/**
 * The other side of this extension; without an extension, caller and called party. For a queue, the answering agent, or
 * none.
 */
export function sidesOf(c: Sides, own: string | null): readonly Party[] {
  const dialled: Party = { extension: null, number: c.dialled, number_e164: null, name: '', trunk: null };
  const first = c.caller ?? c.parties[0] ?? dialled;
  const same = (a: Party, b: Party): boolean => numberOf(a) === numberOf(b) && a.name === b.name;
  const rest = c.parties.filter((p) => !same(p, first));
  const answered = rest.filter(({ extension }) => extension !== null && c.agents.includes(extension));
  const others = c.queues.length > 0 && c.answered_at === null ? [] : [...answered, ...rest];
  const second = others[0] ?? dialled;
  if (own === null) return [first, second];
  if (first.extension !== own) return [first];
  return [others.find((p) => p.extension !== own) ?? dialled];
}
/** Whether this extension talked, or nobody did; only these persons and supervisors may add notes and play recordings. */
export function mayAddTo({ legs, state }: Pick<Conversation, 'legs' | 'state'>, own: string): boolean {
  const talkers = legs
    .filter(
      ({ segments, answered_at }) =>
        segments.some((one) => one.state === 'connected' || one.state === 'held') ||
        // The newest segment of an open conversation may have no length yet.
        (state === 'open' && answered_at !== null && segments.at(-1)?.state !== 'service'),
    )
    .flatMap(({ participant }) => participant.extension ?? []);
  return talkers.length === 0 || talkers.includes(own);
}
/** Number for calling the other side back; null for a hidden one. */
export function callBackOf(c: Sides, own: string): string | null {
  const [other] = sidesOf(c, own);
  if (other === undefined || other.extension === own) return null;
  const number = other.extension ?? other.number_e164 ?? other.number;
  return /^[+\d*#]/.test(number) ? number : null;
}
