import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Locator, Page, Route } from 'playwright-core';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  buildFirst,
  clickThrice,
  clientOf,
  close,
  focusIsOn,
  signedIn,
} from './rig.ts';

const agentRow = (page: Page, extension: string): Locator => page.locator(`[data-agent="${extension}"]`);
const isShown = async (page: Page, extension: string, state: string): Promise<void> => {
  let last: string | null = null;
  await until(
    `${extension} is ${state}`,
    async () => {
      last = await agentRow(page, extension).getAttribute('data-state');
      return last === state;
    },
    { seen: () => ({ last }) },
  );
};
const act = async (page: Page, name: string, item: string | RegExp): Promise<void> => {
  await page.getByRole('button', { name: `Actions for ${name}`, exact: true }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

/** Answers a change as the service refuses a field. */
const refuse = (route: Route, path: string): Promise<void> =>
  route.fulfill({
    status: 400,
    contentType: 'application/problem+json',
    body: JSON.stringify({
      success: false,
      code: 'invalid_request',
      title: 'The request is not valid',
      status: 400,
      detail: `${path} is not valid`,
      errors: [{ path, detail: 'is not valid' }],
    }),
  });
const isRefused = (field: Locator): Promise<unknown> =>
  until(`${String(field)} is marked`, async () => (await field.getAttribute('aria-invalid')) === 'true');

describe('supervisor page', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();
  const admin = () => clientOf(site(), '1001');
  const audited = async (action: string): Promise<number> =>
    (await (await admin()).audit({ action })).entries.length;

  test('supervisor - a forced pause with its reason is seen by the agent; ready again, logged out and in', async () => {
    await using _phone = await site().phone('1003');
    const page = await signedIn(site(), browser(), '1002', { path: '/supervisor' });
    const agent = await signedIn(site(), browser(), '1003', { path: '/directory' });
    await isShown(page, '1003', 'available');
    await assertAccessibleInBoth(page, 'agents');
    const order = (): Promise<string[]> =>
      page.locator('[data-agent]').evaluateAll((rows) => rows.map((row) => row.dataset['agent'] ?? ''));
    const isOrder = (wanted: string): Promise<unknown> =>
      until(`the order is ${wanted}`, async () => (await order()).join(' ') === wanted);
    await isOrder('1003 1005 1004 1006');
    await page.getByRole('button', { name: 'Agent', exact: true }).click();
    await isOrder('1005 1004 1006 1003');
    await page.getByLabel('Only agents in this state').selectOption('Available');
    await isOrder('1003');
    await page.getByLabel('Only agents in this state').selectOption('All states');
    await act(page, 'Zoë Müller', 'Lunch');
    await isShown(page, '1003', 'not_ready');
    await agentRow(page, '1003').getByText('Paused · Lunch').waitFor();
    await agent.getByRole('button', { name: /^My presence: Lunch$/ }).waitFor();
    // Pages that were read before this one left nothing it cannot use.
    await agent.getByRole('link', { name: 'Wallboard' }).click();
    await agent.locator('[data-agent="1003"]').getByText('Paused · Lunch').waitFor();
    await agent.getByRole('link', { name: 'Agent desk' }).click();
    await agent.getByRole('button', { name: /^Available/ }).waitFor();
    // The same by keyboard alone.
    await page.getByRole('button', { name: 'Actions for Zoë Müller' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Make available' }).waitFor();
    await assertAccessible(page, 'the actions');
    await until('the keyboard is on it', async () => {
      await page.keyboard.press('ArrowDown');
      return page.evaluate(`document.activeElement?.textContent === 'Make available'`);
    });
    await page.keyboard.press('Enter');
    await isShown(page, '1003', 'available');
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(request.url().replace(/.*\/1003\//, ''));
    });
    await page.getByRole('button', { name: 'Actions for Zoë Müller', exact: true }).click();
    await clickThrice(page.getByRole('menuitem', { name: 'Sign out of all queues' }));
    await isShown(page, '1003', 'logged_out');
    assert.deepEqual(sent, ['logout'], 'three quick clicks are one');
    await act(page, 'Zoë Müller', 'Sign in to all queues');
    await until(
      'it is logged in',
      async () => (await agentRow(page, '1003').getAttribute('data-state')) !== 'logged_out',
    );
    await close(page, agent);
  });

  test('supervisor - listens to a call, which is said to be audited; whispers after the password; ends the call', async () => {
    await using own = await site().phone('1002');
    await using customer = await site().phone('1010');
    await using agent = await site().phone('1004');
    const page = await signedIn(site(), browser(), '1002', { path: '/supervisor', scheme: 'dark' });
    const call = await customer.invite('1004');
    const there = await agent.incoming();
    await there.answer();
    await call.answered();
    await isShown(page, '1004', 'busy_other');
    await page.getByRole('tab', { name: /^Calls/ }).click();
    await page.getByRole('button', { name: 'Listen to Léa Fournier – José Ibáñez' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The audit trail records your name, the call and the time.').waitFor();
    await assertAccessible(page, 'the announcement');
    await dialog.getByRole('button', { name: 'Listen' }).click();
    const heard = await own.incoming();
    await heard.answer();
    await dialog.waitFor({ state: 'detached' });
    await until('the line of the trail', async () => (await audited('calls.listen')) === 1);
    const listening = page.getByRole('region', { name: 'Own listening' });
    await listening.getByText('You are in the call of José Ibáñez').waitFor();
    assert.equal(await page.locator('[data-call-id]').count(), 1, 'own listening is no call of the list');
    await assertAccessible(page, 'who listens');
    // The reply to the change is lost after the engine made it; the event of its result still arrives.
    await page.route('**/barge', (route) => route.fetch().then(() => route.abort()), { times: 1 });
    const barge = listening.getByRole('button', { name: 'Barge in' });
    await barge.click();
    await until('the mode is shown', async () => (await barge.getAttribute('aria-pressed')) === 'true');
    await heard.hangup();
    await listening.waitFor({ state: 'detached' });

    const settings = { crm_link: null, confirm_supervision: true };
    await (await admin()).consoleSettings.set(settings);
    await act(page, 'Léa Fournier – José Ibáñez', 'Whisper to José Ibáñez');
    await dialog.getByRole('button', { name: 'Whisper' }).click();
    const asked = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await asked.getByLabel('Your password').fill('wrong');
    await page.keyboard.press('Enter');
    await asked.getByRole('alert').getByText('Unknown person or wrong password').waitFor();
    await assertAccessible(page, 'the password');
    const password = (await site().credentials()).find((one) => one.extension === '1002')?.password ?? '';
    await asked.getByLabel('Your password').fill(password);
    await page.keyboard.press('Enter');
    await asked.waitFor({ state: 'detached' });
    const whispered = await own.incoming();
    await whispered.answer();
    await dialog.waitFor({ state: 'detached' });
    await whispered.hangup();
    await listening.waitFor({ state: 'detached' });
    await act(page, 'Léa Fournier – José Ibáñez', 'Barge in on José Ibáñez');
    await dialog.getByRole('button', { name: 'Barge in' }).click();
    const joined = await own.incoming();
    await joined.answer();
    await dialog.waitFor({ state: 'detached' });
    await joined.hangup();
    await listening.waitFor({ state: 'detached' });
    await (await admin()).consoleSettings.set({ ...settings, confirm_supervision: false });

    await act(page, 'Léa Fournier – José Ibáñez', /^Hang up/);
    await dialog.getByRole('button', { name: 'End the call' }).click();
    await call.ended();
    await page.getByText('No calls in progress').waitFor();
    await close(page);
  });

  test('supervisor - waiting callers change place by menu, by keyboard and by dragging, their queue and priority, and leave', async () => {
    await using first = await site().phone('1010');
    await using second = await site().phone('1011');
    await using third = await site().phone('1012');
    const page = await signedIn(site(), browser(), '1002', { path: '/supervisor' });
    for (const extension of ['1003', '1004', '1005', '1006']) {
      await (await admin()).agents.pause(extension, { reason: 'lunch' });
    }
    await page.getByRole('tab', { name: /^Queues/ }).click();
    const queue = (name: string): Locator => page.locator(`[data-queue="${name}"]`);
    const order = (name: string): Promise<string[]> =>
      queue(name)
        .locator('li[data-caller]')
        .evaluateAll((rows) => rows.map((row) => row.querySelector('p')?.textContent ?? ''));
    const waits = async (name: string, wanted: readonly string[]): Promise<void> => {
      let last: readonly string[] = [];
      await until(
        `${wanted.join(', ')} wait in ${name}`,
        async () => {
          last = await order(name);
          return JSON.stringify(last) === JSON.stringify(wanted);
        },
        { seen: () => ({ last }) },
      );
    };
    const [lea, kwame, priya] = ['Léa Fournier', 'Kwame Mensah', 'Priya Nair'];
    const calls = [];
    for (const [i, phone] of [first, second, third].entries()) {
      calls.push(await phone.invite('500'));
      await waits('support', [lea, kwame, priya].slice(0, i + 1));
    }
    await assertAccessibleInBoth(page, 'callers wait');
    await page.getByRole('tab', { name: /^Calls/ }).click();
    await page.locator('[data-call-id]').first().getByText('Internal · Support').waitFor();
    await page.getByRole('tab', { name: /^Queues/ }).click();
    await act(page, priya, 'To the front');
    await waits('support', [priya, lea, kwame]);
    const byKeyboard = async (name: string, item: string): Promise<void> => {
      await page.getByRole('button', { name: `Actions for ${name}` }).focus();
      await page.keyboard.press('Enter');
      await until(`the keyboard is on ${item}`, async () => {
        await page.keyboard.press('ArrowDown');
        return page.evaluate(`document.activeElement?.textContent === '${item}'`);
      });
    };
    // Of who is first, the first actions there are lead on.
    await byKeyboard(priya, 'One place down');
    await assertAccessibleInBoth(page, 'the actions of a caller');
    await page.keyboard.press('Escape');
    // The menu hands the focus back, from whatever has it by then.
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await focusIsOn(page, page.getByRole('button', { name: `Actions for ${priya}` }));
    await byKeyboard(kwame, 'One place up');
    await page.keyboard.press('Enter');
    await waits('support', [priya, kwame, lea]);
    const dragged = queue('support').locator('li[data-caller]');
    await dragged.nth(2).dragTo(dragged.nth(0));
    await waits('support', [lea, priya, kwame]);
    await dragged.nth(1).dragTo(queue('sales').getByRole('heading'));
    await waits('support', [lea, kwame]);
    await waits('sales', [priya]);
    await act(page, priya, /^Move to another queue/);
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Place there').selectOption('front');
    await assertAccessible(page, 'moving');
    const moves = '**/queues/*/callers/**';
    await page.route(moves, (route) => refuse(route, 'queue'));
    await dialog.getByRole('button', { name: 'Move' }).click();
    await isRefused(dialog.getByRole('combobox', { name: 'Queue' }));
    await page.unroute(moves);
    await dialog.getByRole('button', { name: 'Move' }).click();
    await waits('support', [priya, lea, kwame]);
    await act(page, kwame, /^Change the priority/);
    await dialog.getByLabel('Priority').fill('7');
    await page.route(moves, (route) => refuse(route, 'priority'));
    await dialog.getByRole('button', { name: 'Set' }).click();
    await isRefused(dialog.getByLabel('Priority'));
    await page.unroute(moves);
    await dialog.getByRole('button', { name: 'Set' }).click();
    await waits('support', [kwame, priya, lea]);
    await queue('support').getByText('Priority 7').waitFor();
    await focusIsOn(page, page.getByRole('button', { name: `Actions for ${kwame}` }));
    await act(page, priya, /^Take out of the queue/);
    await dialog.getByRole('button', { name: 'Take out' }).click();
    await waits('support', [kwame, lea]);
    // The row of these actions is gone.
    await focusIsOn(page, page.locator('#content'));

    await queue('support').getByRole('button', { name: 'Members of Support' }).click();
    await dialog.getByText('Zoë Müller').waitFor();
    await dialog.getByRole('button', { name: 'Take Zoë Müller out' }).click();
    await dialog.getByRole('row', { name: /Zoë Müller/ }).waitFor({ state: 'detached' });
    await dialog.getByLabel('Add an agent').selectOption('1003');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.getByRole('row', { name: /Zoë Müller/ }).waitFor();
    await assertAccessibleInBoth(page, 'members');
    await page.keyboard.press('Escape');
    await focusIsOn(page, queue('support').getByRole('button', { name: 'Members of Support' }));
    for (const call of [calls[0], calls[1]]) await call?.hangup();
    await waits('support', []);
    await page.setViewportSize({ width: 390, height: 844 });
    await until('nothing is wider than a phone', () =>
      page.evaluate('document.documentElement.scrollWidth === 390'),
    );
    await close(page);
  });
});
