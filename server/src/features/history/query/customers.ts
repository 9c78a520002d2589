/**
 * Adds customers when conversations are read. The record has none: a customer may change or be erased later, a personal
 * customer is visible to its owner only, and a rebuild must give the same bytes.
 */
import type { z } from 'zod';
import type { Conversation, ConversationSummary, Participant } from '@offhook/contract/conversations.ts';
import type { HistoryCall } from '@offhook/contract/history.ts';
import type { Customers } from '../../../ports/customers.ts';
import type { Caller } from '../../../ports/http.ts';

type Party = z.infer<typeof Participant>;
type Shown = ConversationSummary | Conversation;

function* partiesOf(conversation: Shown): Generator<Party> {
  const { caller, customer, answered_by, parties } = conversation;
  for (const party of [caller, customer, answered_by, ...parties]) if (party !== null) yield party;
  if ('legs' in conversation) for (const leg of conversation.legs) yield leg.participant;
}
const isOutside = (party: Party): boolean => party.extension === null && party.number !== '';

/** The conversations, with the name and id of the customer in each outside party; one lookup for all of them. */
export async function withCustomers<C extends Shown>(
  customers: Customers,
  who: Caller,
  conversations: readonly C[],
): Promise<C[]> {
  const outside = conversations.flatMap((one) => [...partiesOf(one)].filter(isOutside));
  const found = await customers.named(who, [...new Set(outside.map(({ number }) => number))]);
  const named = <P extends Party | null>(party: P): P => {
    const customer = party !== null && isOutside(party) ? found.get(party.number) : undefined;
    return customer === undefined ? party : { ...party!, name: customer.name, customer_id: customer.id };
  };
  return conversations.map((one) => ({
    ...one,
    caller: named(one.caller),
    customer: named(one.customer),
    answered_by: named(one.answered_by),
    parties: one.parties.map(named),
    ...('legs' in one
      ? { legs: one.legs.map((leg) => ({ ...leg, participant: named(leg.participant) })) }
      : {}),
  }));
}

/** The rows, with the name and id of the customer; one lookup for all of them. */
export async function rowsWithCustomers(
  customers: Customers,
  who: Caller,
  rows: readonly HistoryCall[],
): Promise<HistoryCall[]> {
  const found = await customers.named(who, [...new Set(rows.map(({ party }) => party))]);
  return rows.map((row) => {
    const customer = found.get(row.party);
    return customer === undefined ? row : { ...row, party_name: customer.name, customer_id: customer.id };
  });
}
