/** Calls that the site wants recorded, on a real engine with no service beside it. */
import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone, PhoneCall } from '../../../../test/support/phone.ts';
import { until } from '../../../../test/support/until.ts';
import { recordedIn } from '../../../../test/support/call-records.ts';
import { celFile, recordingsDir } from './instance.ts';
import { PASSWORD, company, ringGroup } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

let engine: TestEngine;
const node = nodeId('ast1');
before(async () => {
  const plain = company();
  engine = await startTestEngine({
    ...plain,
    extensions: plain.extensions.map((e) => ({
      ...e,
      voicemail: false,
      recording: ['1001', '1002', '1006'].includes(e.extension) ? 'always' : 'never',
    })),
    queues: plain.queues.map((q) => ({ ...q, recording: q.name === 'support' ? 'always' : 'never' })),
    ring_groups: [
      ringGroup({ name: 'front', number: '620', members: ['1008', '1009'], recording: 'always' }),
    ],
    settings: {
      name: 'site',
      sign_out_hours: null,
      customer_languages: [],
      language: 'en',
      recording_announcement: { built_in: 'conf-now-recording' },
    },
  });
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });
let seen = 0;
/** By whose rule, and whose channel, for each recording that was written down since it was last asked. */
async function begun(): Promise<string[]> {
  const all = recordedIn(node, celFile(engine.instance));
  const fresh = all.slice(seen);
  seen = all.length;
  const reported = new Map<string, string>();
  for (const { facts } of fresh) {
    if (facts.recording === undefined) continue;
    const { by, of, file, channel } = facts.recording;
    const whose = all.find((r) => r.channel === channel)?.endpoint;
    reported.set(file, `${by} ${of}: ${whose}`);
  }
  return [...reported.values()];
}
const files = (): Promise<string[]> => readdir(recordingsDir(engine.instance));
async function talk(call: PhoneCall, other: PhoneCall): Promise<void> {
  call.play('tone');
  other.play('tone');
  await Promise.all([call.hears(40), other.hears(40)]);
}

test('conf/recording - who is called is recorded on its own leg, once it answered; both sides are told', async () => {
  await using caller = await phone('1008');
  await using owner = await phone('1002');
  const unanswered = await caller.invite('1002');
  (await owner.incoming()).reject(486);
  await unanswered.ended();
  assert.deepEqual([await begun(), await files()], [[], []], 'nobody answered');
  const call = await caller.invite('1002');
  const incoming = await owner.incoming();
  await incoming.answer();
  await call.answered();
  await talk(call, incoming);
  await call.hangup();
  assert.deepEqual(await begun(), ['extension 1002: 1002']);
  // MixMonitor writes the audio when its thread ends, which is after the hang-up is answered.
  await until('the audio in its one file', async () => {
    const [file, ...others] = await files();
    assert.deepEqual(others, []);
    return file !== undefined && (await stat(path.join(recordingsDir(engine.instance), file))).size > 8000;
  });
  for (const extension of ['1008', '1002'])
    assert.ok((await engine.heard(extension)).includes('conf-now-recording'), extension);
});

test('conf/recording - between two who are recorded there is one recording, and it follows the caller through a transfer', async () => {
  await using caller = await phone('1001');
  await using owner = await phone('1002');
  await using third = await phone('1008');
  const call = await caller.invite('1002');
  const incoming = await owner.incoming();
  await incoming.answer();
  await call.answered();
  await talk(call, incoming);
  await incoming.transfer('1008');
  const there = await third.incoming();
  await there.answer();
  await talk(call, there);
  await call.hangup();
  assert.deepEqual(await begun(), ['extension 1001: 1001']);
});

test('conf/recording - a queue and its agent, both recorded: one recording, of the caller; who gives up leaves none', async () => {
  await using caller = await phone('1008');
  const before_it = (await files()).length;
  const given_up = await caller.invite('500');
  await given_up.answered();
  await given_up.hangup();
  await using agent = await phone('1006');
  const call = await caller.invite('500');
  await call.answered();
  const incoming = await agent.incoming();
  await incoming.answer();
  await talk(call, incoming);
  await call.hangup();
  assert.deepEqual(await begun(), ['queue support: 1008']);
  assert.equal((await files()).length, before_it + 1);
});

test('conf/recording - where nobody has a rule nothing is recorded, and no name of a caller is in any file name', async () => {
  const before_it = (await files()).length;
  await using caller = await phone('1008');
  await using other = await phone('1009');
  const call = await caller.invite('1009');
  const incoming = await other.incoming();
  await incoming.answer();
  await call.answered();
  await talk(call, incoming);
  await call.hangup();
  const all = await files();
  assert.deepEqual([await begun(), all.length], [[], before_it]);
  for (const file of all) assert.match(file, /^[0-9.]+-\d+-ast1\.wav$/);
});

test('conf/recording - nothing of all this left a warning', async () => {
  assert.deepEqual(await engine.warnings(), []);
});

test('conf/recording - a ring group with a rule is recorded on its caller, and both sides are told', async () => {
  await using caller = await phone('1007');
  await using member = await phone('1008');
  const call = await caller.invite('620');
  const incoming = await member.incoming();
  await incoming.answer();
  await call.answered();
  await talk(call, incoming);
  await call.hangup();
  assert.deepEqual((await begun()).at(-1), 'ring_group front: 1007');
  for (const who of ['1007', '1008'])
    assert.ok((await engine.heard(who)).includes('conf-now-recording'), who);
});
