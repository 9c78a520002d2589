/** Whether a newly published conversation belongs in the list, by the service's rules. */
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { digitsOf, fold } from '@offhook/contract/search.ts';
import type { ListQuery } from './filters.ts';

type Everybody = readonly (string | null)[];
const numbersOf = (c: ConversationSummary): Everybody => [
  c.dialled,
  c.dialled_e164,
  ...[c.caller, ...c.parties].flatMap((p) => (p === null ? [] : [p.number, p.number_e164])),
];
/** Digits of a country code, which may precede a national number. */
const COUNTRY_DIGITS = 3;
/** True for the same number in another spelling: `0049…` as `+49…`, and `0…` as the end of one with a country code. */
export function sameNumber(wanted: string, number: string): boolean {
  const [asked, has] = [digitsOf(wanted), digitsOf(number)];
  if (asked === null || has === null) return wanted === number;
  if (asked === has) return true;
  if (!has.startsWith('+')) return false;
  if (asked.startsWith('00')) return has.slice(1) === asked.slice(2);
  if (!asked.startsWith('0')) return false;
  const national = asked.slice(1);
  const country = has.length - 1 - national.length;
  return has.endsWith(national) && country >= 1 && country <= COUNTRY_DIGITS;
}

/** `own` is not checked, because the topic of the stream already selects the owner of the list. */
export function fits(c: ConversationSummary, query: ListQuery): boolean {
  const { person, number, queue, agent, direction, disposition, state, from, to, q, outcome, has_recording } =
    query;
  const began = Date.parse(c.started_at);
  if (person !== undefined && !c.extensions.includes(person)) return false;
  if (queue !== undefined && !c.queues.includes(queue)) return false;
  if (agent !== undefined && !c.agents.includes(agent)) return false;
  if (direction !== undefined && c.direction !== direction) return false;
  if (disposition !== undefined && c.disposition !== disposition) return false;
  if (state !== undefined && c.state !== state) return false;
  if (from !== undefined && began < Date.parse(from)) return false;
  if (to !== undefined && began >= Date.parse(to)) return false;
  if (outcome !== undefined && c.outcome?.code !== outcome) return false;
  if (has_recording !== undefined && c.has_recording !== has_recording) return false;
  const numbers = numbersOf(c).filter((n) => n !== null);
  if (number !== undefined && !numbers.some((n) => sameNumber(number, n))) return false;
  if (q === undefined) return true;
  const wanted = fold(q);
  const names = [c.caller, ...c.parties].map((p) => p?.name ?? '');
  return [...names, ...numbers].some((text) => fold(text).includes(wanted));
}
