/** What is half filled in stays, whatever else the page reads or others store meanwhile. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { DEFAULT_LAYOUT } from '../src/wallboard/model.ts';
import { field } from './admin-steps.ts';
import { buildFirst, clientOf, close, focusIsOn, hasValue, signedIn } from './rig.ts';

const CUSTOMER = { name: 'Ada Lovelace', numbers: [{ number: '030 901820' }], shared: true };

describe('kept edits', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();
  /** Returns to the page until this is shown: each return reads again, unless an older read is under way. */
  const readUntil = (page: Page, shown: Locator): Promise<unknown> =>
    until(`${String(shown)} is shown`, async () => {
      await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
      return shown.isVisible();
    });

  test('settings - a later read that fails is reported, and the form keeps what is typed', async () => {
    const page = await signedIn(site(), browser(), '1001', { path: '/admin/settings' });
    const link = page.getByPlaceholder('https://crm.example.com/search?phone={number}');
    await link.fill('https://crm.example.com/{number}');
    await page.route('**/api/v1/settings/console', (route) => route.fulfill({ status: 503, body: 'away' }));
    await readUntil(page, page.locator('#content').getByRole('button', { name: 'Try again' }));
    await hasValue(link, 'https://crm.example.com/{number}');
    await close(page);
  });

  test('customers - a customer that another person stored meanwhile is merged into the form, which can then be saved', async () => {
    const api = await clientOf(site(), '1001');
    const { customer } = await api.phonebook.create(CUSTOMER);
    const page = await signedIn(site(), browser(), '1001', { path: `/customers/${customer.id}` });
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Note').fill('Wants an offer');
    const { id } = customer;
    await api.phonebook.replace(id, { ...CUSTOMER, company: 'Analytical Engines' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    const merged = dialog.getByRole('alert').getByText('The changes of the other user are now in this form');
    await merged.waitFor();
    await hasValue(dialog.getByRole('textbox', { name: 'Company' }), 'Analytical Engines');
    const path = '**/phonebook/customers/*';
    await page.route(path, (route) =>
      route.request().method() === 'PUT' ? route.abort() : route.continue(),
    );
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('The service cannot be reached').waitFor();
    await page.unroute(path);
    assert.equal(await merged.count(), 0, 'nothing was merged this time');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'hidden' });
    const { customer: now } = await api.phonebook.get(id);
    assert.deepEqual([now.company, now.note], ['Analytical Engines', 'Wants an offer']);
    await close(page);
  });

  test('dialogs - Escape, a click beside a dialog and its close button ask first if something is typed in it', async () => {
    const page = await signedIn(site(), browser(), '1001', { path: '/customers' });
    const dialog = page.getByRole('dialog', { name: 'New customer' });
    const question = page.getByRole('dialog', { name: 'Discard your input?' });
    const open = async (): Promise<void> => {
      await page.getByRole('button', { name: 'New customer' }).click();
      await focusIsOn(page, name);
    };
    const name = dialog.getByRole('textbox', { name: 'Name' });
    await open();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await open();
    await name.fill('Ada');
    await page.keyboard.press('Escape');
    await question.waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'hidden' });
    await hasValue(name, 'Ada');
    await page.mouse.click(5, 5);
    await question.getByRole('button', { name: 'Cancel' }).click();
    await question.waitFor({ state: 'hidden' });
    await hasValue(name, 'Ada');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await open();
    const emails = dialog.getByRole('combobox', { name: 'E-mails' });
    await emails.fill('ada@example.com');
    await emails.press('Enter');
    await hasValue(emails, '');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await open();
    await name.fill('Ada');
    await name.fill('');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await close(page);
  });

  test('dialogs - Escape in a dialog above another one closes that dialog only', async () => {
    const api = await clientOf(site(), '1001');
    const { id } = (await api.boards.create({ name: 'Sales', queues: ['sales'], layout: DEFAULT_LAYOUT }))
      .board;
    await api.boards.createDisplayKey(id, { name: 'Hall', expires_at: null });
    const page = await signedIn(site(), browser(), '1001', { path: `/wallboard/${id}` });
    await page.getByRole('button', { name: 'Actions of this board' }).click();
    await page.getByRole('menuitem', { name: 'Displays' }).click();
    const dialog = page.getByRole('dialog', { name: 'Displays' });
    await dialog.getByRole('button', { name: 'Revoke: Hall' }).click();
    const above = page.getByRole('dialog', { name: 'Revoke the key of Hall?' });
    await focusIsOn(page, above.getByRole('button', { name: 'Cancel' }));
    await page.keyboard.press('Escape');
    await above.waitFor({ state: 'hidden' });
    assert.equal(await dialog.count(), 1);
    await dialog.getByLabel('Where it hangs').fill('Lobby');
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    await dialog.getByRole('button', { name: 'Revoke: Lobby' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await close(page);
  });

  /** Holds the next change below this path until the returned function is called. */
  async function held(page: Page, path: string): Promise<() => void> {
    const answer = Promise.withResolvers<void>();
    await page.route(path, async (route) => {
      if (route.request().method() !== 'GET') await answer.promise;
      await route.continue();
    });
    return answer.resolve;
  }

  test('configuration - what is typed while a save runs stays, and can be saved', async () => {
    const page = await signedIn(site(), browser(), '1001', { path: '/admin/config/queues/sales' });
    const title = field(page, 'title');
    const save = page.getByRole('button', { name: 'Save in the draft' });
    await title.fill('First');
    const answer = await held(page, '**/config/draft/changes');
    await save.click();
    await title.fill('Second');
    answer();
    await page.getByText('Saved in the draft').waitFor();
    await until('the save is over', async () => (await save.getAttribute('data-loading')) === null);
    await hasValue(title, 'Second');
    const api = await clientOf(site(), '1001');
    assert.equal((await api.config.get('queues', 'sales')).object.title, 'First');
    await save.click();
    await until(
      'the save is over',
      async () => (await save.getAttribute('data-loading')) === null && (await save.isDisabled()),
    );
    assert.equal((await api.config.get('queues', 'sales')).object.title, 'Second');
    await close(page);
  });

  test('configuration - what is typed while an object is created is unsaved on the page of the object, and a reload keeps it but the secret', async () => {
    const page = await signedIn(site(), browser(), '1001', { path: '/admin/config/trunks?new=1' });
    await field(page, 'name').fill('evening');
    await field(page, 'title').fill('First');
    await field(page, 'host').fill('sip.example.com');
    const answer = await held(page, '**/config/draft/changes');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await field(page, 'title').fill('Second');
    await field(page, 'password').fill('a-typed-secret');
    answer();
    await page.waitForURL('**/admin/config/trunks/evening');
    await hasValue(field(page, 'title'), 'Second');
    await hasValue(field(page, 'password'), 'a-typed-secret');
    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }])',
    );
    assert.ok(!stored.includes('a-typed-secret'), 'no secret is stored in the browser');
    await page.reload();
    await page.getByText('Your unsaved input was restored').waitFor();
    await hasValue(field(page, 'title'), 'Second');
    const api = await clientOf(site(), '1001');
    const { object, secrets_set } = await api.config.get('trunks', 'evening');
    assert.deepEqual([object.title, secrets_set], ['First', []]);
    await page.getByRole('button', { name: 'Save in the draft' }).click();
    await until(
      'the typed title is saved',
      async () => (await api.config.get('trunks', 'evening')).object.title === 'Second',
    );
    await close(page);
  });

  test('configuration - an error is shown before the service has worded it in German; the new words take no focus', async () => {
    const page = await signedIn(site(), browser(), '1001', {
      path: '/admin/config/queues/sales',
      language: 'de',
    });
    const save = page.getByRole('button', { name: 'Im Entwurf speichern' });
    const mistakes = page.locator('#content').getByRole('alert');
    const [number, title] = [field(page, 'number'), field(page, 'title')];
    let asked = 0;
    const answer = Promise.withResolvers<void>();
    await page.route('**/config/validate', async (route) => {
      asked += 1;
      await answer.promise;
      await route.continue();
    });
    await number.fill('5');
    await save.click();
    await mistakes.getByText('must be 2 to 10 digits, the first not 0').waitFor();
    await focusIsOn(page, number);
    await save.click();
    await until('the second click has checked the form, too', () => asked === 2);
    await focusIsOn(page, number);
    await title.fill('Neuer ');
    answer.resolve();
    await mistakes.getByText('muss aus 2 bis 10 Ziffern bestehen, deren erste nicht 0 ist').waitFor();
    // The focus would move with the next frame.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    await page.keyboard.type('Titel');
    await hasValue(title, 'Neuer Titel');
    await focusIsOn(page, title);
    await number.fill('589');
    await save.click();
    const api = await clientOf(site(), '1001');
    await until('it is saved', async () => {
      const { object } = await api.config.get('queues', 'sales');
      return object.title === 'Neuer Titel' && object.number === '589';
    });
    await mistakes.waitFor({ state: 'detached' });
    await close(page);
  });

  test('supervisor - a later read of the members that fails is reported beside them', async () => {
    const page = await signedIn(site(), browser(), '1001', { path: '/supervisor' });
    await page.getByRole('tab', { name: /^Queues/ }).click();
    await page
      .locator('[data-queue=sales]')
      .getByRole('button', { name: /^Members/ })
      .click();
    const dialog = page.getByRole('dialog');
    const rows = dialog.getByRole('row');
    await rows.first().waitFor();
    const shown = await rows.count();
    await page.route('**/api/v1/queues/sales', (route) => route.fulfill({ status: 503, body: 'away' }));
    await readUntil(page, dialog.getByRole('button', { name: 'Try again' }));
    assert.equal(await rows.count(), shown);
    await close(page);
  });

  test('account - what is typed while the own calls are saved stays, with the focus', async () => {
    const page = await signedIn(site(), browser(), '1006', { path: '/account' });
    const form = page.getByRole('region', { name: 'My calls' });
    const [busy, unanswered] = [
      form.getByLabel('Forward when busy to'),
      form.getByLabel('Forward when unanswered to'),
    ];
    await busy.fill('10 (07)');
    const answer = await held(page, '**/extensions/1006/features');
    await form.getByRole('button', { name: 'Save call settings' }).click();
    await unanswered.fill('1008');
    answer();
    await hasValue(busy, '1007', 'as it is stored');
    await hasValue(unanswered, '1008');
    await focusIsOn(page, unanswered);
    await close(page);
  });

  test('history - a half-written text about an outcome is not the code of the outcome at the desk', async () => {
    await using agent = await site().phone('1003');
    await using caller = await site().phone('1006');
    const call = await caller.invite('1003');
    await (await agent.incoming()).answer();
    await call.answered();
    await call.hangup();
    const api = await clientOf(site(), '1003');
    const id = await until('the conversation', async () => {
      const { conversations } = await api.conversations.list({ own: true, limit: 1 });
      return conversations[0]?.id ?? null;
    });
    const page = await signedIn(site(), browser(), '1003', { path: `/history/${id}` });
    await page.getByLabel('More about it').fill('Wants an offer');
    await page.evaluate(`localStorage.setItem('offhook.desk.last.1003', ${JSON.stringify(id)})`);
    await page.goto(`${site().base}/desk`);
    await hasValue(page.getByRole('textbox', { name: 'Outcome' }), '');
    await close(page);
  });
});
