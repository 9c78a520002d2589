import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { assertAccessible, buildFirst, consoleOf, focusIsOn } from './rig.ts';

describe('console confirmation', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('confirmation - what touches secrets asks for the password in one dialog, and goes on with what was asked', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/admin/api-keys' });
    await page.getByRole('button', { name: 'New API key' }).first().waitFor();
    // Confirmations are held in memory, so a restart requires a new one, as five minutes do.
    await site().kill('SIGKILL');
    await site().start();
    const make = async (name: string) => {
      await page.reload();
      await page.getByRole('button', { name: 'New API key' }).first().click();
      const form = page.getByRole('dialog', { name: 'New API key' });
      await form.getByRole('textbox', { name: 'Name' }).fill(name);
      await form.getByRole('checkbox').first().check();
      await form.getByRole('button', { name: 'Create key' }).click();
      return form;
    };
    const asked = page.getByRole('dialog', { name: 'Confirm that it is you' });
    const form = await make('first');
    await asked.waitFor();
    await focusIsOn(page, asked.getByLabel('Your password'));
    await assertAccessible(page);
    await asked.getByRole('button', { name: 'Cancel' }).click();
    await form.getByRole('alert').getByText('Confirm with your password first').waitFor();
    await form.getByRole('button', { name: 'Create key' }).click();
    await asked.getByLabel('Your password').fill('wrong');
    await page.keyboard.press('Enter');
    await asked.getByRole('alert').getByText('Unknown person or wrong password').waitFor();
    const own = (await site().credentials()).find((one) => one.extension === '1001');
    await asked.getByLabel('Your password').fill(own?.password ?? '');
    await page.keyboard.press('Enter');
    await page.locator('pre').waitFor();
    assert.match(await page.locator('pre').innerText(), /^ohk_/);
    await until('it asks no more', async () => (await asked.count()) === 0);
    await make('second');
    await page.locator('pre').waitFor();
    assert.equal(await asked.count(), 0);
  });
});
