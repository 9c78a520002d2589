import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Locator, Route } from 'playwright-core';
import { apply, ask } from '../../server/test/support/config-steps.ts';
import { connect } from '../../server/test/support/conversation-stage.ts';
import { until } from '../../server/test/support/until.ts';
import { steadyZone } from '../../server/test/support/steady-zone.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import {
  COMPANY,
  FAR,
  HOSTILE,
  byKey,
  close,
  deskSteps,
  isIn,
  offered,
  press,
  region,
  showsSignIn,
  stateOf,
  strangerOf,
} from './desk-steps.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  buildFirst,
  clickThrice,
  endSession,
  focusIsOn,
  hasValue,
  isChecked,
  fits,
  signInAgain,
} from './rig.ts';

describe('agent desk', () => {
  before(buildFirst);
  const site = useSite({
    prepare: COMPANY,
    env: {
      OFFHOOK_NO_ANSWER_LIMIT: '1',
      OFFHOOK_UNREACHABLE_SECONDS: '1',
      // Its figures are those of a day.
      OFFHOOK_SITE_ZONE: steadyZone(),
    },
  });
  const browser = useBrowser();

  const { api, put, engineSays, desk, deskAtWork } = deskSteps(site, browser);

  test('desk - works in one queue, in all and in none, as the engine shows; what is fixed says so', async () => {
    await using _phone = await site().phone('1003');
    await put('logout');
    const page = await desk();
    await isIn(page, 'Signed out');
    await page.getByRole('switch', { name: 'Work in Support' }).press(' ');
    await engineSays('support', /1003/);
    await isIn(page, 'Available');
    await isChecked(page.getByRole('switch', { name: 'Work in Sales' }), false);
    await engineSays('sales', null);
    await showsSignIn(page);
    await press(page, 'Sign in to all queues');
    await engineSays('sales', /1003/);
    await until('both are on', () => page.getByRole('switch', { name: 'Work in Sales' }).isChecked());
    await press(page, 'Sign out');
    await engineSays('support', null);
    await engineSays('sales', null);
    await isIn(page, 'Signed out');

    const fixed = await desk('1004');
    await put('login', {}, '1004');
    await fixed.getByText('The configuration keeps you in VIP.').waitFor();
    assert.equal(await fixed.getByRole('switch').count(), 1);
    await isChecked(fixed.getByRole('switch'));
    await press(fixed, 'Sign out');
    await isChecked(fixed.getByRole('switch'), false);
    await engineSays('support', null, '1004');
    await engineSays('vip', /1004/);
    await close(page, fixed);
  });

  test('desk - no button moves when the queues of an agent are read after its state', async () => {
    await using _phone = await site().phone('1003');
    await put('logout');
    const page = await desk();
    await isIn(page, 'Signed out');
    const read = Promise.withResolvers<void>();
    await page.route('**/api/v1/agents?extension=1003', async (route) => {
      await read.promise;
      await route.continue();
    });
    await page.getByRole('switch', { name: 'Work in Support' }).press(' ');
    await isIn(page, 'Available');
    const login = page.getByRole('button', { name: 'Sign in to all queues' });
    const before = await login.boundingBox();
    read.resolve();
    await showsSignIn(page);
    assert.deepEqual(await login.boundingBox(), before);
    await close(page);
  });

  test('desk - shows the queues of an agent who signed in between the first read and the stream', async () => {
    await using _phone = await site().phone('1003');
    await put('logout');
    const page = await desk('1003', { path: '/directory' });
    const go = Promise.withResolvers<void>();
    await page.routeWebSocket(/\/stream/, async (socket) => {
      await go.promise;
      socket.connectToServer();
    });
    await page.getByRole('link', { name: 'Agent desk' }).click();
    await isIn(page, 'Signed out');
    await put('login');
    go.resolve();
    await isIn(page, 'Available');
    await isChecked(page.getByRole('switch', { name: 'Work in Support' }));
    await close(page);
  });

  test('desk - pauses with a reason of the catalogue, marks who is past its time, and follows the phone and other tabs', async () => {
    await using phone = await site().phone('1003');
    await put('login');
    await put('unpause');
    const page = await desk();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await isIn(page, 'Available');
    await press(page, 'Pause');
    const menu = page.getByRole('menu');
    await menu.getByText('at most 15 min').waitFor();
    assert.equal(await menu.getByText('Talk with the boss').count(), 0, 'a supervisor’s alone');
    await menu.getByRole('menuitem', { name: /Errand/ }).click();
    await isIn(page, 'Paused');
    await isIn(other, 'Paused');
    await engineSays('support', /1003.*paused:errand/i);
    await stateOf(page).getByText('Errand').waitFor();
    await stateOf(page).getByText('unpaid').waitFor();
    await stateOf(page)
      .getByText(/\d+:\d\d over the limit/)
      .waitFor();
    await other.getByRole('button', { name: 'Available' }).click();
    await isIn(page, 'Available');
    const code = await phone.invite('*22');
    await isIn(page, 'Paused');
    await stateOf(page).getByText('Break', { exact: true }).waitFor();
    await stateOf(page)
      .getByText(/1[45]:\d\d left/)
      .waitFor();
    await code.hangup();
    await put('unpause');
    await isIn(other, 'Available');
    await close(page);
  });

  test('desk - a call: who it is, hold, a pause that waits for its end, wrap-up with more time and without', async () => {
    await using phone = await site().phone('1003');
    await using caller = await strangerOf(site());
    const page = await deskAtWork();
    await page.getByText('No callers waiting in your queues.').waitFor();
    const call = await offered(phone, caller, '+493055500');
    await isIn(page, 'A call for you');
    const party = page.getByTestId('party');
    await party.getByText(HOSTILE).waitFor();
    assert.equal(await page.locator('#bold').count(), 0, 'a name is text');
    await region(page, 'Next callers').getByText(HOSTILE).waitFor();
    await page.getByRole('button', { name: 'Decline' }).waitFor();
    await call.answer();
    await isIn(page, 'Talking');
    const shown = region(page, 'Call · Incoming');
    await shown.getByText('Talking').waitFor();
    await shown.getByText(FAR, { exact: true }).waitFor();
    await shown.getByText('Support').waitFor();
    await shown.getByText(/waited \d+:\d\d/).waitFor();
    // From two seconds on: it counts.
    await shown.getByText(/^(0:0[2-9]|0:[1-5]\d|[1-9]\d*:\d\d)$/).waitFor();
    await press(page, 'Hold');
    await isIn(page, 'On hold');
    const time = (where: Locator) =>
      where
        .getByText(/^\d+:\d\d$/)
        .first()
        .textContent();
    await until(
      'both times are that of the hold',
      async () => (await time(stateOf(page))) === (await time(shown)),
    );
    await press(page, 'Resume');
    await isIn(page, 'Talking');
    await assertAccessibleInBoth(page);

    await press(page, 'Pause after call');
    await page.getByRole('menuitem', { name: /Break/ }).click();
    await stateOf(page).getByText('paused: Break').waitFor();
    await engineSays('support', /1003.*paused:break/i);
    await press(page, 'Cancel');
    await until(
      'nothing waits',
      async () => (await stateOf(page).getByText('After this call:').count()) === 0,
    );
    await engineSays('support', /1003(?!.*paused)/i);
    await press(page, 'Pause after call');
    await page.getByRole('menuitem', { name: /Break/ }).click();
    await stateOf(page).getByText('paused: Break').waitFor();
    await page.getByRole('textbox', { name: 'Note' }).fill('Wants the invoice');

    await press(page, 'Hang up');
    await call.ended();
    await isIn(page, 'Wrap-up');
    const timer = page.getByRole('timer');
    await timer.getByText('wrap-up left').waitFor();
    await stateOf(page).getByText('in this state').waitFor();
    await until('it counts down', async () =>
      /0:[0-5]\d left/.test((await timer.getAttribute('aria-label')) ?? ''),
    );
    let sent = 0;
    page.on('request', (request) => (sent += Number(request.url().endsWith('/wrap-up'))));
    await clickThrice(page.getByRole('button', { name: '1 minute more' }));
    await until('it is a minute more', async () =>
      /1:[0-5]\d left/.test((await timer.getAttribute('aria-label')) ?? ''),
    );
    assert.equal(sent, 1, 'three clicks are one more minute');
    await press(page, 'Save note');
    await page.getByRole('status').getByText('Saved').waitFor();
    await page.getByRole('textbox', { name: 'Outcome' }).fill('Sold!');
    await page.getByText('Small letters, digits, “-” and “_” only').waitFor();
    await page.getByRole('textbox', { name: 'Outcome' }).fill('Sold');
    await press(page, 'Set result');
    await page.getByText('Outcome: sold').waitFor();
    await press(page, 'Finish wrap-up');
    await isIn(page, 'Paused');
    await stateOf(page).getByText('Break', { exact: true }).waitFor();
    const { conversations } = await api<{ conversations: { id: string; outcome: { code: string } }[] }>(
      '1003',
      'GET',
      '/api/v1/conversations?limit=1',
    );
    assert.equal(conversations[0]?.outcome.code, 'sold');
    const figures = region(page, 'My day');
    await until('the day has one call', async () =>
      /Queue calls\s*1\b/.test((await figures.innerText()).replaceAll('\n', ' ')),
    );

    await put('unpause');
    const again = await offered(phone, caller, '+493055500');
    await region(page, 'Last conversations').getByText('Wants the invoice').waitFor();
    await region(page, 'Last conversations').getByText('sold').waitFor();
    await page.getByRole('button', { name: 'sold' }).waitFor();
    await again.answer();
    await isIn(page, 'Talking');
    await again.hangup();
    await isIn(page, 'Wrap-up');
    await put('wrap-up', { finish: true });
    await isIn(page, 'Available');
    await close(page);
  });

  test('desk - a half-written note outlives a reload, a restarted service and another sign-in', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    const page = await deskAtWork();
    const call = await offered(phone, caller, '510');
    await call.answer();
    await isIn(page, 'Talking');
    const note = page.getByRole('textbox', { name: 'Note' });
    await note.fill('Half a th');
    await page.reload();
    await isIn(page, 'Talking');
    await hasValue(note, 'Half a th');
    await site().kill('SIGKILL');
    await page.getByText('Not live').waitFor();
    await note.press('Control+End');
    await note.pressSequentially('ought');
    await site().start();
    await until('live again', async () => (await page.getByText('Not live').count()) === 0);
    await hasValue(note, 'Half a thought');
    await endSession(site(), page);
    await signInAgain(site(), page, '1003');
    await hasValue(note, 'Half a thought');
    await call.hangup();
    await isIn(page, 'Available');
    const next = await offered(phone, caller, '510');
    await next.answer();
    await isIn(page, 'Talking');
    await hasValue(note, 'Half a thought', 'what is half written stays under the hands');
    await note.press('Escape');
    await until('another call has a note of its own', async () => (await note.inputValue()) === '');
    await page.getByRole('button', { name: /^Note of/ }).click();
    await hasValue(note, 'Half a thought');
    const lose = async (route: Route): Promise<void> => {
      await route.fetch();
      await route.abort();
    };
    await page.route('**/notes', lose, { times: 1 });
    await press(page, 'Save note');
    await region(page, 'Note').getByText('The service cannot be reached').waitFor();
    await hasValue(note, 'Half a thought');
    await press(page, 'Save note');
    await until('the note is sent', async () => (await note.inputValue()) === '');
    const saved = region(page, 'Note').getByText('Half a thought');
    await saved.first().waitFor();
    assert.equal(await saved.count(), 1, 'saved once, though its answer was lost');

    const answer = Promise.withResolvers<void>();
    const hold = async (route: Route): Promise<void> => {
      await answer.promise;
      await route.continue();
    };
    await page.route('**/notes', hold, { times: 1 });
    await note.fill('Another');
    await press(page, 'Save note');
    await note.press('Control+End');
    await note.pressSequentially(' one');
    answer.resolve();
    await region(page, 'Note').getByText('Another', { exact: true }).waitFor();
    await hasValue(note, 'Another one', 'what is typed while a note is saved stays');
    await press(page, 'Save note');
    await until('the note is sent', async () => (await note.inputValue()) === '');
    await press(page, 'Back to the call');
    await next.hangup();
    await isIn(page, 'Available');
    await close(page);
  });

  test('desk - the way to the customer’s record: as set, encoded, in a tab of its own; never where a pattern is no address', async () => {
    await using phone = await site().phone('1003');
    await using caller = await strangerOf(site());
    await put('login');
    await put('unpause');
    const crm_link = `${site().base}/healthz?n={number}&who={name}&q={queue}`;
    await api('1001', 'PUT', '/api/v1/settings/console', { crm_link, confirm_supervision: false });
    const page = await desk();
    await isIn(page, 'Available');
    const call = await offered(phone, caller, '+493055510');
    const link = page.getByRole('link', { name: 'Open customer record' });
    const wanted = `${site().base}/healthz?n=${encodeURIComponent(FAR)}&who=${encodeURIComponent(HOSTILE)}&q=sales`;
    // The queue is added once its state has arrived.
    let href: string | null = null;
    await until(
      'the address is whole',
      async () => (href = await link.getAttribute('href')) === new URL(wanted).href,
      { seen: () => ({ href }) },
    );
    assert.deepEqual(
      [await link.getAttribute('target'), await link.getAttribute('rel')],
      ['_blank', 'noopener noreferrer'],
    );
    const clicked = page.context().waitForEvent('page');
    await link.click();
    assert.equal(await (await clicked).evaluate('window.opener'), null);
    await page.getByRole('switch', { name: 'Open by itself on answer' }).press(' ');
    const opened = page.context().waitForEvent('page');
    await call.answer();
    await (await opened).waitForURL((url) => url.href === new URL(wanted).href);
    await isIn(page, 'Talking');
    for (const pattern of ['javascript:alert({number})', 'data:text/html,{name}', '//crm/{number}']) {
      await page.route('**/api/v1/settings/console', (route) =>
        route.fulfill({
          json: {
            success: true,
            settings: { crm_link: pattern, confirm_supervision: false, site_zone: 'UTC' },
          },
        }),
      );
      const read = page.waitForResponse('**/api/v1/settings/console');
      await page.reload();
      await read;
      await page.getByTestId('party').getByText(HOSTILE).waitFor();
      assert.equal(await link.count(), 0, pattern);
      await page.unroute('**/api/v1/settings/console');
    }
    await call.hangup();
    await isIn(page, 'Available');
    await close(page);
  });

  test('desk - who does not answer, and whom no device reaches, is told so and what to do', async () => {
    await put('login');
    await put('unpause');
    const page = await desk();
    await isIn(page, 'Unreachable');
    await page.getByText(/None of your devices can be reached/).waitFor();
    await page.getByRole('button', { name: 'Use the phone of this page' }).waitFor();
    await using phone = await site().phone('1003');
    await isIn(page, 'Available');
    await using caller = await site().phone('1008');
    // A queue that soon gives up an agent who does not answer.
    await ask(site(), 'PATCH', '/queues/sales', { ring_seconds: 5 });
    assert.equal((await apply(site())).state, 'applied');
    const waits = await caller.invite('510');
    (await phone.incoming()).ring();
    await isIn(page, 'Not answering');
    await page.getByText(/did not answer your last calls/).waitFor();
    await engineSays('sales', /1003.*paused:no_answer/i);
    await waits.hangup();
    await press(page, 'Available');
    await isIn(page, 'Available');
    await engineSays('sales', /1003(?!.*paused)/i);
    await close(page);
  });

  test('desk - a refused action says so where it was asked for, in the language of the page, and nothing is shown as done', async () => {
    await using _phone = await site().phone('1003');
    await put('login');
    await put('unpause');
    const page = await desk('1003', { language: 'de', scheme: 'dark' });
    await isIn(page, 'Verfügbar');
    await page.route('**/api/v1/agents/1003/pause', (route) =>
      route.fulfill({
        status: 503,
        json: { code: 'engine_unavailable', detail: 'the engine is not connected', status: 503 },
      }),
    );
    await press(page, 'Pause');
    await page.getByRole('menuitem', { name: /Break/ }).click();
    const alert = stateOf(page).getByRole('alert');
    await alert.getByText('Pause: Break: Die Telefonanlage ist nicht verbunden').waitFor();
    await isIn(page, 'Verfügbar');
    await assertAccessibleInBoth(page);
    await close(page);
  });

  test('desk - a pause is offered once the action before it is over, so that no choice is lost', async () => {
    await using _phone = await site().phone('1003');
    await put('logout');
    const page = await desk();
    const answer = Promise.withResolvers<void>();
    await page.route('**/api/v1/agents/1003/login', async (route) => {
      const response = await route.fetch();
      await answer.promise;
      await route.fulfill({ response });
    });
    await press(page, 'Sign in to all queues');
    await isIn(page, 'Available');
    await page.locator('[aria-keyshortcuts="p"][aria-disabled="true"]').waitFor();
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Pause' }).dispatchEvent('click');
    assert.equal(await page.getByRole('menu').count(), 0);
    answer.resolve();
    await press(page, 'Pause');
    await page.getByRole('menuitem', { name: /Break/ }).click();
    await isIn(page, 'Paused');
    await close(page);
  });

  test('desk - every action by keys alone; none of them while somebody types, and none once they are switched off', async () => {
    await using phone = await site().phone('1003');
    await using target = await site().phone('1004');
    await using caller = await site().phone('1008');
    await put('logout');
    await put('logout', { queue: 'support' }, '1004');
    const page = await desk();
    const notFound: string[] = [];
    page.on('response', (answer) => {
      if (answer.status() === 404 && answer.url().includes('/conversations/')) notFound.push(answer.url());
    });
    const { keyboard } = page;
    /** A button that is busy with what was pressed before cannot have the focus. */
    const enter = async (name: string): Promise<void> => {
      await page.getByRole('button', { name, disabled: false }).focus();
      await keyboard.press('Enter');
    };
    await isIn(page, 'Signed out');
    await byKey(page, 'l');
    await isIn(page, 'Available');
    await byKey(page, 'p');
    await page.getByRole('menu').waitFor();
    await keyboard.press('ArrowDown');
    await keyboard.press('Enter');
    await isIn(page, 'Paused');
    await byKey(page, 'r');
    await isIn(page, 'Available');

    const call = await offered(phone, caller);
    await call.answer();
    await isIn(page, 'Talking');
    await byKey(page, 'h');
    await isIn(page, 'On hold');
    await byKey(page, 'h');
    await isIn(page, 'Talking');
    await byKey(page, 'o');
    await stateOf(page).getByText('signed out', { exact: true }).waitFor();
    await byKey(page, 'c');
    await until('nothing waits', async () => (await page.getByText('After this call:').count()) === 0);

    await byKey(page, 't');
    await page.getByRole('textbox', { name: 'Name or number' }).waitFor();
    await keyboard.type('jose');
    await page.getByRole('button', { name: /José Ibáñez/ }).waitFor();
    await keyboard.press('Enter');
    await enter('Consult first');
    const consult = await target.incoming();
    consult.ring();
    await page.getByText('Calling 1004; the caller is on hold').waitFor();
    await consult.answer();
    await page.getByText('You speak with 1004; the caller is on hold').waitFor();
    await enter('Swap');
    await page.getByText('You speak with the caller; 1004 is on hold').waitFor();
    await enter('Back to the caller');
    await consult.ended();
    await page.getByRole('textbox', { name: 'Name or number' }).waitFor();
    await keyboard.press('Escape');

    await page.locator('#content').focus();
    await byKey(page, 'n');
    await keyboard.type('xhtp');
    await hasValue(page.getByRole('textbox', { name: 'Note' }), 'xhtp');
    await isIn(page, 'Talking');
    await keyboard.press('Control+Enter');
    await page.getByRole('status').getByText('Saved').waitFor();
    await keyboard.press('Escape');
    await byKey(page, 'u');
    await keyboard.type('called');
    await keyboard.press('Enter');
    await page.getByText('Outcome: called').waitFor();
    await keyboard.press('Escape');
    await byKey(page, 'x');
    await call.ended();
    await isIn(page, 'Wrap-up');
    await byKey(page, 'e');
    await until('it is a minute more', async () =>
      /1:[0-5]\d left/.test((await page.getByRole('timer').getAttribute('aria-label')) ?? ''),
    );
    await byKey(page, 'f');
    await isIn(page, 'Available');
    assert.deepEqual(notFound, [], 'a conversation is read once the history has it');

    await keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.getByText('Hold, retrieve').waitFor();
    await assertAccessible(page);
    await help.getByRole('switch').press(' ');
    await keyboard.press('Escape');
    await focusIsOn(page, page.locator('#content'));
    await keyboard.press('o');
    await keyboard.press('p');
    assert.equal(await page.getByRole('menu').count(), 0);
    assert.equal(await page.locator('kbd').count(), 0, 'no key is shown that does nothing');
    await isIn(page, 'Available');
    await page.getByRole('button', { name: 'Sign out' }).press('Enter');
    await isIn(page, 'Signed out');
    await close(page);
  });

  test('desk - whom a colleague passes a call has it whole: who is there, and what can be done with it', async () => {
    await using phone = await site().phone('1003');
    await using colleague = await site().phone('1004');
    await using caller = await site().phone('1008');
    await put('login');
    const page = await desk();
    const [, taken] = await connect(caller, '1004', colleague, 300);
    await taken.hold();
    const [asked, call] = await connect(colleague, '1003', phone, 300);
    await page.getByTestId('party').getByText('José Ibáñez').waitFor();
    await asked.bridged();
    await taken.join(asked);
    await taken.transferred();
    await page.getByTestId('party').getByText('Olha').waitFor();
    // The engine takes the caller back from the colleague's hold after it joined the two.
    await until('both are connected and the colleague has left', async () => {
      const { calls } = await api<{ calls: { legs: { state: string }[] }[] }>('1003', 'GET', '/api/v1/calls');
      return calls[0]?.legs.map(({ state }) => state).join() === 'connected,connected';
    });
    // A press counts only after the person has seen the call that replaced another.
    await page.locator('[aria-keyshortcuts="h"]:not([aria-disabled="true"])').waitFor();
    await press(page, 'Hold');
    await press(page, 'Resume');
    await page.getByRole('button', { name: 'Hold', exact: true }).waitFor();
    await press(page, 'Hang up');
    await call.ended();
    await close(page);
  });

  test('desk - in the dark, in Turkish, on a telephone: nothing is cut off', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    await put('login');
    await put('unpause');
    const size = { width: 390, height: 844 };
    const page = await desk('1003', { language: 'tr', scheme: 'dark', size });
    await isIn(page, 'Müsait');
    await assertAccessible(page);
    const call = await offered(phone, caller, '510');
    await call.answer();
    await isIn(page, 'Görüşmede');
    await assertAccessible(page);
    await fits(page);
    const cut = await page.evaluate(
      `[...document.querySelectorAll('main button .mantine-Button-label')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)`,
    );
    assert.deepEqual(cut, []);
    await call.hangup();
    await isIn(page, 'Müsait');
    await close(page);
  });
});
