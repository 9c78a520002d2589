import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryStore } from '../../../test/conformance/store-temp.ts';
import { startSite } from '../../../test/support/applies-rig.ts';
import { configRig } from '../../../test/support/config-rig.ts';
import { say, spoken } from '../../core/said.ts';

const GROUP = { name: 'care', number: '500', title: 'Care', members: ['1003'] };
const IN_GERMAN = { headers: { 'accept-language': 'de' } };

test('config findings - a refusal and the check of the draft have them in the language of the request', async (t) => {
  const { ask } = await configRig(t);
  const taken = '500 ist schon vergeben: Warteschlange support';
  const refused = await ask('POST', 'ring-groups', GROUP, IN_GERMAN);
  assert.equal(refused.body.findings[0].detail, taken);
  assert.ok(refused.body.detail.includes(taken), refused.body.detail);
  const changes = [{ op: 'create', kind: 'ring_group', object: GROUP }];
  const checked = await ask('POST', 'validate', { changes }, IN_GERMAN);
  assert.equal(checked.body.findings[0].detail, taken);
  const wrong = { ...GROUP, number: '55a' };
  const [german, english] = await Promise.all(
    [IN_GERMAN, {}].map((how) => ask('POST', 'ring-groups', wrong, how)),
  );
  const details = [german!, english!].map(({ body }) => body.findings[0].detail as string);
  assert.notEqual(details[0], details[1], 'rules of fields are translated, too');
  assert.equal(
    (await ask('POST', 'ring-groups', GROUP)).body.findings[0].detail,
    '500 is taken by queue support',
  );
});

test('config findings - the plan has notices and problems of the engine in the language of the request', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  const said = say`${3} prompts are heard in English: ${'beep'}`;
  const lacking = { object: 'language fr', file: null, words: spoken(said), said };
  const plain = { object: null, file: 'queues.conf', words: 'no such file' };
  rig.world.lacking = [lacking, plain];
  assert.deepEqual((await rig.applies.plan('de')).findings, [
    { object: 'language fr', file: null, words: '3 Ansagen sind auf Englisch zu hören: beep' },
    plain,
  ]);
  await rig.applies.close();
});
