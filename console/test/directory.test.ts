import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { button, callOf, openPanel, ready, says } from './phone-rig.ts';
import { assertAccessible, assertAccessibleInBoth, buildFirst, close, signedIn, hasValue } from './rig.ts';

const rowOf = (page: Page, extension: string): Locator => page.locator(`li[data-extension="${extension}"]`);
/** The word of somebody's presence, as the list shows it. */
const shows = async (page: Page, extension: string, word: string): Promise<void> => {
  const badge = rowOf(page, extension).locator('[data-word]');
  let last: string | null = null;
  await until(
    `${extension} is shown ${word}`,
    async () => {
      last = await badge.getAttribute('data-word');
      return last === word;
    },
    { seen: () => ({ last }) },
  );
};
const search = (page: Page): Locator => page.getByRole('searchbox', { name: 'Search the directory' });

describe('directory page', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('directory - phones and calls of others move what is shown, without a reload', async () => {
    const page = await signedIn(site(), browser(), '1003', { path: '/directory' });
    await rowOf(page, '1010').waitFor();
    await shows(page, '1010', 'offline');
    await using caller = await site().phone('1010');
    await using called = await site().phone('1011');
    await shows(page, '1010', 'available');
    await shows(page, '1011', 'available');
    const call = await caller.invite('1011');
    const there = await called.incoming();
    there.ring();
    await shows(page, '1011', 'ringing');
    assert.equal(
      await rowOf(page, '1011')
        .getByRole('button', { name: /Pick up/ })
        .count(),
      0,
      'another group',
    );
    await there.answer();
    await call.answered();
    await shows(page, '1011', 'in_call');
    await page.getByRole('radiogroup', { name: 'Status' }).getByText('Busy').click();
    await until(
      'only who talks is listed',
      async () => (await page.locator('li[data-extension]').count()) === 2,
    );
    await assertAccessibleInBoth(page, 'with calls');
    await call.hangup();
    await page.getByText('No matches').waitFor();
    await page.getByRole('button', { name: 'Show everybody' }).click();
    await shows(page, '1010', 'available');
    await close(page);
  });

  test('directory - one click calls: the own phone rings first; what rings a colleague is picked up', async () => {
    const page = await signedIn(site(), browser(), '1003', { path: '/directory' });
    await using own = await site().phone('1003');
    await using colleague = await site().phone('1005');
    await using other = await site().phone('1004');
    await shows(page, '1005', 'available');
    await search(page).fill('luczak care');
    await until('one is found', async () => (await page.locator('li[data-extension]').count()) === 1);
    // By keyboard alone: down into the list, and the button that is there.
    await page.keyboard.press('ArrowDown');
    await until('a button to call has the focus', () =>
      page.evaluate(`document.activeElement?.getAttribute('aria-label') === 'Call Agnieszka Łuczak 1005'`),
    );
    // The notice goes by itself after some seconds.
    const told = page.getByText('Your phone rings: pick up, and Agnieszka Łuczak is called.').waitFor();
    await page.keyboard.press('Enter');
    const [mine] = await Promise.all([own.incoming(), told]);
    await mine.answer();
    const rung = await colleague.incoming();
    await rung.answer();
    await shows(page, '1005', 'in_call');
    await rung.hangup();
    await search(page).fill('');
    await shows(page, '1005', 'available');

    const call = await other.invite('1005');
    (await colleague.incoming()).ring();
    await rowOf(page, '1005')
      .getByRole('button', { name: 'Pick up the call that rings Agnieszka Łuczak' })
      .click();
    await (await own.incoming()).answer();
    await call.answered();
    await shows(page, '1003', 'in_call');
    await shows(page, '1005', 'available');
    await call.hangup();

    // With the phone of this page switched on, it is this page that calls: nothing else of one's own rings.
    await openPanel(page);
    await button(page, 'Switch the phone on').click();
    await ready(page);
    const before = own.seen;
    const row = rowOf(page, '1005');
    await until('all of a row is seen beside the open phone', () =>
      row.evaluate((one) => {
        const { right } = one.closest('ul')!.getBoundingClientRect();
        return [...one.querySelectorAll('button')].every((b) => b.getBoundingClientRect().right <= right);
      }),
    );
    await row.getByRole('button', { name: 'Call Agnieszka Łuczak', exact: true }).click();
    const rings = await colleague.incoming();
    await callOf(page, 'Agnieszka Łuczak').getByText('1005').waitFor();
    await rings.answer();
    await callOf(page, 'Agnieszka Łuczak').getByText('In the call').waitFor();
    assert.equal(own.seen, before, 'the desk phone rang too');
    await button(page, 'Hang up').click();
    await says(page, 'Call ended');
    await button(page, 'Phone settings').click();
    await button(page, 'Switch the phone off').click();
    await close(page);
  });

  test('directory - a word, a note and its end are said in the header and seen by others, as text', async () => {
    const page = await signedIn(site(), browser(), '1003', { path: '/directory', scheme: 'dark' });
    const reader = await signedIn(site(), browser(), '1008', { path: '/directory', language: 'tr' });
    await page.getByRole('button', { name: /^My presence: / }).click();
    const form = page.getByRole('dialog', { name: 'What others see of me' });
    await form.getByLabel('I am').selectOption('away');
    const note = '<img src=x onerror=alert(1)> Mittag';
    await form.getByLabel('Note').fill(note);
    await form.getByLabel('Until').selectOption('60');
    await assertAccessible(page, 'the presence');
    await page.keyboard.press('Enter');
    await form.waitFor({ state: 'detached' });
    await shows(reader, '1003', 'away');
    await rowOf(reader, '1003').getByText(note).waitFor();
    await page.getByRole('button', { name: `My presence: Away ${note}` }).waitFor();
    await assertAccessible(reader, 'somebody is away');
    // Text that was not sent is there again.
    await page.getByRole('button', { name: /^My presence: / }).click();
    await form.getByLabel('Note').fill('half writ');
    await page.reload();
    await page.getByRole('button', { name: /^My presence: / }).click();
    await hasValue(form.getByLabel('Note'), 'half writ');
    await form.getByRole('button', { name: 'Clear' }).click();
    await shows(reader, '1003', 'offline');
    await close(page, reader);
  });

  test('directory - ten thousand people: few are drawn, a search answers at once, the keyboard reaches the last', async () => {
    const people = 10_000;
    const page = await signedIn(site(), browser(), '1003');
    await page.route('**/api/mobile/contacts.php*', async (route) => {
      const presence = {
        reachability: 'online',
        activity: 'idle',
        personal: 'not_set',
        note: null,
        expires_at: null,
        summary: 'available',
        since: new Date().toISOString(),
      };
      const contacts = Array.from({ length: people }, (_, i) => ({
        extension: String(20_000 + i),
        name: i === 7 ? '<b id="bold">Ağaç</b> <script>alert(1)</script>' : `Person ${i} Öz`,
        role: 'user',
        role_name: 'User',
        status: 'online',
        presence,
        sip_status: 'NOT_INUSE',
        webrtc_status: 'UNKNOWN',
        mob_webrtc_status: 'UNKNOWN',
        email: null,
        mobile: null,
        department: `Team ${i % 50}`,
      }));
      await route.fulfill({
        json: { success: true, total: people, as_of: presence.since, stale: false, contacts },
      });
    });
    await page.getByRole('link', { name: 'Directory' }).click();
    await page.getByText('10,000 people').waitFor();
    const drawn = (): Promise<number> => page.locator('li[data-extension]').count();
    assert.ok((await drawn()) < 60, `${await drawn()} are drawn`);
    await page.evaluate(`{
      window.slowest = 0;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) window.slowest = Math.max(window.slowest, duration);
      }).observe({ type: 'longtask' });
    }`);
    await search(page).pressSequentially('team 7 oz 1007', { delay: 30 });
    await until(
      'it is narrowed',
      async () => (await page.getByText('1 person', { exact: true }).count()) === 1,
    );
    await search(page).fill('agac');
    await page.getByText('<b id="bold">Ağaç</b> <script>alert(1)</script>').waitFor();
    assert.equal(await page.locator('#bold').count(), 0, 'names are text');
    await search(page).fill('');
    await page.getByText('10,000 people').waitFor();
    await search(page).press('ArrowDown');
    await until('the first has the focus', () =>
      page.evaluate(`document.activeElement?.dataset.call !== undefined`),
    );
    await page.keyboard.press('End');
    await until('the last has the focus', () =>
      page.evaluate(`document.activeElement?.getAttribute('aria-label') === 'Call Person 9999 Öz 29999'`),
    );
    assert.ok((await drawn()) < 60, `${await drawn()} are drawn at the end`);
    await page.getByRole('switch', { name: 'Group by department' }).press(' ');
    await page.getByRole('heading', { name: 'Team 0', exact: true }).waitFor({ state: 'attached' });
    const slowest = (await page.evaluate('window.slowest')) as number;
    // About 110 ms where nothing else runs; ten thousand rows drawn at once take many times this, up to a minute on a busy machine.
    assert.ok(slowest < 10_000, `the page was held up for ${slowest} ms`);
    await assertAccessibleInBoth(page, 'grouped');
    await close(page);
  });

  test('directory - favourites come first and stay, in this browser', async () => {
    const page = await signedIn(site(), browser(), '1003', {
      path: '/directory',
      size: { width: 1280, height: 800 },
    });
    await page.getByRole('button', { name: 'Add Priya Nair to the favourites' }).click();
    await page.getByRole('heading', { name: 'Favourites' }).waitFor();
    await page.reload();
    await rowOf(page, '1012').waitFor();
    const first = page.locator('li[data-extension][aria-posinset="1"]');
    await until(
      'the favourite to be the first',
      async () => (await first.first().getAttribute('data-extension')) === '1012',
    );
    await page.setViewportSize({ width: 390, height: 844 });
    await until('nothing is wider than a phone', () =>
      page.evaluate('document.documentElement.scrollWidth === 390'),
    );
    await assertAccessible(page, 'on a phone');
    await close(page);
  });
});
