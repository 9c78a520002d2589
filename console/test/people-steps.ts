import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../server/test/support/until.ts';
import type { Browser } from '../../server/test/support/browser.ts';
import type { Site } from '../../server/test/support/site.ts';
import { consoleOf } from './rig.ts';
import type { ConsolePageOptions } from './rig.ts';

/** Goes on with the Tab key until this is what has the focus. */
export const tabTo = async (page: Page, target: Locator): Promise<void> => {
  await target.waitFor({ state: 'attached' });
  // A dialog takes the focus a moment after it is drawn, from whatever had it by then.
  const around = target.locator('xpath=ancestor::*[@role="dialog"]');
  if ((await around.count()) > 0) await around.and(page.locator(':focus-within')).waitFor();
  for (let presses = 0; presses < 80; presses += 1) {
    if ((await target.and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press('Tab');
    // A dialog puts the focus right in a timer after a field of dates: no hand is faster than it.
    await page.evaluate('new Promise((done) => setTimeout(done))');
  }
  assert.fail(`the Tab key never comes to ${String(target)}`);
};
/** Confirms the session of a page. */
export async function confirmPage(site: Site, page: Page, extension: string): Promise<void> {
  const password = (await site.credentials()).find((one) => one.extension === extension)?.password ?? '';
  const status = await page.evaluate(
    `fetch('/api/v1/session/confirm', { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify({ password }))} }).then((answer) => answer.status)`,
  );
  assert.equal(status, 200);
}
/** The page of the administrator, who signs in once for the whole file. */
export function adminPage(site: () => Site, browser: () => Browser) {
  let kept: Page | undefined;
  return async (
    path: string,
    {
      language = 'en',
      scheme = 'light',
      size = { width: 1440, height: 900 },
    }: Pick<ConsolePageOptions, 'language' | 'scheme' | 'size'> = {},
  ): Promise<Page> => {
    kept ??= await consoleOf(site(), browser(), '1001');
    // On a slow machine a test file outlasts the five minutes of a sign-in.
    await confirmPage(site(), kept, '1001');
    await kept.setViewportSize(size);
    await kept.emulateMedia({ colorScheme: scheme });
    await kept.evaluate(`localStorage.setItem('offhook.language', '${language}')`);
    await kept.goto(site().base + path);
    return kept;
  };
}
/** By the navigation, as people do. */
export const go = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
};
/** Waits on *System health* until no check fails; the packages may, because they have the age of this machine's mirror. */
export const works = async (page: Page): Promise<void> => {
  await page.getByText(/^(Everything works|The service works, but something needs attention)$/).waitFor();
  await until('no check fails but the age of the packages', async () => {
    const failing = await page
      .getByRole('group', { name: 'Checks' })
      .getByRole('row', { name: 'Failing' })
      .all();
    const names = await Promise.all(failing.map((row) => row.getByRole('cell').first().innerText()));
    return names.every((name) => name === 'Packages of the engine');
  });
};
