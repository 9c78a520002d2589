/** A ring group whose devices have more addresses than fit into one variable of the dialplan, on a real engine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { PASSWORD, company, extension, ringGroup } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';

const MEMBERS = Array.from({ length: 36 }, (_, i) => String(2001 + i));
/** As many as an extension may register. */
const PHONES = 5;

test('conf/large-groups - every phone of a large ring group rings', async () => {
  await using engine = await startTestEngine(
    company({
      extensions: [...company().extensions, ...MEMBERS.map((number) => extension(number))],
      ring_groups: [ringGroup({ name: 'all', number: '620', members: MEMBERS, ring_seconds: 60 })],
    }),
  );
  await using stack = new AsyncDisposableStack();
  const phone = async (number: string): Promise<Phone> =>
    stack.use(await registerPhone({ server: engine.server, extension: number, password: PASSWORD }));
  const phones: Phone[] = [];
  for (const number of MEMBERS) for (let i = 0; i < PHONES; i++) phones.push(await phone(number));
  const call = await (await phone('1001')).invite('620');
  const ringing = await Promise.all(phones.map((one) => one.incoming(call)));
  await ringing.at(-1)!.answer();
  await call.answered();
  await call.hangup();
  assert.deepEqual(await engine.warnings(), []);
});
