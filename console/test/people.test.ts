import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { totp } from '../../server/src/features/sessions/totp.ts';
import { openTransport, randomTag } from '../../server/src/adapters/asterisk/phone/transport.ts';
import { fromBase32 } from '../../server/test/support/base32.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { ok, startSink, status } from '../../server/test/support/webhook-sink.ts';
import type { Sink } from '../../server/test/support/webhook-sink.ts';
import { adminPage, go, tabTo, works } from './people-steps.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertNoTrouble,
  buildFirst,
  clickThrice,
  clientOf,
  consoleOf,
  focusIsOn,
  openConsole,
  signIn,
  hasValue,
  isChecked,
  fits,
  nothingBeside,
} from './rig.ts';

const HTML = '<img src=x onerror=alert(1)>';
/** Placeholders of the page that are wider than their fields. */
const CUT = `[...document.querySelectorAll('input')].flatMap((field) => {
  const style = getComputedStyle(field);
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return field.value === '' && pen.measureText(field.placeholder).width > room + 1 ? [field.placeholder] : [];
})`;
const ENGLISH_DETAIL =
  /\b(?:is used|days left|answers at|was lost|SRV records|file descriptors|ways work|not run)\b/;
describe('console people', () => {
  let sink: Sink;
  before(buildFirst);
  before(async () => {
    sink = await startSink();
  });
  after(() => sink[Symbol.asyncDispose]());
  // All of 127.0.0.0/8 are networks of this machine, which are spared by default.
  const site = useSite({ env: { OFFHOOK_SIP_NEVER_BLOCK: '127.0.0.0/24' } });
  const browser = useBrowser();
  const dialog = (page: Page) => page.getByRole('dialog');
  const said = (page: Page, words: string | RegExp) => page.getByRole('alert').getByText(words);
  const adminAt = adminPage(site, browser);

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
    const page = await adminAt('/');
    await go(page, 'People');
    await page.getByText('12 people can sign in').waitFor();
    await page.getByRole('searchbox').fill('muller');
    await until('one is left', async () => (await page.locator('tbody tr').count()) === 1);
    await assertAccessible(page);
    await page.getByRole('link', { name: 'Zoë Müller' }).click();
    await page.getByRole('row', { name: HTML }).getByRole('button').click();
    await until('it is gone', async () => (await page.getByText(HTML).count()) === 0);
    await page.getByRole('button', { name: /^End: Console/ }).click();
    await agent.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await page.getByText('No device is signed in').waitFor();

    await page.getByRole('button', { name: 'New password' }).click();
    await focusIsOn(page, dialog(page).getByRole('radio', { name: 'Make one up' }));
    await dialog(page).getByText('Type one').click();
    await dialog(page).getByRole('textbox', { name: 'Password' }).fill('kurz');
    await page.keyboard.press('Enter');
    await said(page, 'Please check the fields').waitFor();
    await said(page, 'Password: must have at least 8 bytes').waitFor();
    await dialog(page).getByText('Make one up').click();
    await dialog(page).getByRole('button', { name: 'Set the password' }).click();
    const shown = page.getByRole('dialog', { name: 'New password of Zoë Müller' });
    const password = (await shown.locator('pre').innerText()).trim();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await shown.getByRole('button', { name: 'I have kept it' }).click();
    await focusIsOn(page, page.getByRole('button', { name: 'New password' }));
    await agent.locator('input[name=password]').fill(password);
    await agent.keyboard.press('Enter');
    await until('it is signed in again', async () => (await agent.getByRole('dialog').count()) === 0);
    await page.getByRole('button', { name: /^End: Console/ }).waitFor();
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await dialog(page).getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByText('1 device was signed out').waitFor();
    await agent.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    for (const one of [page, agent]) assertNoTrouble(one);
    await agent.context().close();
  });

  test('account - a second factor by its code, used at the next sign-in, and switched off by an administrator', async () => {
    const page = await consoleOf(site(), browser(), '1004', { path: '/account', scheme: 'dark' });
    const own = (await site().credentials()).find((c) => c.extension === '1004')!;
    await page.getByRole('button', { name: 'Switch on' }).click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await assertAccessibleInBoth(page);
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
    await focusIsOn(page, page.getByRole('button', { name: 'Switch off' }));

    const again = await openConsole(site(), browser());
    await again.locator('input[name=username]').fill('1004');
    await again.locator('input[name=password]').fill(own.password);
    await again.keyboard.press('Enter');
    await again.locator('input[name=otp]').fill(recovery);
    await again.keyboard.press('Enter');
    await again.locator('#content').waitFor();
    const admin = await adminAt('/admin/people/1004');
    await admin.getByRole('button', { name: 'Switch off: Second factor' }).click();
    await dialog(admin).getByRole('button', { name: 'Switch off' }).click();
    await admin.getByText('The second factor is off').waitFor();
    await page.reload();
    await page.getByText('The second factor is off').waitFor();
    for (const one of [page, again, admin]) assertNoTrouble(one);
    for (const one of [page, again]) await one.context().close();
  });

  test('account - a code that a phone app scans: for one device, counted down, and a new one when it is over', async () => {
    const page = await consoleOf(site(), browser(), '1007', { path: '/account' });
    const made = page.waitForResponse((reply) => reply.url().endsWith('/session/sign-in-code'));
    await page.getByRole('button', { name: 'Sign in a phone app' }).click();
    await page.getByRole('img', { name: 'QR code that signs in a phone app' }).waitFor();
    await dialog(page).getByRole('timer').getByText('Valid for').waitFor();
    await assertAccessibleInBoth(page);
    const { code } = (await (await made).json()) as { code: string };
    const exchange = () =>
      fetch(`${site().base}/api/auth/code`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code, device_name: 'Phone of Gül', platform: 'android' }),
      });
    assert.equal((await exchange()).status, 200);
    assert.equal((await exchange()).status, 401, 'for one use');
    await page.keyboard.press('Escape');
    await page.getByText('Phone of Gül').waitFor();
    // Two minutes are too long for a test: the service tells the page a nearer end.
    const soon = '**/api/v1/session/sign-in-code';
    await page.route(soon, async (route) => {
      const response = await route.fetch();
      const expires_at = new Date(Date.now() + 1_500).toISOString();
      await route.fulfill({ response, json: { ...(await response.json()), expires_at } });
    });
    await page.getByRole('button', { name: 'Sign in a phone app' }).click();
    await dialog(page).getByText('This code has expired.').waitFor();
    await page.unroute(soon);
    assert.equal(await page.getByRole('img', { name: 'QR code that signs in a phone app' }).count(), 0);
    await dialog(page).getByRole('button', { name: 'New code' }).click();
    await page.getByRole('img', { name: 'QR code that signs in a phone app' }).waitFor();
    assertNoTrouble(page);
    await page.context().close();

    const admin = await adminAt('/admin/people/1007');
    await admin.getByRole('button', { name: 'Sign in a phone app' }).click();
    await dialog(admin).getByText('as 山田 花子', { exact: false }).waitFor();
    await admin.keyboard.press('Escape');
    assertNoTrouble(admin);
  });

  test('account - forwards, do not disturb, ringing devices and ring time of the own calls are set by their owner', async () => {
    const page = await consoleOf(site(), browser(), '1006', { path: '/account' });
    const form = page.getByRole('region', { name: 'My calls' });
    await form.getByLabel('Forward when busy to').fill('10 (07)');
    await form.getByLabel('Ring first for').fill('35');
    await form.getByLabel('Mobile app').uncheck();
    await form.getByRole('switch', { name: 'Do not disturb' }).check();
    await form.getByRole('button', { name: 'Save call settings' }).click();
    await page.getByText('Your call settings are saved').waitFor();
    await until(
      'as the service keeps it',
      async () => (await form.getByLabel('Forward when busy to').inputValue()) === '1007',
    );
    await assertAccessibleInBoth(page);
    const { features } = await clientOf(site(), '1006');
    assert.deepEqual((await features.get('1006')).features, {
      extension: '1006',
      dnd_enabled: true,
      call_forward_number: '',
      cf_busy_number: '1007',
      cf_noanswer_number: '',
      cf_noanswer_timeout: 35,
      allowed_phone_mode: 'desk,softphone',
    });
    await form.getByLabel('Forward every call to').fill('1007, then 1008');
    await form.getByRole('button', { name: 'Save call settings' }).click();
    await page.getByRole('alert').first().waitFor();
    await page.reload();
    await hasValue(form.getByLabel('Forward every call to'), '');
    assertNoTrouble(page);
    await page.context().close();
  });

  test('account - a new password keeps this page and ends the other devices; language and look are kept', async () => {
    const other = await consoleOf(site(), browser(), '1005');
    const page = await consoleOf(site(), browser(), '1005', { path: '/account' });
    const own = (await site().credentials()).find((c) => c.extension === '1005')!;
    const fill = async (current: string, next: string, again = next): Promise<void> => {
      await page.getByLabel('Current password').fill(current);
      await page.locator('input[autocomplete=new-password]').first().fill(next);
      await page.getByLabel('Repeat the new password').fill(again);
      await page.keyboard.press('Enter');
    };
    await fill(own.password, 'a new password', 'another one');
    await page.getByText('The passwords do not match').waitFor();
    await fill('wrong', 'a new password');
    await said(page, 'Unknown person or wrong password').waitFor();
    await page.getByRole('row', { name: /Console, Chrome \d+ Linux, 127\.0\.0\.1 This one/ }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^End:/ }).count(), 1);
    await fill(own.password, 'a new password');
    await page.getByText('Your password is changed').waitFor();
    await other.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
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
    const eye = page.getByRole('button', { name: 'Passwort zeigen' });
    await until('three fields of passwords', async () => (await eye.count()) === 3);
    await tabTo(page, eye.first());
    await page.keyboard.press('Space');
    await page.locator('input[autocomplete=current-password][type=text]').waitFor();
    assert.equal(await page.locator('html').getAttribute('data-mantine-color-scheme'), 'dark');
    await assertAccessible(page);
    for (const one of [page, other]) {
      assertNoTrouble(one);
      await one.context().close();
    }
  });

  test('api keys - made with scopes and objects, shown once, changed, used, revoked, all by keyboard; refusals are in the language', async () => {
    const page = await adminAt('/admin/api-keys', { language: 'de' });
    await page.getByRole('heading', { name: 'Noch keine API-Schlüssel' }).waitFor();
    const press = async (target: Locator, key = 'Enter'): Promise<void> => {
      await tabTo(page, target);
      await page.keyboard.press(key);
    };
    await press(page.getByRole('button', { name: 'Neuer API-Schlüssel' }));
    await tabTo(page, dialog(page).getByLabel('Name'));
    await page.keyboard.type('CRM');
    await page.keyboard.press('Enter');
    await said(page, 'Bitte prüfen Sie die Felder').waitFor();
    await press(dialog(page).getByLabel('Warteschlangen und ihre Zahlen sehen'), 'Space');
    await press(dialog(page).getByRole('radio', { name: 'Alle Nebenstellen' }), 'ArrowRight');
    await tabTo(page, dialog(page).getByPlaceholder('Eingeben und Enter drücken'));
    await page.keyboard.type('1003');
    await page.keyboard.press('Enter');
    await assertAccessible(page);
    let sent = 0;
    page.on('request', (request) => (sent += Number(request.method() === 'POST')));
    await clickThrice(dialog(page).getByRole('button', { name: 'Schlüssel erstellen' }));
    const shown = page.getByRole('dialog', { name: 'Ihr neuer API-Schlüssel' });
    const key = (await shown.locator('pre').innerText()).trim();
    assert.match(key, /^ohk_/);
    assert.equal(sent, 1, 'three clicks make one key');
    const ask = (path: string) =>
      fetch(`${site().base}${path}`, { headers: { authorization: `Bearer ${key}` } });
    assert.equal((await ask('/api/v1/queues')).status, 200);
    assert.equal((await ask('/api/v1/calls')).status, 403);
    await press(shown.getByRole('button', { name: 'Ich habe es aufbewahrt' }));
    await focusIsOn(page, page.getByRole('button', { name: 'Neuer API-Schlüssel' }));
    const row = page.getByRole('row', { name: /CRM/ });
    await row.getByText('Nebenstellen: 1003').waitFor();
    assert.equal(await page.getByText(key).count(), 0);
    await assertAccessible(page);
    await press(row.getByRole('button', { name: 'Ändern: CRM' }));
    await press(dialog(page).getByLabel('Laufende Anrufe sehen'), 'Space');
    await press(dialog(page).getByRole('button', { name: 'Speichern' }));
    await row.getByText('calls:read').waitFor();
    await focusIsOn(page, row.getByRole('button', { name: 'Ändern: CRM' }));
    assert.equal((await ask('/api/v1/calls')).status, 200);
    await press(row.getByRole('button', { name: 'Widerrufen: CRM' }));
    await press(dialog(page).getByRole('button', { name: 'Widerrufen' }));
    await page.getByRole('heading', { name: 'Noch keine API-Schlüssel' }).waitFor();
    await focusIsOn(page, page.locator('#content'));
    assert.equal((await ask('/api/v1/queues')).status, 401);
    assertNoTrouble(page);
  });

  test('webhooks - made, tested, in the log, replayed, rotated, disabled and deleted by clicks', async () => {
    const page = await adminAt('/admin/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    await dialog(page).getByRole('textbox', { name: 'Address' }).fill('http://10.0.0.1/private');
    await dialog(page).getByLabel('Description').fill(HTML);
    await dialog(page).getByPlaceholder('Type and press Enter').fill('presence');
    await page.keyboard.press('Enter');
    await dialog(page).getByRole('button', { name: 'Make the webhook' }).click();
    await said(page, 'The service never calls this address').waitFor();
    await assertAccessibleInBoth(page);
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();
    const allowed = page.getByLabel('Allowed private addresses').first();
    for (const [entry, right] of [
      ['10.0.0.0/4', false],
      ['127.0.0.1/32', true],
    ] as const) {
      await allowed.fill(entry);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Save' }).click();
      await dialog(page).getByText(`Webhooks will be able to call ${entry}`).waitFor();
      await dialog(page).getByRole('button', { name: 'Save' }).click();
      if (right) break;
      await said(page, /at least 8 bits/).waitFor();
      await dialog(page).getByRole('button', { name: 'Cancel' }).click();
      await allowed.press('Backspace');
    }
    await page.getByText('The allowed addresses are saved').waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'New webhook' }).click();
    await dialog(page).getByLabel('Description').fill(HTML);
    await dialog(page).getByPlaceholder('Type and press Enter').fill('presence');
    await page.keyboard.press('Enter');
    await dialog(page).getByRole('textbox', { name: 'Address' }).fill(sink.url);
    await dialog(page).getByRole('button', { name: 'Make the webhook' }).click();
    const shown = page.getByRole('dialog', { name: 'Secret of the webhook' });
    const secret = (await shown.locator('pre').innerText()).trim();
    assert.match(secret, /^whsec_/);
    await shown.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('heading', { level: 1, name: HTML }).waitFor();
    await page.getByText('Nothing was sent yet').waitFor();
    await focusIsOn(page, page.locator('#content'));
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('dialog', { name: 'The test arrived' }).getByText('Answered with 200').waitFor();
    const test = sink.received[0]!;
    const mac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
      .update(`${test.id}.${test.timestamp}.${test.body}`)
      .digest('base64');
    assert.equal(test.signature, `v1,${mac}`);
    await dialog(page).getByRole('button', { name: 'Close', exact: true }).last().click();
    await focusIsOn(page, page.getByRole('button', { name: 'Send a test' }));

    await using _phone = await site().phone('1006');
    await until('an event was delivered', () => sink.received.length > 1);
    const delivered = page.getByRole('row', { name: /presence\.changed.*Delivered/ });
    await delivered.first().waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Send again' }).click();
    await dialog(page).getByLabel('From number').fill('0');
    await dialog(page).getByRole('button', { name: 'Send again' }).click();
    await said(page, 'Please check the fields').waitFor();
    await dialog(page).getByLabel('From number').fill('1');
    await dialog(page).getByRole('button', { name: 'Send again' }).click();
    await page.getByText('They are being sent again').waitFor();
    await until(
      'the first event came again',
      () => sink.received.slice(1).filter((r) => r.seq === sink.received[1]?.seq).length > 1,
    );

    sink.answer = status(500);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page
      .getByRole('dialog', { name: 'The receiver rejected the test' })
      .getByText('status 500')
      .waitFor();
    await page.keyboard.press('Escape');
    await using _second = await site().phone('1007');
    const retry = page.getByRole('button', { name: 'Retry now' });
    await retry.waitFor();
    const held: ServerResponse[] = [];
    sink.answer = (_received, response) => void held.push(response);
    const again = page.waitForResponse((response) => /\/webhooks\/\d+$/.test(response.url()));
    await retry.click();
    await page.getByText('The waiting events are sent now').waitFor();
    await again;
    await until('what waited is sent', () => held.length > 0);
    sink.answer = ok;
    held[0]!.end('ok');
    await until('it is delivered', async () => (await retry.count()) === 0);
    await until(
      'so the log says',
      async () => (await page.getByRole('row', { name: 'Trying again' }).count()) === 0,
    );
    await page.getByRole('button', { name: 'New secret' }).click();
    await dialog(page).getByRole('button', { name: 'New secret' }).click();
    await page.getByRole('dialog', { name: 'New secret of the webhook' }).getByText('whsec_').waitFor();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByText('Secret before').waitFor();
    await focusIsOn(page, page.getByRole('button', { name: 'New secret' }));
    await page.getByRole('switch', { name: 'Enabled' }).click();
    await page.getByText('disabled by a user').waitFor();
    await page.getByRole('switch', { name: 'Enabled' }).click();
    await until('it is enabled', async () => (await page.getByText('disabled by a user').count()) === 0);
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
    await page.goto(`${site().base}/admin/webhooks/1`);
    await page.getByRole('heading', { level: 1, name: 'Not found: it may have been deleted' }).waitFor();
    assertNoTrouble(page);
  });

  test('settings - a link and the step-up are set, bad ones refused; calls of a level are allowed; all is in the trail', async () => {
    const page = await adminAt('/admin/settings');
    const console = page.getByRole('region', { name: 'Console', exact: true });
    await console.getByLabel('Link to another program').fill('javascript:alert({number})');
    await console.getByRole('button', { name: 'Save' }).click();
    await said(page, 'Please check the fields').waitFor();
    await console.getByLabel('Link to another program').fill('https://crm.example.com/?q={number}&n={name}');
    await console.getByText('https://crm.example.com/?q=%2B493012345678&n=Ada%20Lovelace').waitFor();
    await console.getByRole('switch', { name: /^Listening needs/ }).click();
    await console.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    const calls = page.getByRole('region', { name: 'Calls from the console and the API' });
    await calls.getByLabel('Calls per person and day').fill('0');
    await calls.getByRole('button', { name: 'Save' }).click();
    await calls.getByRole('alert').waitFor();
    await calls.getByLabel('Calls per person and day').fill('50');
    await calls.getByLabel('Agent: National').check();
    await calls.getByRole('button', { name: 'Add a prefix' }).click();
    await calls
      .getByLabel(/^Prefix \d+$/)
      .last()
      .fill('+4915');
    await calls.getByLabel('What +4915 is').selectOption('mobile');
    await calls.getByRole('button', { name: 'Remove +870' }).click();
    await assertAccessible(page);
    // The refusal goes with the click, before the service has the settings.
    const stored = page.waitForResponse(
      (reply) => reply.request().method() === 'PUT' && reply.url().endsWith('/settings/calls') && reply.ok(),
    );
    await calls.getByRole('button', { name: 'Save' }).click();
    await stored;
    await until('the refusal is gone', async () => (await calls.getByRole('alert').count()) === 0);
    await page.reload();
    await hasValue(calls.getByLabel('Calls per person and day'), '50');
    await isChecked(calls.getByLabel('Agent: National'));
    await hasValue(calls.getByLabel('What +4915 is'), 'mobile');
    assert.equal(await calls.getByLabel('What +870 is').count(), 0);
    await isChecked(console.getByRole('switch', { name: /^Listening needs/ }));

    await go(page, 'Audit trail');
    await page.getByRole('combobox', { name: 'Action' }).fill('settings of the console');
    await page.getByRole('option', { name: 'Settings of the console changed' }).click();
    await until('one line is left', async () => (await page.locator('tbody tr').count()) === 1);
    await page.getByText('https://crm.example.com/?q={number}&n={name}').waitFor();
    await assertAccessible(page);
    await page.getByLabel('To', { exact: true }).fill('2020-01-01T00:00');
    await page.getByRole('heading', { name: 'There is no such line' }).waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    const line = page.getByRole('row', { name: 'Signed in session.login' }).first();
    await line.getByText(/^session: \d+$/).waitFor();
    assertNoTrouble(page);
  });

  test('audit - a line names people and objects with a way there, old and new values, is found by words and exported', async () => {
    const { features, config } = await clientOf(site(), '1001');
    await features.set('1005', { call_forward_number: '1006' });
    await features.set('1005', { call_forward_number: '1007' });
    const queue = await config.get('queues', 'support');
    await config.patch('queues', 'support', { title: 'Help desk' }, { if_match: queue.etag });
    const page = await adminAt('/admin/audit');
    await page.getByLabel('Search').fill('FORWARD');
    const line = page.getByRole('row').filter({ hasText: '1006 → 1007' });
    await line.waitFor();
    await until(
      'others are gone',
      async () => (await page.getByRole('row').filter({ hasText: 'Signed in' }).count()) === 0,
    );
    await line.waitFor();
    await assertAccessible(page);
    await page.getByLabel('Search').fill('queue:support');
    await page
      .getByRole('row')
      .filter({ hasText: /Title: Support → Help desk/ })
      .getByRole('link', { name: 'Queue support' })
      .waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const text = await readFile(await (await download).path(), 'utf8');
    assert.match(text, /^\uFEFF"at","actor","actor_name","action"/);
    assert.match(text, /"queue:support"/);
    assertNoTrouble(page);
  });

  test('health - everything works; the engine that goes away is said at once, and that it is back', async () => {
    const page = await adminAt('/admin/health', { scheme: 'dark' });
    await works(page);
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByText('Events so far').waitFor();
    await assertAccessible(page);
    const { config } = await clientOf(site(), '1001');
    await config.change([{ op: 'patch', kind: 'queue', key: 'support', patch: { title: 'Help' } }]);
    await config.apply({ comment: HTML });
    await page.getByRole('row', { name: HTML }).getByText('Applied', { exact: true }).waitFor();
    // The engine is soon back, so the page is looked at for all of them at once.
    const said = Promise.all([
      page.getByText('Not connected').waitFor(),
      page.getByRole('row', { name: /^Reason ./ }).waitFor(),
      page.getByText('Something needs attention', { exact: true }).waitFor(),
    ]);
    process.kill(site().enginePid()!, 'SIGKILL');
    await said;
    await assertAccessible(page);
    await page.getByText('Connected', { exact: true }).waitFor();
    await works(page);
    assertNoTrouble(page);
  });

  test('health - a network that guesses passwords is listed, and released by a click', async () => {
    const page = await adminAt('/admin/health');
    await works(page);
    const { host, port } = site().sip;
    const scanner = await openTransport({
      server: site().sip,
      username: 'scanner',
      password: 'wrong',
      at: { host: '127.9.9.9', port: 0 },
      onRequest() {},
    });
    try {
      for (let i = 0; i < 10; i++)
        await scanner.send(
          {
            callId: randomTag(),
            local: `<sip:scanner@${host}>;tag=${randomTag()}`,
            remote: `<sip:scanner@${host}>`,
            target: `sip:${host}:${port}`,
            cseq: 0,
          },
          'REGISTER',
          {},
        ).response;
    } finally {
      await scanner.close();
    }
    const row = page.getByRole('row', { name: '127.9.9.0/24' });
    await row.getByText('9 requests refused, last for an unknown account').waitFor();
    await assertAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await fits(page);
    await nothingBeside(page);
    await assertAccessible(page);
    await row.getByRole('button', { name: 'Release' }).click();
    await page.getByText('Network released').waitFor();
    await row.waitFor({ state: 'detached' });
    assertNoTrouble(page);
  });

  test('people - every page fits a phone, in Turkish, and says that it is not for everybody', async () => {
    const size = { width: 390, height: 844 };
    const { apiKeys, webhooks } = await clientOf(site(), '1001');
    await apiKeys.create({ name: `Long ${'x'.repeat(50)}`, scopes: ['history:read'] });
    await webhooks.setSettings({ private_targets: ['127.0.0.1'] });
    const { webhook } = await webhooks.create({ url: sink.url, description: HTML, topics: ['calls'] });
    await webhooks.test(webhook.id);
    for (const [path, words] of [
      ['/admin/people', 'Kişiler'],
      ['/admin/people/1003', 'Zoë Müller'],
      ['/admin/api-keys', 'API anahtarları'],
      ['/admin/webhooks', 'Web kancaları'],
      [`/admin/webhooks/${webhook.id}`, HTML],
      ['/admin/audit', 'Denetim izi'],
      ['/admin/health', 'Sistem durumu'],
      ['/admin/settings', 'Ayarlar'],
      ['/admin/config/phones', 'Masa telefonları'],
      ['/account', 'Defne Yıldırım'],
    ] as const) {
      const page = await adminAt(path, { language: 'tr', size, scheme: 'dark' });
      await page.getByRole('heading', { level: 1, name: words }).waitFor();
      await until(
        `${path} is read`,
        async () => (await page.getByRole('status', { name: 'Yükleniyor' }).count()) === 0,
      );
      await fits(page, path);
      await assertAccessible(page);
      const signedIn = page.getByRole('row', { name: 'Oturum açıldı session.login' }).first();
      if (path === '/admin/audit') await signedIn.getByText(/^oturum: \d+$/).waitFor();
      if (path === '/admin/health') {
        await page.getByText(/^[\d.]+ MiB boş$/).waitFor();
        // Its tables are folded: nothing of them is beside the screen.
        await nothingBeside(page);
        // Details whose form is fixed are translated too.
        const english = await page.getByRole('cell', { name: ENGLISH_DETAIL }).allTextContents();
        assert.deepEqual(english, []);
      }
      if (path === '/account' || path === '/admin/config/phones') await nothingBeside(page);
      if (path === '/admin/settings') {
        await page
          .getByRole('group', { name: 'Kim nereyi arayabilir' })
          .getByText('Yurt içi', { exact: true })
          .first()
          .waitFor();
        await nothingBeside(page);
      }
      assertNoTrouble(page);
    }
    for (const width of [1280, 390])
      for (const path of ['/admin/config', '/admin/config/phones', '/admin/people']) {
        const page = await adminAt(path, { language: 'de', size: { width, height: 844 } });
        await page.getByPlaceholder(/Name/).waitFor();
        assert.deepEqual(await page.evaluate(CUT), [], path);
      }
    // On a phone the figures of a row are below its title, where no heading names them.
    const limits = await adminAt('/admin/config/call-limits', { size });
    await limits
      .getByText(/^Classes: 2 · /)
      .first()
      .waitFor();
    const agent = await openConsole(site(), browser(), { path: '/admin/people' });
    await signIn(site(), agent, '1006');
    await agent.getByRole('heading', { level: 1, name: 'You do not have access to this page' }).waitFor();
    await agent.context().close();
  });
});
