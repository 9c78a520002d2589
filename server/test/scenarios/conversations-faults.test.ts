/** Calls during which the engine or the service is killed, played with real phones. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { celFile } from '../../src/adapters/asterisk/conf/instance.ts';
import { loadInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import { extensions } from '../support/company.ts';
import { assertRebuilt } from '../support/conversation-rebuild.ts';
import { connect, ring, talk, useStage } from '../support/conversation-stage.ts';
import { leg } from '../support/expected-conversation.ts';
import { until } from '../support/until.ts';

const now = (): number => performance.now();
const answered = { direction: 'internal', disposition: 'answered', cause: 16 } as const;

describe('conversations: faults', () => {
  const stage = useStage({
    people: extensions(2001, 2012),
    queues: [{ number: '500', agents: ['2012'] }],
  });

  test('conversations - the service is killed during a call: conversations during its absence are complete', async () => {
    await using a = await stage.phone('2001');
    await using b = await stage.phone('2002');
    await using c = await stage.phone('2003');
    await using d = await stage.phone('2004');
    const [call, at] = await connect(a, '2002', b);
    await talk(1, call, at);
    await stage.site().kill('SIGKILL');
    await at.hold();
    at.play('silence');
    await call.hears(80);
    // A call that begins and ends meanwhile.
    const [other, there] = await connect(c, '2004', d, 800);
    await talk(1, other, there);
    await other.hangup();
    await there.ended();
    await at.retrieve();
    await stage.site().start();
    await talk(1, call, at);
    await call.hangup();
    await at.ended();
    const [held] = at.times.holds;
    await stage.is({
      ...answered,
      ended_by: 'caller',
      dialled: '2002',
      answered: at.times.answered,
      legs: {
        a: leg('2001', 'caller', '2002', ['answered', 16, 'this_leg'], call.times, [
          ['alerting', at.times.answered],
          ['connected', held!.from, { with: ['b'] }],
          ['held', held!.to, { with: ['b'], held_by: 'other_side' }],
          ['connected', call.times.ended, { with: ['b'] }],
        ]),
        b: leg('2002', 'called', '2002', ['answered', 16, 'other_side'], at.times, [
          ['alerting', at.times.answered],
          ['connected', held!.from, { with: ['a'] }],
          ['held', held!.to, { with: ['a'], held_by: 'this_leg' }],
          ['connected', call.times.ended, { with: ['a'] }],
        ]),
      },
    });
    await stage.is({
      ...answered,
      ended_by: 'caller',
      dialled: '2004',
      answered: there.times.answered,
      legs: {
        c: leg('2003', 'caller', '2004', ['answered', 16, 'this_leg'], other.times, [
          ['alerting', there.times.answered],
          ['connected', other.times.ended, { with: ['d'] }],
        ]),
        d: leg('2004', 'called', '2004', ['answered', 16, 'other_side'], there.times, [
          ['alerting', there.times.answered],
          ['connected', other.times.ended, { with: ['c'] }],
        ]),
      },
    });
  });

  test('conversations - the engine is killed during a call: talking, ringing and waiting end with it', async () => {
    await using a = await stage.phone('2005');
    await using b = await stage.phone('2006');
    await using c = await stage.phone('2007');
    await using d = await stage.phone('2008');
    await using e = await stage.phone('2009');
    await using agent = await stage.phone('2012');
    const [call, at] = await connect(a, '2006', b);
    await talk(1, call, at);
    await at.hold();
    at.play('silence');
    await call.hears(80);
    const waiting = await e.invite('500');
    const offered = await agent.incoming();
    offered.ring();
    await waiting.answered();
    const [other, there] = await ring(c, '2008', d, 100);
    await at.retrieve();
    // Once the engine's records are on the disk; they do not show how long it lived after the last one.
    const records = celFile(loadInstance(stage.site().dataDir)!);
    await until('the records of the ring and of the end of the hold', async () => {
      const text = await readFile(records, 'utf8');
      return [/^"CHAN_START",.*"PJSIP\/2008-/m, /"MOH_STREAM_END","PJSIP\/2005-/].every((one) =>
        one.test(text),
      );
    });
    process.kill(stage.site().enginePid()!, 'SIGKILL');
    const killed = now();
    await stage.site().ready();
    const [held] = at.times.holds;
    const lost = { direction: 'internal', cause: null, ended_by: 'engine_lost' } as const;
    await stage.is({
      ...lost,
      disposition: 'answered',
      dialled: '2006',
      answered: at.times.answered,
      legs: {
        a: leg('2005', 'caller', '2006', ['answered', null, 'engine_lost'], call.times, [
          ['alerting', at.times.answered],
          ['connected', held!.from, { with: ['b'] }],
          ['held', killed, { with: ['b'], held_by: 'other_side' }],
        ]),
        b: leg('2006', 'called', '2006', ['answered', null, 'engine_lost'], at.times, [
          ['alerting', at.times.answered],
          ['connected', held!.from, { with: ['a'] }],
          ['held', killed, { with: ['a'], held_by: 'this_leg' }],
        ]),
      },
    });
    // The engine wrote no records of these after the ring began.
    await stage.is({
      ...lost,
      disposition: 'failed',
      dialled: '2008',
      answered: null,
      legs: {
        c: leg('2007', 'caller', '2008', ['failed', null, 'engine_lost'], other.times, [
          ['alerting', there.times.began],
        ]),
        d: leg('2008', 'called', '2008', ['failed', null, 'engine_lost'], there.times, [
          ['alerting', there.times.began],
        ]),
      },
    });
    await stage.is({
      ...lost,
      disposition: 'abandoned_in_queue',
      dialled: '500',
      answered: null,
      legs: {
        e: leg(
          '2009',
          'caller',
          '500',
          ['failed', null, 'engine_lost'],
          { ...waiting.times, answered: NaN },
          [['queued', offered.times.began, { queue: 'q500' }]],
        ),
        agent: leg('2012', 'offered', '2012', ['failed', null, 'engine_lost'], offered.times, [
          ['alerting', offered.times.began],
        ]),
      },
      visits: [
        {
          queue: 'q500',
          leg: 'e',
          from: waiting.times.began,
          to: offered.times.began,
          outcome: 'abandoned',
          agent: null,
          agent_leg: null,
          offers: [
            { leg: 'agent', from: offered.times.began, to: offered.times.began, disposition: 'failed' },
          ],
        },
      ],
    });
    assert.ok(killed > there.times.began);
  });

  test('conversations: faults - rebuilt conversations equal the live ones', () =>
    assertRebuilt(stage.site()));
});
