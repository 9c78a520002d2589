/** Signing in at a real OpenID provider, in a real Chromium. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startProvider, CLIENT_SECRET } from '../../server/test/support/openid-provider.ts';
import type { TestProvider } from '../../server/test/support/openid-provider.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { assertAccessible, buildFirst, clientOf, openConsole } from './rig.ts';

/** Fills in the pages of the provider; it asks for a consent once. */
async function signInAt(page: Page, login: string, consents = true): Promise<void> {
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  if (consents) await page.getByRole('button', { name: 'Continue' }).click();
}
describe('company sign-in', () => {
  let provider: TestProvider;
  before(async () => {
    await buildFirst();
    provider = await startProvider();
  });
  const site = useSite(() => ({
    env: {
      OFFHOOK_OIDC_ISSUER: provider.issuer,
      OFFHOOK_OIDC_CLIENT_ID: 'offhook',
      OFFHOOK_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      OFFHOOK_OIDC_TITLE: 'Example AG',
    },
  }));
  const browser = useBrowser();
  before(() => {
    provider.logoutAt = `${site().base}/api/auth/company-logout`;
    provider.callback = `${site().base}/sign-in/company/callback`;
    provider.accounts.set('admin', { email: 'defne@example.com' });
    provider.accounts.set('stranger', { email: 'stranger@example.com' });
  });
  after(() => provider[Symbol.asyncDispose]());
  /** A page of the console whose provider loads nothing from the internet. */
  async function opened(path: string): Promise<Page> {
    const page = await openConsole(site(), browser());
    await page.context().route(/^https:/, (route) => route.abort());
    await page.goto(site().base + path);
    return page;
  }

  test('company sign-in - a stranger reads why not, once', async () => {
    const page = await opened('/');
    const link = page.getByRole('link', { name: 'Sign in with Example AG' });
    await link.waitFor();
    await assertAccessible(page);
    await link.click();
    await signInAt(page, 'stranger');
    await page.getByRole('alert').getByText('Nobody here belongs to this company account').waitFor();
    assert.equal(new URL(page.url()).search, '');
    await page.reload();
    await link.waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
  });

  test('company sign-in - the wanted page is shown after it; a window of its own confirms the session, and opens it again', async () => {
    const page = await opened('/admin/api-keys');
    await page.getByRole('link', { name: 'Sign in with Example AG' }).click();
    await signInAt(page, 'admin');
    const make = page.getByRole('button', { name: 'New API key' }).first();
    await make.click();
    assert.equal(new URL(page.url()).pathname, '/admin/api-keys');
    const form = page.getByRole('dialog', { name: 'New API key' });
    await form.getByRole('textbox', { name: 'Name' }).fill('first');
    await form.getByRole('checkbox').first().check();
    await form.getByRole('button', { name: 'Create key' }).click();
    const asked = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await asked.waitFor();
    await assertAccessible(page);
    const confirming = page.waitForEvent('popup');
    await asked.getByRole('button', { name: 'Confirm with Example AG' }).click();
    const window = await confirming;
    await Promise.all([window.waitForEvent('close'), signInAt(window, 'admin', false)]);
    await page.locator('pre').waitFor();
    assert.match(await page.locator('pre').innerText(), /^ohk_/);

    await page.evaluate(async () => {
      await fetch('/api/v1/session/logout', { method: 'POST', headers: { origin: location.origin } });
    });
    const ended = page.getByRole('dialog', { name: 'Your session has ended' });
    await ended.waitFor();
    const reopening = page.waitForEvent('popup');
    await ended.getByRole('button', { name: 'Sign in with Example AG' }).click();
    // The provider still knows the person, so its pages do not ask.
    await (await reopening).waitForEvent('close');
    await until('the page goes on', async () => (await ended.count()) === 0);
    await page.locator('pre').waitFor();
  });

  test('company sign-in - signing out at the provider ends the session of the page at once', async () => {
    const page = await opened('/admin/api-keys');
    await page.getByRole('link', { name: 'Sign in with Example AG' }).click();
    await signInAt(page, 'admin');
    await page.getByRole('button', { name: 'New API key' }).first().waitFor();
    const elsewhere = await page.context().newPage();
    await elsewhere.goto(`${provider.issuer}/session/end`);
    await elsewhere.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    assert.equal(provider.logouts.at(-1), 'ok');
  });

  test('company sign-in - listening that needs a confirmation takes the company account', async () => {
    await (await clientOf(site(), '1001')).consoleSettings.set({ crm_link: null, confirm_supervision: true });
    await using own = await site().phone('1001');
    await using customer = await site().phone('1010');
    await using agent = await site().phone('1004');
    const page = await opened('/supervisor');
    await page.getByRole('link', { name: 'Sign in with Example AG' }).click();
    await signInAt(page, 'admin');
    const call = await customer.invite('1004');
    await (await agent.incoming()).answer();
    await call.answered();
    await page.getByRole('tab', { name: /^Calls/ }).click();
    await page.getByRole('button', { name: 'Listen to Léa Fournier – José Ibáñez' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Listen' }).click();
    const asked = page.getByRole('dialog', { name: 'Confirm that it is you' });
    const confirming = page.waitForEvent('popup');
    await asked.getByRole('button', { name: 'Confirm with Example AG' }).click();
    const window = await confirming;
    await Promise.all([window.waitForEvent('close'), signInAt(window, 'admin', false)]);
    const heard = await own.incoming();
    await heard.answer();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await heard.hangup();
  });

  test('company sign-in - the company account is enough to set up a second factor', async () => {
    const page = await opened('/account');
    const link = page.getByRole('link', { name: 'Sign in with Example AG' });
    await link.click();
    await signInAt(page, 'admin');
    await page.getByRole('button', { name: 'Switch on' }).waitFor();
    await page.evaluate(async () => {
      await fetch('/api/v1/session/logout', { method: 'POST', headers: { origin: location.origin } });
    });
    // The provider still knows the person, so this sign-in proves too little.
    await page.goto(`${site().base}/account`);
    await link.click();
    await page.getByRole('button', { name: 'Switch on' }).click();
    const asked = page.getByRole('dialog', { name: 'Confirm that it is you' });
    const confirming = page.waitForEvent('popup');
    await asked.getByRole('button', { name: 'Confirm with Example AG' }).click();
    const window = await confirming;
    await Promise.all([window.waitForEvent('close'), signInAt(window, 'admin', false)]);
    await page.getByRole('img', { name: 'QR code' }).waitFor();
  });
});
