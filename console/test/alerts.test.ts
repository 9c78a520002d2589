/** Alerts on every page: emergency calls and spent call limits; and the words for blocking a caller. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Language } from '@offhook/contract/errors.ts';
import { putObjects } from '../../server/src/features/pbx-config/put.ts';
import { prepareDemo } from '../../server/test/support/company.ts';
import { farAddress } from '../../server/test/support/far-address.ts';
import { openFarSide } from '../../server/test/support/phone.ts';
import type { Phone } from '../../server/test/support/phone.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import {
  assertAccessible,
  assertNoTrouble,
  buildFirst,
  clientOf,
  close,
  endSession,
  openConsole,
  signIn,
  signInAgain,
} from './rig.ts';

const NORTH = await farAddress('127.0.0.2');

describe('console alerts', () => {
  before(buildFirst);
  const site = useSite({
    env: { OFFHOOK_SITE_COUNTRY: 'DE' },
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        extension: [{ extension: '1008', location: 'Gate house' }],
        network: [{ emergency_contacts: ['1004'] }],
        trunk: [{ name: 'north', title: 'North', ...NORTH, outbound_number: '+49305550' }],
        inbound_route: [{ name: 'all', trunk: 'north', to: { kind: 'extension', key: '1003' } }],
        outbound_route: [
          { name: 'national', patterns: ['0X!'], trunks: [{ trunk: 'north' }] },
          { name: 'help', class: 'emergency', patterns: ['112'], trunks: [{ trunk: 'north' }] },
        ],
        call_limit: [
          { name: 'few', title: 'Few', classes: ['national'], extensions: ['1008'], calls_per_hour: 1 },
        ],
      });
    }),
  });
  const browser = useBrowser();
  const far = (extension: string): Promise<Phone> =>
    openFarSide({ server: site().sip, extension, at: NORTH, cli: site().engineCli });
  const alert = (page: Page, title: string) => page.getByRole('alert').filter({ hasText: title });
  async function pageOf(extension: string, language: Language = 'en'): Promise<Page> {
    const page = await openConsole(site(), browser(), { path: '/desk', language });
    await signIn(site(), page, extension);
    return page;
  }
  /** A call that the far side answers, and its end. */
  async function talks(desk: Phone, number: string, there: Phone): Promise<void> {
    const call = await desk.invite(number);
    await (await there.incoming(call)).answer();
    await call.answered();
    await call.hangup();
  }

  test('alerts - an emergency call is shown at once to administrators, supervisors and the people named, and to no other', async () => {
    const pages = await Promise.all([pageOf('1001'), pageOf('1002', 'de'), pageOf('1004'), pageOf('1003')]);
    const [admin, supervisor, named, other] = pages as [Page, Page, Page, Page];
    await using there = await far('+4930112');
    await using gate = await site().phone('1008');
    const call = await gate.invite('112');
    const incoming = await there.incoming(call);
    await Promise.all(
      [admin, named].map((page) =>
        alert(page, 'Emergency call to 112')
          .getByText(/Gate house.*\+49305550/)
          .waitFor(),
      ),
    );
    await alert(supervisor, 'Notruf an 112')
      .getByText(/Gate house/)
      .waitFor();
    await assertAccessible(named);
    await incoming.answer();
    await call.answered();
    await call.hangup();

    await talks(gate, '0301234', there);
    const refused = await gate.invite('0301234');
    await refused.ended();
    assert.equal(refused.status, 403);
    await alert(admin, 'Call limit reached')
      .getByText(/1008 has spent .*\(few\)/)
      .waitFor();
    await alert(supervisor, 'Anruflimit erreicht').waitFor();
    assert.deepEqual(
      await Promise.all([
        alert(named, 'Call limit').count(),
        alert(other, 'Call limit').count(),
        alert(other, 'Emergency').count(),
      ]),
      [0, 0, 0],
    );
    await alert(named, 'Emergency call to 112').getByRole('button').click();
    await until('the notice to be closed', async () => (await alert(named, 'Emergency').count()) === 0);
    // A page that is opened or loaded after them shows them, but for what was closed there.
    await Promise.all([admin, named].map((page) => page.reload()));
    await alert(admin, 'Emergency call to 112').waitFor();
    await alert(admin, 'Call limit reached').waitFor();
    const later = await pageOf('1002', 'tr');
    await alert(later, '112')
      .getByText(/Gate house/)
      .waitFor();
    const late = await pageOf('1004');
    await alert(late, 'Emergency call to 112').waitFor();
    // The last button of a page on a small screen can be scrolled above the alerts.
    await admin.setViewportSize({ width: 390, height: 844 });
    await admin.goto(`${site().base}/admin/config/phones`);
    await alert(admin, 'Emergency call to 112').waitFor();
    await admin.getByRole('button', { name: /^Set up: Apple/ }).click();
    await admin.getByRole('dialog').getByLabel('Team id').waitFor();
    assert.deepEqual(
      await Promise.all([alert(named, 'Emergency').count(), alert(late, 'Call limit').count()]),
      [0, 0],
    );
    await close(later, late);
    pages.forEach(assertNoTrouble);
    await close(...pages);
  });

  test('alerts - a page whose session ended shows the next emergency call once its person has signed in again', async () => {
    const page = await pageOf('1004');
    const emergencies = alert(page, 'Emergency call to 112');
    const before = await emergencies.count();
    await endSession(site(), page);
    await signInAgain(site(), page, '1004');
    await using there = await far('+4930112');
    await using gate = await site().phone('1008');
    await talks(gate, '112', there);
    await until('another notice', async () => (await emergencies.count()) > before);
    await close(page);
  });

  test('block this caller - from the desk during a call, and from the history', async () => {
    const client = await clientOf(site(), '1001');
    const blocked = async (): Promise<readonly (string | null)[]> =>
      (await client.callerRules.list()).rules.map(({ number }) => number);
    const block = async (page: Page, number: string): Promise<void> => {
      await page.getByRole('button', { name: 'Block this caller' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(`Calls from ${number} are rejected from now on`).waitFor();
      await dialog.getByRole('button', { name: 'Block this caller' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await using desk = await site().phone('1003');
    const page = await pageOf('1003');
    {
      await using outside = await far('+4930555777');
      const call = await outside.invite('+49305550');
      await (await desk.incoming(call)).answer();
      await call.answered();
      await block(page, '+4930555777');
      await until('the rule', async () => (await blocked()).includes('+4930555777'));
      await call.hangup();
    }
    await using outside = await far('+4930555888');
    const call = await outside.invite('+49305550');
    const incoming = await desk.incoming(call);
    await incoming.answer();
    await call.answered();
    await call.hangup();
    const found = await until('the conversation to be over', async () => {
      const { conversations } = await client.conversations.list({ number: '+4930555888' });
      return conversations.find(({ ended_at }) => ended_at !== null);
    });
    await page.goto(`${site().base}/history/${found.id}`);
    await block(page, '+4930555888');
    await until('both rules', async () => (await blocked()).length === 2);
    assertNoTrouble(page);
    await close(page);
  });
});
