/** What the phone of a page says where it cannot be used. */
import { before, describe, test } from 'node:test';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { REFUSE, button, contextOf, panel, phoneOf } from './phone-rig.ts';
import { assertNoTrouble, buildFirst, consoleOf } from './rig.ts';

describe('phone trouble', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('phone - a call that the microphone prevents is reported each time, though the panel is folded', async () => {
    const page = await phoneOf(site(), browser(), '1010');
    const fold = page.getByRole('button', { name: /^Phone:/ });
    await page.evaluate(REFUSE);
    for (let time = 0; time < 2; time += 1) {
      await fold.click();
      await panel(page).waitFor({ state: 'hidden' });
      await page.locator('li[data-extension="1011"] [data-call]').click();
      await panel(page).getByRole('alert').getByText('The browser may not use the microphone').waitFor();
    }
    assertNoTrouble(page);
    await page.context().close();
  });

  test('phone - its settings open where the browser has no devices, as at a plain http address', async () => {
    const before = `Object.defineProperty(navigator, 'mediaDevices', { value: undefined });
      navigator.permissions.query = () => Promise.resolve({ state: 'denied' });`;
    const context = await contextOf(browser(), { before });
    const page = await consoleOf(site(), browser(), '1003', { context, path: '/desk' });
    await page.getByRole('button', { name: 'Use the phone of this page' }).click();
    // The reason is shown at once, though the phone was switched on beside its folded panel.
    await panel(page).getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Phone: not available' }).waitFor();
    await button(page, 'Phone settings').click();
    await button(page, 'Switch the phone off').click();
    await page.getByRole('button', { name: 'Phone: off' }).waitFor();
    assertNoTrouble(page);
    await context.close();
  });
});
