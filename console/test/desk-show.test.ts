/** Five browsers at once: whatever comes and goes, what is typed stays where it is typed, and keys act on the call shown. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { button, callOf, dial, panel, phoneOf, says } from './phone-rig.ts';
import { assertAccessible, assertNoTrouble, buildFirst, clientOf, focusIsOn, hasValue } from './rig.ts';
import { byKey } from './desk-steps.ts';

describe('five browsers', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();
  const note = (page: Page) => page.getByRole('textbox', { name: 'Note' });
  const party = (page: Page, name: string) => page.getByTestId('party').getByText(name).waitFor();
  const myCalls = (page: Page) => page.getByRole('region', { name: 'My calls' }).getByRole('listitem');
  const drop = (page: Page) => button(page, 'Hang up').click();

  test('five browsers - a note is typed while calls come and go, are held, parked, taken back, transferred and listened to', async (t) => {
    const began = Date.now();
    const [desk, boss, ana, ben, cem] = await Promise.all([
      phoneOf(site(), browser(), '1003', { path: '/desk' }),
      phoneOf(site(), browser(), '1002', { path: '/supervisor' }),
      phoneOf(site(), browser(), '1008'),
      phoneOf(site(), browser(), '1009'),
      phoneOf(site(), browser(), '1010'),
    ]);
    const client = await clientOf(site(), '1003');
    const going = async (): Promise<number> => (await client.calls.list()).calls.length;
    const nameOf = async (extension: string): Promise<string> =>
      (await client.contacts({ q: extension })).contacts.find((one) => one.extension === extension)?.name ??
      '';
    const [anaName, benName, cemName] = [await nameOf('1008'), await nameOf('1009'), await nameOf('1010')];
    const rings = (who: string) =>
      callOf(desk, who).getByRole('button', { name: 'Hold and answer', exact: true });

    // 1 to 6: a call is answered, a note is typed; two others ring, one gives up, the other is taken.
    await dial(ana, '1003');
    await button(desk, 'Answer').click();
    await party(desk, anaName);
    await note(desk).click();
    await Promise.all([
      desk.keyboard.type('about the first call, xhtg frp ', { delay: 40 }),
      dial(ben, '1003'),
      dial(cem, '1003')
        .then(() => says(cem, 'Ringing'))
        .then(() => drop(cem)),
    ]);
    await says(desk, 'Incoming call');
    await focusIsOn(desk, note(desk));
    await hasValue(note(desk), 'about the first call, xhtg frp ');
    // By name: with one card, it may still be that of the caller who gives up.
    await until(
      'the one who gave up does not ring any more',
      async () => (await rings(cemName).count()) === 0,
    );
    const answer = rings(benName);
    await answer.click();
    await party(desk, benName);
    await hasValue(note(desk), '', 'the second call has a note of its own');
    await until('both are listed', async () => (await myCalls(desk).count()) === 2);

    // 7 to 12: the supervisor listens, whispers, joins and listens again, while a note of the second call is typed.
    await boss.getByRole('tab', { name: /^Calls/ }).click();
    await boss.getByRole('button', { name: new RegExp(`^Listen to .*${benName}`) }).click();
    await boss.getByRole('dialog').getByRole('button', { name: 'Listen' }).click();
    await button(boss, 'Answer').click();
    const ear = boss.getByRole('region', { name: 'Own listening' });
    await note(desk).click();
    await Promise.all([
      desk.keyboard.type('second, while somebody listens xh', { delay: 60 }),
      (async () => {
        await says(boss, 'You are listening in');
        await ear.getByText(/You are in the call of/).waitFor();
        for (const does of ['Whisper', 'Barge in', 'Listen']) {
          const pressed = ear.getByRole('button', { name: does, exact: true });
          await pressed.click();
          await until(`${does} is on`, async () => (await pressed.getAttribute('aria-pressed')) === 'true');
        }
      })(),
    ]);
    assert.equal(await panel(boss).getByText('Incoming call').count(), 0, 'nothing rings again');
    await until('own listening is no call of the tab', async () =>
      /Calls2/.test((await boss.getByRole('tab', { name: /^Calls/ }).textContent()) ?? ''),
    );
    await assertAccessible(boss, 'listening');
    await hasValue(note(desk), 'second, while somebody listens xh');
    assert.equal(await going(), 2, 'no key acted');

    // 13 to 16: the second call is parked by key, the first one taken up, the second taken back by a click.
    await desk.keyboard.press('Escape');
    await byKey(desk, 'g');
    const parked = desk.getByRole('main').getByRole('region', { name: 'Parked calls' });
    await parked.getByText(/Slot 7\d\d · .* · parked by 1003/).waitFor();
    await party(desk, anaName);
    await hasValue(note(desk), 'about the first call, xhtg frp ');
    await assertAccessible(desk, 'parked');
    await byKey(desk, 'h');
    await desk.getByText('Talking').first().waitFor();
    await parked.getByRole('button', { name: /^Take / }).click();
    await party(desk, benName);
    await until('both are there again', async () => (await myCalls(desk).count()) === 2);

    // 17 to 20: the second is passed on by the desk, a key ends the first, and all others still talk.
    await byKey(desk, 't');
    const to = desk.getByRole('main').getByRole('textbox', { name: 'Name or number' });
    await to.fill('1010');
    await desk
      .getByRole('main')
      .getByRole('button', { name: /Pass on now|Transfer now/ })
      .click();
    await button(cem, 'Answer').click();
    await says(cem, 'In the call');
    await party(desk, anaName);
    await says(ben, 'In the call');
    await byKey(desk, 'x');
    await says(ana, 'Call ended');
    // The phone hears of the end before the exchange has published it.
    await until('only the one that was passed on goes on', async () => (await going()) === 1);
    assert.equal(await button(ben, 'Hang up').count(), 1, 'who was passed on still talks');
    await drop(ben);
    t.diagnostic(`${Math.round((Date.now() - began) / 1000)} s`);
    for (const page of [desk, boss, ana, ben, cem]) {
      assertNoTrouble(page);
      await page.context().close();
    }
  });
});
