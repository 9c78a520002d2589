import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { totp } from '../../server/src/features/sessions/totp.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { assertAccessible, assertNoTrouble, buildFirst, consoleOf, openConsole } from './rig.ts';

const HTML = '<img src=x onerror=alert(1)>';
/** The bytes of a secret as an authenticator app reads it. */
const fromBase32 = (text: string): Buffer => {
  const bits = Array.from(text)
    .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
};

describe('console people', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();
  const dialog = (page: Page) => page.getByRole('dialog');
  const said = (page: Page, words: string | RegExp) => page.getByRole('alert').getByText(words);
  const go = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
  };

  test('people - found by words, a device’s name is text, and a session that an administrator ends is over on its page at once', async () => {
    const agent = await consoleOf(site(), browser(), '1003', { path: '/account' });
    await agent.getByRole('heading', { level: 1, name: 'Zoë Müller' }).waitFor();
    const own = (await site().credentials()).find((c) => c.extension === '1003')!;
    const device = await fetch(`${site().base}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: '1003', password: own.password, device_name: HTML }),
    });
    assert.equal(device.status, 200);
    const page = await consoleOf(site(), browser(), '1001');
    await go(page, 'People');
    await page.getByText('12 people can sign in').waitFor();
    await page.getByRole('searchbox').fill('muller');
    await until('one is left', async () => (await page.locator('tbody tr').count()) === 1);
    await assertAccessible(page);
    await page.getByRole('link', { name: 'Zoë Müller' }).click();
    await page.getByRole('row', { name: HTML }).getByRole('button').click();
    await until('it is gone', async () => (await page.getByText(HTML).count()) === 0);
    await page.getByRole('button', { name: /^End: Console/ }).click();
    await agent.getByRole('dialog', { name: 'Your session is over' }).waitFor();
    await page.getByText('No device is signed in').waitFor();

    await page.getByRole('button', { name: 'New password' }).click();
    await dialog(page).getByText('Type one').click();
    await dialog(page).getByRole('textbox', { name: 'Password' }).fill('kurz');
    await page.keyboard.press('Enter');
    await said(page, 'This cannot be sent like that').waitFor();
    await dialog(page).getByText('Make one up').click();
    await dialog(page).getByRole('button', { name: 'Set the password' }).click();
    const shown = page.getByRole('dialog', { name: 'New password of Zoë Müller' });
    const password = (await shown.locator('pre').innerText()).trim();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await shown.getByRole('button', { name: 'I have kept it' }).click();
    await agent.locator('input[name=password]').fill(password);
    await agent.keyboard.press('Enter');
    await until('it is signed in again', async () => (await agent.getByRole('dialog').count()) === 0);
    await page.reload();
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await dialog(page).getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByText('1 device was signed out').waitFor();
    await agent.getByRole('dialog', { name: 'Your session is over' }).waitFor();
    for (const one of [page, agent]) {
      assertNoTrouble(one);
      await one.context().close();
    }
  });

  test('account - a second factor by its code, used at the next sign-in, and switched off by an administrator', async () => {
    const page = await consoleOf(site(), browser(), '1004', { path: '/account', scheme: 'dark' });
    const own = (await site().credentials()).find((c) => c.extension === '1004')!;
    await page.getByRole('button', { name: 'Switch on' }).click();
    await dialog(page).getByLabel('Your present password').fill('wrong password');
    await page.keyboard.press('Enter');
    await said(page, 'Unknown person or wrong password').waitFor();
    await dialog(page).getByLabel('Your present password').fill(own.password);
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await assertAccessible(page);
    const secret = fromBase32((await dialog(page).locator('pre').innerText()).replaceAll(/\s/g, ''));
    const digits = (ahead = 0): string => totp(secret, Math.floor(Date.now() / 30_000) + ahead);
    const code = dialog(page).getByLabel('Six digits from the app');
    await code.fill('000000');
    await page.keyboard.press('Enter');
    await said(page, 'Enter the six digits').waitFor();
    await code.fill(digits());
    await page.keyboard.press('Enter');
    const codes = page.getByRole('dialog', { name: 'Your recovery codes' });
    await codes.waitFor();
    assert.equal(await codes.getByRole('listitem').count(), 8);
    const recovery = await codes.getByRole('listitem').first().innerText();
    await assertAccessible(page);
    await codes.getByRole('button', { name: 'I have kept them' }).click();
    await page.getByText('The second factor is on').waitFor();

    const again = await openConsole(site(), browser());
    await again.locator('input[name=username]').fill('1004');
    await again.locator('input[name=password]').fill(own.password);
    await again.keyboard.press('Enter');
    await again.locator('input[name=otp]').fill(recovery);
    await again.keyboard.press('Enter');
    await again.locator('#content').waitFor();
    const admin = await consoleOf(site(), browser(), '1001', { path: '/admin/people/1004' });
    await admin.getByRole('button', { name: 'Switch off: Second factor' }).click();
    await dialog(admin).getByRole('button', { name: 'Switch off' }).click();
    await admin.getByText('The second factor is off').waitFor();
    await page.reload();
    await page.getByText('The second factor is off').waitFor();
    for (const one of [page, again, admin]) {
      assertNoTrouble(one);
      await one.context().close();
    }
  });

  test('account - a new password keeps this page and ends the other devices; language and look are kept', async () => {
    const other = await consoleOf(site(), browser(), '1005');
    const page = await consoleOf(site(), browser(), '1005', { path: '/account' });
    const own = (await site().credentials()).find((c) => c.extension === '1005')!;
    const fill = async (current: string, next: string, again = next): Promise<void> => {
      await page.getByLabel('Your present password').fill(current);
      await page.locator('input[autocomplete=new-password]').first().fill(next);
      await page.getByLabel('New password once more').fill(again);
      await page.keyboard.press('Enter');
    };
    await fill(own.password, 'a new password', 'another one');
    await page.getByText('These two are not the same').waitFor();
    await fill('wrong', 'a new password');
    await said(page, 'Unknown person or wrong password').waitFor();
    await page.getByRole('row', { name: /This one/ }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^End:/ }).count(), 1);
    await fill(own.password, 'a new password');
    await page.getByText('Your password is changed').waitFor();
    await other.getByRole('dialog', { name: 'Your session is over' }).waitFor();
    await until(
      'one device is left',
      async () => (await page.getByRole('button', { name: /^End:/ }).count()) === 0,
    );
    assert.equal(await dialog(page).count(), 0, 'this page goes on');
    await page.locator('#content').getByText('Dark', { exact: true }).click();
    await page.getByLabel('Language').last().selectOption('de');
    await page.getByRole('heading', { name: 'Meine Geräte' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Meine Geräte' }).waitFor();
    assert.equal(await page.locator('html').getAttribute('data-mantine-color-scheme'), 'dark');
    await assertAccessible(page);
    for (const one of [page, other]) {
      assertNoTrouble(one);
      await one.context().close();
    }
  });

  test('health - everything works; the engine that goes away is said at once, and that it is back', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/admin/health', scheme: 'dark' });
    await page.getByText('Everything works').waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByText('Events so far').waitFor();
    await assertAccessible(page);
    process.kill(site().enginePid()!, 'SIGKILL');
    await page.getByText('Not connected').waitFor();
    await page.getByText('Something needs attention').waitFor();
    await assertAccessible(page);
    await page.getByText('Connected', { exact: true }).waitFor({ timeout: 60_000 });
    await page.getByText('Everything works').waitFor();
    assertNoTrouble(page);
    await page.context().close();
  });
});
