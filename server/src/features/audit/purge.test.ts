import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { until } from '../../../test/support/until.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import { createAudit } from './service.ts';
import type { Tables } from './personal-data.ts';

const DAY_MS = 86_400_000;

test('audit - one run deletes all lines older than 400 days, and reads none of the others', async (t) => {
  await using temp = await temporaryStore();
  const clock = createVirtualClock();
  const conditions: string[] = [];
  t.mock.timers.enable({ apis: ['setInterval'] });
  const audit = await createAudit(
    {
      ...temp.store,
      db: <T>() =>
        temp.store.db<T>().withPlugin({
          transformQuery({ node }) {
            conditions.push(JSON.stringify(node));
            return node;
          },
          transformResult: ({ result }) => Promise.resolve(result),
        }),
    },
    clock,
    silent,
  );
  const days = [...Array<number>(12_000).fill(401), -1, 500, ...Array<number>(2_000).fill(399)];
  await temp.store.transaction<Tables, void>(async (trx) => {
    for (const day of days)
      await trx
        .insertInto('audit')
        .values({
          at: clock.now() - day * DAY_MS,
          action: 'x',
          actor: null,
          object: null,
          outcome: 'ok',
          ip: null,
          detail: '{}',
        })
        .execute();
  });
  const left = async (): Promise<number> =>
    (await temp.store.db<Tables>().selectFrom('audit').select('id').execute()).length;
  conditions.length = 0;
  t.mock.timers.tick(3_600_000);
  // A line of a clock that was ahead stays, and does not hinder the deletion of later ones.
  await until('the old lines to be deleted', async () => (await left()) <= 2_001);
  assert.equal(await left(), 2_001);
  const byTime = conditions.filter((one) => one.includes('"name":"at"'));
  assert.ok(byTime.length > 0);
  for (const one of byTime) assert.match(one, /"<="/, 'each search by time has a greatest id');
  await audit.close();
});
