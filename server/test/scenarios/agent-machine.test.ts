import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { ApiError } from '../support/api.ts';
import { agentSteps } from '../support/agent-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { comesInEngine, dialCode, inEngine, memberLine, statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('agent machine', () => {
  /** Seconds of wrap-up; the steps within it fit on a slow machine. */
  const WRAP_UP = 60;
  const site = useSite({
    prepare: prepareDemo((store) =>
      putObjects(store, { queue: [{ name: 'support', wrap_up_seconds: WRAP_UP }] }),
    ),
  });

  const { shown, ask, is, published, head } = agentSteps(site);

  test('agent machine - a queue call: offered, talking, a pending pause, wrap-up, finished early', async () => {
    await using caller = await site().phone('1001');
    await using phone = await site().phone('1003');
    const zoe = await site().person('1003');
    for (const other of ['1004', '1005', '1006']) {
      await (await site().person(other)).agent('pause', { reason: 'training' });
    }
    await statusIs(zoe, 'READY');
    await is(zoe, 'available', 20_000);
    const before = head();

    const call = await caller.invite('500');
    const incoming = await phone.incoming();
    incoming.ring();
    const offered = await is(zoe, 'offered');
    assert.equal(offered.queue, 'support');
    assert.ok(offered.offer_id !== null && Date.parse(offered.deadline ?? '') > Date.now());
    await incoming.answer();
    await call.answered();
    const talking = await is(zoe, 'talking');
    assert.equal(talking.call_id, offered.call_id);

    const pending = await ask(zoe, 'pause', { reason: 'lunch' });
    assert.deepEqual(
      [pending.state, pending.pending, pending.pending_reason],
      ['talking', 'not_ready', 'lunch'],
    );
    await inEngine(site(), 'support', '1003', /paused:lunch/);
    const cancelled = await ask(zoe, 'cancel-pending');
    assert.deepEqual([cancelled.state, cancelled.pending], ['talking', null]);
    await inEngine(site(), 'support', '1003', /^(?!.*paused:)/);

    // Another caller waits; no member may ring for it before the wrap-up is over.
    await using second = await site().phone('1002');
    const again = await second.invite('500');
    await again.answered();
    const hungUp = Date.now();
    await call.hangup();
    await incoming.ended();
    const wrapping = await is(zoe, 'wrap_up');
    assert.equal(wrapping.queue, 'support');
    const began = Date.parse(wrapping.since);
    assert.ok(began >= hungUp && began <= Date.now(), `began ${began - hungUp} ms after the hang-up`);
    assert.equal(Date.parse(wrapping.deadline ?? '') - began, WRAP_UP * 1000);
    await comesInEngine(site(), 'support', '1003', /paused:wrapup/);
    await comesInEngine(site(), 'sales', '1003', /paused:wrapup/);
    await statusIs(zoe, 'READY', '');
    const extended = await ask(zoe, 'wrap-up', { extend_seconds: 60 });
    assert.equal(Date.parse(extended.deadline ?? '') - Date.parse(wrapping.deadline ?? ''), 60_000);
    await until('more than the wait of the engine itself', () => Date.now() - hungUp > 2_600);
    assert.equal(phone.seen, 1, 'not rung in the wrap-up');
    const finished = await ask(zoe, 'wrap-up', { finish: true });
    assert.deepEqual([finished.state === 'wrap_up', finished.deadline], [false, null]);
    await inEngine(site(), 'support', '1003', /^(?!.*paused:)/);
    const next = await phone.incoming();
    next.ring();
    await next.answer();
    await is(zoe, 'talking');
    await again.hangup();
    await next.ended();
    await is(zoe, 'wrap_up');
    await ask(zoe, 'pause', { reason: 'lunch' });
    await ask(zoe, 'wrap-up', { finish: true });
    const lunch = await is(zoe, 'not_ready');
    assert.deepEqual([lunch.readiness.reason, lunch.readiness.source], ['lunch', 'agent']);
    await inEngine(site(), 'sales', '1003', /paused:lunch/);

    const events = () => published('1003', before).map((e) => [e.type, e.data['queue']].join(' '));
    await until('the event of the end', () => events().at(-1) === 'agent.not_ready ', { seen: events });
    assert.deepEqual(events(), [
      'agent.offered support',
      'agent.talking support',
      'agent.not_ready support',
      'agent.pending_changed ',
      'agent.not_ready sales',
      'agent.ready support',
      'agent.pending_changed ',
      'agent.ready sales',
      'agent.wrap_up support',
      'agent.wrap_up_extended support',
      'agent.ready ',
      'agent.offered support',
      'agent.talking support',
      'agent.wrap_up support',
      'agent.not_ready support',
      'agent.pending_changed ',
      'agent.not_ready sales',
      'agent.not_ready ',
    ]);
    assert.equal((await ask(zoe, 'unpause')).state, 'available');
  });

  test('agent machine - paused from the phone, by REST and by a supervisor: one state, one time, and its author', async () => {
    await using phone = await site().phone('1004');
    const [jose, soren] = [await site().person('1004'), await site().person('1002')];
    await ask(jose, 'unpause');
    await is(jose, 'available', 20_000);
    const state = async () => {
      const { state, since, readiness } = await shown(jose);
      return { state, since, readiness };
    };
    const newest = () => published('1004').at(-1)!.data.agent;
    await dialCode(phone, '*22');
    const byPhone = await is(jose, 'not_ready');
    assert.deepEqual([byPhone.readiness.reason, byPhone.readiness.source], ['break', 'agent']);
    assert.ok(byPhone.readiness.until !== null, 'a break has a longest time');
    const isTold = () =>
      until('the newest event to have the state', async () => {
        const { state: word, since, readiness } = newest();
        return isDeepStrictEqual({ state: word, since, readiness }, await state());
      });
    await isTold();
    assert.equal((await jose.agent('get_status')).pause_start, byPhone.readiness.since);

    await ask(soren, 'pause', { reason: 'training' }, '1004');
    const bySupervisor = await state();
    assert.deepEqual(
      [bySupervisor.readiness.reason, bySupervisor.readiness.source],
      ['training', 'supervisor'],
    );
    await isTold();
    await assert.rejects(
      ask(jose, 'pause', {}, '1003'),
      (e: unknown) => e instanceof ApiError && e.status === 403 && e.code === 'forbidden',
    );
    await dialCode(phone, '*23');
    await is(jose, 'available');
  });

  test('agent machine - *81 in a wrap-up: the joined queue is held back too, and rings the agent at its end', async () => {
    await using caller = await site().phone('1001');
    await using second = await site().phone('1002');
    await using phone = await site().phone('1005');
    const agnieszka = await site().person('1005');
    for (const other of ['1003', '1004', '1006'])
      await (await site().person(other)).agent('pause', { reason: 'training' });
    await ask(agnieszka, 'unpause');
    await is(agnieszka, 'available');
    await dialCode(phone, '*80510');
    await until('1005 out of sales', async () => (await memberLine(site(), 'sales', '1005')) === undefined);
    const call = await caller.invite('500');
    const incoming = await phone.incoming(call);
    incoming.ring();
    await incoming.answer();
    await call.answered();
    await is(agnieszka, 'talking');
    await call.hangup();
    await incoming.ended();
    const wrapping = await is(agnieszka, 'wrap_up');
    await comesInEngine(site(), 'support', '1005', /paused:wrapup/);

    const waits = await second.invite('510');
    await waits.answered();
    const [before, seen] = [head(), phone.seen];
    await dialCode(phone, '*81');
    await comesInEngine(site(), 'sales', '1005', /paused:wrapup/);
    const still = await shown(agnieszka);
    assert.deepEqual(
      [still.state, still.since, still.deadline, still.pending, still.readiness.ready],
      ['wrap_up', wrapping.since, wrapping.deadline, null, true],
    );
    const events = () => published('1005', before).map((e) => [e.type, e.data['queue']].join(' '));
    assert.deepEqual(events(), ['agent.logged_in sales', 'agent.not_ready sales', 'agent.ready sales']);
    assert.equal(phone.seen, seen, 'not rung in the wrap-up');
    await statusIs(agnieszka, 'READY', '');
    await ask(agnieszka, 'wrap-up', { finish: true });
    const next = await phone.incoming(waits);
    next.ring();
    await next.answer();
    const talking = await is(agnieszka, 'talking');
    assert.equal(talking.queue, 'sales');
    for (const queue of ['support', 'sales']) await comesInEngine(site(), queue, '1005', /^(?!.*paused:)/);
    await waits.hangup();
    await next.ended();
  });
});
