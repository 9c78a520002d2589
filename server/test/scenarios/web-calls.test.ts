import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { onlyCall, shows } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useBrowser, useSite } from '../support/use-site.ts';

describe('web calls', () => {
  const browser = useBrowser();
  const site = useSite(() => ({ env: { OFFHOOK_CORS_ORIGINS: browser().origin } }));

  test('web calls - two browsers with only their login replies talk; contacts and both histories show it', async () => {
    const [olha, nour] = [await site().person('1008'), await site().person('1009')];
    assert.equal(olha.login.sip.ws_url, site().wsUrl);
    const [a, b] = [await browser().phone(olha.login.sip), await browser().phone(nour.login.sip)];
    await Promise.all([shows(olha, '1008', 'online', 'idle'), shows(olha, '1009', 'online', 'idle')]);

    await a.call('1009');
    const caller = await b.incoming();
    assert.equal(caller.number, '1008');
    await a.ringing();
    await Promise.all([shows(olha, '1009', 'busy', 'ringing'), shows(nour, '1008', 'busy', 'in_call')]);

    const answering = Date.now();
    await b.answer();
    await a.answered();
    const answered = Date.now();
    await Promise.all([shows(olha, '1009', 'busy', 'in_call'), shows(nour, '1008', 'busy', 'in_call')]);
    await Promise.all([a.talks(), b.talks()]);

    const hangingUp = Date.now();
    await a.hangup();
    await b.ended();
    const ended = Date.now();
    await Promise.all([shows(olha, '1008', 'online', 'idle'), shows(olha, '1009', 'online', 'idle')]);

    const [out, incoming] = [await onlyCall(olha), await onlyCall(nour)];
    assert.deepEqual(
      [out.direction, out.party, out.disposition, out.device_type],
      ['out', '1009', 'ANSWERED', 'webrtc'],
    );
    assert.deepEqual(
      [incoming.direction, incoming.party, incoming.disposition, incoming.device_type],
      ['in', '1008', 'ANSWERED', 'webrtc'],
    );
    assert.equal(out.call_key, incoming.call_key, 'both sides saw one conversation');
    for (const call of [out, incoming]) {
      const [least, most] = [(hangingUp - answered) / 1000 - 1, (ended - answering) / 1000 + 1];
      assert.ok(
        call.talk_seconds >= least && call.talk_seconds <= most,
        `talked ${least} to ${most} s, the row says ${call.talk_seconds}`,
      );
      assert.equal(call.billsec, call.talk_seconds);
    }
    await Promise.all([a.close(), b.close()]);
  });

  test('web calls - a closed page is offline, and the mobile user of the login reply works the same', async () => {
    const [lea, kwame] = [await site().person('1010'), await site().person('1011')];
    const a = await browser().phone(lea.login.sip, 'sip_username');
    await shows(kwame, '1010', 'online', 'idle');
    const b = await browser().phone(kwame.login.sip);
    await b.call('1010');
    await a.incoming();
    await a.answer();
    await b.answered();
    await a.hold();
    await shows(lea, '1010', 'busy', 'on_hold');
    await a.retrieve();
    await b.hangup();
    await a.ended();
    assert.equal((await onlyCall(lea)).device_type, 'mobil');
    await a.close();
    await until(
      '1010 offline once its page is closed',
      async () => (await kwame.contact('1010')).status === 'offline',
    );
  });

  test('web calls - a page frozen for some seconds stays reachable, and rings', async () => {
    const [ana, ben] = [await site().person('1008'), await site().person('1009')];
    const a = await browser().phone(ana.login.sip);
    const b = await browser().phone(ben.login.sip);
    await shows(ben, '1009', 'online', 'idle');
    const stands = b.page.waitForEvent('console', (message) => message.text() === 'stands still');
    await b.page.evaluate(`setTimeout(() => {
      console.log('stands still');
      for (const until = Date.now() + 10_000; Date.now() < until; );
    })`);
    await stands;
    await site().engineCli('pjsip qualify 1009-web');
    const shown = await until('the answer of the page, or none, is counted', async () => {
      const contact = /1009-web\/.*(Unavail|Avail) +(\S+)/.exec(
        await site().engineCli('pjsip show contacts'),
      );
      return contact !== null && (contact[1] === 'Unavail' || Number(contact[2]) > 2_000) && contact[1];
    });
    assert.equal(shown, 'Avail');
    await a.call('1009');
    await b.incoming();
    await a.hangup();
    await b.ended();
    await Promise.all([a.close(), b.close()]);
  });
});
