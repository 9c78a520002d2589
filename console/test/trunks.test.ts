/** State of the trunks on System health and above the list of trunks. */
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { putObjects } from '../../server/src/features/pbx-config/put.ts';
import { prepareDemo } from '../../server/test/support/company.ts';
import { farAddress, lend } from '../../server/test/support/far-address.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { adminPage } from './people-steps.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertNoTrouble,
  buildFirst,
  fits,
  nothingBeside,
} from './rig.ts';

const TITLE = 'Söhne & Öz';
const NORTH = await farAddress('127.0.0.2');
const LOCKED = await farAddress('127.0.0.3');
const LOGIN = { username: 'office', password: 'not-the-right-one', register: true };

describe('console trunks', () => {
  before(buildFirst);
  const site = useSite({
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        trunk: [
          { name: 'north', title: 'North', ...NORTH },
          { name: 'locked', title: TITLE, ...LOCKED, ...LOGIN },
          { name: 'spare', title: 'Spare', host: '127.0.0.4', enabled: false },
        ],
      });
    }),
  });
  const browser = useBrowser();
  const adminAt = adminPage(site, browser);
  const row = (page: Page, table: string, title: string) =>
    page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: title });
  /** The regular OPTIONS and the first REGISTER come within 20 s; these come now. */
  const ask = (): Promise<string> => site().engineCli('pjsip qualify trunk-north');

  test('list - states change without a reload, with their time and round trip', async () => {
    const page = await adminAt('/admin/config/trunks');
    await ask();
    await site().engineCli('pjsip send register trunk-locked');
    const north = row(page, 'Trunks', 'North').filter({ has: page.getByRole('time') });
    await north.getByText('Reachable', { exact: true }).waitFor();
    await north.getByText(/^[\d.]+ ms$/).waitFor();
    await row(page, 'Trunks', TITLE).getByText('Registration failed', { exact: true }).waitFor();
    await row(page, 'Trunks', 'Spare').getByText('Switched off', { exact: true }).waitFor();
    await assertAccessibleInBoth(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await fits(page);
    await nothingBeside(page);
    const away = await lend(NORTH);
    await ask();
    await north.getByText('Not reachable', { exact: true }).waitFor();
    await away.giveBack();
    await ask();
    await north.getByText('Reachable', { exact: true }).waitFor();
    assertNoTrouble(page);
  });

  for (const [language, table, rejected, checked, partly] of [
    ['en', 'Trunks', 'Registration failed', / registration failed, since \S/, /^The service works, but /],
    [
      'de',
      'Amtsleitungen',
      'Registrierung fehlgeschlagen',
      / Registrierung fehlgeschlagen, seit \S/,
      /^Der Dienst läuft, aber /,
    ],
    ['tr', 'Dış hatlar', 'Kayıt başarısız', / kayıt başarısız, başlangıç \S/, /^Hizmet çalışıyor, ancak /],
  ] as const)
    test(`health - state and reason have words in ${language}, in the table and in the check`, async () => {
      const page = await adminAt('/admin/health', { language });
      await row(page, table, TITLE).getByText(rejected, { exact: true }).waitFor();
      await page.getByText(checked).waitFor();
      // Calls go on, but not everything works.
      await page.getByRole('status').getByText(partly).waitFor();
      await assertAccessible(page);
      assertNoTrouble(page);
    });
});
