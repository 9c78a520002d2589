/** Why a caller left a queue, as the real engine's own records say it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { recordedIn } from '../cel/test-records.ts';
import { celFile } from '../instance.ts';
import { company, PASSWORD } from './test-company.ts';
import { startTestEngine } from './test-engine.ts';
import type { TestEngine } from './test-engine.ts';

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(company());
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });

/** What the records say since they were last looked at. */
let seen = 0;
async function told(): Promise<string[]> {
  const all = recordedIn(nodeId('ast1'), celFile(engine.instance));
  const fresh = all.slice(seen);
  seen = all.length;
  return fresh.flatMap((r) => r.facts.queue_status ?? []);
}

test('conf/queue-outcomes - a caller who waited too long', async () => {
  await using caller = await phone('1001');
  const call = await caller.invite('510');
  await call.ended(15_000);
  assert.deepEqual(await told(), ['timeout']);
});
