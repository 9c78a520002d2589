import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { conversationsOf } from '../../server/test/support/conversation-stage.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { button, callOf, dial, panel, phoneOf, says, talks } from './phone-rig.ts';
import { assertNoTrouble, buildFirst, clientOf } from './rig.ts';

describe('calls in the console', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();
  /** Of the wallboard, Zoë, José and Léa: each is a phone. */
  let pages: readonly Page[] = [];
  const agent = (page: Page, extension: string, state: string): Locator =>
    page.locator(`[data-agent="${extension}"][data-state=${state}]`);

  test('console - two pages talk by a click in the directory, a third sees it, a fourth is consulted and takes over, the history draws it', async () => {
    const wall = await phoneOf(site(), browser(), '1001', { path: '/wallboard' });
    const [zoe, jose, lea] = (await Promise.all(
      ['1003', '1004', '1010'].map((extension) => phoneOf(site(), browser(), extension)),
    )) as [Page, Page, Page];
    await agent(wall, '1003', 'available').waitFor();

    await zoe.getByRole('button', { name: 'Call José Ibáñez 1004' }).click();
    await button(jose, 'Answer').click();
    await Promise.all([talks(zoe, '1003'), talks(jose, '1004')]);
    await agent(wall, '1003', 'busy_other').waitFor();
    await agent(wall, '1004', 'busy_other').waitFor();
    await zoe.locator('li[data-extension="1004"] [data-word=in_call]').waitFor();

    await button(zoe, 'Hold').click();
    await callOf(zoe, 'José Ibáñez').getByText('On hold').waitFor();
    await button(zoe, 'Resume').click();
    await talks(jose, '1004');

    await button(zoe, 'Transfer').click();
    await panel(zoe).getByLabel('Transfer to').fill('1010');
    await button(zoe, 'Consult first').click();
    await button(lea, 'Answer').click();
    await talks(lea, '1010');
    await button(zoe, 'Complete transfer').click();
    await says(zoe, 'Transferred');
    await Promise.all([talks(jose, '1004'), talks(lea, '1010')]);
    await agent(wall, '1003', 'available').waitFor();
    await agent(wall, '1004', 'busy_other').waitFor();
    await button(jose, 'Hang up').click();
    await says(lea, 'Call ended');
    await agent(wall, '1004', 'available').waitFor();

    const [record] = await until('the conversation to be over', async () => {
      const all = await conversationsOf(site(), '1003');
      return all.length === 1 && all[0]?.state === 'final' && all;
    });
    assert.ok(record);
    await zoe.getByRole('link', { name: 'History' }).click();
    await zoe.locator('[data-row]').first().click();
    await zoe.getByRole('heading', { name: 'What happened' }).waitFor();
    const course = zoe.getByTestId('course');
    await course.waitFor({ state: 'attached' });
    assert.match(
      await course.locator('[data-fact=transfer]').innerText(),
      /Zoë.*passed the call on to 1010/s,
    );
    assert.ok((await course.getByText(/^On hold/).count()) > 0, 'the hold is not told');
    assert.ok((await zoe.getByTestId('timeline').locator('[title]').count()) >= 6);
    for (const page of [wall, zoe, jose, lea]) assertNoTrouble(page);
    pages = [wall, zoe, jose, lea];
  });

  test('console - a phone says what rings there: a queue that takes it back, whom one listens to, whom one calls', async () => {
    const [wall, zoe, jose, lea] = pages;
    assert.ok(wall && zoe && jose && lea);
    const boss = await clientOf(site(), '1001');
    // A ring that a queue cancels is "answered elsewhere" only if somebody answered.
    await dial(lea, '510');
    await says(zoe, 'Incoming call');
    await says(jose, 'Incoming call');
    await button(lea, 'Hang up').click();
    await Promise.all([says(zoe, 'Missed'), says(jose, 'Missed')]);
    await dial(lea, '510');
    await says(zoe, 'Incoming call');
    await button(jose, 'Answer').click();
    await says(zoe, 'Answered elsewhere');

    // The listener's own phone shows the agent.
    const answered = await until('the call of the queue', async () =>
      (await boss.calls.list()).calls.find(({ answered_at }) => answered_at !== null),
    );
    await boss.calls.listen(answered.call_id);
    await callOf(wall, 'José Ibáñez').getByText('Pick up to listen in').waitFor();
    await button(wall, 'Answer').click();
    await callOf(wall, 'José Ibáñez').getByText('You are listening in').waitFor();
    await button(wall, 'Hang up').click();
    await button(lea, 'Hang up').click();
    await says(jose, 'Call ended');

    // A call that was asked for elsewhere: the own phone says whom it calls, and that it rings there.
    await (await clientOf(site(), '1003')).calls.originate({ to: '1010' });
    const own = callOf(zoe, 'Léa Fournier');
    await own.getByText('Your call: pick up, then it rings there').waitFor();
    await button(zoe, 'Answer').click();
    await own.getByText('Ringing').waitFor();
    await callOf(lea, 'Zoë Müller').getByText('Incoming call').waitFor();
    await button(lea, 'Answer').click();
    await own.getByText('In the call').waitFor();
    await button(zoe, 'Hang up').click();
    await says(lea, 'Call ended');
    for (const page of pages) assertNoTrouble(page);
  });
});
