import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { statusIs } from '../../server/test/support/steps.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { startWire } from '../../server/test/support/wire.ts';
import { assertAccessible, assertNoTrouble, buildFirst, signedIn } from './rig.ts';

/** What the issue of the console asks for: a cut that no side is told of. */
const CUT_MS = 60_000;
const SAID_MS = 12_000;

describe('console network', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('network - cut for a minute: every page says so, comes back by itself with nothing missing, and keeps what was half written', async () => {
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
    const pages: readonly Page[] = [board, desk, directory];
    const waiting = board.locator('[data-queue=sales] [data-metric=waiting] dd');
    const presence = directory.locator('li[data-extension="1010"] [data-word]');
    const note = desk.getByRole('textbox', { name: 'Note' });
    await note.fill('Half a th');
    await board.locator('[data-agent="1003"][data-state=talking]').waitFor();
    await until('nobody waits', async () => /^0/.test(await waiting.innerText()));
    assert.equal(await presence.getAttribute('data-word'), 'offline');

    wire.cut();
    const cutAt = performance.now();
    for (const page of pages) {
      const left = SAID_MS - (performance.now() - cutAt);
      await page
        .getByText('Not live')
        .first()
        .waitFor({ timeout: Math.max(1, left) });
    }
    await assertAccessible(board, 'a board that is not live');
    await note.press('Control+End');
    await note.pressSequentially('ought');
    await using second = await site().phone('1008');
    await using _comes = await site().phone('1010');
    const waits = await second.invite('510');
    await sleep(CUT_MS - (performance.now() - cutAt));
    assert.equal(await presence.getAttribute('data-word'), 'offline', 'the network was not cut');

    wire.mend();
    await until(
      'every page is live',
      async () => {
        for (const page of pages) if ((await page.getByText('Not live').count()) > 0) return false;
        return true;
      },
      { ms: 35_000 },
    );
    await until('the board shows who waits', async () => /^1/.test(await waiting.innerText()));
    await until(
      'the directory shows who came',
      async () => (await presence.getAttribute('data-word')) === 'available',
    );
    assert.equal(await note.inputValue(), 'Half a thought');
    await desk.getByRole('button', { name: 'Save note' }).click();
    await desk.getByText('Half a thought').first().waitFor();
    await until('the note is sent', async () => (await note.inputValue()) === '');
    await waits.hangup();
    await call.hangup();
    for (const page of pages) {
      assertNoTrouble(page);
      await page.close();
    }
  });
});
