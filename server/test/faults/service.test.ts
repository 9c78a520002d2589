import assert from 'node:assert/strict';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { createClient } from '@offhook/client';
import { ApiError, signIn } from '../support/api.ts';
import { readDatabase, wholeJournal } from '../support/journal.ts';
import type { Phone, PhoneCall } from '../support/phone.ts';
import { comesInEngine, finishedCalls, gist, shows } from '../support/steps.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

/** Start and first connection of each leg of the calls that `token` sees, in milliseconds. */
async function legTimes(base: string, token: string): Promise<number[]> {
  const { calls } = await createClient({ base, token }).calls.list();
  return calls
    .flatMap(({ legs }) => legs)
    .toSorted((one, two) => (one.leg_id < two.leg_id ? -1 : 1))
    .flatMap(({ since, answered_at }) => [Date.parse(since), Date.parse(answered_at ?? '')]);
}
/** A talking call from one phone to another. */
async function talk(from: Phone, to: Phone): Promise<PhoneCall> {
  const call = await from.invite(to.extension);
  const incoming = await to.incoming();
  incoming.ring();
  await incoming.answer();
  await call.answered();
  call.play('tone');
  await incoming.hears(5);
  return call;
}

describe('service faults', () => {
  const site = useSite();

  test('service faults - killed during calls: they continue, the next start adopts the engine, the history is complete', async () => {
    await using a = await site().phone('1007');
    await using b = await site().phone('1008');
    await using c = await site().phone('1009');
    await using d = await site().phone('1010');
    const engine = site().enginePid();
    const [hanako, olha] = [await site().person('1007'), await site().person('1008')];
    const [nour, lea] = [await site().person('1009'), await site().person('1010')];

    const ends = await talk(a, b);
    const stays = await talk(c, d);
    const times = await legTimes(site().base, nour.token);
    assert.equal(times.length, 4);
    await site().kill('SIGKILL');
    assert.equal(site().enginePid(), engine);
    stays.play('tone');
    await ends.hangup();
    const meanwhile = await talk(b, a);
    await meanwhile.hangup();

    await site().start();
    assert.equal(site().enginePid(), engine, 'the living engine was adopted');
    assert.equal(stays.state, 'up');
    await shows(nour, '1010', 'busy', 'in_call');
    await shows(nour, '1008', 'online', 'idle');
    // The journal has the time of the answer, a moment after that of the engine's channels.
    for (const [index, time] of (await legTimes(site().base, nour.token)).entries())
      assert.ok(Math.abs(time - times[index]!) < 500, `${time - times[index]!} ms`);
    assert.deepEqual((await finishedCalls(hanako, 2)).map(gist), [
      'in 1008 ANSWERED -',
      'out 1008 ANSWERED -',
    ]);
    assert.deepEqual((await finishedCalls(olha, 2)).map(gist), ['out 1007 ANSWERED -', 'in 1007 ANSWERED -']);
    await stays.hangup();
    assert.equal(gist((await finishedCalls(nour, 1))[0]!), 'out 1010 ANSWERED -');
    assert.equal(gist((await finishedCalls(lea, 1))[0]!), 'in 1009 ANSWERED -');
    await wholeJournal(site());
  });

  test('service faults - killed repeatedly while records are written: no row lost, none twice', async () => {
    await using a = await site().phone('1011');
    await using b = await site().phone('1012');
    const [kwame, priya] = [await site().person('1011'), await site().person('1012')];
    const rounds = [0, 15, 40, 90];
    for (const delay of rounds) {
      const call = await talk(a, b);
      await call.hangup();
      const ended = Date.now();
      await until('the moment of the kill', () => Date.now() - ended >= delay, { every: 1 });
      await site().kill('SIGKILL');
      await site().start();
    }
    for (const person of [kwame, priya]) {
      const rows = await finishedCalls(person, rounds.length);
      assert.equal(new Set(rows.map((r) => r.call_key)).size, rounds.length);
      assert.ok(rows.every((r) => r.disposition === 'ANSWERED'));
    }
    await wholeJournal(site());
  });

  test('service faults - service and engine die together: the next start reports it, and agents are as before', async () => {
    await using a = await site().phone('1001');
    await using b = await site().phone('1002');
    const [defne, soren, zoe] = [
      await site().person('1001'),
      await site().person('1002'),
      await site().person('1003'),
    ];
    await zoe.agent('pause', { reason: 'training' });
    await talk(a, b);
    const engine = site().enginePid()!;
    process.kill(engine, 'SIGKILL');
    await site().kill('SIGKILL');
    await site().start();
    assert.notEqual(site().enginePid(), engine);
    await Promise.all([a.register(), b.register()]);
    await shows(defne, '1002', 'online', 'idle');
    assert.equal(gist((await finishedCalls(defne, 1))[0]!), 'out 1002 ANSWERED -');
    assert.equal(gist((await finishedCalls(soren, 1))[0]!), 'in 1001 ANSWERED -');
    await comesInEngine(site(), 'support', '1003', /paused:training/);
    await comesInEngine(site(), 'sales', '1003', /paused:training/);
    assert.equal((await zoe.agent('get_status')).pause_reason, 'training');
    await wholeJournal(site());
  });

  test('service faults - another process locks the database: reads continue, writes are refused, nothing is corrupted', async () => {
    const zoe = await site().person('1003');
    const { password } = (await site().credentials()).find((c) => c.extension === '1005')!;
    // The service itself may write at this moment.
    const db = new DatabaseSync(path.join(site().dataDir, 'offhook.db'), { timeout: PATIENCE_MS });
    db.exec('begin exclusive');
    try {
      assert.equal((await zoe.contacts()).stale, false);
      assert.equal((await zoe.history()).success, true);
      await assert.rejects(
        signIn(site().base, '1005', password),
        (e: unknown) => e instanceof ApiError && e.status === 503 && e.code === 'store_unavailable',
      );
    } finally {
      db.exec('rollback');
      db.close();
    }
    assert.equal((await signIn(site().base, '1005', password)).extension, '1005');
    const check = readDatabase(path.join(site().dataDir, 'offhook.db'));
    assert.deepEqual(
      check
        .prepare('pragma integrity_check')
        .all()
        .map((r) => Object.values(r)[0]),
      ['ok'],
    );
    check.close();
  });
});
