import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AgentChangeReply, OneAgentReply } from '@offhook/contract/agents.ts';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import { Problem } from '@offhook/contract/errors.ts';
import type { z } from 'zod';
import { ApiError } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { eventsOf } from '../support/call-steps.ts';
import { dialCode, inEngine, statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('agent machine', () => {
  const site = useSite();

  const agent = async (person: Person, extension = person.extension) => {
    const response = await fetch(`${site().base}/api/v1/agents/${extension}`, {
      headers: { authorization: `Bearer ${person.token}` },
    });
    return OneAgentReply.parse(await response.json()).agent;
  };
  const ask = async (
    person: Person,
    what: string,
    body: object = {},
    extension = person.extension,
  ): Promise<z.infer<typeof AgentChangeReply>['agent']> => {
    const response = await fetch(`${site().base}/api/v1/agents/${extension}/${what}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const json: unknown = await response.json();
    if (response.ok) return AgentChangeReply.parse(json).agent;
    const { code, detail } = Problem.parse(json);
    throw new ApiError(response.status, code, detail);
  };
  const told = (extension: string, after = 0) =>
    eventsOf(site()).filter(
      (e) => e.seq > after && e.type.startsWith('agent.') && e.data['extension'] === extension,
    );
  const head = (): number => eventsOf(site()).at(-1)?.seq ?? 0;
  const showsState = (person: Person, state: string, ms = 2_000) =>
    until(
      `agent ${person.extension} is ${state}`,
      async () => {
        const shown = await agent(person);
        return shown.state === state && shown;
      },
      {
        ms,
        seen: () => ({
          told: told(person.extension)
            .map((e) => e.type)
            .slice(-8),
        }),
      },
    );

  test('agent machine - a queue call: offered, talking, a pause that waits, wrap-up, finished early', async () => {
    await using caller = await site().phone('1001');
    await using phone = await site().phone('1003');
    const zoe = await site().person('1003');
    for (const other of ['1004', '1005', '1006']) {
      await (await site().person(other)).agent('pause', { reason: 'training' });
    }
    await statusIs(zoe, 'READY');
    await showsState(zoe, 'available', 20_000);
    const before = head();

    const call = await caller.invite('500');
    const incoming = await phone.incoming();
    incoming.ring();
    const offered = await showsState(zoe, 'offered');
    assert.equal(offered.queue, 'support');
    assert.ok(offered.offer_id !== null && Date.parse(offered.deadline ?? '') > Date.now());
    await incoming.answer();
    await call.answered();
    const talking = await showsState(zoe, 'talking');
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

    const hungUp = Date.now();
    await call.hangup();
    await incoming.ended();
    const wrapping = await showsState(zoe, 'wrap_up');
    assert.equal(wrapping.queue, 'support');
    const seconds = (Date.parse(wrapping.deadline ?? '') - hungUp) / 1000;
    assert.ok(seconds > 4 && seconds < 6, `the deadline is ${seconds} s after the hang-up`);
    await until('held back in both queues', async () => {
      await inEngine(site(), 'support', '1003', /paused:wrapup/);
      await inEngine(site(), 'sales', '1003', /paused:wrapup/);
      return true;
    });
    await statusIs(zoe, 'READY', '');
    const extended = await ask(zoe, 'wrap-up', { extend_seconds: 60 });
    assert.equal(Date.parse(extended.deadline ?? '') - Date.parse(wrapping.deadline ?? ''), 60_000);
    const free = await ask(zoe, 'wrap-up', { finish: true });
    assert.equal(free.state, 'available');
    await inEngine(site(), 'support', '1003', /^(?!.*paused:)/);

    // The engine offers again as soon as its own two seconds are over.
    const again = await caller.invite('500');
    const next = await phone.incoming(8_000);
    next.ring();
    await next.answer();
    await showsState(zoe, 'talking');
    await again.hangup();
    await next.ended();
    await showsState(zoe, 'wrap_up');
    await ask(zoe, 'pause', { reason: 'lunch' });
    const lunch = await showsState(zoe, 'not_ready', 8_000);
    assert.deepEqual([lunch.readiness.reason, lunch.readiness.source], ['lunch', 'agent']);
    await inEngine(site(), 'sales', '1003', /paused:lunch/);

    assert.deepEqual(
      told('1003', before).map((e) => [e.type, e.data['queue']].join(' ')),
      [
        'agent.offered support',
        'agent.talking support',
        'agent.not_ready support',
        'agent.pending_changed ',
        'agent.not_ready sales',
        'agent.ready support',
        'agent.ready sales',
        'agent.pending_changed ',
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
      ],
    );
    assert.equal((await ask(zoe, 'unpause')).state, 'available');
  });

  test('agent machine - paused from the phone, by REST and by a supervisor: one state, one time, and whose it was', async () => {
    await using phone = await site().phone('1004');
    const [jose, soren] = [await site().person('1004'), await site().person('1002')];
    await ask(jose, 'unpause');
    await showsState(jose, 'available', 20_000);
    const shown = async () => {
      const { state, since, readiness } = await agent(jose);
      return { state, since, readiness };
    };
    const newest = () => told('1004').at(-1)?.data['agent'] as AgentSummary;
    await dialCode(phone, '*22');
    const byPhone = await showsState(jose, 'not_ready');
    assert.deepEqual([byPhone.readiness.reason, byPhone.readiness.source], ['break', 'agent']);
    assert.ok(byPhone.readiness.until !== null, 'a break has a longest time');
    assert.deepEqual(
      { state: newest().state, since: newest().since, readiness: newest().readiness },
      await shown(),
    );
    assert.equal((await jose.agent('get_status')).pause_start, byPhone.readiness.since);

    await ask(soren, 'pause', { reason: 'training' }, '1004');
    const bySupervisor = await shown();
    assert.deepEqual(
      [bySupervisor.readiness.reason, bySupervisor.readiness.source],
      ['training', 'supervisor'],
    );
    assert.deepEqual(newest().readiness, bySupervisor.readiness);
    await assert.rejects(
      ask(jose, 'pause', {}, '1003'),
      (e: unknown) => e instanceof ApiError && e.status === 403 && e.code === 'forbidden',
    );
    await dialCode(phone, '*23');
    await showsState(jose, 'available');
  });
});
