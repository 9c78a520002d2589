import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventsOf } from '../support/call-steps.ts';
import { wholeJournal } from '../support/journal.ts';
import { finishedCalls, gist, onlyCall, shows, statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('calls', () => {
  const site = useSite();
  const extensionOf = (data: Readonly<Record<string, unknown>>): string =>
    (data['leg'] as { extension: string }).extension;
  /** Reasons for which legs of this extension left a call that continued. */
  const reasons = (extension: string) =>
    eventsOf(site(), 'call.left')
      .filter(({ data }) => extensionOf(data) === extension)
      .map(({ data }) => data['reason']);

  test('queue calls - two agents ring, one answers: the talking parties have one row, the other agent none', async () => {
    await using caller = await site().phone('1001');
    await using first = await site().phone('1003');
    await using second = await site().phone('1004');
    const [defne, zoe, jose] = [
      await site().person('1001'),
      await site().person('1003'),
      await site().person('1004'),
    ];
    await Promise.all([statusIs(zoe, 'READY'), statusIs(jose, 'READY')]);

    const call = await caller.invite('510');
    const [atZoe, atJose] = await Promise.all([first.incoming(), second.incoming()]);
    atZoe.ring();
    atJose.ring();
    await Promise.all([statusIs(zoe, 'RINGING'), statusIs(jose, 'RINGING')]);
    await atJose.answer();
    await atZoe.ended();
    await Promise.all([statusIs(zoe, 'READY'), statusIs(jose, 'BUSY')]);
    call.play('tone');
    await atJose.hears(60);
    await call.hangup();
    await atJose.ended();
    await statusIs(jose, 'READY');

    const out = await onlyCall(defne);
    assert.equal(gist(out), 'out 510 ANSWERED sales');
    const { answered: began, ended } = atJose.times;
    const talked = (ended - began) / 1000;
    assert.ok(talked >= 1 && Math.abs(out.talk_seconds - talked) <= 2, `${out.talk_seconds} s of ${talked}`);
    const answered = await onlyCall(jose);
    assert.equal(gist(answered), 'in 1001 ANSWERED sales');
    assert.equal(answered.call_key, out.call_key);
    assert.deepEqual(reasons('1003'), ['answered_elsewhere']);
    // A ring answered by a colleague is no missed call.
    assert.deepEqual((await zoe.history()).calls, []);
  });

  test('queue calls - the caller gives up: the ringing agent has a missed call', async () => {
    await using caller = await site().phone('1002');
    await using agent = await site().phone('1005');
    const [soren, agnieszka] = [await site().person('1002'), await site().person('1005')];
    await statusIs(agnieszka, 'READY');
    const call = await caller.invite('500');
    const incoming = await agent.incoming();
    incoming.ring();
    await call.answered();
    await statusIs(agnieszka, 'RINGING');
    await call.hangup();
    await incoming.ended();
    await statusIs(agnieszka, 'READY');
    assert.equal(gist(await onlyCall(agnieszka)), 'missed 1002 NO ANSWER support');
    const out = await onlyCall(soren);
    assert.equal(out.queue, 'support');
    assert.equal(out.direction, 'out');
    assert.equal(out.talk_seconds, 0, 'music is no talk');
    assert.equal(out.disposition, 'NO ANSWER');
  });

  test('queue calls - a paused agent does not ring until it is ready', async () => {
    await using caller = await site().phone('1002');
    await using agent = await site().phone('1006');
    const lan = await site().person('1006');
    await statusIs(lan, 'READY');
    await lan.agent('pause', { reason: 'training' });
    const call = await caller.invite('510');
    await call.answered();
    await until('the caller in the queue', async () =>
      /Callers:/.test(await site().engineCli('queue show sales')),
    );
    assert.equal(agent.seen, 0);
    await lan.agent('unpause');
    const incoming = await agent.incoming();
    incoming.ring();
    await incoming.answer();
    await statusIs(lan, 'BUSY');
    // A pause during the call keeps the call and prevents the next one.
    const paused = await lan.agent('pause', { reason: 'break' });
    assert.equal(paused.status_key, 'BUSY');
    assert.equal(paused.is_paused, true);
    await call.hangup();
    await incoming.ended();
    await statusIs(lan, 'PAUSED', 'break');
    await lan.agent('unpause');
  });

  test('plain calls - busy, rejected, cancelled and no device: direction and outcome on both sides', async () => {
    await using a = await site().phone('1007');
    await using b = await site().phone('1008');
    const [hanako, olha, nour] = [
      await site().person('1007'),
      await site().person('1008'),
      await site().person('1009'),
    ];

    const busy = await a.invite('1008');
    (await b.incoming()).reject(486);
    await until(
      'the busy call to be answered by the mailbox or refused',
      () => busy.state === 'up' || busy.state === 'ended',
    );
    await busy.hangup();
    // The end of the busy call is published after its phone knows of it.
    await wholeJournal(site());
    const leftBefore = eventsOf(site(), 'call.left').length;
    const cancelled = await a.invite('1008');
    const rang = await b.incoming();
    rang.ring();
    await cancelled.ringing();
    await shows(hanako, '1008', 'busy', 'ringing');
    await cancelled.hangup();
    await rang.ended();
    await shows(hanako, '1008', 'online', 'idle');
    // The engine may end either leg last, and `call.ended` replaces its `call.left`.
    const left = await until('the first leg of the cancelled call to leave', () => {
      const events = eventsOf(site(), 'call.left').slice(leftBefore);
      return events.length > 0 && events.map(({ data }) => [extensionOf(data), data['reason']].join(' '));
    });
    assert.equal(left.length, 1);
    assert.match(left[0]!, /^(1008 canceled|1007 hangup)$/);
    const nobody = await a.invite('1009');
    await until('the mailbox of 1009, or a refusal', () => nobody.state === 'up' || nobody.state === 'ended');
    await nobody.hangup();

    const out = await finishedCalls(hanako, 3);
    assert.deepEqual(
      out.map((c) => [c.direction, c.party]),
      [
        ['out', '1009'],
        ['out', '1008'],
        ['out', '1008'],
      ],
    );
    assert.equal(out[1]!.disposition, 'NO ANSWER');
    const rung = (rang.times.ended - rang.times.began) / 1000;
    assert.ok(Math.abs(out[1]!.ring_sec - rung) <= 2, `${out[1]!.ring_sec} s of ${rung}`);
    assert.deepEqual(
      out.map((c) => c.talk_seconds),
      [0, 0, 0],
    );
    assert.deepEqual(
      (await finishedCalls(olha, 2)).map((c) => [c.direction, c.party, c.disposition]),
      [
        ['missed', '1007', 'NO ANSWER'],
        ['missed', '1007', 'BUSY'],
      ],
    );
    assert.deepEqual([(await onlyCall(nour)).direction, (await onlyCall(nour)).party], ['missed', '1007']);
    assert.equal((await olha.history('?filter=missed')).stats.missed_calls, 2);
    assert.equal((await olha.history('?filter=in')).calls.length, 0);
  });

  test('plain calls - a blind transfer is one conversation: all three have one row of it', async () => {
    await using a = await site().phone('1010');
    await using b = await site().phone('1011');
    await using c = await site().phone('1012');
    const [lea, kwame, priya] = [
      await site().person('1010'),
      await site().person('1011'),
      await site().person('1012'),
    ];
    const call = await a.invite('1011');
    const first = await b.incoming();
    first.ring();
    await first.answer();
    await call.answered();
    call.play('tone');
    await first.hears(60);
    await first.transfer('1012');
    const second = await c.incoming();
    second.ring();
    await shows(lea, '1012', 'busy', 'ringing');
    await second.answer();
    await first.transferred();
    await shows(lea, '1011', 'online', 'idle');
    await second.hears(60);
    await call.hangup();
    await second.ended();

    const rows = [await onlyCall(lea), await onlyCall(kwame), await onlyCall(priya)];
    assert.equal(new Set(rows.map((r) => r.call_key)).size, 1, 'one conversation');
    assert.deepEqual(
      rows.map((r) => [r.direction, r.disposition]),
      [
        ['out', 'ANSWERED'],
        ['in', 'ANSWERED'],
        ['in', 'ANSWERED'],
      ],
    );
    assert.equal(rows[0]!.party, '1011', 'whom it dialled');
    assert.deepEqual(
      rows.slice(1).map((r) => r.party),
      ['1010', '1010'],
    );
    assert.ok(rows[0]!.talk_seconds >= rows[1]!.talk_seconds);
  });
});
