/** A page whose session ended and whose person signed in again: all of it is live again, and its phone rings. */
import { before, describe, test } from 'node:test';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { button, phoneOf, ready, says } from './phone-rig.ts';
import { buildFirst, clientOf, endSession, focusIsOn, hasValue, signInAgain } from './rig.ts';

describe('sign-in again', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();

  test('sign-in again - a list follows its events, and the phone of the page takes calls', async () => {
    const page = await phoneOf(site(), browser(), '1009', { path: '/customers' });
    await endSession(site(), page);
    await signInAgain(site(), page, '1009');
    await ready(page);
    const api = await clientOf(site(), '1001');
    await api.phonebook.create({ name: 'Ada Lovelace', numbers: [{ number: '030 901820' }], shared: true });
    await page.getByRole('list', { name: 'Customers' }).getByText('Ada Lovelace').waitFor();
    await using caller = await site().phone('1006');
    const call = await caller.invite('1009');
    await button(page, 'Answer').click();
    await call.answered();
    await says(page, 'In the call');
    await call.hangup();
    await page.getByRole('button', { name: 'New customer' }).first().click();
    const name = page.getByRole('dialog', { name: 'New customer' }).getByRole('textbox', { name: 'Name' });
    await name.fill('Half writ');
    await endSession(site(), page);
    await signInAgain(site(), page, '1009', 1);
    await focusIsOn(page, name);
    await hasValue(name, 'Half writ');
    // Not free of trouble: the exchange closes the SIP connection of an ended session, and the browser warns of what was still sent.
    await page.context().close();
  });
});
