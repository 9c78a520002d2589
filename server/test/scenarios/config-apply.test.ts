import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { eventsOf } from '../support/call-steps.ts';
import { apply, ask } from '../support/config-steps.ts';
import { registerPhone } from '../support/phone.ts';
import { inEngine } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('config apply', () => {
  const site = useSite();

  test('config apply - a new extension made by API registers a phone and takes a call once it is applied', async () => {
    const made = (await ask(site(), 'POST', '/extensions', {
      extension: '1013',
      username: 'newcomer',
      name: 'New Comer',
    })) as { secrets: { sip_password: string } };
    const done = await apply(site(), { comment: 'One more' });
    assert.equal(done.state, 'applied', JSON.stringify(done));
    await using phone = await registerPhone({
      server: site().sip,
      extension: '1013',
      username: '1013',
      password: made.secrets.sip_password,
    });
    await using other = await site().phone('1007');
    const call = await other.invite('1013');
    const incoming = await phone.incoming();
    await incoming.answer();
    await call.answered();
    call.play('tone');
    await incoming.hears(5);
    await call.hangup();
  });

  test('config apply - a person becomes active again, with phone and mailbox', async () => {
    for (const active of [false, true]) {
      await ask(site(), 'PATCH', '/extensions/1011', { active });
      const done = await apply(site(), {});
      assert.equal(done.state, 'applied', JSON.stringify(done));
    }
    await using phone = await site().phone('1011');
    assert.equal(phone.extension, '1011');
  });

  test('config apply - a call through the changed queue survives twenty applies with audio; members and pauses stay', async () => {
    const [zoe, lan] = [await site().person('1003'), await site().person('1006')];
    await using agent = await site().phone('1003');
    await using caller = await site().phone('1007');
    for (const extension of ['1004', '1005', '1006'])
      await (await site().person(extension)).agent('pause', { reason: 'training' });
    await zoe.agent('unpause');
    const call = await caller.invite('500');
    const incoming = await agent.incoming();
    await incoming.answer();
    await call.answered();
    call.play('tone');
    await incoming.hears(5);
    for (let n = 1; n <= 20; n += 1) {
      await ask(site(), 'PATCH', '/queues/support', { ring_seconds: 15 + n, title: `Support ${n}` });
      const done = await apply(site(), { comment: `Nr ${n}` });
      assert.equal(done.state, 'applied', JSON.stringify(done));
      assert.ok(done.reloaded.includes('queues.conf'), done.reloaded.join());
      await incoming.hears(5);
      assert.deepEqual([call.state, incoming.state], ['up', 'up'], `after apply ${n}`);
    }
    await inEngine(site(), 'support', '1006', /paused:training/);
    assert.equal((await lan.agent('get_status')).pause_reason, 'training');
    await call.hangup();
  });

  test('config apply - a later owner of a number gets none of the messages left for the former one', async () => {
    const count = async (): Promise<string> =>
      /^default +1017 .*?(\d+)\s*$/m.exec(await site().engineCli('voicemail show users'))?.[1] ?? 'none';
    const person = (username: string) => ({ extension: '1017', username, name: username });
    await ask(site(), 'POST', '/extensions', person('earlier'));
    const { version } = await apply(site());
    const inbox = path.join(site().dataDir, 'engine/spool/voicemail/default/1017/INBOX');
    await mkdir(inbox, { recursive: true });
    await writeFile(path.join(inbox, 'msg0000.txt'), '[message]\n');
    await writeFile(path.join(inbox, 'msg0000.wav'), '');
    assert.equal(await count(), '1');
    await ask(site(), 'DELETE', '/extensions/1017');
    assert.equal((await apply(site())).state, 'applied');
    await ask(site(), 'POST', '/extensions', person('later'));
    assert.equal((await apply(site())).state, 'applied');
    assert.equal(await count(), '0');
    assert.equal((await apply(site(), {}, `/versions/${version}/restore`)).state, 'applied');
    assert.equal(await count(), '1', 'an earlier owner who is back has them again');
    await ask(site(), 'DELETE', '/extensions/1017');
    await apply(site());
  });

  test('config apply - a phone with a former password rings no more, nor does that of a former holder of the number', async () => {
    const person = (username: string) => ({ extension: '1018', username, name: username });
    const give = async (path: string, body: object): Promise<string> =>
      ((await ask(site(), 'POST', path, body)) as { secrets: { sip_password: string } }).secrets.sip_password;
    const phoneOf = (password: string) =>
      registerPhone({ server: site().sip, extension: '1018', username: '1018', password });
    const first = await give('/extensions', person('earlier'));
    assert.equal((await apply(site())).state, 'applied');
    await using lost = await phoneOf(first);

    const second = await give('/extensions/1018/credentials', { renew_sip_password: true, password: null });
    assert.equal((await apply(site())).state, 'applied');
    assert.doesNotMatch(await site().engineCli('pjsip show contacts'), /1018/);
    const newest = () =>
      eventsOf(site(), 'presence.changed').findLast(({ data }) => data['extension'] === '1018')?.data;
    await until('1018 to be offline', () => newest()?.['reachability'] === 'offline', {
      seen: () => ({ ...newest() }),
    });
    await using found = await phoneOf(second);
    await using caller = await site().phone('1007');
    const call = await caller.invite('1018');
    await found.incoming();
    assert.equal(lost.seen, 0);
    await call.hangup();

    await ask(site(), 'DELETE', '/extensions/1018');
    assert.equal((await apply(site())).state, 'applied');
    const third = await give('/extensions', person('later'));
    assert.equal((await apply(site())).state, 'applied');
    assert.doesNotMatch(await site().engineCli('pjsip show contacts'), /1018/);
    await using own = await phoneOf(third);
    const seen = found.seen;
    const next = await caller.invite('1018');
    await own.incoming();
    assert.deepEqual([lost.seen, found.seen], [0, seen]);
    await next.hangup();
    await ask(site(), 'DELETE', '/extensions/1018');
    await apply(site());
  });

  test('config apply - an earlier version is applied again; a changed draft is not discarded without consent', async () => {
    const { versions } = (await ask(site(), 'GET', '/versions')) as { versions: { version: number }[] };
    const first = versions.at(-1)!.version;
    await (await site().person('1006')).agent('pause', { reason: 'training' });
    await ask(site(), 'PATCH', '/queues/support', { title: 'Another' });
    await assert.rejects(ask(site(), 'POST', `/versions/${first}/restore`, {}), /409.*draft_not_empty/s);
    const done = await apply(site(), { discard_draft: true }, `/versions/${first}/restore`);
    assert.deepEqual([done.state, done.restores], ['applied', first], JSON.stringify(done));
    assert.match(await site().engineCli('pjsip show endpoint 1013'), /Unable to find object 1013/);
    const was = (await ask(site(), 'GET', `/versions/${first}/queues/support`)) as { object: object };
    const now = (await ask(site(), 'GET', '/queues/support?view=applied')) as { object: object };
    assert.deepEqual(now.object, was.object);
    const { objects } = (await ask(site(), 'GET', `/versions/${done.version}`)) as {
      objects: { list: { kind: string; key: string; change: string }[] };
    };
    assert.ok(objects.list.some((o) => o.key === '1013' && o.change === 'removed'));
    await inEngine(site(), 'support', '1006', /paused:training/);
  });
});
