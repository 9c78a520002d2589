/** The worklist of the page of missed calls: on the simulator, which has calls from outside and no engine. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { post, simulated } from '../../server/test/support/simulated.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser } from '../../server/test/support/use-site.ts';
import type { Simulator } from '../../server/src/simulator/simulator.ts';
import { assertAccessibleInBoth, buildFirst, close, consoleOf } from './rig.ts';

const ANNA = '+4930901820';
const OTHER = '+4930111222';
const rows = (page: Page) => page.getByRole('list', { name: 'To call back' }).getByRole('listitem');

describe('callbacks', () => {
  before(buildFirst);
  const browser = useBrowser();
  /** Moves time on, so that records are read, until it is so. */
  const eventually = (simulator: Simulator, what: string, holds: () => Promise<boolean>) =>
    until(what, async () => {
      await simulator.advance(1);
      return holds();
    });

  test('callbacks - a customer who called in vain is called back by one click, taken, closed by hand or by the call itself', async (t) => {
    const simulator = await simulated(t);
    const site = { base: simulator.base, credentials: async () => simulator.users };
    const customer = { name: 'Anna Müller', numbers: [{ number: ANNA }], shared: true };
    assert.equal((await post(simulator, '/api/v1/phonebook/customers', customer)).status, 201);
    const page = await consoleOf(site, browser(), '1003', { path: '/missed' });
    await page.getByText('No one from outside is waiting for a call back').waitFor();
    // Live: the page is open while they call.
    await simulator.play('queue abandoned', { caller: ANNA });
    await simulator.play('queue abandoned', { caller: ANNA });
    await simulator.play('missed', { caller: OTHER });
    await eventually(simulator, 'both numbers are listed', async () => (await rows(page).count()) === 2);
    const anna = rows(page).filter({ hasText: 'Anna Müller' });
    await anna.getByText('2 tries').waitFor();
    await anna.getByText('Support').waitFor();
    await assertAccessibleInBoth(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await until('nothing is wider than the screen', () =>
      page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
    );
    await page.setViewportSize({ width: 1280, height: 800 });

    const other = rows(page).filter({ hasText: OTHER });
    await other.getByRole('button', { name: `More for ${OTHER}` }).click();
    await page.getByRole('menuitem', { name: /^Close without a call/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').selectOption('not_needed');
    await dialog.getByLabel('Note').fill('A wrong number');
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    await until('one is left', async () => (await rows(page).count()) === 1);

    // The people of the simulator have no permission for this class of numbers.
    const called: string[] = [];
    await page.route('**/api/v1/calls', async (route) => {
      called.push((route.request().postDataJSON() as { to: string }).to);
      await route.fulfill({ status: 202, json: { success: true, operation: {} } });
    });
    await anna.getByRole('button', { name: 'Call back: Anna Müller' }).click();
    await anna.getByText('You call back').waitFor();
    await until('the number is called', () => called.includes(ANNA));
    await simulator.play('outbound answered', { caller: ANNA });
    await eventually(simulator, 'the call back closed it', async () => (await rows(page).count()) === 0);
    await close(page);
  });
});
