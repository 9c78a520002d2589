import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { putObjects } from '../../server/src/features/pbx-config/put.ts';
import { ask, eventsOf } from '../../server/test/support/call-steps.ts';
import { prepareDemo } from '../../server/test/support/company.ts';
import {
  connect,
  conversation,
  conversationsOf,
  lasting,
  ring,
} from '../../server/test/support/conversation-stage.ts';
import { openFarSide } from '../../server/test/support/phone.ts';
import type { Phone } from '../../server/test/support/phone.ts';
import { farAddress } from '../../server/test/support/far-address.ts';
import type { Site } from '../../server/test/support/site.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  buildFirst,
  clientOf,
  close,
  signedIn,
  hasValue,
  fits,
} from './rig.ts';

const north = await farAddress('127.0.0.2');
const MOBILE = '+4915112345678';
const EVIL = '<img src=x onerror=alert(1)> Olga';
const rows = (page: Page): Locator => page.locator('[data-row]');
const shows = (page: Page, count: number): Promise<unknown> => {
  let seen = -1;
  return until(`${count} conversations`, async () => (seen = await rows(page).count()) === count, {
    seen: () => ({ seen }),
  });
};
const final = (site: Site, who: string, count = 1): Promise<unknown> =>
  until(`${count} conversations of ${who} to be over`, async () => {
    const all = await conversationsOf(site, who);
    return all.length >= count && all.every((c) => c.state !== 'open');
  });

/** A customer waits in a queue, 1003 answers, is recorded, holds, asks 1005 and connects them. */
async function queueCall(site: Site, olga: Phone): Promise<string> {
  const zoe = await site.person('1003');
  await using agent = await site.phone('1003');
  const [call, at] = await connect(olga, '+493012345605', agent, 500);
  call.play('tone');
  at.play('tone');
  const started = await until('the call in the journal', () => eventsOf(site, 'call.started')[0]);
  const id = started.data['call_id'] as string;
  const client = await clientOf(site, '1003');
  // A phone has answered a moment before the engine brings both together, and only then is there something to record.
  await until('1003 to talk', async () =>
    (await client.calls.get(id)).call.legs.some(
      (leg) => leg.extension === '1003' && leg.state === 'connected',
    ),
  );
  await ask(site, zoe, `/${id}/record`, { on: true });
  await lasting(2_200);
  await ask(site, zoe, `/${id}/record/pause`);
  await lasting(600);
  await ask(site, zoe, `/${id}/record/resume`);
  await lasting(400);
  await at.hold();
  await using colleague = await site.phone('1005');
  const [second, further] = await connect(agent, '1005', colleague, 300);
  await second.bridged();
  await lasting(500);
  await at.join(second);
  await at.transferred();
  await lasting(500);
  await further.hangup();
  await call.ended();
  await until('the recording', async () => (await conversation(site, id)).recordings[0]?.state === 'stored');
  await final(site, MOBILE);
  return id;
}
async function missed(site: Site, from: string, to: string): Promise<void> {
  const before = (await conversationsOf(site, from)).length;
  await using caller = await site.phone(from);
  await using called = await site.phone(to);
  const [call, at] = await ring(caller, to, called, 300);
  await call.hangup();
  await at.ended();
  await final(site, from, before + 1);
}

