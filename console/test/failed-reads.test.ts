/** A read that fails beside older data: its failure is where the data is missing, and moves nothing that is used. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { conversationsOf, ring } from '../../server/test/support/conversation-stage.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { COMPANY, close, deskSteps, isIn, offered, stateOf } from './desk-steps.ts';
import { buildFirst, consoleOf } from './rig.ts';

const PAGE = 100;
const REFUSED = {
  status: 400,
  json: { code: 'invalid_request', detail: 'The parameters are of another version', status: 400 },
};
const isOfList = ({ pathname, searchParams }: URL): boolean =>
  pathname === '/api/v1/conversations' && searchParams.get('limit') === String(PAGE);

describe('failed reads', () => {
  before(buildFirst);
  const site = useSite({ prepare: COMPANY });
  const browser = useBrowser();
  const { put, deskAtWork } = deskSteps(site, browser);

  test('history - a next page that fails is requested once, reported at the end of the list and read by a click', async () => {
    await using called = await site().phone('1004');
    await using caller = await site().phone('1008');
    const missed = async (): Promise<void> => {
      const [call, at] = await ring(caller, '1004', called, 100);
      await call.hangup();
      await at.ended();
    };
    await missed();
    const one = await until('the conversation', async () => {
      const [newest] = await conversationsOf(site(), '1004');
      return newest?.state === 'final' && newest;
    });
    /** Copies of the conversation, each a second older than the one before. */
    const copies = (from: number, count: number): object[] =>
      Array.from({ length: count }, (_, i) => ({
        ...one,
        id: from + i === 0 ? one.id : `${one.id}-${from + i}`,
        started_at: new Date(Date.parse(one.started_at) - (from + i) * 1000).toISOString(),
      }));
    const page = await consoleOf(site(), browser(), '1004', { path: '/directory' });
    const requested = { first: 0, next: 0 };
    let fails = true;
    const answer = Promise.withResolvers<void>();
    await page.route(isOfList, async (route) => {
      const which = new URL(route.request().url()).searchParams.has('cursor') ? 'next' : 'first';
      requested[which] += 1;
      if (which === 'next' && fails) return await route.fulfill(REFUSED);
      if (!fails) await answer.promise;
      const total = { count: PAGE + 10, exact: true };
      const json =
        which === 'first'
          ? { success: true, conversations: copies(0, PAGE), next_cursor: 'next', total }
          : { success: true, conversations: copies(PAGE, 10), next_cursor: null, total: null };
      await route.fulfill({ json });
    });
    await page.goto(`${site().base}/history`);
    const alerts = page.locator('#content').getByRole('alert');
    const foot = page.getByRole('list', { name: 'Conversations' }).locator('xpath=following-sibling::div[1]');
    const failure = foot.getByRole('alert');
    const row = (n: number) => page.locator(`[data-row][href="/history/${one.id}${n === 0 ? '' : `-${n}`}"]`);
    const scrollTo = (n: number): Promise<unknown> =>
      until(`row ${n} is shown`, async () => {
        await page.evaluate(`window.scrollTo(0, ${n === 0 ? 0 : 'document.documentElement.scrollHeight'})`);
        return row(n).isVisible();
      });
    const isAtTheFoot = async (): Promise<void> => {
      await failure.waitFor();
      assert.equal(await alerts.count(), 1, 'it is only there');
    };
    await scrollTo(PAGE - 1);
    await isAtTheFoot();
    await scrollTo(0);
    await scrollTo(PAGE - 1);
    await isAtTheFoot();
    assert.equal(requested.next, 1);
    await missed();
    await page.getByRole('button', { name: '1 new' }).waitFor();
    await isAtTheFoot();
    assert.equal(requested.next, 1, 'an event of another conversation requests nothing');

    const { first, next } = requested;
    fails = false;
    await failure.getByRole('button', { name: 'Try again' }).click();
    await until('a read is under way', () => requested.first + requested.next > first + next);
    await isAtTheFoot();
    answer.resolve();
    await scrollTo(PAGE + 9);
    assert.equal(await alerts.count(), 0);
    assert.deepEqual(requested, { first, next: next + 1 }, 'only what is missing is read');
    await close(page);
  });

  /** Places of the buttons of the call on the screen. */
  const places = (page: Page): Promise<readonly unknown[]> =>
    Promise.all(
      ['h', 'g', 't', 'x'].map(async (letter) => {
        const box = await page.locator(`[aria-keyshortcuts="${letter}"]`).boundingBox();
        assert.ok(box, `no button has the key ${letter}`);
        return box;
      }),
    );
  test('desk - a later read of the agent that fails moves no button of the call', async () => {
    await using phone = await site().phone('1003');
    await using caller = await site().phone('1008');
    const page = await deskAtWork();
    await (await offered(phone, caller, '510')).answer();
    await isIn(page, 'Talking');
    await put('pause', { reason: 'break' });
    await stateOf(page).getByText('paused: Break').waitFor();
    await page.getByRole('textbox', { name: 'Note' }).waitFor();
    const placed = await places(page);
    await page.route('**/api/v1/agents?extension=1003', (route) => route.fulfill(REFUSED));
    // Its event causes a read of the agent.
    await put('pause', { reason: 'errand' });
    await stateOf(page).getByText('paused: Errand').waitFor();
    await page.locator('#content').getByRole('button', { name: 'Try again' }).waitFor();
    assert.deepEqual(await places(page), placed);
    await put('logout');
    await close(page);
  });
});
