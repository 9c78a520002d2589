import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { shows } from '../../server/test/support/steps.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { COMPANY, FAR, deskSteps, isIn, strangerOf } from './desk-steps.ts';
import { go } from './people-steps.ts';
import { openPanel, panel, phoneOf, ready } from './phone-rig.ts';
import {
  assertAccessibleInBoth,
  assertNoTrouble,
  buildFirst,
  clientOf,
  close,
  signedIn,
  hasValue,
  fits,
} from './rig.ts';

const HTML = '<img src=x onerror=alert(1)>';
const PHONE = { width: 390, height: 844 };

/** True if the end of the element is within the dialog, which scrolls. */
async function isInSight(one: Locator, dialog: Locator): Promise<boolean> {
  const [box, frame] = await Promise.all([one.boundingBox(), dialog.boundingBox()]);
  return box !== null && frame !== null && box.y + box.height <= frame.y + frame.height;
}

describe('customers', () => {
  before(buildFirst);
  const site = useSite({ prepare: COMPANY });
  const browser = useBrowser();
  const { put } = deskSteps(site, browser);
  const dialog = (page: Page) => page.getByRole('dialog');
  const rows = (page: Page) => page.getByRole('list', { name: 'Customers' }).getByRole('listitem');
  const search = (page: Page) => page.getByRole('searchbox', { name: 'Search customers' });

  test('caller rules - a supervisor adds and deletes rules below the customers', async () => {
    const page = await signedIn(site(), browser(), '1001');
    await go(page, 'Customers');
    const rules = page.getByRole('region', { name: 'Blocked and allowed callers' });
    await rules.getByText('No rules.').waitFor();
    await rules.getByRole('textbox', { name: 'Number' }).fill('30 12');
    await rules.getByRole('textbox', { name: 'Note' }).fill(HTML);
    await rules.getByRole('combobox', { name: 'Callers' }).click();
    await page.getByRole('option', { name: 'All that begin with' }).click();
    await rules.getByRole('button', { name: 'Add rule' }).click();
    await rules.getByRole('alert').getByText('a prefix must begin with +').waitFor();
    await rules.getByRole('textbox', { name: 'Number' }).fill('+49 900');
    await rules.getByRole('button', { name: 'Add rule' }).click();
    await rules.getByRole('cell', { name: '+49900…' }).waitFor();
    await rules.getByRole('cell', { name: HTML }).waitFor();
    await assertAccessibleInBoth(page);
    await rules.getByRole('button', { name: 'Delete: +49900' }).click();
    await rules.getByText('No rules.').waitFor();
    assertNoTrouble(page);
    await close(page);
  });

  test('customers - created with several numbers, found in another spelling, changed and deleted', async () => {
    const page = await signedIn(site(), browser(), '1001');
    await go(page, 'Customers');
    await page.getByText('No customers yet').waitFor();
    await assertAccessibleInBoth(page);
    await page.getByRole('button', { name: 'New customer' }).click();
    const form = dialog(page);
    await form.getByRole('textbox', { name: 'Name' }).fill(HTML);
    await form.getByRole('textbox', { name: 'Company' }).fill('Çelik A.Ş.');
    await form.getByRole('textbox', { name: 'Number 1', exact: true }).fill('not a number');
    await form.getByRole('button', { name: 'Create customer' }).click();
    const refused = form.getByRole('alert').getByText('Numbers: not 1 to 32 digits');
    await refused.waitFor();
    await until('the error at the end of the form is in sight', () => isInSight(refused, form));
    const invalid = form.locator('[aria-invalid=true]');
    assert.equal(await invalid.getAttribute('aria-label'), 'Number 1');
    await form.getByRole('textbox', { name: 'Number 1', exact: true }).fill('0212 555 01 00');
    await form.getByRole('textbox', { name: 'Label of number 1' }).fill('Office');
    await form.getByRole('button', { name: 'Add a number' }).click();
    await form.getByRole('textbox', { name: 'Number 2', exact: true }).fill('+49 30 5550100');
    await form.getByRole('checkbox', { name: 'VIP' }).check();
    await form.getByRole('combobox', { name: 'Owner' }).fill('1003');
    await page.getByRole('option', { name: 'Zoë Müller 1003' }).click();
    await assertAccessibleInBoth(page, 'form');
    await form.getByRole('button', { name: 'Create customer' }).click();
    await until('the dialog is closed', async () => (await form.count()) === 0);
    await rows(page).getByText(HTML).waitFor();
    await rows(page).getByText('Zoë Müller').waitFor();
    const client = await clientOf(site(), '1001');
    const [made] = (await client.phonebook.list()).customers;
    assert.deepEqual(
      made?.numbers.map(({ number, label }) => [number, label]),
      [
        ['02125550100', 'Office'],
        ['+49305550100', null],
      ],
    );
    assert.equal(made.shared, true);
    await client.phonebook.create({ name: 'Beşiktaş Su', kind: 'company', company: 'Holding', shared: true });
    await until('the other one comes by itself', async () => (await rows(page).count()) === 2);
    await search(page).fill('celik 555');
    await until('one is left', async () => (await rows(page).count()) === 1);
    await search(page).fill('nowhere');
    await page.getByText('No matches').waitFor();
    await search(page).fill('');
    await until('both are listed', async () => (await rows(page).count()) === 2);
    await assertAccessibleInBoth(page, 'list');

    await page.getByRole('link', { name: HTML }).click();
    await page.getByRole('heading', { level: 1, name: HTML }).waitFor();
    await page.getByText('No conversations with these numbers').waitFor();
    await assertAccessibleInBoth(page, 'customer');
    await page.getByRole('button', { name: 'Edit' }).click();
    await form.getByRole('button', { name: 'Remove number 1' }).click();
    await form.getByRole('textbox', { name: 'Name' }).fill('Ayşe Çelik');
    // Another page was faster: what it wrote is not lost.
    await client.phonebook.replace(made.id, { name: 'Ayşe', shared: true }, { if_match: made.version });
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByRole('alert').getByText('It was changed by another user').waitFor();
    await form.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('heading', { level: 1, name: 'Ayşe' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await until('one is left', async () => (await rows(page).count()) === 1);

    // Programs and connected systems give a company a company of its own, which the form does not show.
    await rows(page).getByRole('link', { name: 'Beşiktaş Su' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await form.getByRole('textbox', { name: 'Note' }).fill('pays late');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('region', { name: 'About' }).getByText('pays late').waitFor();
    const [other] = (await client.phonebook.list()).customers;
    assert.deepEqual([other?.note, other?.company], ['pays late', 'Holding']);
    await close(page);
  });

  test('customers - a person has customers of their own and only reads shared ones', async () => {
    const shared = (
      await (
        await clientOf(site(), '1001')
      ).phonebook.create({ name: 'Everyone’s', numbers: [{ number: '1004' }], shared: true })
    ).customer;
    const page = await signedIn(site(), browser(), '1008', { path: '/customers', size: PHONE });
    await page.getByRole('button', { name: 'New customer' }).click();
    await dialog(page).getByRole('textbox', { name: 'Name' }).fill('My dentist');
    assert.equal(
      await dialog(page)
        .getByRole('checkbox', { name: /Shared/ })
        .count(),
      0,
    );
    await dialog(page).getByRole('button', { name: 'Create customer' }).click();
    await rows(page).getByText('Only you').waitFor();
    await assertAccessibleInBoth(page, 'narrow');
    await fits(page);
    await using own = await site().phone('1008');
    await shows(await site().person('1008'), '1008', 'online', 'idle');
    await page.getByRole('button', { name: /^My presence.*Available/s }).waitFor();
    // The notice goes by itself after some seconds.
    const told = page.getByText('Your phone rings: pick up, and Everyone’s is called.').waitFor();
    await rows(page).getByRole('button', { name: 'Call Everyone’s, 1004' }).click();
    const [rings] = await Promise.all([own.incoming(), told]);
    rings.reject(603);
    await rows(page).getByRole('link', { name: shared.name }).click();
    await page.getByText('Supervisors and administrators can change this customer.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Edit' }).count(), 0);
    await close(page);
  });

  test('customers - a file is checked before it is stored, findings are named by line, and the export has it', async () => {
    const page = await signedIn(site(), browser(), '1001', { path: '/customers' });
    await page.getByRole('button', { name: 'Import' }).click();
    const form = dialog(page);
    const csv =
      'name;number_1;email_1;colour\r\nÇiğdem Öz;0212 555 02 00;nonsense;red\r\n;0212 555 02 01;;\r\n';
    const choose = (name: string): Promise<void> =>
      form
        .locator('input[type=file]')
        .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await choose('customers.csv');
    await form.getByText('Nothing is stored yet').waitFor();
    const findings = form.getByRole('table', { name: '2 findings' });
    await findings.getByRole('row', { name: '2 email_1 is not an e-mail address only this value' }).waitFor();
    await findings.getByRole('row', { name: '3 name is missing the whole line' }).waitFor();
    await form.getByText('Columns without a meaning here: colour').waitFor();
    await form.getByText(/^1 number has no country/).waitFor();
    await assertAccessibleInBoth(page, 'import');
    const client = await clientOf(site(), '1001');
    const stored = async () => (await client.phonebook.list({ q: 'Çiğdem' })).customers;
    assert.deepEqual(await stored(), []);
    // Another character set is another reading of the same file.
    await form.getByRole('combobox', { name: 'Character set' }).click();
    await page.getByRole('option', { name: /Windows-1252/ }).click();
    await form.getByText('Nothing is stored yet').waitFor({ state: 'detached' });
    await form.getByRole('combobox', { name: 'Character set' }).click();
    await page.getByRole('option', { name: 'UTF-8 or UTF-16' }).click();
    await choose('customers.csv');
    await form.getByText('Nothing is stored yet').waitFor();
    await form.getByRole('button', { name: 'Import', exact: true }).click();
    await form.getByText('The file is imported').waitFor();
    assert.equal((await stored()).length, 1);
    await form.getByText('Close', { exact: true }).click();
    await rows(page).getByText('Çiğdem Öz').waitFor();

    await page.getByRole('button', { name: 'Export' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'Shared customers, CSV' }).click();
    const file = await download;
    assert.equal(file.suggestedFilename(), 'customers.csv');
    assert.match(await readFile(await file.path(), 'utf8'), /Çiğdem Öz/);
    await close(page);
  });

  test('customers - a stranger who rings becomes a customer by one click; all who share a number are shown', async () => {
    await put('login');
    await put('unpause');
    const page = await phoneOf(site(), browser(), '1003', { path: '/desk' });
    await isIn(page, 'Available');
    const card = (of: Page | Locator) => of.getByRole('group', { name: 'Customer' });
    const desk = page.locator('#content');
    await using stranger = await strangerOf(site());
    const call = await stranger.invite('+493055500');
    await card(panel(page)).getByRole('button', { name: 'Create customer' }).waitFor();
    await card(desk).getByRole('button', { name: 'Create customer' }).click();
    const form = dialog(page);
    await hasValue(form.getByRole('textbox', { name: 'Number 1', exact: true }), FAR);
    await form.getByRole('textbox', { name: 'Name' }).fill('Eve Adams');
    await form.getByRole('checkbox', { name: 'VIP' }).check();
    await assertAccessibleInBoth(page, 'form over a call');
    await form.getByRole('button', { name: 'Create customer' }).click();
    await card(desk).getByRole('link', { name: 'Eve Adams' }).waitFor();
    await card(panel(page)).getByText('VIP').waitFor();
    await assertAccessibleInBoth(page, 'ringing');
    await call.hangup();
    const own = await clientOf(site(), '1003');
    assert.equal((await own.phonebook.lookup({ number: FAR })).customers[0]?.shared, false);
    const admin = await clientOf(site(), '1001');
    // The card reads the last conversation once, when the next call rings.
    await until('the conversation is over', async () => {
      const { conversations } = await admin.conversations.list({ number: FAR });
      return conversations.length > 0 && conversations.every(({ ended_at }) => ended_at !== null);
    });
    await admin.phonebook.create({
      name: 'Adams & Sons',
      kind: 'company',
      owner: '1004',
      numbers: [{ number: FAR }, { number: '+493055512', label: 'Office' }],
      shared: true,
    });
    await page.reload();
    await ready(page);
    await openPanel(page);
    // The dialog took longer than the phone rang.
    await put('unpause');
    await isIn(page, 'Available');
    const again = await stranger.invite('+493055500');
    await card(desk).getByText('2 customers share this number').waitFor();
    await card(desk).getByText('Owner: José Ibáñez').waitFor();
    await card(desk).getByText('Other numbers: +493055512 (Office)').waitFor();
    await card(panel(page))
      .getByText(/^Last conversation .*: Gave up in the queue$/)
      .waitFor();
    await again.hangup();
    assertNoTrouble(page);
    await page.context().close();
  });
});
