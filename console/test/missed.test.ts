/** Missed calls: the badge, the list, the desk, and the question whether the browser may notify. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { ring } from '../../server/test/support/conversation-stage.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { COMPANY, close, deskSteps, isIn, offered, region } from './desk-steps.ts';
import { button, contextOf, openPanel, panel, ready } from './phone-rig.ts';
import { assertAccessible, assertAccessibleInBoth, buildFirst, consoleOf, isChecked } from './rig.ts';

/** Simulates a browser that never asked for permission to notify. */
const UNASKED = `
  window.asked = 0;
  Object.defineProperty(Notification, 'permission', { get: () => (window.asked === 0 ? 'default' : 'granted') });
  Notification.requestPermission = async () => { window.asked += 1; return 'granted'; };`;

describe('missed calls', () => {
  before(buildFirst);
  const site = useSite({ prepare: COMPANY });
  const browser = useBrowser();
  const { put, deskAtWork } = deskSteps(site, browser);

  const titled = (page: Page, pattern: RegExp) =>
    until(`the title is like ${String(pattern)}`, async () => pattern.test(await page.title()));
  const entry = (page: Page) => page.getByRole('navigation').getByRole('link', { name: /^Missed calls/ });
  const rows = (page: Page) => page.getByRole('list', { name: 'Missed calls' }).getByRole('listitem');

  test('missed - a call in vain is counted beside the page and in its title until its list is looked at, and stays in the list', async () => {
    const page = await consoleOf(site(), browser(), '1004', { path: '/directory' });
    await titled(page, /^Directory/);
    await using called = await site().phone('1004');
    await using caller = await site().phone('1008');
    for (const count of [1, 2]) {
      const [call, at] = await ring(caller, '1004', called, 300);
      await call.hangup();
      await at.ended();
      await titled(page, new RegExp(`^\\(${count}\\) Directory`));
      await entry(page).getByText(`${count} new`).waitFor({ state: 'attached' });
    }
    await assertAccessibleInBoth(page);
    await page.reload();
    await titled(page, /^\(2\) Directory/);
    const other = await page.context().newPage();
    await other.goto(`${site().base}/history`);
    await titled(other, /^\(2\) History/);
    await entry(page).click();
    await until('both are listed', async () => (await rows(page).count()) === 2);
    assert.equal(await rows(page).getByText('New', { exact: true }).count(), 2);
    await rows(page).first().getByText('Olha').waitFor();
    await rows(page).first().getByRole('button', { name: 'Call 1008' }).waitFor();
    await assertAccessible(page);
    await titled(page, /^Missed calls/);
    await titled(other, /^History/);
    await until('nothing is new', async () => (await entry(page).getByText('new').count()) === 0);
    await other.close();
    await page.reload();
    await until('both are still listed', async () => (await rows(page).count()) === 2);
    assert.equal(await rows(page).getByText('New', { exact: true }).count(), 0);
    await rows(page).first().getByRole('link').click();
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    await close(page);
  });

  test('missed - a queue call that rang in vain reads so on the desk, without a note; an answered one is the last call', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    const page = await deskAtWork();
    const note = page.getByRole('textbox', { name: 'Note' });
    const [call, at] = await ring(caller, '510', phone, 300);
    await isIn(page, 'A call for you');
    await call.hangup();
    await at.ended();
    await region(page, 'Missed · Incoming').getByText('Olha').waitFor();
    await note.waitFor({ state: 'detached' });
    await titled(page, /^\(1\) /);
    await assertAccessible(page);
    await page.reload();
    await region(page, 'Missed · Incoming').getByText('Olha').waitFor();
    assert.equal(await note.count(), 0);
    await isIn(page, 'Available');
    const next = await offered(phone, caller, '510');
    await next.answer();
    await isIn(page, 'Talking');
    await note.waitFor();
    await next.hangup();
    await region(page, 'Last call · Incoming').getByText('Olha').waitFor();
    await note.waitFor();
    await entry(page).click();
    await rows(page).first().getByText('Sales', { exact: true }).waitFor();
    await put('logout');
    await close(page);
  });

  test('missed - a call whose phone had not rung yet when the page loaded is missed, not the last call', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    const page = await deskAtWork();
    const call = await caller.invite('510');
    const at = await phone.incoming();
    await isIn(page, 'A call for you');
    await page.reload();
    await region(page, 'Call · Incoming').getByText('Olha').waitFor();
    await call.hangup();
    await at.ended();
    await region(page, 'Missed · Incoming').getByText('Olha').waitFor();
    await put('logout');
    await close(page);
  });

  test('missed - the browser is asked for notices when the phone is switched on, and never again', async () => {
    const context = await contextOf(browser(), { before: UNASKED });
    const page = await consoleOf(site(), browser(), '1008', { context, path: '/directory' });
    const asked = () => page.evaluate('window.asked');
    await openPanel(page);
    assert.equal(await asked(), 0, 'nobody asked before');
    await button(page, 'Switch the phone on').click();
    await ready(page);
    assert.equal(await asked(), 1);
    await button(page, 'Phone settings').click();
    const notify = panel(page).getByRole('switch', { name: 'Notify me of calls while this page is hidden' });
    await until('notices are on', () => notify.isChecked());
    await notify.press(' ');
    await until('notices are off', async () => !(await notify.isChecked()));
    await button(page, 'Switch the phone off').click();
    await button(page, 'Switch the phone on').click();
    await ready(page);
    await notify.waitFor({ state: 'attached' });
    // What the person chose stays.
    await isChecked(notify, false);
    assert.equal(await asked(), 1);
    await close(page);
  });
});
