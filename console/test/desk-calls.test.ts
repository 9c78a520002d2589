/** Several calls of one person at the desk: the shown call, the target of keys and the focus of text. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import { connect } from '../../server/test/support/conversation-stage.ts';
import type { Phone, PhoneCall } from '../../server/test/support/phone.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { COMPANY, byKey, close, deskSteps, isIn, offered, region } from './desk-steps.ts';
import { button, contextOf, openPanel, panel, ready, says } from './phone-rig.ts';
import { assertAccessible, buildFirst, focusIsOn, focusIsWatched, hasValue } from './rig.ts';

describe('calls of the desk', () => {
  before(buildFirst);
  const site = useSite({ prepare: COMPANY });
  const browser = useBrowser();
  const { api, put, desk, deskAtWork } = deskSteps(site, browser);

  const note = (page: Page) => page.getByRole('textbox', { name: 'Note' });
  const calls = (page: Page) => region(page, 'My calls').getByRole('listitem');
  const party = (page: Page, name: string) => page.getByTestId('party').getByText(name).waitFor();
  /** No word of a button is cut, and no name in the list of calls. */
  const isWhole = async (page: Page): Promise<void> => {
    const cut =
      await page.evaluate(`[...document.querySelectorAll('.mantine-Button-label, [aria-labelledby=desk-calls] li p')]
      .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)`);
    assert.deepEqual(cut, []);
  };
  const ids = async (extension = '1003'): Promise<readonly string[]> => {
    const { calls: own } = await api<{ calls: { call_id: string }[] }>(extension, 'GET', '/api/v1/calls');
    return own.map((call) => call.call_id);
  };

  /** Once the exchange has no other call of 1003, the held one is there: a phone knows the end of a call first. */
  const heldGoesOn = async (call: PhoneCall): Promise<void> => {
    await until('the end of the other call', async () => (await ids()).length <= 1);
    assert.equal((await ids()).length, 1, 'the held call goes on');
    assert.equal(call.state, 'up');
  };
  /** The desk of 1003, who holds the call of Olha and talks with José. */
  const holdFirst = async (phone: Phone, caller: Phone, second: Phone) => {
    const page = await desk();
    const [, first] = await connect(caller, '1003', phone, 300);
    await first.hold();
    const [far] = await connect(second, '1003', phone, 300);
    await party(page, 'José Ibáñez');
    return { page, first, far };
  };
  /** The desk of 1003, whose only phone is that of the page. */
  const deskWithPhone = async (): Promise<Page> => {
    const page = await desk('1003', { context: await contextOf(browser()) });
    await openPanel(page);
    await button(page, 'Switch the phone on').click();
    await ready(page);
    return page;
  };

  test('desk - every state has the same height, and what is always there keeps its place', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    const page = await deskAtWork();
    /** Height of the panel and the corner of the button of this key. */
    const place = (key: string) =>
      page.evaluate(`(() => {
        const panel = document.querySelector('section[aria-label="My state"]');
        const { x, y } = panel.querySelector('[aria-keyshortcuts="${key}"]').getBoundingClientRect();
        return [panel.getBoundingClientRect().height, x, y];
      })()`);
    const [pause, leave] = [await place('p'), await place('o')];
    const same = async (state: string): Promise<void> => {
      await isIn(page, state);
      let now: unknown;
      // The parts of a state are drawn one after the other.
      await until(
        `the places in ${state}`,
        async () => isDeepStrictEqual((now = [await place('p'), await place('o')]), [pause, leave]),
        { seen: () => ({ now, before: [pause, leave] }) },
      );
    };
    await put('pause', { reason: 'break' });
    await same('Paused');
    await put('unpause');
    const call = await offered(phone, caller);
    await same('A call for you');
    await call.answer();
    await same('Talking');
    await put('pause', { reason: 'break' });
    await page.getByText('After this call:').waitFor();
    await same('Talking');
    await call.hangup();
    await same('Wrap-up');
    await put('wrap-up', { finish: true });
    await put('unpause');
    await close(page);
  });

  test('desk - a button keeps its place beside those of other states, and a click as they change does nothing', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    const page = await deskAtWork();
    await put('logout', { queue: 'sales' });
    const login = page.getByRole('button', { name: 'Sign in to all queues' });
    const place = await login.boundingBox();
    await put('pause', { reason: 'break' });
    await page.getByRole('button', { name: 'Available', exact: true }).waitFor();
    assert.deepEqual(await login.boundingBox(), place);
    await put('login');
    await put('unpause');
    const call = await offered(phone, caller);
    await call.answer();
    await isIn(page, 'Talking');
    await put('pause', { reason: 'break' });
    await call.hangup();
    await isIn(page, 'Wrap-up');
    await page.evaluate(`new MutationObserver((_changes, observer) => {
      const ready = document.querySelector('[aria-keyshortcuts="r"]');
      if (ready === null) return;
      observer.disconnect();
      ready.click();
      ready.dataset.clicked = '';
    }).observe(document.body, { childList: true, subtree: true })`);
    await put('wrap-up', { finish: true });
    await isIn(page, 'Paused');
    await page.locator('[data-clicked]:not([aria-disabled="true"])').waitFor();
    await isIn(page, 'Paused');
    await page.getByRole('button', { name: 'Available', exact: true }).click();
    await isIn(page, 'Available');
    await close(page);
  });

  test('focus - a note goes on in its field while calls end, ring and come with the phone open; its keys do nothing', async () => {
    await using caller = await site().phone('1008');
    await using second = await site().phone('1004');
    const page = await deskWithPhone();
    await put('login');
    await put('unpause');
    await isIn(page, 'Available');
    const call = await caller.invite('1003');
    await button(page, 'Answer').click();
    await call.answered();
    await party(page, 'Olha');
    await note(page).click();
    await page.keyboard.type('first ');
    await call.hangup();
    await says(page, 'Call ended');
    await panel(page).getByLabel('Number or name').waitFor();
    await page.keyboard.type('fprx ');
    await focusIsOn(page, note(page));
    await hasValue(panel(page).getByLabel('Number or name'), '');
    for (const size of [
      { width: 390, height: 844 },
      { width: 768, height: 1024 },
    ]) {
      await page.setViewportSize(size);
      // The page can be scrolled clear of the panel, and the navigation covers nothing of it.
      await until(`the panel is clear at ${size.width} px`, () =>
        page.evaluate(`(() => {
          scrollTo(0, document.body.scrollHeight);
          const { top, left, width } = document.querySelector('#phone').getBoundingClientRect();
          const { bottom } = document.querySelector('main #content').lastElementChild.getBoundingClientRect();
          const seen = document.elementFromPoint(left + 12, top + 28)?.closest('#phone') != null;
          return bottom <= top && seen && left >= 0 && left + width <= innerWidth;
        })()`),
      );
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    const again = await second.invite('1003');
    await says(page, 'Incoming call');
    await page.keyboard.type('second ');
    await again.hangup();
    await panel(page).getByLabel('Number or name').waitFor();
    await page.keyboard.type('third');
    await hasValue(note(page), 'first fprx second third');
    await isIn(page, 'Available');
    await focusIsWatched(page);
    await close(page);
  });

  test('focus - another call is talked in while a note is typed: the note stays that of its call until its field is left', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    await using second = await site().phone('1004');
    const page = await desk();
    const [, first] = await connect(caller, '1003', phone, 300);
    await party(page, 'Olha');
    await note(page).click();
    await page.keyboard.type('about Olha ');
    await first.hold();
    const [other, next] = await connect(second, '1003', phone, 300);
    await party(page, 'José Ibáñez');
    await page.keyboard.type('xht and more');
    await hasValue(note(page), 'about Olha xht and more');
    await page.getByText('You are writing about the call with Olha').waitFor();
    await page.getByRole('heading', { level: 1 }).click();
    await until('the note is that of the call talked in', async () => (await note(page).inputValue()) === '');
    assert.equal((await ids()).length, 2, 'no key hung up');
    // An empty note field belongs to the connected call, wherever the focus is.
    await note(page).click();
    await other.hangup();
    await next.ended();
    await party(page, 'Olha');
    await hasValue(note(page), 'about Olha xht and more');
    await focusIsOn(page, note(page));
    await first.hangup();
    await close(page);
  });

  test('keys - nothing is done by what is typed on after a field is gone', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    await using second = await site().phone('1004');
    const { page, first, far: asking } = await holdFirst(phone, caller, second);
    await byKey(page, 't');
    const field = page.getByRole('textbox', { name: 'Name or number' });
    await field.waitFor();
    await focusIsOn(page, field);
    // The call ends while the person types, which removes the field. Keys that follow without a pause are no shortcuts.
    let types = true;
    const typing = (async () => {
      while (types) await page.keyboard.type('xh');
    })();
    try {
      await asking.hangup();
      await field.waitFor({ state: 'detached' });
      await party(page, 'Olha');
      await page.keyboard.type('xhx');
    } finally {
      types = false;
      await typing;
    }
    await heldGoesOn(first);
    await first.hangup();
    await close(page);
  });

  test('calls - with one held and one talked in, both are shown, and keys, note, outcome, hold and transfer are those of the one talked in', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    await using second = await site().phone('1004');
    await put('login');
    await put('unpause');
    const page = await desk();
    // The held call comes from the queue; the connected one does not.
    const first = await offered(phone, caller, '510');
    await first.answer();
    await isIn(page, 'Talking');
    await first.hold();
    const [far, next] = await connect(second, '1003', phone, 300);
    await party(page, 'José Ibáñez');
    await until('both are listed', async () => (await calls(page).count()) === 2);
    const current = region(page, 'My calls').locator('[aria-current="true"]');
    await current.getByText('José Ibáñez').waitFor();
    await current.getByText('Talking').waitFor();
    await calls(page).filter({ hasText: 'Olha' }).getByText('On hold').waitFor();
    await assertAccessible(page);
    await note(page).fill('for José');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('status').getByText('Saved').waitFor();
    await page.keyboard.press('Escape');
    await byKey(page, 'h');
    await until('José hears music', async () => {
      const { calls: all } = await api<{ calls: { legs: { extension: string; held: boolean }[] }[] }>(
        '1003',
        'GET',
        '/api/v1/calls',
      );
      const held = all.filter((one) => one.legs.some((leg) => leg.extension === '1003' && leg.held));
      return held.length === 2;
    });
    await party(page, 'José Ibáñez');
    // The key does what the page was told last.
    await current.getByText('On hold').waitFor();
    await byKey(page, 'h');
    await current.getByText('Talking').waitFor();
    await page.locator('#content').focus();
    await byKey(page, 'x');
    await Promise.all([far.ended(), next.ended()]);
    assert.equal(next.endedBy, 'them');
    await party(page, 'Olha');
    await heldGoesOn(first);
    assert.equal(first.state, 'up');
    await first.hangup();
    await put('logout');
    await close(page);
  });

  test('calls - a key pressed at the moment another call takes the place of the one shown acts on neither', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    await using second = await site().phone('1004');
    const { page, first, far } = await holdFirst(phone, caller, second);
    await page.locator('#content').focus();
    // The person sees José's call and presses X at the moment it ends and the desk shows Olha's.
    await page.evaluate(`new MutationObserver((_, me) => {
      if (!document.querySelector('[data-testid=party]')?.textContent.includes('Olha')) return;
      me.disconnect();
      for (const key of ['x', 'h', 't']) document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    }).observe(document.body, { childList: true, subtree: true, characterData: true })`);
    await far.hangup();
    await party(page, 'Olha');
    await heldGoesOn(first);
    assert.equal(await page.getByRole('textbox', { name: 'Name or number' }).count(), 0);
    assert.equal(first.state, 'up');
    // The key works again once the person has seen the call.
    await until('the key means this call', async () => {
      await page.keyboard.press('x');
      return first.state === 'ended';
    });
    await close(page);
  });

  test('calls - one click and one key change between two calls of the phone of the page', async () => {
    await using caller = await site().phone('1008');
    await using second = await site().phone('1004');
    const page = await deskWithPhone();
    const one = await caller.invite('1003');
    await button(page, 'Answer').click();
    await one.answered();
    await party(page, 'Olha');
    // Desk and phone tell one time; what they count from may lie on both sides of a second.
    const clocks = [region(page, 'Call · Incoming'), panel(page)];
    let last: readonly (string | null)[] = [];
    await until(
      'both clocks agree',
      async () => {
        const shown = clocks.map((where) => where.getByText(/^\d+:\d\d$/).first());
        last = await Promise.all(shown.map((one) => one.textContent()));
        const seconds = last.map((text) => Number(text?.split(':')[1]));
        return Math.max(...seconds) - Math.min(...seconds) <= 1;
      },
      { seen: () => ({ last }) },
    );
    const hangUp = page.locator('main [aria-keyshortcuts="x"]');
    const before = await hangUp.boundingBox();
    // A recording is shown where one talks, and pauses there.
    await api('1003', 'POST', `/api/v1/calls/${encodeURIComponent((await ids())[0] ?? '')}/record`, {
      on: true,
    });
    const main = page.getByRole('main');
    await main.getByText('Recording', { exact: true }).waitFor();
    await panel(page).getByText('Recording', { exact: true }).waitFor();
    await main.getByRole('button', { name: 'Pause recording' }).click();
    await panel(page).getByText('Recording paused').waitFor();
    await main.getByRole('button', { name: 'Resume recording' }).click();
    await panel(page).getByText('Recording', { exact: true }).waitFor();
    const two = await second.invite('1003');
    await button(page, 'Hold and answer').waitFor();
    await calls(page).filter({ hasText: 'José' }).waitFor();
    assert.deepEqual(await hangUp.boundingBox(), before, 'neither moves the button');
    await isWhole(page);
    await button(page, 'Hold and answer').click();
    await two.answered();
    await party(page, 'José Ibáñez');
    await isWhole(page);
    await page.locator('#content').focus();
    await byKey(page, 's');
    await party(page, 'Olha');
    await calls(page)
      .filter({ hasText: 'José' })
      .getByRole('button', { name: 'Switch to José Ibáñez' })
      .click();
    await party(page, 'José Ibáñez');
    await calls(page).filter({ hasText: 'Olha' }).getByText('On hold').waitFor();
    await page.locator('#content').focus();
    await byKey(page, 'x');
    await two.ended();
    await one.hears();
    await party(page, 'Olha');
    await one.hangup();
    await close(page);
  });
});
