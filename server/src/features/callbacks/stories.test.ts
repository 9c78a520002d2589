import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallbacksReply } from '@offhook/contract/callbacks.ts';
import { ask, simulated } from '../../../test/support/simulated.ts';
import { until } from '../../../test/support/until.ts';

/** Each story has a caller of its own. */
const NUMBERS = {
  'queue abandoned': '+4930100001',
  missed: '+4930100002',
  voicemail: '+4930100003',
  busy: '+4930100004',
  'answered elsewhere': '+4930100005',
  'blind transfer': '+4930100006',
  'inbound answered': '+4930100007',
} as const;

test('callbacks - whole calls: those that nobody answered wait to be called back, until they are', async (t) => {
  const simulator = await simulated(t);
  const waiting = async (): Promise<string[]> => {
    await simulator.advance(1);
    return CallbacksReply.parse(await ask(simulator, '/api/v1/callbacks'))
      .callbacks.map(({ extension, queue, number, tries }) => `${extension ?? queue} ${number} ${tries}`)
      .toSorted();
  };
  for (const [story, caller] of Object.entries(NUMBERS))
    await simulator.play(story as keyof typeof NUMBERS, { caller });
  await simulator.play('queue abandoned', { caller: NUMBERS['queue abandoned'] });
  await until('the last call is read', async () =>
    (await waiting()).includes(`support ${NUMBERS['queue abandoned']} 2`),
  );
  assert.deepEqual(await waiting(), [
    `1003 ${NUMBERS.missed} 1`,
    `1003 ${NUMBERS.voicemail} 1`,
    `1003 ${NUMBERS.busy} 1`,
    `support ${NUMBERS['queue abandoned']} 2`,
  ]);
  for (const caller of [NUMBERS['queue abandoned'], NUMBERS.missed])
    await simulator.play('outbound answered', { caller });
  await until('two are closed', async () => (await waiting()).length === 2);
});
