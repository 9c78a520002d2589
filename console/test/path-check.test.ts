/** The page of the path check: ways tried by the service and by the browser, faults with their remedies, and a pass. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { apply, ask } from '../../server/test/support/config-steps.ts';
import { freePort, freeRange } from '../../server/test/support/ports.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { adminPage, go } from './people-steps.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertNoTrouble,
  buildFirst,
  clickThrice,
  focusIsOn,
  signedIn,
  close,
  fits,
} from './rig.ts';

const PICTURES = process.env['PATH_CHECK_PICTURES'];

describe('path check page', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();
  const adminAt = adminPage(site, browser);
  const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
  const row = (page: Page, name: string, way: string) =>
    section(page, name)
      .getByRole('listitem')
      .filter({ has: page.getByText(way, { exact: true }) });
  const turnPid = async (): Promise<number> =>
    (JSON.parse(await readFile(path.join(site().dataDir, 'engine/turn.json'), 'utf8')) as { pid: number })
      .pid;
  const take = async (page: Page, name: string): Promise<void> => {
    if (PICTURES !== undefined)
      await page.screenshot({ path: path.join(PICTURES, `${name}.png`), fullPage: true });
  };

  before(async () => {
    const from = await freeRange(60);
    await ask(site(), 'POST', '/network', {
      tls_port: await freePort(),
      turn_port: await freePort(),
      turn_relay_ports: { from, to: from + 59 },
    });
    assert.equal((await apply(site())).state, 'applied');
  });

  test('path check - the service tries each way at a click, and the page shows it without a reload', async () => {
    const page = await adminAt('/');
    await go(page, 'Path check');
    const service = section(page, 'From the service itself');
    await service.getByText('Not checked yet').waitFor();
    await service.getByRole('button', { name: 'Check now' }).focus();
    await page.keyboard.press('Enter');
    for (const way of [
      'SIP over UDP',
      'SIP over TCP',
      'SIP over TLS',
      'SIP over WebSocket, encrypted sound',
      'Sound through TURN',
    ])
      await row(page, 'From the service itself', way).getByText('Works', { exact: true }).waitFor();
    await focusIsOn(page, service.getByRole('button', { name: 'Check now' }));
    await assertAccessibleInBoth(page);
    assertNoTrouble(page);
  });

  test('path check - this browser registers, calls and hears itself, directly and through TURN', async () => {
    const page = await adminAt('/admin/path-check');
    const mine = section(page, 'From this browser');
    await clickThrice(mine.getByRole('button', { name: 'Check this browser' }));
    for (const way of ['This page’s phone, directly', 'This page’s phone, through TURN'])
      await row(page, 'From this browser', way).getByText('Works', { exact: true }).waitFor();
    assertNoTrouble(page);
  });

  for (const [language, service, button, fails, fault, remedy] of [
    [
      'en',
      'From the service itself',
      'Check now',
      'Fails',
      'gives no relay: no answer within 5 s.',
      'Open the TURN port',
    ],
    [
      'de',
      'Vom Dienst selbst aus',
      'Jetzt prüfen',
      'Geht nicht',
      'gibt keine Vermittlung: keine Antwort in 5 s.',
      'Öffnen Sie den TURN-Port',
    ],
    [
      'tr',
      'Hizmetin kendisinden',
      'Şimdi denetle',
      'Çalışmıyor',
      'aktarım vermiyor: 5 saniye içinde yanıt yok.',
      'TURN bağlantı noktasını',
    ],
  ] as const)
    test(`path check - a way that fails is named with its remedy in ${language}`, async () => {
      const pid = await turnPid();
      process.kill(pid, 'SIGSTOP');
      try {
        const page = await adminAt('/admin/path-check', { language });
        await section(page, service).getByRole('button', { name: button }).click();
        const failed = section(page, service).getByRole('listitem').filter({ hasText: fails });
        await failed.getByText(fault).waitFor();
        await failed.getByText(remedy).waitFor();
        await assertAccessible(page);
        await take(page, `light-${language}`);
        if (language === 'en') {
          await page.emulateMedia({ colorScheme: 'dark' });
          await take(page, 'dark-en');
        }
        await page.setViewportSize({ width: 390, height: 844 });
        await assertAccessible(page);
        await fits(page);
        await take(page, `small-${language}`);
        assertNoTrouble(page);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      // The next language begins with a way that works.
      const page = await adminAt('/admin/path-check', { language });
      await section(page, service).getByRole('button', { name: button }).click();
      await section(page, service).getByText(fails, { exact: true }).waitFor({ state: 'detached' });
    });

  test('path check - a browser without a microphone is told so', async () => {
    const page = await adminAt('/admin/path-check');
    await page.evaluate(
      `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', 'NotAllowedError'))`,
    );
    await section(page, 'From this browser').getByRole('button', { name: 'Check this browser' }).click();
    await section(page, 'From this browser').getByText('This page may not use a microphone.').waitFor();
    assertNoTrouble(page);
  });

  test('path check - a pass is refused with the reason where no other machine reaches the site', async () => {
    const page = await adminAt('/admin/path-check');
    const elsewhere = section(page, 'From another machine');
    await elsewhere.getByLabel('Name or address of the site there').fill('pbx.example.com');
    await elsewhere.getByRole('button', { name: 'Create a pass' }).click();
    await elsewhere.getByText(/SIP listens on 127\.0\.0\.1 only/).waitFor();
    await assertAccessible(page);
    assertNoTrouble(page);
  });

  test('path check - is no page of supervisors', async () => {
    const page = await signedIn(site(), browser(), '1002', { path: '/admin/path-check' });
    assert.equal(await page.getByRole('heading', { name: 'Path check' }).count(), 0);
    await close(page);
  });
});
