/** Desk phones: one that waits is assigned, fetches, registers and is shown so; its address is handed over as a QR code. */
import { before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { apply, ask } from '../../server/test/support/config-steps.ts';
import { provisionedPhone } from '../../server/test/support/provisioned-phone.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { adminPage } from './people-steps.ts';
import { assertAccessible, assertNoTrouble, buildFirst, clientOf, fits, nothingBeside } from './rig.ts';

describe('phones', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();
  const adminAt = adminPage(site, browser);

  test('phones - a waiting phone is assigned by a click, ends registered, and is shown so', async () => {
    await ask(site(), 'POST', '/phones', { name: 'desk', vendor: 'yealink', extensions: ['1007'] });
    assert.equal((await apply(site())).state, 'applied');
    await using waiting = await provisionedPhone(`${site().base}/provision/`, '001565aabbcc');
    assert.equal(await waiting.fetch(), 404);

    const page = await adminAt('/admin/config/phones');
    await page.getByText('Never fetched').waitFor();
    await page.getByRole('button', { name: 'Assign: 00:15:65:aa:bb:cc' }).click();
    await page.getByRole('cell', { name: 'Assigned to desk until its next fetch' }).waitFor();
    await assertAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await fits(page);
    await nothingBeside(page);
    await assertAccessible(page);
    assert.equal(await waiting.fetch(), 200);
    await waiting.register();
    // The page reads them once for each click.
    const { phones } = await clientOf(site(), '1001');
    await until('the service has its registration', async () =>
      (await phones.list()).phones.some(({ name, registered }) => name === 'desk' && registered),
    );
    const refresh = page.getByRole('button', { name: 'Refresh' });
    await refresh.click();
    await page.getByText('Configuration is current').waitFor();
    await page.getByText('Registered', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Fetch now: desk' }).click();
    await page.getByText('The phone was asked.').waitFor();
    await until('the phone to fetch with its token', () => waiting.fetches === 2);
    await refresh.click();
    await page.getByText('Waiting phones').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Hand over: desk' }).click();
    const dialog = page.getByRole('dialog');
    const own = waiting.settings.get('static.auto_provision.server.url')!;
    await dialog.getByText(own).waitFor();
    await dialog.getByRole('img', { name: 'Address of desk' }).waitFor();
    await assertAccessible(page);
    assertNoTrouble(page);
  });
});
