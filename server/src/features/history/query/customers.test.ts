/** Customers in lists and details: resolved for each reader, never stored. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Conversation } from '@offhook/contract/conversations.ts';
import {
  ConversationChangesReply,
  ConversationReply,
  ConversationsReply,
} from '@offhook/contract/conversation-list.ts';
import { recordOf } from '../../../../test/support/conversation-record.ts';
import { conversationsRig } from '../../../../test/support/conversations-rig.ts';
import type { Customers } from '../../../ports/customers.ts';

const ANNA = '030901820';
const PATH = '/api/v1/conversations';
const known = { kind: 'person', company: null, owner: null, vip: false, blocked: false } as const;
/** Anna is shared; the person of 1005 has a personal customer with the same number. */
function phonebook() {
  const lookups: (readonly string[])[] = [];
  const customers: Customers = {
    async named(who, numbers) {
      lookups.push(numbers);
      const [id, name] = who?.person_id === 5 ? [8, 'Aunt'] : [7, 'Anna Müller'];
      const customer = { ...known, id, name, source: 'manual', matches: 1 };
      return new Map(numbers.includes(ANNA) ? [[ANNA, customer]] : []);
    },
  };
  return { lookups, customers };
}
const outside = { number: ANNA, name: 'MUELLER A' };
const named = ({ name, customer_id }: { name: string; customer_id?: number | undefined }) => [
  name,
  customer_id,
];

test('history customers - each reader reads its own customer, with one lookup for a page', async () => {
  const { lookups, customers } = phonebook();
  await using rig = await conversationsRig({}, customers);
  await rig.put(
    [1, 2, 3, 4].map((n) =>
      recordOf({
        id: `ast1:${n}.1`,
        direction: 'in',
        caller: outside,
        called: { extension: '1005', name: 'Dan' },
      }),
    ),
  );
  const list = async (who: string) =>
    ConversationsReply.parse((await rig.get(PATH, who)).body).conversations.map(({ customer }) =>
      named(customer!),
    );
  assert.deepEqual(await list('admin'), Array(4).fill(['Anna Müller', 7]));
  assert.deepEqual(lookups, [[ANNA]]);
  assert.deepEqual(await list('user'), Array(4).fill(['Aunt', 8]));
});

test('history customers - every field of the outside party has the name, a colleague keeps its own', async () => {
  const { lookups, customers } = phonebook();
  await using rig = await conversationsRig({}, customers);
  await rig.put([
    recordOf({
      id: 'ast1:1.1',
      direction: 'in',
      caller: outside,
      called: { extension: '1005', name: 'Dan' },
    }),
    recordOf({
      id: 'ast1:2.1',
      direction: 'in',
      caller: { number: '' },
      called: { extension: '1005', name: 'Dan' },
    }),
  ]);
  const one = ConversationReply.parse((await rig.get(`${PATH}/ast1:1.1`)).body).conversation;
  const changes = ConversationChangesReply.parse((await rig.get(`${PATH}/changes?detail=true`)).body).changes;
  assert.deepEqual(lookups, [[ANNA], [ANNA]]);
  const [changed] = changes.map(({ conversation }) => conversation as Conversation);
  for (const { caller, customer, parties, legs } of [one, changed!]) {
    for (const party of [caller!, customer!, parties[0]!, legs[0]!.participant])
      assert.deepEqual(named(party), ['Anna Müller', 7]);
    for (const party of [parties[1]!, legs[1]!.participant])
      assert.deepEqual(named(party), ['Dan', undefined]);
  }
});
