/** A conversation → its missed calls and its contacts. Pure. */
import type { Conversation } from '@offhook/contract/conversations.ts';
import { digitsOf } from '@offhook/contract/search.ts';

export const personScope = (extension: string): string => `person:${extension}`;
export const queueScope = (queue: string): string => `queue:${queue}`;
/** Scope of a contact by a supervisor, which closes the callbacks of every queue. */
export const EVERY_QUEUE = 'queue:*';

/** Effect of one conversation on the callbacks of one person or queue. */
export interface NumberCall {
  readonly number: string;
  readonly scope: string;
  readonly contact: boolean;
  /** ms since 1970. */
  readonly at: number;
  /** Extension that talked. */
  readonly by: string | null;
}
type Leg = Conversation['legs'][number];

/** A shorter number is not an outside one. */
const LEAST_DIGITS = 3;
/** Excludes the placeholder that an erasure writes for an extension. */
const EXTENSION = /^\d{1,20}$/;
/** Limit of tries and contacts of one conversation; the rest is left out. */
const MOST_SCOPES = 100;
/** Queue visits that leave the queue no callback; after a transfer the person has the missed call. */
const SERVED: ReadonlySet<string> = new Set(['waiting', 'answered', 'transferred_out']);
/** Legs by which a call reaches a person itself. */
const REACHING: ReadonlySet<string> = new Set(['called', 'transfer_target']);

/** Number that callbacks of a conversation belong to; null where the other side showed none. */
export function outsideNumber({
  customer,
  erased,
}: Pick<Conversation, 'customer' | 'erased'>): string | null {
  if (customer === null || erased) return null;
  const number = customer.number_e164 ?? digitsOf(customer.number);
  return number !== null && number.replace('+', '').length >= LEAST_DIGITS ? number : null;
}
/** Talks of the outside party: the extension it talked to, and the end in ms since 1970. */
function talksOf({ legs, extensions }: Conversation): readonly { by: string; at: number }[] {
  const byId = new Map(legs.map((leg) => [leg.leg_id, leg]));
  const isOutside = ({ participant }: Leg): boolean => participant.extension === null;
  return legs.filter(isOutside).flatMap(({ segments }) =>
    segments
      .filter(({ state, with: others }) => (state === 'connected' || state === 'held') && others.length > 0)
      .flatMap(({ with: others, ended_at }) => {
        const known = others.flatMap((id) => byId.get(id)?.participant.extension ?? []);
        // The call was forwarded to an outside number, so it was answered for those it rang.
        return (known.length > 0 ? known : extensions).map((by) => ({ by, at: Date.parse(ended_at) }));
      }),
  );
}
/** Time at which a person missed the call; null where the person did not, or where the call did not reach them. */
function missedAt(extension: string, { legs, transfers, ended_at }: Conversation): number | null {
  const own = legs.filter(({ participant }) => participant.extension === extension);
  // Without a leg the person was called, but no device could ring; a forward may have led the call to somebody else.
  if (own.length === 0) {
    const sent = transfers.find(({ forwarded_by }) => forwarded_by === extension)?.at ?? ended_at;
    return sent === null ? null : Date.parse(sent);
  }
  const rung = own.filter(
    ({ role, disposition }) => REACHING.has(role) && disposition !== 'answered_elsewhere',
  );
  if (rung.length === 0 || own.some(({ talk_time }) => talk_time > 0)) return null;
  return Math.max(...rung.map((leg) => Date.parse(leg.ended_at)));
}
/**
 * Missed calls and contacts of a conversation. A missed call counts only without a later talk, so a call answered after
 * an overflow leaves none. `queuesOf`: queues whose callbacks an extension sees; null for all.
 */
export function callsOf(
  conversation: Conversation,
  queuesOf: (extension: string) => readonly string[] | null,
): readonly NumberCall[] {
  const number = outsideNumber(conversation);
  if (number === null) return [];
  const found = new Map<string, NumberCall>();
  const add = (scope: string, at: number, by: string | null): void => {
    const key = `${scope} ${by === null ? 'try' : 'contact'}`;
    if (at > (found.get(key)?.at ?? -Infinity) && (found.has(key) || found.size < MOST_SCOPES))
      found.set(key, { number, scope, contact: by !== null, at, by });
  };
  const talks = talksOf(conversation);
  for (const { by, at } of talks) {
    if (!EXTENSION.test(by)) continue;
    add(personScope(by), at, by);
    const queues = queuesOf(by);
    if (queues === null) add(EVERY_QUEUE, at, by);
    else for (const queue of queues) add(queueScope(queue), at, by);
  }
  const { direction, disposition, state, queue_visits, extensions } = conversation;
  if (direction !== 'in' || state === 'open' || disposition === 'blocked') return [...found.values()];
  const talked = Math.max(...talks.map(({ at }) => at), -Infinity);
  for (const { queue, outcome, left_at } of queue_visits) {
    const at = Date.parse(left_at);
    if (!SERVED.has(outcome) && at > talked) add(queueScope(queue), at, null);
  }
  for (const extension of extensions) {
    const at = EXTENSION.test(extension) ? missedAt(extension, conversation) : null;
    if (at !== null && at > talked) add(personScope(extension), at, null);
  }
  return [...found.values()];
}
