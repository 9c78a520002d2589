/** The nodes of a site on System health, which a web node serves while the site passes from one engine node to the other. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startNodes, startWebNode } from '../../server/test/support/nodes.ts';
import type { TestNodes } from '../../server/test/support/nodes.ts';
import { startNats } from '../../server/test/support/nats.ts';
import type { TestNats } from '../../server/test/support/nats.ts';
import type { Site } from '../../server/test/support/site.ts';
import { startPostgres } from '../../server/test/support/postgres.ts';
import type { TestPostgres } from '../../server/test/support/postgres.ts';
import { useBrowser } from '../../server/test/support/use-site.ts';
import { assertAccessibleInBoth, buildFirst, consoleOf } from './rig.ts';

const LONG = { timeout: 60_000 };

describe('console nodes', () => {
  let server: TestPostgres;
  let nodes: TestNodes;
  let nats: TestNats;
  let web: Site;
  before(async () => {
    await buildFirst();
    server = await startPostgres();
    const url = await server.createDatabase();
    nats = await startNats();
    const settings = { OFFHOOK_NATS: nats.url };
    nodes = await startNodes({ a: url, b: url }, settings);
    web = await startWebNode('w1', url, settings);
  });
  after(async () => {
    await web?.[Symbol.asyncDispose]();
    await nodes?.[Symbol.asyncDispose]();
    await nats?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });
  const browser = useBrowser();

  test('nodes - an administrator switches, drains and undrains by a click at a web node, and the trail names it', async () => {
    const { a } = nodes;
    const site = { base: web.base, credentials: () => a.site.credentials() };
    const page = await consoleOf(site, browser(), '1001', { path: '/admin/health' });
    const table = page.getByRole('table', { name: 'Nodes of the site' });
    const row = (name: string) => table.getByRole('row').filter({ hasText: new RegExp(`^${name}http`) });
    const click = async (label: string, name: string): Promise<void> => {
      await row(name)
        .getByRole('button', { name: `${label}: ${name}` })
        .click(LONG);
      const asked = page.getByRole('dialog');
      await asked.getByRole('button', { name: label }).click();
    };
    /** The node that leads now holds no confirmation of this session. */
    const confirm = async (): Promise<void> => {
      const field = page.getByRole('dialog', { name: 'Confirm that it is you' }).getByLabel('Your password');
      await field.fill((await site.credentials()).find((one) => one.extension === '1001')?.password ?? '');
      await page.keyboard.press('Enter');
    };
    await row('a').getByText('Leads', { exact: true }).waitFor(LONG);
    await row('w1').getByText('Web node', { exact: true }).waitFor();
    for (const name of ['a', 'b', 'w1'])
      await row(name).getByText('Connected', { exact: true }).waitFor(LONG);
    await assertAccessibleInBoth(page);
    assert.equal(await row('a').getByRole('button', { name: 'Let it lead: a' }).count(), 0);

    await click('Let it lead', 'b');
    await row('b').getByText('Leads', { exact: true }).waitFor(LONG);
    await row('a').getByRole('button', { name: 'Let it lead: a' }).waitFor(LONG);

    await click('Drain', 'b');
    await confirm();
    await row('a').getByText('Leads', { exact: true }).waitFor(LONG);
    await row('b').getByText('Drained', { exact: true }).waitFor(LONG);
    assert.equal(await row('b').getByRole('button', { name: 'Let it lead: b' }).count(), 0);
    await click('End drain', 'b');
    await row('b').getByText('Stands by', { exact: true }).waitFor(LONG);

    await nats.kill();
    for (const name of ['a', 'b', 'w1']) await row(name).getByText('Away', { exact: true }).waitFor(LONG);

    const trail = (await page.evaluate(
      `fetch('/api/v1/audit?limit=50').then((answer) => answer.json())`,
    )) as { readonly entries: readonly { readonly action: string; readonly object: string | null }[] };
    assert.deepEqual(
      trail.entries
        .filter(({ action }) => action.startsWith('node.'))
        .map(({ action, object }) => [action, object]),
      [
        ['node.undrained', 'b'],
        ['node.drained', 'b'],
        ['node.switched', 'b'],
      ],
    );
    const refused = (await page.evaluate(
      `fetch('/api/v1/nodes/b/drain', { method: 'DELETE' }).then(async (answer) => [answer.status, (await answer.json()).code])`,
    )) as unknown;
    assert.deepEqual(refused, [409, 'node_not_ready']);
  });
});
