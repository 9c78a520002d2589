import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { agentSteps } from '../support/agent-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { wholeJournal } from '../support/journal.ts';
import type { Phone } from '../support/phone.ts';
import { comesInEngine, inEngine, statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('agent faults', () => {
  // The steps within a wrap-up fit on a slow machine.
  const site = useSite({
    prepare: prepareDemo((store) => putObjects(store, { queue: [{ name: 'support', wrap_up_seconds: 60 }] })),
  });
  const { shown, ask, is, published, head } = agentSteps(site);

  /** 1004 finishes a queue call and extends its wrap-up by a minute. */
  async function wrapUp(phone: Phone) {
    const jose = await site().person('1004');
    await using caller = await site().phone('1001');
    await is(jose, 'available', 20_000);
    const call = await caller.invite('500');
    const incoming = await phone.incoming();
    incoming.ring();
    await incoming.answer();
    await call.answered();
    // A caller who hangs up before the queue has joined the two leaves no wrap-up.
    await is(jose, 'talking');
    await call.hangup();
    await incoming.ended();
    await is(jose, 'wrap_up');
    const { deadline } = await ask(jose, 'wrap-up', { extend_seconds: 60 });
    await comesInEngine(site(), 'sales', '1004', /paused:wrapup/);
    return { jose, deadline };
  }
  const held = async (): Promise<void> => {
    await comesInEngine(site(), 'support', '1004', /paused:wrapup/);
    await comesInEngine(site(), 'sales', '1004', /paused:wrapup/);
  };

  test('agent faults - the engine is killed: members are back in their queues, paused with reason and start, nothing reported twice', async () => {
    const [zoe, lan] = [await site().person('1003'), await site().person('1006')];
    await zoe.agent('pause', { reason: 'lunch' });
    await lan.agent('logout', { queue: 'sales' });
    await (await site().person('1005')).agent('pause', { reason: 'training' });
    await ask(lan, 'pause', { reason: 'break', queue: 'support' });
    await using phone = await site().phone('1004');
    const { jose, deadline } = await wrapUp(phone);
    const before = { lan: await shown(lan) };
    // A pause of the last second is not on the engine's disk yet.
    const late = await ask(zoe, 'pause', { reason: 'training' });
    const from = head();
    process.kill(site().enginePid()!, 'SIGKILL');
    await until('the link to be lost', async () => (await shown(zoe)).stale);
    assert.equal((await shown(jose)).state, 'wrap_up', 'what is known stays, marked as stale');
    await site().ready();
    await comesInEngine(site(), 'support', '1003', /paused:training/);
    await comesInEngine(site(), 'sales', '1003', /paused:training/);
    await held();
    await comesInEngine(site(), 'support', '1006', /paused:break/);
    const after = { zoe: await shown(zoe), lan: await shown(lan), jose: await shown(jose) };
    assert.deepEqual(after.zoe.readiness, late.readiness, 'since when it began, not since the restart');
    assert.deepEqual(
      after.lan.queues.map((q) => [q.queue, q.member, q.pause_reason, q.paused_since]),
      before.lan.queues.map((q) => [q.queue, q.member, q.pause_reason, q.paused_since]),
    );
    assert.deepEqual([after.jose.state, after.jose.deadline], ['wrap_up', deadline]);
    for (const extension of ['1003', '1004', '1006']) {
      const events = published(extension, from);
      const said = events.map((e) => JSON.stringify([e.type, e.data]));
      assert.deepEqual(said, [...new Set(said)], `${extension} is told nothing twice`);
      assert.deepEqual(
        events.filter((e) => e.type === 'agent.wrap_up' || e.type === 'agent.talking'),
        [],
        'no call, and no end of one',
      );
    }
    assert.equal((await ask(jose, 'wrap-up', { finish: true })).state, 'available');
    await inEngine(site(), 'support', '1004', /^(?!.*paused:)/);
    await zoe.agent('unpause');
    await statusIs(zoe, 'OFFLINE');
  });

  test('agent faults - the service is killed in a wrap-up: the deadline stays, and no event comes before', async () => {
    await using phone = await site().phone('1004');
    const { jose, deadline } = await wrapUp(phone);
    const from = head();
    await site().kill('SIGKILL');
    await held();
    await site().start();
    const back = await shown(jose);
    assert.deepEqual([back.state, back.deadline], ['wrap_up', deadline]);
    assert.deepEqual(published('1004', from), []);
    await held();
    await ask(jose, 'wrap-up', { finish: true });
    await inEngine(site(), 'sales', '1004', /^(?!.*paused:)/);
    await until('the event of the end', () => published('1004', from).length > 0);
    assert.deepEqual(
      published('1004', from).map((e) => e.type),
      ['agent.ready'],
    );
  });

  test('agent faults - the service stops in a wrap-up: no agent stays blocked by the stopped service', async () => {
    await using phone = await site().phone('1004');
    const { jose } = await wrapUp(phone);
    await site().kill('SIGUSR2');
    await inEngine(site(), 'support', '1004', /^(?!.*paused:)/);
    await site().start();
    assert.equal((await shown(jose)).state, 'available');
    await wholeJournal(site());
  });
});
