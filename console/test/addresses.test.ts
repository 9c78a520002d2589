/** Addresses that name no object. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { apply, ask } from '../../server/test/support/config-steps.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { assertAccessible, buildFirst, close, signedIn } from './rig.ts';

/** Addresses, and where the page leads back to. */
const NOWHERE = [
  ['/admin/config/queues/nope', '/admin/config/queues'],
  ['/admin/config/queues?copy=nope', '/admin/config/queues'],
  ['/admin/config/nope', '/admin/config'],
  ['/admin/applies/999', '/admin/versions'],
  ['/admin/versions/x', '/admin/config'],
  ['/admin/versions/999', '/admin/versions'],
  ['/customers/000', '/customers'],
  ['/customers/999', '/customers'],
  ['/admin/people/9999', '/admin/people'],
  ['/admin/people/abc', '/admin/people'],
  ['/admin/webhooks/999', '/admin/webhooks'],
  ['/admin/webhooks/abc', '/admin/webhooks'],
  ['/admin/connectors/999', '/admin/connectors'],
  ['/wallboard/abc', '/wallboard/0'],
] as const;

describe('addresses', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('addresses - a page without its object says so and leads to those there are', async () => {
    const page = await signedIn(site(), browser(), '1001');
    for (const [address, back] of NOWHERE) {
      await page.goto(site().base + address);
      await page.getByRole('heading', { level: 1, name: 'Not found: it may have been deleted' }).waitFor();
      assert.equal(await page.locator('#content form').count(), 0, address);
      // The snapshot of the stream lets the page read its object again.
      await page.locator(`#content a[href="${back}"]`).waitFor();
    }
    await assertAccessible(page);
    await page.goto(`${site().base}/history/xyz`);
    await page.getByRole('heading', { level: 1, name: 'Conversation not found' }).waitFor();
    await close(page);
  });

  test('addresses - a page whose object was deleted shows no form; a list says that the draft has deleted all', async () => {
    await ask(site(), 'POST', '/trunks', { name: 'far', title: 'Far', host: '192.0.2.1' });
    assert.equal((await apply(site())).state, 'applied');
    const page = await signedIn(site(), browser(), '1001', { path: '/admin/config/trunks/far' });
    await page.getByRole('heading', { level: 1, name: 'Far' }).waitFor();
    await ask(site(), 'DELETE', '/trunks/far');
    await page.getByText('1 change is not applied').waitFor();
    await page.getByRole('link', { name: 'Configuration', exact: true }).first().click();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Not found: it may have been deleted' }).waitFor();
    await page.locator('#content').getByRole('link', { name: 'Trunks' }).click();
    await page.getByText('All trunks are deleted in the draft').waitFor();
    await close(page);
  });
});
