/** Connectors: created from a file, tried, their ledger, and what a person decides. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { issueCertificate } from '../../server/src/adapters/certificates/local-authority.ts';
import { crmFile, startCrm } from '../../server/test/support/crm.ts';
import type { Crm, Mood } from '../../server/test/support/crm.ts';
import { startRadicale } from '../../server/test/support/radicale.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { COMPANY, FAR, deskSteps, strangerOf } from './desk-steps.ts';
import { adminPage, go } from './people-steps.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertNoTrouble,
  buildFirst,
  clientOf,
  hasValue,
  fits,
} from './rig.ts';

const SECRET = 'geheim-4711';
const HTML = '<img src=x onerror=alert(1)>';

describe('connectors', () => {
  let crm: Crm;
  before(buildFirst);
  before(async () => {
    crm = await startCrm();
    crm.customers.set(FAR, 'c2');
  });
  after(() => crm[Symbol.asyncDispose]());
  const site = useSite({
    async prepare(dataDir) {
      await COMPANY(dataDir);
      const own = path.join(dataDir, 'connectors');
      await mkdir(own, { recursive: true });
      await writeFile(path.join(own, 'small.yaml'), crmFile('ledger'));
      await writeFile(path.join(own, 'wrong.yaml'), 'connector: 1\nname: Wrong\n');
    },
  });
  const browser = useBrowser();
  const { put } = deskSteps(site, browser);
  const adminAt = adminPage(site, browser);
  const dialog = (page: Page) => page.getByRole('dialog');
  const rows = (page: Page) => page.locator('[data-entry]');
  /** The system does this with the next entries that are created. */
  const creates = (mood: Mood): void => {
    crm.mood = (request) => (request === 'POST /entries' ? mood : 'works');
  };
  async function callOnce(): Promise<void> {
    await using stranger = await strangerOf(site());
    const call = await stranger.invite('+493055500');
    await call.hangup();
  }

  test('connectors - created from a file of the list, tried with the words of the system, changed without its secret', async () => {
    const page = await adminAt('/');
    await go(page, 'Connectors');
    await page.getByText('No connectors yet').waitFor();
    await assertAccessibleInBoth(page);
    await page.getByRole('button', { name: 'New connector' }).click();
    const form = dialog(page);
    await form.getByText('own/wrong cannot be used').waitFor();
    const system = form.getByRole('combobox', { name: 'System' });
    await system.fill('Tryton');
    await page.getByRole('option', { name: /Tryton/ }).click();
    await form.getByText('Tried against the real system', { exact: true }).waitFor();
    await system.fill('Small');
    await page.getByRole('option', { name: 'Small CRM (own/small)' }).click();
    await form.getByText('Not tried against the real system').waitFor();
    await form.getByLabel('Name').fill(HTML);
    await form.getByRole('textbox', { name: 'Address' }).fill(crm.url);
    const token = form.locator('input[type=password]');
    await token.fill(SECRET);
    await assertAccessibleInBoth(page, 'form');
    await form.getByRole('button', { name: 'Create connector' }).click();
    await form.getByRole('alert').getByText('The service never calls this address').waitFor();
    const admin = await clientOf(site(), '1001');
    await admin.webhooks.setSettings({ private_targets: ['127.0.0.1'] });
    await form.getByRole('button', { name: 'Create connector' }).click();
    await page.getByRole('heading', { level: 1, name: HTML }).waitFor();
    await page.getByText('Ready', { exact: true }).waitFor();
    await page.getByText('No entries').waitFor();
    assert.equal((await page.content()).includes(SECRET), false, 'the secret is never shown');
    await assertAccessibleInBoth(page, 'connector');

    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page.getByText('The system answers and accepts the sign-in').waitFor();
    crm.mood = () => 403;
    await page.getByRole('button', { name: 'Test the connection' }).click();
    const failed = page.getByRole('status').filter({ hasText: 'The connector does not work' });
    await failed.getByText('Answer: 403').waitFor();
    await failed.getByText('not now').waitFor();
    await assertAccessibleInBoth(page, 'tested');
    crm.mood = () => 'works';

    const trial = page.getByRole('region', { name: 'Try a number' });
    const look = async (number: string, answer: string): Promise<void> => {
      await trial.getByRole('textbox', { name: 'Number' }).fill(number);
      await trial.getByRole('button', { name: 'Look up' }).click();
      await trial.getByText(answer).waitFor();
    };
    await look(FAR, 'Anna Müller');
    await assertAccessibleInBoth(page, 'looked up');
    await look('+4930123456', 'Nobody with this number');
    await look('12', 'no number of the public network');
    crm.mood = () => 403;
    await look('+4930123457', 'not now');
    crm.mood = () => 'works';

    await page.getByRole('button', { name: 'Change' }).click();
    await form.getByText('Set. Leave it empty to keep it.').waitFor();
    await hasValue(token, '');
    await token.fill('typed, and thought better of');
    await token.fill('');
    await form.getByLabel('Name').fill('Our CRM');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'Our CRM' }).waitFor();
    const [stored] = (await admin.connectors.list()).connectors;
    assert.deepEqual(stored?.secrets, ['token']);
    assert.deepEqual(stored.settings, { address: crm.url });
    assertNoTrouble(page);
  });

  test('connectors - a parked entry is sent again, an uncertain one gets the id that a person found', async () => {
    await put('login');
    const page = await adminAt('/admin/connectors/1');
    creates(422);
    await callOnce();
    await rows(page).getByText('Parked').waitFor();
    await rows(page).getByText('Answer: 422').waitFor();
    creates('works');
    await rows(page)
      .getByRole('button', { name: /^Send again/ })
      .click();
    await dialog(page).getByRole('button', { name: 'Send again' }).click();
    await rows(page).getByText('Sent', { exact: true }).waitFor();
    assert.equal(crm.entries.size, 1);

    creates('lost');
    await callOnce();
    await rows(page).getByText('Uncertain').waitFor();
    await assertAccessibleInBoth(page, 'entries');
    // One entry a page, so that there is a second one.
    await page.route('**/entries*', (route) => {
      const url = new URL(route.request().url());
      url.searchParams.set('limit', '1');
      return route.continue({ url: url.href });
    });
    await page.reload();
    await rows(page).getByText('Uncertain').waitFor();
    assert.equal(await rows(page).count(), 1);
    await page.getByRole('button', { name: 'Show more' }).click();
    await until('both are shown', async () => (await rows(page).count()) === 2);
    await page.unroute('**/entries*');
    await page.getByRole('combobox', { name: 'State of the entries' }).click();
    await page.getByRole('option', { name: 'Uncertain (1)' }).click();
    await until('one is left', async () => (await rows(page).count()) === 1);
    await rows(page)
      .getByRole('button', { name: /^Send again/ })
      .click();
    await dialog(page)
      .getByText(/The entry may exist already/)
      .waitFor();
    await assertAccessibleInBoth(page, 'dialog');
    const lost = [...crm.entries.keys()].at(-1) ?? '';
    await dialog(page).getByLabel('Id of the entry there').fill(lost);
    await dialog(page).getByRole('button', { name: 'Send again' }).click();
    await page.getByText('No entries').waitFor();
    await page.getByRole('combobox', { name: 'State of the entries' }).click();
    await page.getByRole('option', { name: 'All' }).click();
    await until(
      'both are sent',
      async () => (await rows(page).getByText('Sent', { exact: true }).count()) === 2,
    );
    assert.equal(crm.entries.size, 2, 'no conversation has two entries');
    await rows(page).first().getByRole('link').click();
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    assertNoTrouble(page);
  });

  test('connectors - both pages fit a phone, in Turkish; disabled, and deleted after a question', async () => {
    const size = { width: 390, height: 844 };
    for (const [at, title] of [
      ['/admin/connectors', 'Bağlayıcılar'],
      ['/admin/connectors/1', 'Our CRM'],
    ] as const) {
      const narrow = await adminAt(at, { language: 'tr', scheme: 'dark', size });
      await narrow.getByRole('heading', { level: 1, name: title }).waitFor();
      await narrow.getByText('Hazır', { exact: true }).waitFor();
      await fits(narrow, at);
      await assertAccessible(narrow);
    }
    const page = await adminAt('/admin/connectors/1');
    await page.getByRole('switch', { name: 'Enabled' }).click();
    await page.getByText('Disabled', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog(page).getByText('Entries in the other system stay', { exact: false }).waitFor();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No connectors yet').waitFor();
    assert.equal(crm.entries.size, 2);
    assertNoTrouble(page);
  });

  test('connectors - the phonebook follows an address book, whose entries are customers until it is deleted here', async (t) => {
    const radicale = await startRadicale(t);
    await radicale.put('anna', ['FN:Anna of the address book', 'N:;Anna;;;', 'TEL:+49 30 901829']);
    const { title, address, username, password } = radicale.config;
    const admin = await clientOf(site(), '1001');
    await admin.webhooks.setSettings({ private_targets: ['127.0.0.1'] });
    const page = await adminAt('/admin/connectors');
    await page.getByRole('button', { name: 'New address book' }).click();
    const form = dialog(page);
    await form.getByText('LDAP', { exact: true }).click();
    await form.getByLabel('Entries below').waitFor();
    await assertAccessibleInBoth(page, 'ldap-form');
    await form.getByText('CardDAV', { exact: true }).click();
    await form.getByRole('textbox', { name: 'Name', exact: true }).fill(title);
    await form.getByLabel('Address of the address book').fill(`${address}nothing/`);
    await form.getByLabel('User name').fill(username);
    await form.locator('input[type=password]').fill(password);
    await assertAccessibleInBoth(page, 'source-form');
    await form.getByRole('button', { name: 'Follow address book' }).click();
    const row = page.getByRole('row').filter({ hasText: title });
    await row.getByText('Cannot be read').waitFor();
    await assertAccessibleInBoth(page, 'sources');
    await row.getByRole('button', { name: 'Change' }).click();
    await form.getByLabel('Address of the address book').fill(address);
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByRole('alert').waitFor();
    await form.locator('input[type=password]').fill(password);
    await form.getByRole('button', { name: 'Save' }).click();
    await row.getByText('Ready', { exact: true }).waitFor();
    assert.equal((await page.content()).includes(password), false, 'the password is never shown');
    assert.deepEqual(
      (await admin.phonebook.list({ q: 'address book' })).customers.map(({ source }) => source),
      ['source:1'],
    );
    await go(page, 'Customers');
    await page.getByRole('link', { name: 'Anna of the address book' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await form.getByText('Owner and note are changed here.', { exact: false }).waitFor();
    assert.equal(await form.getByRole('textbox', { name: 'Name', exact: true }).isEditable(), false);
    assert.equal(await form.getByRole('button', { name: 'Add a number' }).count(), 0);
    await form.getByRole('combobox', { name: 'Language of prompts' }).click();
    assert.equal(await page.getByRole('option', { name: 'German' }).count(), 0);
    await assertAccessibleInBoth(page, 'customer-of-source');
    await form.getByRole('textbox', { name: 'Note' }).fill('calls back');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('region', { name: 'About' }).getByText('calls back').waitFor();
    await go(page, 'Connectors');
    await row.getByRole('button', { name: `Delete: ${title}` }).click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    assert.deepEqual((await admin.phonebook.list({ q: 'address book' })).customers, []);
  });

  test('connectors - filter, attributes and CA of an LDAP server are stored, shown, refused with their field and emptied', async () => {
    const admin = await clientOf(site(), '1001');
    const page = await adminAt('/admin/connectors');
    await page.getByRole('button', { name: 'New address book' }).click();
    const form = dialog(page);
    const field = (name: string) => form.getByLabel(name, { exact: true });
    await form.getByText('LDAP', { exact: true }).click();
    await form.getByRole('textbox', { name: 'Name', exact: true }).fill('Company');
    await form.getByRole('textbox', { name: 'Server' }).fill('ldaps://ldap.example.com');
    await form.getByRole('textbox', { name: 'Entries below' }).fill('ou=people,dc=example,dc=com');
    await field('Filter').fill('(mobile=*)');
    await field('Attribute of the name').fill('displayName');
    await field('Attributes of the numbers').fill('mobile = cell\n\nipPhone\n');
    await field('Trusted certificates (CA)').fill('no certificate');
    await form.getByRole('button', { name: 'Follow address book' }).click();
    await form
      .getByRole('alert')
      .getByText('Trusted certificates (CA): must contain only certificates in PEM')
      .waitFor();
    await assertAccessibleInBoth(page, 'ldap-settings');
    const { certificate } = await issueCertificate(site().dataDir, ['127.0.0.1'], Date.now());
    await field('Trusted certificates (CA)').fill(certificate);
    await form.getByRole('button', { name: 'Follow address book' }).click();
    const row = page.getByRole('row').filter({ hasText: 'Company' });
    await row.waitFor();
    const stored = async () =>
      (await admin.phonebookSources.list()).sources.find(({ title }) => title === 'Company')!.ldap!;
    assert.deepEqual(await stored(), {
      base: 'ou=people,dc=example,dc=com',
      filter: '(mobile=*)',
      attributes: {
        name: 'displayName',
        company: 'o',
        email: 'mail',
        language: 'preferredLanguage',
        numbers: { mobile: 'cell', ipPhone: null },
      },
      ca: certificate,
    });
    await row.getByRole('button', { name: 'Change' }).click();
    await hasValue(field('Attributes of the numbers'), 'mobile = cell\nipPhone');
    for (const name of [
      'Filter',
      'Attribute of the name',
      'Attributes of the numbers',
      'Trusted certificates (CA)',
    ])
      await field(name).fill('');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    const { attributes, ca, filter } = await stored();
    assert.deepEqual(
      [ca, filter.includes('telephoneNumber'), attributes.name, Object.keys(attributes.numbers)],
      [null, true, 'cn', ['telephoneNumber', 'mobile', 'homePhone']],
    );
    assertNoTrouble(page);
  });
});
