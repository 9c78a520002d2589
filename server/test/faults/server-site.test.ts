import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { runServerFaults } from '../support/server-faults.ts';
import { statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('server site', () => {
  let server: TestPostgres;
  let url = '';
  before(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
  });
  const site = useSite(() => ({ env: { OFFHOOK_DATABASE_URL: url, OFFHOOK_SITE_STORE: 'postgres' } }));
  after(() => server[Symbol.asyncDispose]());

  test('server site - killed, frozen and restarted with its database by chance: nothing is lost or doubled', async (t) => {
    for (const extension of ['1003', '1004', '1005']) {
      const agent = await site().person(extension);
      await agent.agent('login');
    }
    const seed = 20_261_126;
    const counts = await runServerFaults({ site: site(), server, url, seed, over: (faults) => faults >= 8 });
    t.diagnostic(`seed ${seed}: ${JSON.stringify(counts)}`);
    assert.ok(counts.calls > 3 && counts.changes > 3, JSON.stringify(counts));
  });

  test('server site - changes work again once the database answers', async (t) => {
    const agent = await site().person('1003');
    for (const action of ['pause', 'unpause']) {
      await server.kill();
      let last: unknown;
      const asks = async (): Promise<boolean> =>
        agent.agent(action, action === 'pause' ? { reason: 'break' } : {}).then(
          () => true,
          (error: unknown) => ((last = error), false),
        );
      // Its failed attempts must not put off the one that works; postgres/link.test.ts has the pauses after them.
      const back = server.start().then(() => performance.now());
      await until('a confirmed change', asks, { every: 50, seen: () => ({ last }) });
      const confirmed = performance.now();
      const ms = Math.round(confirmed - (await back));
      t.diagnostic(`${action}: confirmed ${ms} ms after the database answered`);
    }
  });

  test('server site - a second service on the database does not start, and names the first', async () => {
    const [held] = await server.run(url, 'select holder, location, term from offhook_log');
    await server.run(
      url,
      `update offhook_log set term = term + 1, holder = 'other', location = 'another host', until = now() + interval '1 hour'`,
    );
    await until('the service to end by itself', () => site().exitCode !== null);
    assert.equal(site().exitCode, 1);
    assert.match(site().tail(), /another process took the log of this site/);
    await assert.rejects(site().start(), /another Offhook \(another host\) runs the site of this database/);
    await server.run(url, `update offhook_log set until = now() - interval '1 s'`);
    await site().start();
    const [taken] = await server.run(url, 'select holder, location, term from offhook_log');
    assert.equal(taken?.['holder'], held?.['holder']);
    const agent = await site().person('1003');
    await agent.agent('pause', { reason: 'break' });
    await statusIs(agent, 'PAUSED', 'break');
  });

  test('server site - a database that lost a table or the row of the site is reported at start, and nothing is changed', async () => {
    await site().kill('SIGUSR2');
    const [head] = await server.run(url, 'select head from offhook_log');
    await server.run(url, 'alter table caller_rules rename to kept_elsewhere');
    await assert.rejects(
      site().start(),
      /store_damaged.*holds the events of a site without the tables caller_rules: restore a whole backup/s,
    );
    await server.run(url, 'alter table kept_elsewhere rename to caller_rules');
    const [row] = await server.run(url, 'delete from site returning id');
    await assert.rejects(site().start(), /store_damaged.*without the row of the table site/s);
    assert.deepEqual(await server.run(url, 'select head from offhook_log'), [head]);
    await server.run(url, `insert into site values ('${String(row?.['id'])}')`);
    await site().start();
  });
});
