/** What the console creates is created once, though the answer was lost; a refusal holds only as long as its reason. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { assertNoTrouble, buildFirst, clientOf, close, signedIn } from './rig.ts';

describe('lost answers', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();
  /** The service carries out the next request to this path, and its answer never arrives. */
  const loseAnswer = (page: Page, path: string): Promise<unknown> =>
    page.route(
      path,
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );

  test('wallboard - a board whose creation lost its answer is created once', async () => {
    const page = await signedIn(site(), browser(), '1002', { path: '/wallboard/0' });
    await page.getByRole('button', { name: 'Actions of this board' }).click();
    await page.getByRole('menuitem', { name: 'Displays' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Wall');
    await loseAnswer(page, '**/api/v1/boards');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('The service cannot be reached').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('No display shows this board').waitFor();
    const { boards } = await (await clientOf(site(), '1002')).boards.list();
    assert.deepEqual(
      boards.map(({ name }) => name),
      ['Wall'],
    );
    assertNoTrouble(page);
    await close(page);
  });

  test('webhooks - a creation that was refused succeeds once its reason is gone, and is made once though its answer was lost', async () => {
    const { webhooks } = await clientOf(site(), '1001');
    const page = await signedIn(site(), browser(), '1001', { path: '/admin/webhooks' });
    await page.getByRole('button', { name: 'New webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Address' }).fill('http://10.0.0.1/private');
    await dialog.getByPlaceholder('Type and press Enter').fill('presence');
    await page.keyboard.press('Enter');
    const make = dialog.getByRole('button', { name: 'Make the webhook' });
    await make.click();
    await dialog.getByRole('alert').getByText('The service never calls this address').waitFor();
    await webhooks.setSettings({ private_targets: ['10.0.0.1'] });
    await loseAnswer(page, '**/api/v1/webhooks');
    await make.click();
    await dialog.getByText('The service cannot be reached').waitFor();
    await make.click();
    await page.getByRole('dialog', { name: 'Secret of the webhook' }).getByText('whsec_').waitFor();
    assert.equal((await webhooks.list()).webhooks.length, 1);
    assertNoTrouble(page);
    await close(page);
  });
});
