import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { apply, ask } from '../support/config-steps.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone, PhoneCall } from '../support/phone.ts';
import { useSite } from '../support/use-site.ts';

/** A call between two phones, talking. */
async function talk(caller: Phone, called: Phone): Promise<readonly [PhoneCall, PhoneCall]> {
  const call = await caller.invite(called.extension);
  const ringing = await called.incoming(call);
  await ringing.answer();
  await call.answered();
  return [call, ringing];
}
async function hearEachOther(sides: readonly PhoneCall[]): Promise<void> {
  for (const side of sides) side.play('tone');
  await Promise.all(sides.map((side) => side.hears()));
  assert.deepEqual(
    sides.map(({ endedBy }) => endedBy),
    [null, null],
  );
}
describe('lost extension', () => {
  const site = useSite();

  test('lost extension - the running calls of a deactivated person end, at a desk phone too; no other does', async () => {
    await using lost = await site().phone('1012');
    await using other = await site().phone('1011');
    await using third = await site().phone('1010');
    await using fourth = await site().phone('1009');
    const ends = await talk(lost, other);
    const stays = await talk(third, fourth);
    await ask(site(), 'PATCH', '/extensions/1012', { active: false });
    assert.equal((await apply(site())).state, 'applied');
    await Promise.all(ends.map((call) => call.ended()));
    assert.deepEqual(
      ends.map(({ endedBy }) => endedBy),
      ['them', 'them'],
    );
    await hearEachOther(stays);
  });

  test('lost extension - the call of a former holder ends in the apply that gives the number away; the new holder talks on', async () => {
    await using former = await site().phone('1010');
    await using other = await site().phone('1011');
    const ends = await talk(former, other);
    await ask(site(), 'DELETE', '/extensions/1010');
    const { secrets } = (await ask(site(), 'POST', '/extensions', {
      extension: '1010',
      username: 'newcomer',
      name: 'New Comer',
    })) as { secrets: { sip_password: string } };
    assert.equal((await apply(site())).state, 'applied');
    await Promise.all(ends.map((call) => call.ended()));
    await using next = await registerPhone({
      server: site().sip,
      extension: '1010',
      password: secrets.sip_password,
    });
    const goesOn = await talk(next, other);
    await ask(site(), 'PATCH', '/extensions/1009', { active: false });
    assert.equal((await apply(site())).state, 'applied');
    await hearEachOther(goesOn);
  });
});