describe('history pages', () => {
  before(buildFirst);
  let outside: Phone;
  const site = useSite({
    env: { OFFHOOK_SITE_COUNTRY: 'DE' },
    async prepare(dataDir, server) {
      await prepareDemo((store) =>
        putObjects(store, {
          trunk: [{ name: 'north', title: 'North', ...north }],
          inbound_route: [
            {
              name: 'support',
              trunk: 'north',
              number: '+493012345605',
              to: { kind: 'queue', key: 'support' },
            },
          ],
        }),
      )(dataDir);
      outside = await openFarSide({ server, extension: MOBILE, name: EVIL, at: north });
    },
  });
  after(() => outside?.[Symbol.asyncDispose]());
  const browser = useBrowser();
  let id = '';
  before(async () => {
    id = await queueCall(site(), outside);
    await missed(site(), '1009', '1010');
  });

  test('history - a list that filters narrow; they stand in the address, and what a caller is called is text', async () => {
    const page = await signedIn(site(), browser(), '1002', { path: '/history' });
    await shows(page, 2);
    await page.getByText('2 conversations').waitFor();
    await page.getByText(EVIL).first().waitFor();
    await page.getByText('· Support', { exact: true }).waitFor();
    assert.equal(await page.locator('img[src=x]').count(), 0);
    await assertAccessible(page);
    await page.getByLabel('Outcome', { exact: true }).selectOption('missed');
    await shows(page, 1);
    assert.equal(new URL(page.url()).searchParams.get('disposition'), 'missed');
    await page.goBack();
    await shows(page, 2);
    await page.goForward();
    await shows(page, 1);
    await page.reload();
    await shows(page, 1);
    await page.getByRole('button', { name: 'Remove filter: Missed' }).click();
    await shows(page, 2);
    await page.getByRole('searchbox', { name: 'Search' }).fill('OLGA');
    await shows(page, 1);
    await page.getByRole('searchbox', { name: 'Search' }).fill('nobody at all');
    await page.getByText('No conversations match these filters').waitFor();
    await page.getByRole('main').getByRole('button', { name: 'Clear filters' }).first().click();
    await shows(page, 2);
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel('Recording', { exact: true }).selectOption('true');
    await page.getByRole('combobox', { name: 'Queue' }).selectOption('support');
    await page.getByLabel('Extension', { exact: true }).fill('1005');
    await shows(page, 1);
    await assertAccessibleInBoth(page);
    await close(page);
  });

  test('history - one goes through the list and to a conversation and back by keys alone', async () => {
    const page = await signedIn(site(), browser(), '1002', { path: '/history?when=today' });
    await shows(page, 2);
    await rows(page).first().focus();
    await page.keyboard.press('ArrowDown');
    await until('the second row to have the focus', () =>
      page.evaluate(`document.activeElement.textContent.includes('Olga')`),
    );
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    assert.equal(decodeURIComponent(new URL(page.url()).pathname), `/history/${id}`);
    await page.getByRole('main').getByRole('link', { name: 'History' }).press('Enter');
    await shows(page, 2);
    assert.equal(new URL(page.url()).search, '?when=today', 'the list is the one that was left');
    await close(page);
  });

  test('history - a conversation is drawn and told as its record has it', async () => {
    const record: Conversation = await conversation(site(), id);
    const page = await signedIn(site(), browser(), '1002', { path: `/history/${id}` });
    const table = page.getByTestId('course');
    await table.waitFor({ state: 'attached' });
    const countOf = (kind: string): Promise<number> => table.locator(`[data-fact=${kind}]`).count();
    const segments = record.legs.flatMap((leg) => leg.segments);
    const offers = record.queue_visits.flatMap((visit) => visit.offers);
    assert.ok(segments.length > 8 && offers.length === 1, 'the call was not the one that is told of');
    assert.equal(await countOf('segment'), segments.length);
    assert.equal(await countOf('offer'), offers.length);
    assert.equal(await countOf('left'), record.legs.length);
    assert.equal(await countOf('transfer'), 1);
    assert.equal(await countOf('paused'), 1);
    assert.match(await table.locator('[data-fact=transfer]').innerText(), /Zoë.*passed the call on to 1005/s);
    const times = await table
      .locator('[data-fact=segment] time')
      .evaluateAll((all) => all.map((one) => one.getAttribute('datetime') ?? ''));
    assert.deepEqual(times.toSorted(), segments.map((s) => s.started_at).toSorted());
    const drawn = page.getByTestId('timeline').locator('[title]');
    const extra = record.recordings.length + 1 + record.queue_visits.length + offers.length + 1;
    assert.equal(await drawn.count(), segments.length + extra);
    assert.equal(
      await page.locator('[data-figure=hold_time]').innerText(),
      `0:${String(Math.floor(record.hold_time)).padStart(2, '0')}`,
    );
    await page.getByText('normal end (16)').waitFor();
    await assertAccessible(page);
    await page.getByText('Table', { exact: true }).click();
    await table.getByText('On hold (has put the other side on hold)').waitFor();
    await table.getByText('Waits in the queue (Support)').first().waitFor();
    await table.getByText('joined the queue Support: ').waitFor();
    await page.getByRole('main').getByText('Support', { exact: true }).waitFor();
    await assertAccessibleInBoth(page);
    await close(page);
  });

  test('history - a recording plays, jumps, and is deleted by a supervisor only', async () => {
    const page = await signedIn(site(), browser(), '1003', { path: `/history/${id}` });
    const player = page.getByRole('group', { name: /Recording of/ });
    assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0);
    const at = (): Promise<number> => page.evaluate(`document.querySelector('audio').currentTime`);
    // The recording has a few seconds, and the button to pause it is there until its end.
    await page.locator('audio').evaluate((audio) => Object.assign(audio, { loop: true }));
    await player.getByRole('button', { name: 'Play' }).click();
    await until('the sound to play', async () => (await at()) > 0.5);
    await player.getByRole('button', { name: 'Pause' }).press('k');
    await player.getByRole('button', { name: 'Play' }).waitFor();
    await player.getByRole('slider', { name: 'Position' }).press('Home');
    await until('the start', async () => (await at()) === 0);
    await player.getByText('Paused 1 time').waitFor();
    await site().kill('SIGTERM');
    await site().start('ready', { OFFHOOK_OWN_RECORDINGS: 'no' });
    await page.reload();
    await page.getByText('Only supervisors can play recordings at this site.').waitFor();
    assert.equal(await player.count(), 0);
    const supervisor = await signedIn(site(), browser(), '1001', { path: `/history/${id}` });
    await supervisor.getByRole('group', { name: /Recording of/ }).waitFor();
    await site().kill('SIGTERM');
    await site().start('ready', { OFFHOOK_OWN_RECORDINGS: 'yes' });
    await close(page, supervisor);
  });

  test('history - a half-written note survives a reload and a restart of the service, and is sent as text', async () => {
    const page = await signedIn(site(), browser(), '1003', { path: `/history/${id}` });
    const field = page.getByLabel('New note');
    await field.fill('<b>Calls</b> back');
    await page.reload();
    await until('the note as it was', async () => (await field.inputValue()) === '<b>Calls</b> back');
    await site().kill('SIGTERM');
    await field.press('End');
    await field.pressSequentially(' on Monday');
    await page.getByRole('button', { name: 'Add note' }).click();
    await page.getByRole('alert').getByText('The service cannot be reached').waitFor();
    await site().start();
    await hasValue(field, '<b>Calls</b> back on Monday');
    await field.press('Control+Enter');
    const notes = page.getByRole('list', { name: 'Notes' });
    await notes.getByText('<b>Calls</b> back on Monday').waitFor();
    await hasValue(field, '');
    assert.deepEqual(
      (await conversation(site(), id)).notes.map((note) => [note.by, note.text]),
      [['1003', '<b>Calls</b> back on Monday']],
    );
    await notes.getByRole('button', { name: 'Remove note' }).click();
    await page.getByText('No notes yet.').waitFor();
    await close(page);
  });

  test('history - people see and find their own, a supervisor also that of others', async () => {
    const page = await signedIn(site(), browser(), '1009', { path: '/history' });
    await shows(page, 1);
    assert.equal(await page.getByRole('radiogroup', { name: 'Whose conversations' }).count(), 0);
    await page.goto(`${site().base}/history/${id}`);
    await page.getByText('Conversation not found').waitFor();
    await close(page);
    const boss = await signedIn(site(), browser(), '1002', { path: '/history' });
    await shows(boss, 2);
    await boss.getByText('Mine', { exact: true }).click();
    await boss.getByText('You have had no conversations yet').waitFor();
    assert.equal(new URL(boss.url()).searchParams.get('view'), 'mine');
    await assertAccessible(boss);
    await close(boss);
  });

  test('history - a person whose phone only rang reads a conversation, without forms that the service would refuse', async () => {
    await (await clientOf(site(), '1010')).features.set('1010', { cf_busy_number: '1012' });
    await using caller = await site().phone('1011');
    await using rung = await site().phone('1010');
    await using answers = await site().phone('1012');
    const [call, at] = await ring(caller, '1010', rung, 300);
    at.reject();
    const further = await answers.incoming();
    await further.answer();
    await call.answered();
    await lasting(500);
    await call.hangup();
    await further.ended();
    await final(site(), '1012');
    const [newest] = await conversationsOf(site(), '1012');
    const path = `/history/${newest!.id}`;
    const page = await signedIn(site(), browser(), '1010', { path });
    await page.getByText('No notes yet.').waitFor();
    assert.equal(await page.getByRole('textbox').count(), 0);
    assert.equal(await page.getByRole('heading', { name: 'Outcome' }).count(), 0);
    await close(page);
    for (const extension of ['1012', '1002']) {
      const other = await signedIn(site(), browser(), extension, { path });
      await other.getByLabel('New note').waitFor();
      await close(other);
    }
  });

  test('history - an export is made with the filters that are set, and downloaded', async () => {
    const page = await signedIn(site(), browser(), '1002', { path: '/history?disposition=missed' });
    await page.getByRole('button', { name: 'Export' }).click();
    const dialog = page.getByRole('dialog', { name: 'Export conversations' });
    await dialog.getByRole('button', { name: 'Make the file' }).click();
    await dialog.locator('[data-state=done]').waitFor();
    await dialog.getByText(/1 row .*kept until/).waitFor();
    await assertAccessible(page);
    const downloading = page.waitForEvent('download');
    await dialog.getByRole('link', { name: 'Download' }).click();
    const text = await readFile(await (await downloading).path(), 'utf8');
    assert.equal(text.trim().split('\r\n').length, 2, text);
    assert.match(text, /"missed"/);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.locator('[data-state=expired]').waitFor();
    const { token } = await site().person('1002');
    const made = async (): Promise<void> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ format: 'xlsx' });
      const { status } = await fetch(`${site().base}/api/v1/exports`, { method: 'POST', headers, body });
      assert.equal(status, 202);
    };
    const files = dialog.locator('[data-state=done]');
    await made();
    await until('one that is made elsewhere', async () => (await files.count()) === 1);
    await page.context().setOffline(true);
    await made();
    await page.context().setOffline(false);
    await until('one that was made without a network', async () => (await files.count()) === 2);
    await close(page);
  });

  test('history - what begins stands in the list at once; further down it waits to be shown', async () => {
    const page = await signedIn(site(), browser(), '1009', { path: '/history' });
    await shows(page, 1);
    const low = await signedIn(site(), browser(), '1009', {
      path: '/history',
      size: { width: 800, height: 320 },
    });
    await shows(low, 1);
    await low.evaluate('window.scrollTo(0, 200)');
    await missed(site(), '1009', '1011');
    await shows(page, 2);
    await until('its end', async () => (await page.getByText('Missed', { exact: true }).count()) === 3);
    await low.getByRole('button', { name: '1 new' }).waitFor();
    assert.equal(await rows(low).count(), 1, 'nothing jumps');
    await low.getByRole('button', { name: '1 new' }).click();
    await shows(low, 2);
    await close(low);

    await page
      .getByRole('list', { name: 'Conversations' })
      .getByRole('button', { name: 'Actions' })
      .first()
      .click();
    await page.getByRole('menuitem', { name: 'Hide from my history' }).click();
    await shows(page, 1);
    await page.reload();
    await shows(page, 1);
    assert.equal((await conversationsOf(site(), '1009')).length, 2, 'hidden is not deleted');
    await close(page);
  });

  for (const [read, isHeld] of [
    ['the first page', (url: URL) => !url.searchParams.has('cursor')],
    ['a later page', (url: URL) => url.searchParams.has('cursor')],
  ] as const)
    test(`history - a call that comes while ${read} is read stays in the list`, async () => {
      const before = (await conversationsOf(site(), '1012')).length;
      while ((await conversationsOf(site(), '1012')).length < before + 2)
        await missed(site(), '1011', '1012');
      const page = await signedIn(site(), browser(), '1012', { path: '/' });
      const held = Promise.withResolvers<void>();
      const go = Promise.withResolvers<void>();
      await page.route('**/api/v1/conversations?*', async (route) => {
        const url = new URL(route.request().url());
        if (url.searchParams.get('limit') !== '100') return await route.continue();
        // A list of several pages without a hundred calls.
        if (!url.searchParams.has('cursor')) url.searchParams.set('limit', '1');
        const response = await route.fetch({ url: url.href });
        if (isHeld(url)) {
          held.resolve();
          await go.promise;
        }
        await route.fulfill({ response });
      });
      await page.getByRole('navigation').getByRole('link', { name: 'History' }).click();
      await held.promise;
      const badge = page.getByRole('navigation').getByRole('link', { name: /^Missed calls/ });
      const old = await badge.innerText();
      await missed(site(), '1011', '1012');
      await until('the badge to count the call', async () => (await badge.innerText()) !== old);
      // Longer than the list collects events.
      await lasting(600);
      go.resolve();
      await shows(page, before + 3);
      await close(page);
    });

  test('history - a phone of a small screen shows cards, in Turkish and German too', async () => {
    for (const language of ['tr', 'de'] as const) {
      const page = await signedIn(site(), browser(), '1003', {
        path: '/history',
        language,
        scheme: 'dark',
        size: { width: 390, height: 844 },
      });
      await shows(page, 1);
      await fits(page, 'the list');
      await assertAccessible(page);
      await rows(page).first().click();
      await page.getByTestId('timeline').waitFor();
      await fits(page, 'the conversation');
      await assertAccessible(page);
      await close(page);
    }
  });
});
