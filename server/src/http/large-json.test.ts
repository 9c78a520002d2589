import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { hostFixture } from '../../test/support/host-fixture.ts';
import { checkJson } from '../core/json-check.ts';
import { parseInTurns } from './large-json.ts';

const outcome = async (work: () => unknown): Promise<unknown> => {
  try {
    return { value: await work() };
  } catch {
    return 'refused';
  }
};
const atOnce = (text: string): unknown => {
  checkJson(text);
  return JSON.parse(text);
};
const same = async (text: string): Promise<void> =>
  assert.deepEqual(
    await outcome(() => parseInTurns(text, JSON.parse)),
    await outcome(() => atOnce(text)),
    text,
  );

test('large json - JSON parsed in turns equals JSON parsed at once', async () => {
  const document = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom('2', '10', 'changes', '1')),
    fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.array(fc.jsonValue({ maxDepth: 3 }))),
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(document, fc.jsonValue({ maxDepth: 4 })), fc.nat(3), async (value, indent) =>
      same(JSON.stringify(value, null, indent)),
    ),
  );
});
test('large json - text that is no JSON at once is none in turns', async () => {
  const unit = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    '\\',
    ',',
    ':',
    '1',
    ' ',
    '"a":',
    '{"a":[',
    '],"b":[',
    ']}',
  );
  await fc.assert(fc.asyncProperty(fc.string({ unit, maxLength: 24 }), same), { numRuns: 3_000 });
});
test('large json - others get their turn while it is read', async () => {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const rows = Array.from({ length: 20_000 }, (_, i) => ({ op: 'create', object: { name: `n${i}` } }));
  const value = await parseInTurns(JSON.stringify({ changes: rows }), JSON.parse);
  clearImmediate(next);
  assert.deepEqual(value, { changes: rows });
  assert.ok(turns > 10, `others got ${turns} turns`);
});
test('large json - more than a million values are refused before anything is parsed', async () => {
  let parses = 0;
  const text = `{"changes":[${'{},'.repeat(7_000_000)}{}]}`;
  await assert.rejects(
    parseInTurns(text, () => (parses += 1)),
    /body: more than 1000000 values/,
  );
  assert.equal(parses, 0);
});

test('large json - a request of millions of values keeps no other request waiting', async (t) => {
  const host = await hostFixture();
  t.after(() => host.close());
  const Changes = z.strictObject({ changes: z.array(z.record(z.string(), z.unknown())).max(25_000) });
  host.app.post(
    '/api/v1/changes',
    {
      config: { level: 'public', bodyBytes: 24 * 1024 * 1024 },
      schema: { body: Changes, response: { 200: z.object({ count: z.int() }) } },
    },
    ({ body }) => ({ count: body.changes.length }),
  );
  host.app.get('/here', { config: { level: 'public' } }, () => 'yes');
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  const address = `http://127.0.0.1:${port}`;
  const post = async (body: string): Promise<{ status: number; text: string; others: number }> => {
    let others = 0;
    let running = true;
    const beside = (async () => {
      while (running) {
        const { status } = await fetch(`${address}/here`);
        assert.equal(status, 200);
        others += running ? 1 : 0;
      }
    })();
    const reply = await fetch(`${address}/api/v1/changes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = await reply.text().finally(() => (running = false));
    await beside;
    return { status: reply.status, text, others };
  };
  const millions = await post(`{"changes":[${'{},'.repeat(7_000_000)}{}]}`);
  assert.deepEqual([millions.status, /more than 1000000 values/.test(millions.text)], [400, true]);
  const many = await post(`{"changes":[${'{},'.repeat(450_000)}{}]}`);
  assert.equal(many.status, 400);
  assert.match(many.text, /changes: must have at most 25000 entries, has 450001/);
  assert.ok(many.others > 5, `${many.others} requests were answered meanwhile`);
  const good = await post(
    JSON.stringify({ changes: Array.from({ length: 25_000 }, () => ({ a: 'x'.repeat(800) })) }),
  );
  assert.deepEqual([good.status, good.text], [200, '{"count":25000}']);
  assert.ok(good.others > 5, `${good.others} requests were answered meanwhile`);
});
