import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertNoTrouble,
  buildFirst,
  consoleOf,
  openConsole,
} from './rig.ts';

const operation = (page: Page, id: string): Locator => page.locator(`[id="${id}"]`);

describe('api page and first steps', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('api page - anybody reads the documents; who signs in there stays there', async () => {
    const page = await openConsole(site(), browser(), { path: '/docs' });
    await page.getByRole('heading', { name: 'API', exact: true }).waitFor();
    const search = page.getByRole('searchbox', { name: 'Search requests' });
    await search.fill('transfer calls');
    await operation(page, 'post-/api/v1/calls/{id}/transfer').getByRole('button').click();
    const one = operation(page, 'post-/api/v1/calls/{id}/transfer');
    await one.getByText('Level: user').waitFor();
    assert.equal(
      await one.getByRole('link', { name: 'call_gone' }).getAttribute('href'),
      '/docs/errors#call_gone',
    );
    await one.getByText('curl').first().waitFor();
    assert.equal(await one.getByRole('button', { name: 'Send' }).count(), 0);
    await assertAccessibleInBoth(page);
    await page.getByRole('button', { name: 'Sign in to try it' }).click();
    const own = (await site().credentials()).find((c) => c.extension === '1003');
    await page.locator('input[name=username]').fill('1003');
    await page.locator('input[name=password]').fill(own?.password ?? '');
    await page.keyboard.press('Enter');
    await page.getByRole('navigation').getByRole('link', { name: 'API' }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/docs');
    assertNoTrouble(page);
    await page.context().close();
  });

  test('api page - a request is tried by keyboard: refused when it is no JSON, asked about when it changes something', async () => {
    const id = 'post-/api/v1/conversations/{id}/notes';
    const page = await consoleOf(site(), browser(), '1001', { path: '/account', scheme: 'dark' });
    await page.goto(`${site().base}/docs#${id}`);
    const one = operation(page, id);
    const body = one.getByRole('textbox', { name: 'Body' });
    await body.fill('{"text": "half');
    await body.press('Tab');
    await page.keyboard.press('Enter');
    await one.getByText('This is no JSON').waitFor();
    assert.equal(await one.getByRole('alertdialog').count(), 0);
    await one.getByRole('textbox', { name: 'id' }).fill('ast1:987654');
    await body.fill('{"text": "<b onclick=alert(1)>x</b>"}');
    await body.press('Tab');
    await page.keyboard.press('Enter');
    await one.getByRole('alertdialog').getByText('This can change the exchange').waitFor();
    await assertAccessible(page);
    // The question has the focus.
    await page.keyboard.press('Enter');
    await one.getByText('404 Not Found').waitFor();
    assert.equal(
      await one.getByRole('link', { name: 'What not_found means' }).getAttribute('href'),
      '/docs/errors#not_found',
    );
    await assertAccessible(page);
    assertNoTrouble(page);
    await page.context().close();
  });

  test('api page - an answer is shown with its time, headers and body, and HTML in it is text', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/account' });
    const note = '<img src=x onerror="document.title=1">';
    const reply = await page.request.put(`${site().base}/api/v1/presence`, {
      data: { personal: 'away', note },
      headers: { origin: site().base },
    });
    assert.equal(reply.status(), 200, await reply.text());
    await page.goto(`${site().base}/docs#get-/api/v1/presence`);
    const one = operation(page, 'get-/api/v1/presence');
    await one.getByRole('button', { name: 'Send' }).click();
    await one.getByText('200 OK').waitFor();
    const answer = one.getByLabel('Answer', { exact: true });
    await until('the note is in the answer as text', async () =>
      (await answer.textContent())?.includes('<img src=x'),
    );
    assert.equal(await page.locator('img[src=x]').count(), 0);
    await one.getByRole('button', { name: 'Headers' }).click();
    await one.getByText('content-type: application/json').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      one.getByRole('link', { name: 'Download' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'presence.json');
    const kept = JSON.parse(await readFile(await download.path(), 'utf8')) as { presence: object };
    assert.ok(JSON.stringify(kept).includes('onerror'));
    assertNoTrouble(page);
    await page.context().close();
  });

  test('api page - an answer without an end is shown as it comes, and stopped', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/account' });
    await page.goto(`${site().base}/docs#get-/api/v1/events`);
    const one = operation(page, 'get-/api/v1/events');
    await one.getByRole('textbox', { name: 'topics' }).fill('presence');
    await one.getByRole('combobox', { name: 'snapshot' }).selectOption('true');
    await one.getByRole('button', { name: 'Send' }).click();
    await one.getByLabel('Answer', { exact: true }).getByText('event: snapshot').waitFor();
    await one.getByRole('button', { name: 'Stop' }).click();
    await one.getByText('Stopped before the end').waitFor();
    await one.getByRole('button', { name: 'Send' }).waitFor();
    assertNoTrouble(page);
    await page.context().close();
  });

  test('api page - events are watched live, filtered and held', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/account', language: 'de' });
    await page.goto(`${site().base}/docs`);
    await page.getByText('Ereignisse', { exact: true }).click();
    await page.getByRole('button', { name: /^call\.started/ }).click();
    await page.getByText('Veröffentlicht unter').waitFor();
    await page.getByRole('checkbox', { name: 'presence' }).press(' ');
    await page.getByRole('button', { name: 'Starten' }).click();
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    const say = async (note: string): Promise<void> => {
      const reply = await page.request.put(`${site().base}/api/v1/presence`, {
        data: { personal: 'away', note },
        headers: { origin: site().base },
      });
      assert.equal(reply.status(), 200, await reply.text());
    };
    await say('<b>one</b>');
    const rows = page.getByRole('button', { name: /presence\.changed presence\/1001|presence\.changed/ });
    const frames = page.locator('[data-frames]');
    await frames.getByText('presence.changed').first().waitFor();
    await assertAccessibleInBoth(page);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    const before = await frames.getAttribute('data-frames');
    await say('two');
    await page.getByText(/seit der Pause/).waitFor();
    assert.equal(await frames.getAttribute('data-frames'), before);
    await page.getByRole('button', { name: 'Fortsetzen' }).click();
    await page.getByRole('textbox', { name: 'Filter' }).fill('ONE');
    await until('only one is left', async () => (await frames.getAttribute('data-frames')) === '1');
    await rows.first().click();
    await frames.getByText('<b>one</b>').waitFor();
    assertNoTrouble(page);
    await page.context().close();
  });

  test('welcome - every step is ticked by what happens, up to the first call', async () => {
    const page = await consoleOf(site(), browser(), '1001', { path: '/welcome' });
    const done = (step: string): Promise<boolean> =>
      page
        .locator(`[data-step=${step}]`)
        .getAttribute('data-done')
        .then((value) => value !== null);
    await until('the exchange is ticked', () => done('engine'));
    await until('the people are ticked', () => done('people'));
    assert.deepEqual(await Promise.all(['own_phone', 'second_phone', 'call', 'wallboard'].map(done)), [
      false,
      false,
      false,
      false,
    ]);
    await assertAccessible(page);
    await using own = await site().phone('1001');
    await until('the own phone is ticked', () => done('own_phone'));
    // The next step is open by itself.
    await page.getByText('the SIP password of the extension').waitFor();
    await using other = await site().phone('1002');
    await until('the second phone is ticked', () => done('second_phone'));
    await page.getByRole('button', { name: /^Call .*1002/ }).press('Enter');
    await (await own.incoming()).answer();
    await (await other.incoming()).answer();
    await until('the call is ticked', () => done('call'));
    await page.reload();
    await until('the call is still ticked', () => done('call'));
    await page.getByRole('button', { name: 'Hide First steps' }).click();
    await page.goto(site().base);
    await page.waitForURL('**/wallboard');
    assertNoTrouble(page);
    await page.context().close();
  });

  test('docs - an address whose percent-encoding is not valid opens the page', async () => {
    const page = await openConsole(site(), browser(), { path: '/docs#%E0%A4%A' });
    await page.getByRole('searchbox', { name: 'Search requests' }).waitFor();
    assertNoTrouble(page);
    await page.context().close();
  });
});
