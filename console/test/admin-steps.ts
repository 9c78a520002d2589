/** Clicks of an administrator: an extension, a queue with its members, and applying the draft. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../server/test/support/until.ts';
import { clickThrice } from './rig.ts';

/** The input of a field by its path, e.g. `members.0.extension`. */
export const field = (page: Page, path: string): Locator => page.locator(`[id="field.${path}"]`);
/** Goes from the overview of the configuration along these links, as people do. */
export async function follow(page: Page, ...hrefs: readonly string[]): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: 'Configuration' }).click();
  for (const href of hrefs) await page.locator(`#content a[href="${href}"]`).first().click();
}
/** Types into a field that names another object, and takes what is found. */
export async function choose(page: Page, path: string, key: string): Promise<void> {
  const input = field(page, path);
  const before = await input.inputValue();
  await input.click();
  await input.fill(key);
  const wanted = new RegExp(`^${key}( · |$)`);
  const options = page.locator('[role=option]').filter({ visible: true });
  // The options before the search move when it is answered, from under a click that has begun.
  await until(`${key} is found`, async () => {
    const others = (await options.allInnerTexts()).filter((text) => text !== before);
    return others.length === 1 && wanted.test(others[0]!);
  });
  await options.filter({ hasText: wanted }).click();
  await until(`${key} is chosen`, async () => (await options.count()) === 0);
}
/** A place that calls are led to. */
export async function leadTo(page: Page, path: string, kind: string, key?: string): Promise<void> {
  await field(page, path).locator('select').first().selectOption(kind);
  if (key !== undefined) await choose(page, `${path}.key`, key);
}
export const create = (page: Page): Promise<void> =>
  clickThrice(page.getByRole('button', { name: 'Create', exact: true }));
/** Opens the list of a kind from the overview and the form of a new one. */
async function begin(page: Page, kinds: string, kind: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: 'Configuration' }).click();
  await page.getByRole('link', { name: new RegExp(`^${kinds}`) }).click();
  await page
    .getByRole('link', { name: `New ${kind.toLowerCase()}` })
    .first()
    .click();
  await page.getByRole('heading', { level: 1, name: `New ${kind.toLowerCase()}` }).waitFor();
}
export interface NewPerson {
  readonly extension: string;
  readonly username: string;
  readonly name: string;
  readonly level: 'user' | 'agent' | 'supervisor' | 'admin';
}
/** Makes an extension with a password to sign in with; both passwords are read where they are shown this once. */
export async function addExtension(
  page: Page,
  { extension, username, name, level }: NewPerson,
): Promise<{ password: string; sip_password: string }> {
  await begin(page, 'Extensions', 'Extension');
  assert.match(await field(page, 'extension').inputValue(), /^\d{2,10}$/, 'a free number is offered');
  await field(page, 'extension').fill(extension);
  await field(page, 'name').fill(name);
  await field(page, 'username').fill(username);
  await field(page, 'level').selectOption(level);
  await create(page);
  const dialog = page.getByRole('dialog', { name: `Hand over: Extension ${extension}` });
  const shown = async (label: string): Promise<string> => {
    const row = dialog
      .getByRole('row')
      .filter({ has: page.getByRole('rowheader', { name: label, exact: true }) });
    return (await row.locator('td p').first().innerText()).trim();
  };
  const password = await shown('Password to sign in with');
  const sip_password = await shown('SIP password');
  assert.ok(password.length >= 8 && sip_password.length >= 22, 'no passwords were shown');
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
  return { password, sip_password };
}
export interface NewQueue {
  readonly name: string;
  readonly title: string;
  readonly number: string;
  readonly members: readonly string[];
}
export async function addQueue(page: Page, { name, title, number, members }: NewQueue): Promise<void> {
  await begin(page, 'Queues', 'Queue');
  await field(page, 'name').fill(name);
  await field(page, 'title').fill(title);
  await field(page, 'number').fill(number);
  for (const [i, member] of members.entries()) {
    await page.getByRole('button', { name: 'Add member' }).click();
    await choose(page, `members.${i}.extension`, member);
  }
  await create(page);
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
}
/** Applies the draft from the bar; waits until the page of the apply says how it ended. */
export async function applyDraft(page: Page, comment?: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: 'Changes' }).click();
  if (comment !== undefined) await page.getByLabel('Comment').fill(comment);
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: /^Apply \d/ }).waitFor();
}
