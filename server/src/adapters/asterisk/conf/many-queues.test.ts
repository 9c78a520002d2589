/** An agent of more queues than fit into one value of the dialplan, on a real engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import { PASSWORD, company, queue } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';

const QUEUES = 250;
let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(
    company({
      feature_codes: FEATURE_CODES,
      queues: Array.from({ length: QUEUES }, (_, i) =>
        queue({
          name: `${'customer-service-of-the-north-east'}-${100 + i}`,
          number: String(5000 + i),
          members: [{ extension: '1003' }],
        }),
      ),
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});

test('conf/many-queues - an agent of hundreds of queues signs in and out of all of them', async () => {
  await using agent = await registerPhone({ server: engine.server, extension: '1003', password: PASSWORD });
  const memberships = async (): Promise<number> =>
    [...(await engine.cli('queue show')).matchAll(/ 1003 \(Local/g)].length;
  assert.equal(await engine.dial(agent, '*81'), 'auth-thankyou');
  assert.equal(await memberships(), QUEUES);
  // Paused in the last one only, the agent joins the others paused.
  assert.equal(await engine.dial(agent, '*80'), 'auth-thankyou');
  assert.equal(await memberships(), 0);
  assert.equal(await engine.dial(agent, `*81${5000 + QUEUES - 1}`), 'auth-thankyou');
  assert.equal(await engine.dial(agent, '*22'), 'auth-thankyou');
  assert.equal(await engine.dial(agent, '*81'), 'auth-thankyou');
  const shown = await engine.cli('queue show');
  assert.equal([...shown.matchAll(/ 1003 \(Local.*\(paused:/g)].length, QUEUES);
});
