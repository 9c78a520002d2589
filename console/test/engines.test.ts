/** Engines of a site in the configuration: their own page, and the field of people and queues that appears with the first one. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startPostgres } from '../../server/test/support/postgres.ts';
import type { TestPostgres } from '../../server/test/support/postgres.ts';
import { startSite } from '../../server/test/support/site.ts';
import type { Site } from '../../server/test/support/site.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser } from '../../server/test/support/use-site.ts';
import { choose, create, field, follow } from './admin-steps.ts';
import { assertAccessibleInBoth, assertNoTrouble, buildFirst, consoleOf } from './rig.ts';

describe('console engines', () => {
  let server: TestPostgres;
  let site: Site;
  before(async () => {
    await buildFirst();
    server = await startPostgres();
    site = await startSite({
      env: {
        OFFHOOK_NODE: 'a',
        OFFHOOK_DATABASE_URL: await server.createDatabase(),
        OFFHOOK_SITE_STORE: 'postgres',
      },
    });
  });
  after(async () => {
    await site?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });
  const browser = useBrowser();

  test('engines - an engine is added, people and queues then have a field for it, and a queue of two engines is refused at its member', async () => {
    const page = await consoleOf(site, browser(), '1001', { path: '/admin/config/extensions/1002' });
    await field(page, 'name').waitFor();
    assert.equal(await field(page, 'engine').count(), 0);
    await follow(page, '/admin/config/engines', '/admin/config/engines?new=1');
    await field(page, 'node').fill('b');
    await field(page, 'title').fill('Branch');
    await field(page, 'host').fill('branch.example.com');
    await create(page);
    await until(
      'a name is refused as address',
      async () => (await field(page, 'host').getAttribute('aria-invalid')) === 'true',
    );
    await assertAccessibleInBoth(page);
    await field(page, 'host').fill('192.0.2.9');
    await create(page);
    await page.getByRole('heading', { level: 1, name: 'Branch' }).waitFor();
    await assertAccessibleInBoth(page);
    await follow(page, '/admin/config/extensions', '/admin/config/extensions/1002');
    await field(page, 'engine').waitFor();
    await follow(page, '/admin/config/queues', '/admin/config/queues/support');
    await choose(page, 'engine', 'b');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must be homed at the engine of the queue').first().waitFor();
    assertNoTrouble(page);
  });
});
