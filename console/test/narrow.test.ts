/** Long titles and names on screens of several widths: nothing runs over what is beside it. */
import { before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { apply, ask } from '../../server/test/support/config-steps.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { buildFirst, close, fits, nothingRunsOver, signedIn } from './rig.ts';

const TITLE = 'Vertragsverlängerungen und Kündigungsrückgewinnung';
const NAME = 'Maximiliane Freifrau von Hohenstein-Wittgenstein';
const SIZES = [1440, 1024, 390].map((width) => ({ width, height: 900 }));

describe('narrow pages', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('narrow pages - long titles of queues and names of people stay in their cards, in English and German', async () => {
    await ask(site(), 'PATCH', '/queues/sales', { title: TITLE });
    await ask(site(), 'PATCH', '/extensions/1004', { name: NAME });
    assert.equal((await apply(site())).state, 'applied');
    await using caller = await site().phone('1008');
    await using phone = await site().phone('1004');
    const call = await caller.invite('1004');
    await (await phone.incoming()).answer();
    await call.answered();
    await using waiting = await site().phone('1009');
    const waits = await waiting.invite('510');
    for (const language of ['en', 'de'] as const)
      for (const [path, extension, text] of [
        ['/desk', '1003', TITLE],
        ['/wallboard', '1001', TITLE],
        ['/directory', '1001', /^(?:In a call|Im Gespräch)$/],
        ['/history', '1001', TITLE],
      ] as const) {
        const page = await signedIn(site(), browser(), extension, { path, language });
        for (const size of SIZES) {
          await page.setViewportSize(size);
          const shown = page.locator('#content').getByText(text).first();
          await shown.waitFor();
          const where = `${path} ${language} ${size.width}`;
          await fits(page, where);
          await nothingRunsOver(page, where);
          if (path === '/history' && size.width > 390)
            await until(`a title has room on ${where}`, () =>
              shown.evaluate(
                (one: { getClientRects(): ArrayLike<unknown> }) => one.getClientRects().length <= 2,
              ),
            );
        }
        await close(page);
      }
    await waits.hangup();
    await call.hangup();
  });
});
