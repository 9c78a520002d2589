import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { finishedCalls, gist, onlyCall, shows } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useBrowser, useSite } from '../support/use-site.ts';

describe('desk phones', () => {
  const browser = useBrowser();
  const site = useSite(() => ({ env: { OFFHOOK_CORS_ORIGINS: browser().origin } }));

  test('desk phones - a desk phone and a browser hear each other in both directions', async () => {
    await using desk = await site().phone('1007');
    const [hanako, olha] = [await site().person('1007'), await site().person('1008')];
    const web = await browser().phone(olha.login.sip);

    const out = await desk.invite('1008');
    assert.equal((await web.incoming()).number, '1007');
    await out.ringing();
    await web.answer();
    await out.answered();
    out.play('tone');
    await Promise.all([out.hears(20), web.talks()]);
    await out.hangup();
    await web.ended();

    await web.call('1007');
    const incoming = await desk.incoming();
    assert.equal(incoming.party.number, '1008');
    incoming.ring();
    await web.ringing();
    await incoming.answer();
    await web.answered();
    incoming.play('tone');
    await Promise.all([incoming.hears(20), web.talks()]);
    await web.hangup();
    await incoming.ended();

    const mine = await finishedCalls(hanako, 2);
    assert.deepEqual(mine.map(gist), ['in 1008 ANSWERED -', 'out 1008 ANSWERED -']);
    assert.deepEqual(
      mine.map((c) => c.device_type),
      ['sip', 'sip'],
    );
    const theirs = await finishedCalls(olha, 2);
    assert.deepEqual(theirs.map(gist), ['out 1007 ANSWERED -', 'in 1007 ANSWERED -']);
    await web.close();
  });

  test('desk phones - all devices of an extension ring, the first to answer gets the call', async () => {
    await using caller = await site().phone('1009');
    await using desk = await site().phone('1010');
    const lea = await site().person('1010');
    const web = await browser().phone(lea.login.sip);
    const call = await caller.invite('1010');
    const [atDesk] = await Promise.all([desk.incoming(), web.incoming()]);
    atDesk.ring();
    await web.answer();
    await call.answered();
    await atDesk.ended();
    await shows(lea, '1010', 'busy', 'in_call');
    await call.hangup();
    await web.ended();
    const row = await onlyCall(lea);
    assert.equal(gist(row), 'in 1009 ANSWERED -');
    assert.equal(row.device_type, 'webrtc');
    await web.close();
  });

  test('desk phones - 600 echoes, 601 plays music', async () => {
    await using phone = await site().phone('1011');
    const kwame = await site().person('1011');
    const before = (await kwame.history()).calls.length;
    const echo = await phone.invite('600');
    await echo.answered();
    echo.play('tone');
    await echo.hears(50);
    await echo.hangup();
    const music = await phone.invite('601');
    await music.answered();
    await music.hears(50);
    await music.hangup();
    await finishedCalls(kwame, before + 2);
  });

  test('desk phones - a caller leaves a message for an absent person', async () => {
    await using caller = await site().phone('1011');
    const kwame = await site().person('1011');
    const before = (await kwame.history()).calls.length;
    const call = await caller.invite('1012');
    await call.answered();
    await call.hears(25);
    // The hash skips the rest of the greeting.
    await call.digits('#');
    call.play('tone');
    // The engine writes it to a file of its own until the end.
    const box = path.join(site().dataDir, 'engine/spool/voicemail/default/1012');
    await until('three seconds of the message', async () => {
      const names = await readdir(box, { recursive: true }).catch(() => []);
      const sounds = names.filter((name) => /\.wav$/i.test(name));
      const sizes = await Promise.all(sounds.map(async (name) => (await stat(path.join(box, name))).size));
      return Math.max(0, ...sizes) > 48_000;
    });
    await call.hangup();
    const users = await until(
      'a new message for 1012',
      async () => {
        const shown = await site().engineCli('voicemail show users');
        return /^default\s+1012\s.*\s1\s*$/m.test(shown) && shown;
      },
      { seen: () => ({}) },
    );
    assert.match(users, /1012/);
    assert.equal((await finishedCalls(kwame, before + 1))[0]!.direction, 'out');
    const priya = await onlyCall(await site().person('1012'));
    assert.equal(priya.direction, 'missed', 'a message is no answer of the person');
  });

  test('desk phones - a ringing call is picked up from another phone', async () => {
    await using caller = await site().phone('1003');
    await using called = await site().phone('1005');
    await using colleague = await site().phone('1006');
    const [zoe, lan] = [await site().person('1003'), await site().person('1006')];
    const call = await caller.invite('1005');
    const ringing = await called.incoming();
    ringing.ring();
    await call.ringing();
    const taken = await colleague.invite('**1005');
    await Promise.all([taken.answered(), call.answered(), ringing.ended()]);
    taken.play('tone');
    call.play('tone');
    await Promise.all([taken.hears(20), call.hears(20)]);
    await shows(zoe, '1006', 'busy', 'in_call');
    await shows(zoe, '1005', 'online', 'idle');
    await call.hangup();
    await taken.ended();
    const [out, picked] = [await onlyCall(zoe), await onlyCall(lan)];
    assert.equal(out.direction, 'out');
    assert.equal(out.disposition, 'ANSWERED');
    assert.equal(picked.party, '1003', 'who picked up talked to the caller');
    assert.equal(picked.disposition, 'ANSWERED');
    assert.equal(picked.call_key, out.call_key);
  });

  test('desk phones - a call parked at 700 is taken from its slot by another phone', async () => {
    await using caller = await site().phone('1001');
    await using taker = await site().phone('1002');
    await using colleague = await site().phone('1004');
    const call = await caller.invite('1002');
    const incoming = await taker.incoming();
    incoming.ring();
    await incoming.answer();
    await call.answered();
    await incoming.bridged();
    await incoming.transfer('700');
    await incoming.transferred();
    const slot = await until(
      'a parked call',
      async () => /^\s*Space\s*:\s*(7\d\d)/m.exec(await site().engineCli('parking show default'))?.[1],
    );
    assert.equal(slot, '701');
    const back = await colleague.invite(slot);
    await back.answered();
    back.play('tone');
    call.play('tone');
    await Promise.all([back.hears(20), call.hears(20)]);
    const admin = await site().person('1001');
    await shows(admin, '1004', 'busy', 'in_call');
    await shows(admin, '1002', 'online', 'idle');
    await back.hangup();
    await call.ended();
    assert.equal((await onlyCall(admin)).direction, 'out');
  });
});
