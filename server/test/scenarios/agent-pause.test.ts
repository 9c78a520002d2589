import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../support/api.ts';
import { comesInEngine, dialCode, freeze, inEngine, memberLine, statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const refusal = (status: number, code: string) => (error: unknown) =>
  error instanceof ApiError && error.status === status && error.code === code;

const notNow = (e: unknown): boolean => e instanceof ApiError && (e.status === 503 || e.status === 504);

describe('agent pause', () => {
  const site = useSite();

  test('agent pause - answers success once the engine itself reports the pause with that reason', async () => {
    await using phone = await site().phone('1003');
    const zoe = await site().person('1003');
    await statusIs(zoe, 'READY', '');
    const asked = Date.now();
    const paused = await zoe.agent('pause', { reason: 'Lunch' });
    assert.equal(paused.is_paused, true);
    assert.equal(paused.pause_reason, 'lunch');
    assert.equal(paused.status_key, 'PAUSED');
    assert.ok(Date.parse(paused.pause_start!) > asked - 1_000);
    await inEngine(site(), 'support', '1003', /paused:lunch/);
    await inEngine(site(), 'sales', '1003', /paused:lunch/);

    const again = await zoe.agent('pause', { reason: 'lunch' });
    assert.equal(again.pause_start, paused.pause_start, 'a repeated pause does not begin anew');

    const unpaused = await zoe.agent('unpause', { queue: 'sales' });
    assert.equal(unpaused.is_paused, true, 'still paused in the other queue');
    await inEngine(site(), 'sales', '1003', /^(?!.*paused:)/);
    await inEngine(site(), 'support', '1003', /paused:lunch/);
    await zoe.agent('unpause');
    await statusIs(zoe, 'READY', '');
    await inEngine(site(), 'support', '1003', /^(?!.*paused:)/);
    assert.equal(phone.extension, '1003');
  });

  test('agent pause - *22, *22<n> and *23 dialled from a phone show in get_status within a second', async () => {
    await using phone = await site().phone('1004');
    const jose = await site().person('1004');
    await statusIs(jose, 'READY', '');
    for (const [code, reason] of [
      ['*22', 'break'],
      ['*223', 'training'],
    ] as const) {
      const call = await phone.invite(code);
      await call.answered();
      await statusIs(jose, null, reason);
      await comesInEngine(site(), 'support', '1004', new RegExp(`paused:${reason}`));
      await call.ended();
      await statusIs(jose, 'PAUSED', reason);
    }
    await dialCode(phone, '*23');
    await statusIs(jose, 'READY', '');
    await dialCode(phone, '*229');
    await statusIs(jose, 'READY', '');
  });

  test('agent pause - *80 and *81 leave and join the queues, one or all', async () => {
    await using phone = await site().phone('1005');
    const agnieszka = await site().person('1005');
    const memberships = async (): Promise<string> =>
      (await agnieszka.agent('get_queues')).agent.queues
        .filter((q) => q.member)
        .map((q) => q.queue)
        .toSorted()
        .join(' ');
    const are = (names: string) =>
      until(`memberships of 1005: ${names || 'none'}`, async () => (await memberships()) === names);
    await until('1005 in both queues', async () => (await memberships()) === 'sales support');
    await dialCode(phone, '*80510');
    await are('support');
    await dialCode(phone, '*80');
    await are('');
    await until(
      'the engine without 1005',
      async () => (await memberLine(site(), 'support', '1005')) === undefined,
    );
    await dialCode(phone, '*81500');
    await are('support');
    await dialCode(phone, '*81');
    await are('sales support');
    const out = await agnieszka.agent('logout');
    assert.equal(out.in_queue, false);
    await assert.rejects(agnieszka.agent('pause'), refusal(409, 'not_in_queue'));
    const back = await agnieszka.agent('login');
    assert.equal(back.in_queue, true);
    await comesInEngine(site(), 'support', '1005', /Not in use/);
  });

  test('agent pause - the codes of a person who is not an agent are refused and change nothing', async () => {
    await using phone = await site().phone('1012');
    const before = await site().engineCli('queue show support');
    await dialCode(phone, '*22');
    await dialCode(phone, '*81');
    const members = (text: string): number =>
      text.split('\n').filter((line) => line.includes('Local/')).length;
    assert.equal(members(await site().engineCli('queue show support')), members(before));
    await assert.rejects((await site().person('1012')).agent('pause'), refusal(403, 'forbidden'));
  });

  test('agent pause - the codes work while the service is stopped, and it reads them afterwards', async () => {
    await using phone = await site().phone('1006');
    const lan = await site().person('1006');
    await statusIs(lan, 'READY', '');
    await site().kill('SIGKILL');
    await dialCode(phone, '*222');
    await inEngine(site(), 'support', '1006', /paused:lunch/);
    await site().start();
    await until(
      'the pause made meanwhile',
      async () => (await lan.agent('get_status')).pause_reason === 'lunch',
    );
    await site().kill('SIGKILL');
    await dialCode(phone, '*23');
    await dialCode(phone, '*80510');
    await site().start();
    const after = await until('the log-out made meanwhile', async () => {
      const reply = await lan.agent('get_status');
      return reply.agent.queues.some((q) => q.queue === 'sales' && !q.member) && reply;
    });
    assert.equal(after.status_key, 'READY');
  });

  test('agent pause - after a pause of unknown outcome no request is answered with "no change"', async () => {
    const zoe = await site().person('1003');
    const lea = await site().person('1004');
    assert.equal((await zoe.agent('unpause')).is_paused, false);
    const pid = site().enginePid()!;
    await freeze(pid);
    try {
      await assert.rejects(zoe.agent('pause', { reason: 'break' }), notNow);
      // The link still counts as up, but the model is out of date.
      await Promise.all([
        assert.rejects(zoe.agent('unpause'), notNow),
        assert.rejects(lea.agent('unpause'), notNow),
      ]);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await until('a confirmed Ready', async () => {
      const { is_paused } = await zoe.agent('unpause').catch(() => ({ is_paused: true }));
      return !is_paused;
    });
    // The stopped engine may still work through what it was sent before.
    for (const queue of ['support', 'sales']) await comesInEngine(site(), queue, '1003', /^(?!.*paused)/);
    await statusIs(zoe, null, '');
    await site().ready();
  });

  test('agent pause - an unchanged state is no success while the engine is stopped', async () => {
    const zoe = await site().person('1003');
    await zoe.agent('pause', { reason: 'lunch' });
    const pid = site().enginePid()!;
    await freeze(pid);
    try {
      await assert.rejects(zoe.agent('pause', { reason: 'lunch' }), notNow);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const again = await until('the engine to answer', () =>
      zoe.agent('pause', { reason: 'lunch' }).catch(() => null),
    );
    assert.equal(again.is_paused, true);
    await zoe.agent('unpause');
  });

  test('agent pause - never a success while the engine is stopped or gone', async () => {
    const zoe = await site().person('1003');
    const pid = site().enginePid()!;
    await freeze(pid);
    try {
      await assert.rejects(zoe.agent('pause', { reason: 'break' }), notNow);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await site().ready();
    process.kill(pid, 'SIGKILL');
    await assert.rejects(zoe.agent('pause', { reason: 'break' }), notNow);
    await site().ready();
    await until('1003 ready as before', async () => (await zoe.agent('get_status')).is_paused === false);
  });
});
