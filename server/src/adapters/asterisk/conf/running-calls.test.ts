/** Calls that wait or ring while an apply changes what they wait for, on a real engine. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { nodeId } from '@offhook/contract/ids.ts';
import type { Site } from '../../../ports/site.ts';
import { recordedIn } from '../../../../test/support/call-records.ts';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { PASSWORD, company, queue, ringGroup } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';
import { celFile, etcDir } from './instance.ts';

const otherwise = { kind: 'extension', key: '1008' } as const;
/** Longer than an apply takes on a slow machine. */
const WAIT = 6;
const late = { name: 'late', number: '530', max_wait_seconds: WAIT, otherwise };
const group = { number: '620', ring_seconds: 60, otherwise } as const;
const withGroup = (fields: Partial<Parameters<typeof ringGroup>[0]>): Site =>
  company({ ring_groups: [ringGroup({ name: 'front', members: ['1002', '1003'], ...group, ...fields })] });

let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(company({ queues: [queue(late)] }));
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });
const apply = async (site: Site): Promise<void> => {
  await engine.write(site);
  await engine.cli('dialplan reload');
};
const outcomes = (): readonly string[] =>
  recordedIn(nodeId('ast1'), celFile(engine.instance)).flatMap((r) => r.facts.queue_status ?? []);
/** Outcomes that were checked before. */
let seen = 0;
const isWaiting = (): Promise<unknown> =>
  until('the caller waits', async () => /Callers: *\n? *1\./.test(await engine.cli('queue show late')));

test('conf/running-calls - a caller who waits goes on where the changed queue says, and the reason is recorded', async () => {
  await using caller = await phone('1001');
  await using other = await phone('1008');
  const changed = queue({
    ...late,
    number: '531',
    announcement: { built_in: 'hello-world' },
    recording: 'always',
  });
  for (const [from, to] of [
    [queue(late), changed],
    [changed, queue(late)],
  ] as const) {
    await apply(company({ queues: [from] }));
    const call = await caller.invite(from.number);
    await call.answered();
    await isWaiting();
    await apply(company({ queues: [to] }));
    await (await other.incoming(call)).answer();
    await until('the outcome in the records', () => outcomes().length > seen);
    assert.deepEqual(outcomes().slice(seen), ['timeout']);
    seen += 1;
    await call.hangup();
  }
});

test('conf/running-calls - a caller who waits by the dialplan of 0.1.0 goes on where the queue says', async () => {
  await using caller = await phone('1001');
  await using other = await phone('1008');
  const site = company({ queues: [queue(late)] });
  for (const moved of [false, true]) {
    await apply(site);
    const file = path.join(etcDir(engine.instance), 'extensions.conf');
    const text = await readFile(file, 'utf8');
    const former = text.replaceAll('Goto(wait-late,${EXTEN},1)', `Queue(late,C,,,${WAIT})`);
    assert.notEqual(former, text);
    await writeFile(file, former);
    await engine.cli('dialplan reload');
    const call = await caller.invite(late.number);
    await call.answered();
    await isWaiting();
    if (moved) {
      const [channel] = /PJSIP\/1001-[^!]+/.exec(await engine.cli('core show channels concise'))!;
      await engine.cli(`channel redirect ${channel} queue-moved,${late.number}*0*0,1`);
      await until('the moved caller waits', async () =>
        /!queue-moved!530\*0\*0![0-9]+!Up!Queue!/.test(await engine.cli('core show channels concise')),
      );
    }
    await apply(site);
    await (await other.incoming(call)).answer();
    await until('the outcome in the records', () => outcomes().length > seen);
    assert.deepEqual(outcomes().slice(seen), ['timeout']);
    seen += 1;
    await call.hangup();
  }
});

test('conf/running-calls - a caller of a ring group goes on where the changed group says', async () => {
  await using caller = await phone('1001');
  await using two = await phone('1002');
  await using three = await phone('1003');
  await using other = await phone('1008');
  for (const members of [['1002'], ['1002', '1003', '1004']]) {
    await apply(withGroup({}));
    const call = await caller.invite('620');
    const ringing = [await two.incoming(call), await three.incoming(call)];
    await apply(withGroup({ members }));
    for (const one of ringing) one.reject(486);
    await (await other.incoming(call)).answer();
    await call.answered();
    await call.hangup();
  }
  assert.deepEqual([two.seen, three.seen], [2, 2], 'nobody was rung twice');
});

test('conf/running-calls - a ring group in order goes on with the next member where one before was removed', async () => {
  await using caller = await phone('1001');
  await using two = await phone('1002');
  await using three = await phone('1003');
  await using other = await phone('1008');
  await apply(withGroup({ strategy: 'in_order' }));
  const call = await caller.invite('620');
  const first = await two.incoming(call);
  await apply(withGroup({ strategy: 'in_order', members: ['1003'] }));
  first.reject(486);
  (await three.incoming(call)).reject(486);
  await (await other.incoming(call)).answer();
  await call.answered();
  await call.hangup();
  assert.deepEqual(await engine.warnings(), []);
});
