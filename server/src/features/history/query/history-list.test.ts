import assert from 'node:assert/strict';
import { test } from 'node:test';
import { historyScene, recorded } from '../../../../test/support/history-scene.ts';
import { readPage, readStats } from './list.ts';
import type { ListQuery } from './list.ts';
import { findRows } from './list.ts';
import type { Tables } from '../store/tables.ts';

test('history - a page is found by an index at any depth, and never sorted', async () => {
  await using scene = await historyScene();
  const db = scene.store.db<Tables>();
  const plans: string[] = [];
  const sums: string[] = [];
  const explaining = db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: ({ result }) => Promise.resolve(result),
  });
  for (const own of [true, false]) {
    for (const filter of ['all', 'missed'] as const) {
      for (const after of [null, { at: 1_795_228_606_000_000, id: 7 }]) {
        const list: ListQuery = {
          extension: '1001',
          own,
          filter,
          q: '',
          from_us: 1,
          to_us: 2_000_000_000_000_000,
        };
        const compiled: { sql: string; parameters: readonly unknown[] }[] = [];
        const watching = explaining.withPlugin({
          transformQuery: ({ node, queryId }) => {
            compiled.push(db.getExecutor().compileQuery(node as never, queryId));
            return node;
          },
          transformResult: ({ result }) => Promise.resolve(result),
        });
        await readPage(watching, list, { limit: 51, offset: 0, after });
        await readStats(watching, { ...list, to_us: null });
        for (const { sql, parameters } of compiled) {
          const plan = await db.executeQuery<{ detail: string }>({
            ...db.selectNoFrom((e) => e.val(1).as('x')).compile(),
            sql: `explain query plan ${sql}`,
            parameters,
            query: { kind: 'RawNode', sqlFragments: [], parameters: [] } as never,
          });
          const text = plan.rows.map((r) => r.detail).join('; ');
          (sql.includes('sum(') ? sums : plans).push(text);
        }
      }
    }
  }
  for (const plan of plans)
    assert.match(plan, /^SEARCH history_rows USING INDEX history_rows_(own|all)/, plan);
  for (const plan of plans) assert.doesNotMatch(plan, /TEMP B-TREE|SCAN/, plan);
  assert.equal(sums.length, 8);
  for (const plan of sums)
    assert.match(
      plan,
      /^SEARCH history_rows USING COVERING INDEX history_rows_(own|all)_direction \(.*direction=\? AND started_us>\?\)$/,
      plan,
    );
});

test('history search - an index leads from a text to its rows, also in a database without ANALYZE', async () => {
  await using scene = await historyScene();
  const db = scene.store.db<Tables>();
  const statements: { sql: string; parameters: readonly unknown[] }[] = [];
  const watching = db.withPlugin({
    transformQuery: ({ node, queryId }) => {
      statements.push(db.getExecutor().compileQuery(node as never, queryId));
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  });
  await scene.feed(...recorded('internal-answered'));
  const list = { extension: '1001', own: true, filter: 'in', q: '100', from_us: 1, to_us: null } as const;
  await findRows(watching, list);
  const { sql, parameters } = statements.find((s) => s.sql.includes('history_rows'))!;
  const plan = await db.executeQuery<{ detail: string }>({
    ...db.selectNoFrom((e) => e.val(1).as('x')).compile(),
    sql: `explain query plan ${sql}`,
    parameters,
    query: { kind: 'RawNode', sqlFragments: [], parameters: [] } as never,
  });
  assert.match(
    plan.rows.map((row) => row.detail).join('; '),
    /^SEARCH t USING INTEGER PRIMARY KEY .*; SEARCH r USING COVERING INDEX history_rows_search \(search=\? AND extension=\?\)$/,
  );
});
