import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ApiError } from '../support/api.ts';
import { registerPhone } from '../support/phone.ts';
import { startSite } from '../support/site.ts';
import { comesInEngine, inEngine, onlyCall, shows } from '../support/steps.ts';
import { until } from '../support/until.ts';

test('sites - two parallel sites share nothing', async () => {
  const [one, two] = await Promise.all([startSite(), startSite()]);
  await using _one = one;
  await using _two = two;
  assert.notEqual(one.enginePid(), two.enginePid());
  const [here, there] = [await one.person('1008'), await two.person('1008')];
  assert.notEqual(
    here.login.sip.sip_password,
    there.login.sip.sip_password,
    'secrets are random for each site',
  );
  await assert.rejects(
    registerPhone({ server: two.sip, extension: '1008', password: here.login.sip.sip_password }),
    /401/,
  );
  await using a = await one.phone('1008');
  await using b = await one.phone('1009');
  const call = await a.invite('1009');
  const incoming = await b.incoming();
  incoming.ring();
  await incoming.answer();
  await call.answered();
  await shows(here, '1009', 'busy', 'in_call');
  await shows(there, '1009', 'offline', 'idle');
  await call.hangup();
  await onlyCall(here);
  assert.equal((await there.history()).calls.length, 0);

  await (await one.person('1003')).agent('pause', { reason: 'lunch' });
  await inEngine(one, 'support', '1003', /paused:lunch/);
  await inEngine(two, 'support', '1003', /^(?!.*paused:)/);
  await two.stop();
  assert.equal((await one.person('1003')).extension, '1003');
  await shows(here, '1009', 'online', 'idle');
});

test('sites - a clean stop ends the engine too, and the next start has all data again', async () => {
  await using site = await startSite();
  const lan = await site.person('1006');
  await lan.agent('pause', { reason: 'training' });
  await site.stop();
  assert.equal(site.pid, null);
  assert.equal(site.enginePid(), null, 'nothing is left behind');
  await site.start();
  assert.equal((await lan.agent('get_status')).pause_reason, 'training');
  await comesInEngine(site, 'sales', '1006', /paused:training/);
});

test('sites - without an engine it starts: sign-in, directory and history answer, agent actions are 503', async () => {
  const empty = await mkdtemp(path.join(os.tmpdir(), 'offhook-none-'));
  try {
    await using site = await startSite({
      wait: 'answers',
      env: { OFFHOOK_CACHE: empty, OFFHOOK_ASTERISK: '', PATH: empty },
    });
    const zoe = await site.person('1003');
    const contacts = await zoe.contacts();
    assert.equal(contacts.stale, true);
    assert.equal(contacts.total, 12);
    assert.deepEqual((await zoe.history()).calls, []);
    for (const action of ['pause', 'unpause', 'login', 'logout']) {
      await assert.rejects(
        zoe.agent(action),
        (e: unknown) => e instanceof ApiError && e.status === 503 && e.code === 'engine_unavailable',
        action,
      );
    }
    const ready = await fetch(`${site.base}/readyz`);
    assert.equal(ready.status, 503);
    const health = (await (await fetch(`${site.base}/healthz`)).json()) as { engine: string };
    assert.equal(health.engine, 'down');
    await until('what is missing and the ways out', () =>
      /There is no Asterisk here.*OFFHOOK_ASTERISK/.test(site.tail()),
    );
  } finally {
    await rm(empty, { recursive: true, force: true });
  }
});
