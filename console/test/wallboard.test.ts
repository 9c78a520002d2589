import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { putObjects } from '../../server/src/features/pbx-config/put.ts';
import { prepareDemo } from '../../server/test/support/company.ts';
import { openFarSide } from '../../server/test/support/phone.ts';
import type { Phone } from '../../server/test/support/phone.ts';
import { farAddress } from '../../server/test/support/far-address.ts';
import { until } from '../../server/test/support/until.ts';
import { steadyZone } from '../../server/test/support/steady-zone.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertNoTrouble,
  buildFirst,
  clickThrice,
  clientOf,
  focusIsOn,
  signedIn,
  openConsole,
  hasValue,
} from './rig.ts';
import { scriptBoard } from './wallboard-script.ts';

const OUTSIDE = await farAddress('127.0.0.2');
const EVIL = '<img src=x onerror=alert(1)>';

describe('wallboard', () => {
  before(buildFirst);
  const site = useSite({
    // Its figures are those of a day.
    env: { OFFHOOK_SITE_ZONE: steadyZone() },
    prepare: (dataDir) =>
      prepareDemo((store) =>
        putObjects(store, {
          trunk: [{ name: 'north', title: 'North', ...OUTSIDE }],
          inbound_route: [
            { name: 'sales', trunk: 'north', number: '+493055501', to: { kind: 'queue', key: 'sales' } },
          ],
        }),
      )(dataDir),
  });
  const browser = useBrowser();
  const outside = (): Promise<Phone> =>
    openFarSide({
      server: site().sip,
      extension: '+4915112345678',
      name: EVIL,
      at: OUTSIDE,
      cli: site().engineCli,
    });
  const tile = (page: Page, queue: string): Locator => page.locator(`[data-queue=${queue}]`);
  const figure = (page: Page, queue: string, metric: string): Locator =>
    tile(page, queue).locator(`[data-metric=${metric}] dd`);
  const shows = async (what: string, locator: Locator, pattern: RegExp): Promise<string> => {
    let last: string | null = null;
    return until(
      `${what} shows ${pattern}`,
      async () => {
        last = await locator.textContent({ timeout: 2_000 });
        return last !== null && pattern.test(last) ? last : null;
      },
      { seen: () => ({ last }) },
    );
  };
  const alarm = async (what: string, page: Page, queue: string, word: string): Promise<void> => {
    let last: string | null = null;
    await until(what, async () => (last = await tile(page, queue).getAttribute('data-alarm')) === word, {
      seen: () => ({ last }),
    });
  };

  test('wallboard - real calls through real queues move it, thresholds colour and hold, and HTML in names is text', async () => {
    const page = await signedIn(site(), browser(), '1002', { path: '/wallboard' });
    // Nobody in this story waits too long, however slow the machine is.
    await (
      await clientOf(site(), '1001')
    ).queues.setServiceLevel('sales', {
      formula: 'ignore_short',
      threshold_seconds: 600,
      short_abandon_seconds: 5,
      flow_outs: 'counted',
    });
    await shows('the tile', figure(page, 'sales', 'waiting'), /^0/);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name').fill('Care & sales');
    await page.getByLabel('Waiting: Warning').fill('1');
    await page.getByLabel('Waiting: Alert').fill('2');
    await assertAccessibleInBoth(page, 'the editor');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL('**/wallboard/1');

    await using far = await outside();
    const first = await far.invite('+493055501');
    await shows('the tile', figure(page, 'sales', 'waiting'), /^1/);
    await shows('the level before anything is decided', figure(page, 'sales', 'service_level'), /^0\s?%/);
    await alarm('one who waits is a warning, and no miss', page, 'sales', 'warn');
    await tile(page, 'sales').getByText('Warning').first().waitFor();
    const caller = page.locator('[data-caller]');
    await caller.getByText(EVIL, { exact: true }).waitFor();
    const wait = (await figure(page, 'sales', 'longest_wait_seconds').textContent()) ?? '';
    await until(
      'the wait ticks',
      async () => (await figure(page, 'sales', 'longest_wait_seconds').textContent()) !== wait,
    );

    await using second = await site().phone('1007');
    const call = await second.invite('510');
    await shows('the tile', figure(page, 'sales', 'waiting'), /^2/);
    await alarm('two are an alert', page, 'sales', 'alert');
    assert.deepEqual(await caller.count(), 2);
    await assertAccessibleInBoth(page, 'the board with an alert');

    await using desk = await site().phone('1003');
    const incoming = await desk.incoming();
    incoming.ring();
    await page.locator('[data-agent="1003"][data-state=offered]').waitFor();
    // The colour holds for some seconds, so the page itself reads it when the figure falls.
    await page.evaluate(`{
      window.held = '';
      new MutationObserver((_, me) => {
        const tile = document.querySelector('[data-queue=sales]');
        if (!tile?.querySelector('[data-metric=waiting] dd')?.textContent.startsWith('1')) return;
        me.disconnect();
        window.held = tile.dataset.alarm;
      }).observe(document.body, { childList: true, subtree: true, characterData: true });
    }`);
    await incoming.answer();
    const card = page.locator('[data-agent="1003"][data-state=talking]');
    await shows('the card', card, /Talking · Sales · with <img src=x onerror=alert\(1\)>/);
    await shows('the tile', figure(page, 'sales', 'waiting'), /^1/);
    assert.equal(await page.evaluate('window.held'), 'alert', 'the colour holds');
    await shows(
      'the formula',
      page.locator('footer'),
      /answered within 600 s, of all that were offered but those who hung up within 5 s · Abandoned: .* within 5 s is not in this rate/,
    );
    // The time it must hold passes at once, by the page's clock.
    await page.evaluate('{ const own = Date.now; Date.now = () => own() + 10_000; }');
    await alarm('it eases to a warning', page, 'sales', 'warn');
    await call.hangup();
    await first.hangup();
    await shows('the tile', figure(page, 'sales', 'answered'), /^1/);
    await shows('the totals', page.locator('[data-total=answered] dd'), /^1$/);
    await page.getByText('No callers waiting').waitFor();
    await page.getByRole('button', { name: 'Show as a table' }).click();
    await page.getByRole('table').getByRole('row').last().waitFor();
    assert.equal(await page.locator('img[src=x]').count(), 0);
    assertNoTrouble(page);
    await page.close();
  });

  test('wallboard - boards are copied, edited, kept from writing over each other, and deleted', async () => {
    const supervisor = await clientOf(site(), '1002');
    const page = await signedIn(site(), browser(), '1002', { path: '/wallboard/1' });
    await tile(page, 'support').waitFor();
    await page.getByRole('button', { name: 'Actions of this board' }).click();
    await page.getByRole('menuitem', { name: 'Make a copy' }).click();
    await page.getByRole('switch', { name: 'Every queue the viewer may see' }).press(' ');
    await page
      .getByRole('button', { name: 'Support up' })
      .or(page.getByRole('button', { name: 'Sales up' }))
      .last()
      .click();
    await page
      .getByRole('button', { name: 'Callers waiting', exact: true })
      .or(page.getByRole('button', { name: 'Remove Callers waiting' }))
      .click();
    await clickThrice(page.getByRole('button', { name: 'Save' }));
    await page.waitForURL('**/wallboard/2');
    assert.equal((await supervisor.boards.list()).boards.length, 2, 'three clicks make one copy');
    const copy = (await supervisor.boards.get(2)).board;
    assert.equal(copy.name, 'Copy of Care & sales');
    assert.deepEqual(copy.queues?.toSorted(), ['sales', 'support']);
    const wanted = copy.layout.tiles.map(({ queue }) => queue).join();
    let order = '';
    await until(
      `the tiles are ${wanted}`,
      async () => {
        const tiles = page.locator('[data-queue]');
        order = (await tiles.evaluateAll((all) => all.map((one) => one.getAttribute('data-queue')))).join();
        return order === wanted;
      },
      { seen: () => ({ order }) },
    );
    await page.locator('[data-part=callers]').waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name').fill('Mine');
    const { name, queues, layout, shared } = copy;
    await supervisor.boards.replace(2, { name: `${name}!`, queues, layout, shared });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Another user changed this board in the meantime').waitFor();
    await hasValue(page.getByLabel('Name'), 'Mine', 'what was written stays');
    await page.getByRole('button', { name: 'Save' }).click();
    await until(
      'the second save is kept',
      async () => (await supervisor.boards.get(2)).board.name === 'Mine',
    );
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focusIsOn(page, page.getByRole('button', { name: 'Edit', exact: true }));
    await page.getByRole('button', { name: 'Actions of this board' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await until('one board is left', async () => (await supervisor.boards.list()).boards.length === 1);
    await focusIsOn(page, page.locator('#content'));
    await tile(page, 'sales').waitFor();

    await page.getByLabel('Choose a board').selectOption('All queues');
    await page.waitForURL('**/wallboard/0');
    await page.getByRole('button', { name: 'Actions of this board' }).click();
    await page.getByRole('menuitem', { name: 'Displays' }).click();
    await page.getByText('This one is built in: save it').waitFor();
    await page.getByLabel('Name').fill('Wall');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('No display shows this board').waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL('**/wallboard/3');
    await page.getByRole('option', { name: 'Wall' }).waitFor({ state: 'attached' });
    await supervisor.boards.remove(3);
    assertNoTrouble(page);
    await page.close();
  });

  /** Whatever can be read with this key of a display of `sales`; none of it may hold what is not on its board. */
  async function readBy(key: string): Promise<string[]> {
    const get = (path: string) =>
      fetch(`${site().base}${path}`, { headers: { authorization: `Bearer ${key}` } });
    const { paths } = (await (await get('/api/v1/openapi.json')).json()) as {
      paths: Record<string, { get?: { 'x-level'?: string } }>;
    };
    const example: Record<string, string> = { name: 'sales', id: '1', extension: '1003' };
    const open: string[] = [];
    for (const [path, { get: route }] of Object.entries(paths)) {
      if (route === undefined || route['x-level'] === undefined) continue;
      const reply = await get(path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => example[name] ?? '1'));
      const text = await reply.text();
      if (reply.status !== 200) continue;
      open.push(path);
      for (const beyond of ['4915112345678', '"support"']) {
        assert.ok(!text.includes(beyond), `${path} tells ${beyond}: ${text}`);
      }
    }
    return open.toSorted();
  }

  test('wallboard - a display shows its board by a key that is in no address, follows it, comes back by itself, and says when it is revoked', async () => {
    const page = await signedIn(site(), browser(), '1002', { path: '/wallboard/1' });
    await page.getByRole('button', { name: 'Actions of this board' }).click();
    await page.getByRole('menuitem', { name: 'Displays' }).click();
    const madeLink = async (name: string): Promise<string> => {
      await page.getByLabel('Where it hangs').fill(name);
      await page.getByRole('button', { name: 'Make a link' }).click();
      await page.getByRole('button', { name: `Revoke: ${name}` }).waitFor();
      return page.locator('[data-display-link]').inputValue();
    };
    await madeLink('Hall');
    await page.getByRole('button', { name: 'Revoke: Hall' }).click();
    const asks = page.getByRole('dialog', { name: 'Revoke the key of Hall?' });
    await asks.getByRole('button', { name: 'Cancel' }).click();
    await asks.waitFor({ state: 'detached' });
    assert.equal(await page.locator('[data-display-link]').count(), 1, 'nothing is revoked unasked');
    await page.getByRole('button', { name: 'Revoke: Hall' }).click();
    await asks.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No display shows this board').waitFor();
    assert.equal(await page.locator('[data-display-link]').count(), 0, 'a dead link is not shown');
    const link = await madeLink('Lobby');
    await assertAccessible(page, 'the displays');
    assert.match(link, /\/display\/1#key=ohk_/);
    await page.keyboard.press('Escape');
    await focusIsOn(page, page.getByRole('button', { name: 'Actions of this board' }));

    const wall = await openConsole(site(), browser(), { path: '/healthz' });
    const asked: string[] = [];
    wall.on('request', (request) => asked.push(request.url()));
    const said: string[] = [];
    wall.on('websocket', (socket) => {
      asked.push(socket.url());
      socket.on('framereceived', ({ payload }) => void said.push(payload.toString()));
    });
    await wall.goto(link);
    await tile(wall, 'sales').waitFor();
    assert.equal(wall.url(), `${site().base}/display/1`);
    await wall.reload();
    await tile(wall, 'sales').waitFor();
    await wall.getByText('Live', { exact: true }).waitFor();
    assert.deepEqual(
      asked.filter((url) => url.includes('ohk_')),
      [`${site().base}/display/1${new URL(link).hash}`].filter((url) => asked.includes(url)),
    );
    await assertAccessible(wall, 'the display');

    await using far = await outside();
    const call = await far.invite('+493055501');
    await shows('the caller', wall.locator('[data-caller]'), /•••678.*Sales/);
    assert.ok(said.some((frame) => frame.includes('•••678')));
    assert.deepEqual(
      said.filter((frame) => frame.includes('4915112345678')),
      [],
      'the wall is told the whole number',
    );

    const supervisor = await clientOf(site(), '1002');
    const { name, shared, layout } = (await supervisor.boards.get(1)).board;
    await supervisor.boards.replace(1, {
      name: `${name} only`,
      shared,
      layout: { ...layout, tiles: [] },
      queues: ['sales'],
    });
    await until('the display follows its board', async () => (await tile(wall, 'support').count()) === 0);
    await until('and is live again', async () => (await wall.locator('[data-stale]').count()) === 0);
    await wall.getByRole('heading', { name: 'Care & sales only' }).waitFor();
    assert.deepEqual(
      await readBy(new URL(link).hash.slice('#key='.length)),
      [
        '/api/v1/agents',
        '/api/v1/agents/{extension}',
        '/api/v1/boards/{id}',
        '/api/v1/pause-reasons',
        '/api/v1/queues',
        '/api/v1/queues/{name}',
        '/api/v1/queues/{name}/stats',
        '/api/v1/wallboard',
      ],
      'what the key of a display reads',
    );

    await site().kill('SIGKILL');
    await wall.locator('[data-stale]').waitFor();
    await page.getByText('Not live: what you see may be out of date').waitFor();
    await shows('what was there stays', figure(wall, 'sales', 'waiting'), /^1/);
    await call.hangup();
    await site().start();
    await shows('the display is true again', figure(wall, 'sales', 'waiting'), /^0/);
    await until('and says it is live', async () => (await wall.locator('[data-stale]').count()) === 0);
    await page.getByText('Not live').waitFor({ state: 'detached' });

    const [key] = (await supervisor.boards.displayKeys(1)).display_keys;
    await supervisor.boards.revokeDisplayKey(1, key!.id);
    await wall.getByText('The key of this display is no longer valid').waitFor();
    await assertAccessible(wall, 'a revoked display');
    assertNoTrouble(wall);
    await wall.context().close();
    await page.close();
  });

  test('wallboard - figures of a page that stays open: an agent’s day is read anew with each minute and each new day, the chart wherever it is shown again', async () => {
    // Nothing happens to this agent here.
    const desk = await signedIn(site(), browser(), '1004', { path: '/desk' });
    let [day, statsCount, asked, heard] = ['', 0, 0, false];
    await desk.routeWebSocket(/\/api\/v1\/stream/, (socket) => {
      socket.connectToServer().onMessage((frame) => {
        const text = String(frame);
        statsCount += Number(text.includes('"queue.stats"'));
        heard ||= text.includes('"op":"snapshot","topic":"queues');
        socket.send(day === '' ? text : text.replaceAll(/"day":"[^"]*"/g, `"day":"${day}"`));
      });
    });
    desk.on('request', (request) => (asked += Number(request.url().endsWith('/api/v1/wallboard'))));
    await desk.clock.install();
    await desk.reload();
    await desk.locator('[aria-labelledby=desk-figures] [aria-busy=false]').waitFor();
    // Earlier changes are in the snapshot and no event.
    await until('the queues are heard', () => heard);
    const admin = await clientOf(site(), '1001');
    const stats = async (threshold_seconds: number): Promise<void> => {
      const before = statsCount;
      const level = { formula: 'ignore_short', short_abandon_seconds: 5, flow_outs: 'counted' } as const;
      await admin.queues.setServiceLevel('support', { ...level, threshold_seconds });
      await until('the figures of a queue are told', () => statsCount > before);
    };
    // The requests at page load are finished by now.
    await stats(21);
    await stats(22);
    let before = asked;
    day = '2030-01-01';
    await stats(20);
    await until('the new day is read', () => asked > before);
    before = asked;
    // While a read is under way the end of a minute begins no other.
    await until('the minute is read', async () => {
      await desk.clock.fastForward(61_000);
      return asked > before;
    });
    assertNoTrouble(desk);
    await desk.close();

    const page = await signedIn(site(), browser(), '1002', { path: '/wallboard/1' });
    const card = page.locator('[data-agent="1004"]');
    await card.waitFor();
    await admin.agents.logout('1004', { queue: 'sales' });
    await card.waitFor({ state: 'detached' });
    await admin.agents.login('1004', { queue: 'sales' });
    await card.waitFor();
    // The wait of the caller who hung up while the service was killed is counted once the call records tell of it.
    await until('what was lost is settled', async () =>
      (await admin.queues.stats('sales')).gaps.every((gap) => gap.settled),
    );
    await page.reload();
    const asTable = page.getByRole('button', { name: 'Show as a table' });
    const offered = async (): Promise<number> => {
      const cells = await page.getByRole('table').locator('tbody td:nth-child(2)').allInnerTexts();
      return cells.reduce((sum, text) => sum + Number(text), 0);
    };
    await asTable.click();
    await page.getByRole('table').locator('tbody td').first().waitFor();
    const first = await offered();
    assert.ok(first > 0);
    await using caller = await site().phone('1007');
    await page.getByRole('link', { name: 'Directory' }).click();
    await page.locator('li[data-extension]').first().waitFor();
    const call = await caller.invite('510');
    const sums = async () => (await admin.queues.stats('sales')).stats?.sums;
    // The engine answers before the call is in the queue.
    await until('the call waits', async () => (await sums())?.open === 1);
    await call.hangup();
    await until('the whole call is counted', async () => {
      const { offered: all, open } = (await sums())!;
      return all === first + 1 && open === 0;
    });
    await page.getByRole('link', { name: 'Wallboard' }).click();
    await asTable.click();
    await until('the chart has the call', async () => (await offered()) === first + 1);
    assertNoTrouble(page);
    await page.close();
  });

  test('wallboard - 1,000 agents and 500 queues are drawn as far as they are seen, and an event draws its own tile', async () => {
    const page = await openConsole(site(), browser(), { path: '/healthz', scheme: 'dark' });
    const script = await scriptBoard(page, { queues: 500, agents: 1_000 });
    const { extension, password } = (await site().credentials()).find((c) => c.extension === '1005')!;
    await page.goto(`${site().base}/wallboard`);
    await page.locator('input[name=username]').fill(extension);
    await page.locator('input[name=password]').fill(password);
    await page.locator('button[type=submit]').click();
    await tile(page, 'q0').waitFor();
    await page.getByRole('heading', { name: 'Queue 0 <b>bold</b>' }).waitFor();
    const drawn = (selector: string): Promise<number> => page.locator(selector).count();
    assert.ok((await drawn('[data-queue]')) < 60, `${await drawn('[data-queue]')} tiles are drawn`);
    const drawnAnew = await script.drawnBy(async () => {
      await script.answered('q2', 77);
      await shows('the tile', figure(page, 'q2', 'answered'), /^77/);
    });
    assert.deepEqual(drawnAnew, ['q2']);
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await until('the last agent', async () => {
      await page.evaluate('scrollTo(0, document.body.scrollHeight)');
      return (await drawn('[data-agent="5999"]')) === 1;
    });
    assert.ok((await drawn('[data-agent]')) < 200, `${await drawn('[data-agent]')} agents are drawn`);
    assert.equal(await page.locator('[data-agent="5999"] b img').count(), 0);
    await script.talks('5999');
    await page.locator('[data-agent="5999"][data-state=talking]').waitFor();
    await assertAccessible(page, 'a board of 500 queues in the dark');
    assertNoTrouble(page);
    await page.close();
  });
});
