import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { SESSION_COOKIE } from '@offhook/contract/session.ts';
import { statusIs } from '../../server/test/support/steps.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { startWire } from '../../server/test/support/wire.ts';
import {
  assertAccessible,
  assertNoTrouble,
  buildFirst,
  close,
  consoleOf,
  endSession,
  openConsole,
  signIn,
  signInAgain,
  signedIn,
  hasValue,
} from './rig.ts';
import { button, phoneOf, ready, says } from './phone-rig.ts';

/** Of a cut that nobody is told of. */
const CUT_MS = 60_000;

// The cut mostly waits: the others run beside it.
describe('console', { concurrency: 2 }, () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('console - the network is cut for a minute: every page says so, comes back by itself with nothing missing, and keeps what was half written', async () => {
    await using wire = await startWire(site().base);
    const behind = { ...site(), base: wire.base };
    await using agent = await site().phone('1003');
    await using caller = await site().phone('1007');
    await statusIs(await site().person('1003'), 'READY');
    const call = await caller.invite('510');
    const offered = await agent.incoming();
    await offered.answer();
    await call.answered();

    const board = await signedIn(behind, browser(), '1002', { path: '/wallboard' });
    const desk = await signedIn(behind, browser(), '1003', { path: '/desk' });
    const directory = await signedIn(behind, browser(), '1001', { path: '/directory' });
    const softphone = await phoneOf(behind, browser(), '1009', { path: '/history' });
    const pages: readonly Page[] = [board, desk, directory, softphone];
    await using third = await site().phone('1006');
    const spoken = await third.invite('1009');
    await button(softphone, 'Answer').click();
    await spoken.answered();
    await says(softphone, 'In the call');
    const waiting = board.locator('[data-queue=sales] [data-metric=waiting] dd');
    const presence = directory.locator('li[data-extension="1010"] [data-word]');
    const note = desk.getByRole('textbox', { name: 'Note' });
    await note.fill('Half a th');
    await board.locator('[data-agent="1003"][data-state=talking]').waitFor();
    await until('nobody waits', async () => (await waiting.innerText()).startsWith('0'));
    assert.equal(await presence.getAttribute('data-word'), 'offline');

    wire.cut();
    const cutAt = performance.now();
    for (const page of pages) await page.getByText('Not live').first().waitFor();
    await assertAccessible(board, 'a board that is not live');
    await button(softphone, 'Hang up').click();
    await note.press('Control+End');
    await note.pressSequentially('ought');
    await using second = await site().phone('1008');
    await using _comes = await site().phone('1010');
    const waits = await second.invite('510');
    await sleep(Math.max(0, CUT_MS - (performance.now() - cutAt)));
    assert.equal(await presence.getAttribute('data-word'), 'offline', 'the network was not cut');
    await softphone.getByRole('button', { name: 'Phone: no connection' }).waitFor();

    wire.mend();
    await until('every page is live', async () => {
      for (const page of pages) if ((await page.getByText('Not live').count()) > 0) return false;
      return true;
    });
    await ready(softphone);
    await spoken.ended();
    await until('the board shows who waits', async () => (await waiting.innerText()).startsWith('1'));
    await until(
      'the directory shows who came',
      async () => (await presence.getAttribute('data-word')) === 'available',
    );
    await hasValue(note, 'Half a thought');
    await desk.getByRole('button', { name: 'Save note' }).click();
    await desk.getByText('Half a thought').first().waitFor();
    await until('the note is sent', async () => (await note.inputValue()) === '');
    await waits.hangup();
    const rings = await second.invite('1009');
    await button(softphone, 'Decline').waitFor();
    await rings.hangup();
    await call.hangup();
    for (const page of pages) {
      assertNoTrouble(page);
      await page.close();
    }
  });

  test('console - a network that is cut in one direction is not live either', async () => {
    await Promise.all(
      (['to page', 'to service'] as const).map(async (way) => {
        await using wire = await startWire(site().base);
        const board = await signedIn({ ...site(), base: wire.base }, browser(), '1002', {
          path: '/wallboard',
        });
        await board.locator('[data-queue=sales]').waitFor();
        wire.cut(way);
        await board.getByText('Not live').first().waitFor();
        await close(board);
      }),
    );
  });

  test('console - a person signs in by typing, sees the pages of its level, and signs out', async () => {
    const page = await openConsole(site(), browser());
    await page.locator('input[name=username]').fill('1003');
    await page.locator('input[name=password]').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Unknown person or wrong password').waitFor();
    await assertAccessible(page);
    await signIn(site(), page, '1003');
    const navigation = page.getByRole('navigation');
    await navigation.getByRole('link', { name: 'Agent desk' }).waitFor();
    assert.equal(await navigation.getByRole('link', { name: 'Configuration' }).count(), 0);
    await assertAccessible(page);
    await page.goto(`${site().base}/admin/config`);
    await page.getByText('You do not have access to this page').waitFor();
    await page.getByRole('button', { name: /1003/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.locator('input[name=password]').waitFor();
    await page.reload();
    await page.locator('input[name=password]').waitFor();
    assertNoTrouble(page);
    await page.context().close();
  });

  test('console - signing in, and the desk of who is in no queue, ask for nothing that is refused', async () => {
    const page = await openConsole(site(), browser(), { path: '/docs/errors' });
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    await page.goto(`${site().base}/desk`);
    await signIn(site(), page, '1001');
    await page.getByText('You are not in any queue').waitFor();
    assert.deepEqual(refused, []);
    await page.context().close();
  });

  test('console - every path is one that the service knows, and no other is', async () => {
    const { PATHS } = (await import('../src/app/paths.ts')) as { PATHS: readonly string[] };
    for (const pattern of PATHS) {
      const path = pattern.replaceAll(/:[a-z]+/g, '1');
      assert.equal((await fetch(site().base + path)).status, 200, path);
      assert.equal((await fetch(site().base + path, { method: 'POST' })).status, 405, path);
    }
    for (const path of ['/assets', '/assets/', '/index.html', '/console.json', '/wallboardx', '/desk/']) {
      assert.equal((await fetch(site().base + path)).status, 404, path);
    }
  });

  test('console - a revoked session is said at once, and what the page shows stays', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/directory' });
    const cookie = (await page.context().cookies()).find(({ name }) => name === SESSION_COOKIE);
    assert.ok(cookie?.httpOnly, 'the session is no cookie that scripts cannot read');
    await endSession(site(), page);
    await assertAccessible(page);
    await signInAgain(site(), page, '1001');
    assert.equal(new URL(page.url()).pathname, '/directory');
    assertNoTrouble(page);
    await page.context().close();
  });

  test('console - a part whose file cannot be had says so, takes nothing with it, and comes when it can be had', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/directory' });
    await page.route('**/assets/*.js', (route) => route.fulfill({ status: 404, body: 'gone' }));
    // Two that are loaded late: a page, and what the header opens.
    await page.getByRole('link', { name: 'Supervisor' }).click();
    const failed = page.locator('#content').getByRole('alert');
    await failed.getByText('This part of the page could not be loaded').waitFor();
    await failed.getByRole('button', { name: 'Reload the page' }).waitFor();
    await page.getByRole('button', { name: /^My presence/ }).click();
    const missing = page.getByRole('banner').getByRole('alert');
    await missing.getByText('This part of the page could not be loaded').waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await missing.waitFor({ state: 'hidden' });
    await page.unroute('**/assets/*.js');
    await failed.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Supervisor', level: 1 }).waitFor();
    await page.context().close();
  });

  test('console - a page that was opened while nothing answered comes by itself', async () => {
    const page = await openConsole(site(), browser());
    await page.locator('input[name=username]').waitFor();
    await page.route('**/api/mobile/ping.php', (route) => route.abort());
    await page.reload();
    await page.getByText('The service does not answer').waitFor();
    await page.unroute('**/api/mobile/ping.php');
    await page.locator('input[name=username]').waitFor();
    await page.context().close();
  });

  test('console - a page whose stream never comes is not live, until it comes', async () => {
    const page = await openConsole(site(), browser());
    await page.route('**/api/v1/stream/ticket', (route) => route.abort());
    await signIn(site(), page, '1002');
    await page.goto(`${site().base}/directory`);
    await page.getByText('Not live').first().waitFor();
    assert.equal(await page.getByRole('banner').getByText('Live', { exact: true }).count(), 0);
    await page.unroute('**/api/v1/stream/ticket');
    await page.getByText('Not live').waitFor({ state: 'detached' });
    await page.locator('li[data-extension="1003"]').waitFor();
    await page.context().close();
  });

  test('console - what is pressed without a network fails at once and does not happen later', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/admin/settings' });
    const save = page.getByRole('button', { name: 'Save' }).first();
    await save.waitFor();
    const sent: string[] = [];
    page.on('request', (request) => {
      // A ticket is what the stream comes back with.
      if (!['GET', 'HEAD'].includes(request.method()) && !request.url().endsWith('/ticket'))
        sent.push(request.url());
    });
    await page.context().setOffline(true);
    await save.click();
    await page.getByRole('alert').getByText('The service cannot be reached').waitFor();
    const before = sent.length;
    await page.context().setOffline(false);
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    assert.deepEqual(sent.slice(before), []);
    await page.context().close();
  });

  test('console - a sign-in that nothing answers is given up after ten seconds, and says that it may have been done', async () => {
    const page = await openConsole(site(), browser(), { path: '/directory' });
    await page.clock.install();
    await page.reload();
    let sent = 0;
    await page.route('**/api/auth/login', () => void (sent += 1));
    await page.locator('input[name=username]').fill('1002');
    await page.locator('input[name=password]').fill('x');
    // From here on only the test moves the time on: a slow machine would be past the tenth second by itself.
    await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 10_000);
    await page.keyboard.press('Enter');
    await until('it was sent', () => sent > 0);
    await page.clock.runFor(9_000);
    assert.equal(await page.getByRole('alert').count(), 0);
    await page.clock.runFor(2_000);
    await page.clock.resume();
    await page.getByRole('alert').getByText('the request may or may not have been carried out').waitFor();
    assert.equal(sent, 1);
    await page.context().close();
  });

  test('console - the tabs of a browser are one person: who signs in in one is who the others show', async () => {
    const first = await consoleOf(site(), browser(), '1002', { path: '/directory' });
    const context = first.context();
    const second = await openConsole(site(), browser(), { path: '/history', context });
    const leave = async (page: typeof first): Promise<void> => {
      await page.getByRole('button', { name: /1002/ }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.locator('input[name=username]').waitFor();
    };
    await leave(second);
    await first.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    // The same person: the other tab goes on where it was.
    await signIn(site(), second, '1002');
    await until('the dialog is gone', async () => (await first.getByRole('dialog').count()) === 0);
    // Another person: nothing of the one before stays.
    await leave(second);
    await first.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await signIn(site(), second, '1003');
    await first.getByRole('button', { name: /1003/ }).waitFor();
    assert.equal(await first.getByRole('banner').getByText('1002').count(), 0);
    await context.close();
  });

  test('console - a level that was lowered takes its pages away when the page is looked at or is refused', async () => {
    const page = await consoleOf(site(), browser(), '1002', { path: '/supervisor' });
    await until('the title says which page it is', async () =>
      (await page.title()).startsWith('Supervisor · '),
    );
    // Reply of the service from then on; the lowering itself is the business of the sessions' tests.
    await page.route('**/api/v1/session', async (route) => {
      const response = await route.fetch();
      const json = (await response.json()) as { user: object };
      await route.fulfill({ response, json: { ...json, user: { ...json.user, level: 'agent' } } });
    });
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await page.getByText('You do not have access to this page').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Supervisor' }).count(), 0);
    await page.context().close();
  });

  test('console - a double click is one click', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/admin/settings' });
    const sent: string[] = [];
    page.on('request', (request) => {
      if (!['GET', 'HEAD'].includes(request.method()) && request.url().includes('settings'))
        sent.push(request.url());
    });
    // The form that loads last is above the other one and moves its button.
    await page.getByRole('button', { name: 'Save' }).nth(1).waitFor();
    const save = page.getByRole('button', { name: 'Save', disabled: false }).first();
    await save.hover();
    const click = async (clickCount: number): Promise<void> => {
      await page.mouse.down({ clickCount });
      await page.mouse.up({ clickCount });
    };
    const answered = async (...clicks: number[]): Promise<void> => {
      const renewed = page.waitForResponse(
        (response) => response.request().method() === 'GET' && response.url() === sent[0],
      );
      for (const clickCount of clicks) await click(clickCount);
      await (await renewed).finished();
      await save.waitFor();
    };
    // The second click of a double click whose first one was on another control.
    await answered(2);
    assert.equal(sent.length, 1);
    // One double click: the second click before the reply of the service, the third after it.
    await answered(1, 2);
    await click(3);
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    assert.equal(sent.length, 2);
    await page.context().close();
  });

  test('console - speaks Turkish and German, in the dark too', async () => {
    for (const [language, words] of [
      ['tr', 'Oturum aç'],
      ['de', 'Anmelden'],
    ] as const) {
      const page = await openConsole(site(), browser(), { language, scheme: 'dark' });
      await page.getByRole('button', { name: words }).waitFor();
      assert.equal(await page.locator('html').getAttribute('lang'), language);
      await assertAccessible(page);
      await page.context().close();
    }
  });
});
