import { createHash } from 'node:crypto';
import type { Conversation } from '@offhook/contract/conversations.ts';
import type { ConversationFeed } from '../../ports/conversations.ts';
import { NO_CALL, callOf, handledBy, numberOf } from './call-of.ts';
import { NO_CUSTOMER } from './format/customers.ts';
import type { ConnectorCustomer } from './format/customers.ts';
import type { ConnectorFailure } from './format/requests.ts';
import type { ConnectorEntries, ConnectorSession, EntrySubject } from './format/session.ts';
import type { Entry } from './ledger.ts';
import type { Directory } from './people.ts';

/** Current content of an entry. `words`: reason why the conversation needs no entry; null if it needs one. */
export interface About {
  readonly subject: EntrySubject;
  readonly conversation: Conversation;
  readonly change: number;
  readonly hash: string;
  readonly words: string | null;
  /** True if the system answered the search for the customer. */
  readonly searched: boolean;
}
/** `whole`: it concerns all entries, not only this one. */
export interface AboutFailure extends ConnectorFailure {
  readonly whole: boolean;
}
export interface AboutParts {
  readonly connector: number;
  readonly session: ConnectorSession;
  readonly entries: ConnectorEntries;
  readonly feed: Pick<ConversationFeed, 'one'>;
  readonly people: Directory;
  readonly publicUrl: string;
}

const digestOf = (subject: EntrySubject): string =>
  createHash('sha256')
    .update(
      JSON.stringify(subject, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    )
    .digest('base64url');

/** Current content of an entry; null if the conversation was deleted or merged. */
export async function aboutOf(
  row: Entry,
  parts: AboutParts,
  signal: AbortSignal,
): Promise<About | AboutFailure | null> {
  const { connector, session, entries, feed, people, publicUrl } = parts;
  const conversation = await feed.one(row.conversation);
  if (conversation === null || conversation.id !== row.conversation) return null;
  const call = callOf(conversation, publicUrl, (extension) => people.person(extension));
  const number = numberOf(conversation);
  const { lookup } = session;
  const found = lookup !== null && number.startsWith('+') ? await lookup(number, signal) : null;
  if (found !== null && found.kind !== 'done') return { ...found, whole: false };
  const customer = found && customerOf(row, found.value, entries.matches);
  const person = people.person(handledBy(conversation, entries.handled_by));
  const user = person === null ? null : await people.findUser(connector, session, person, signal);
  // Sent now, the entry would stay without its user: no later change of the conversation adds it.
  if (user !== null && 'kind' in user) return { ...user, whole: true };
  const subject: EntrySubject = {
    call,
    ...(customer && { customer }),
    ...(user && { user }),
    ...(person && { person }),
  };
  const words =
    row.wanted === 0
      ? (row.words ?? 'it needs no entry')
      : !entries.wanted(subject)
        ? 'the file makes no entry of such a call'
        : customer === null && lookup !== null
          ? entries.matches === 'none'
            ? 'not exactly one customer with this number is known there'
            : 'no customer with this number is known there'
          : null;
  const { change } = conversation;
  return { subject, conversation, change, hash: digestOf(subject), words, searched: found !== null };
}
/** Customer of the entry: its present one, else the one that the file's rule chooses among those with the number. */
function customerOf(
  row: Entry,
  found: readonly ConnectorCustomer[],
  rule: ConnectorEntries['matches'],
): ConnectorCustomer | null {
  const known = found.find(({ id }) => id === row.customer_id);
  if (known !== undefined) return known;
  return row.customer_id === null ? chosenOf(found, rule) : { ...NO_CUSTOMER, id: row.customer_id };
}
/** Customer of a new entry, by the rule of the file, among those with the number. */
function chosenOf(
  found: readonly ConnectorCustomer[],
  rule: ConnectorEntries['matches'],
): ConnectorCustomer | null {
  if (rule === 'none' && found.length > 1) return null;
  const company = rule === 'company' ? found.find(({ kind }) => kind === 'company') : undefined;
  return company ?? found[0] ?? null;
}
/** Subject for a deleted conversation, whose entry can still be removed or searched for. */
export function emptySubject({ conversation, customer_id }: Entry): EntrySubject {
  return {
    call: { ...NO_CALL, id: conversation },
    ...(customer_id !== null && { customer: { ...NO_CUSTOMER, id: customer_id } }),
  };
}
