import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { Operation } from '@offhook/contract/operation.ts';
import { contacts } from '@offhook/contract/operations/contacts.ts';
import { history } from '@offhook/contract/operations/history.ts';
import { GROUPS } from '@offhook/contract/operations/groups.ts';
import { positionIn } from '@offhook/contract/paging.ts';
import { withBoundCursors } from './bound-cursors.ts';

const paged = Object.values({ ...GROUPS, contacts, history })
  .flatMap((group) => Object.values(group) as Operation[])
  .filter(({ reply }) => reply instanceof z.ZodObject && 'next_cursor' in reply.shape);
/** Lists that bind their cursors themselves. */
const OWN = [
  '/api/mobile/contacts.php',
  '/api/mobile/call_history.php',
  '/api/mobile/history.php',
  '/api/v1/conversations',
];

test('cursors - the cursor of every list is bound to its other parameters', async () => {
  const unbound = paged.filter(({ query }) => positionIn(query) === undefined).map(({ path }) => path);
  assert.deepEqual([...new Set(unbound)].toSorted(), [...OWN].toSorted());
  const bound = paged.filter(({ query }) => positionIn(query) !== undefined);
  assert.ok(bound.length > 12, String(bound.length));
  /** Texts that are positions of one list or another. */
  const texts = ['7', '1003', '7-7', '0123456789abcdefghjkmnpqrs'];
  const made = new Map<Operation, string>();
  const refused = { code: 'invalid_request' };
  for (const op of bound) {
    const at = texts.find((text) => positionIn(op.query)!.test(text))!;
    let seen: unknown;
    const run = withBoundCursors((_, input) => {
      seen = (input as { query: { cursor?: string } }).query.cursor;
      return Promise.resolve({ next_cursor: at });
    }, op);
    const names = Object.keys((op.query as z.ZodObject).shape);
    const filters = names.filter((name) => !['cursor', 'limit', 'seen', 'wait'].includes(name));
    const params = { id: '1' };
    const query = Object.fromEntries(filters.map((name) => [name, 'one']));
    const read = async (input: object): Promise<string> =>
      ((await run({}, { params, query, ...input })) as { next_cursor: string }).next_cursor;
    const cursor = await read({});
    assert.equal(await read({ query: { ...query, cursor, limit: 2 } }), cursor, op.path);
    assert.equal(seen, at);
    for (const name of filters) {
      await assert.rejects(read({ query: { ...query, [name]: 'two', cursor } }), refused, op.path + name);
      await assert.rejects(read({ query: { ...query, [name]: undefined, cursor } }), refused, op.path + name);
    }
    await assert.rejects(read({ params: { id: '2' }, query: { ...query, cursor } }), refused, op.path);
    for (const text of [
      '',
      at,
      `${at}.`,
      `1'--${cursor.slice(at.length)}`,
      cursor.slice(0, -1),
      `${cursor}0`,
    ])
      await assert.rejects(read({ query: { ...query, cursor: text } }), refused, `${op.path} ${text}`);
    for (const [other, its] of made)
      if (other.path !== op.path)
        await assert.rejects(read({ query: { ...query, cursor: its } }), refused, `${op.path} ${other.path}`);
    made.set(op, cursor);
  }
});
