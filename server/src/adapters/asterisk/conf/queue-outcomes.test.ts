/** Why a caller left a queue, as the real engine's own records say it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { nodeId } from '@offhook/contract/ids.ts';
import { recordedIn } from '../../../../test/support/call-records.ts';
import { celFile } from './instance.ts';
import { company, PASSWORD } from '../../../../test/support/rendered-company.ts';
import { until } from '../../../../test/support/until.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

const { queues } = company();
let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(
    company({
      queues: [
        ...queues,
        {
          ...queues[0]!,
          name: 'small',
          number: '521',
          static_members: [],
          max_callers: 1,
          exit: { key: '0', to: { kind: 'extension', key: '1008' } },
        },
        {
          ...queues[0]!,
          name: 'strict',
          number: '522',
          join_when_empty: false,
          leave_when_empty: true,
        },
      ],
    }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });

/** Outcomes that were looked at before. */
let seen = 0;
/** Checks the next outcome in the records, which are written a moment after the phone knows the end. */
async function isRecorded(outcome: string): Promise<void> {
  const fresh = await until('the outcome in the records', () => {
    const all = recordedIn(nodeId('ast1'), celFile(engine.instance));
    const outcomes = all.flatMap((r) => r.facts.queue_status ?? []).slice(seen);
    return outcomes.length > 0 && outcomes;
  });
  seen += fresh.length;
  assert.deepEqual(fresh, [outcome]);
}

test('conf/queue-outcomes - waited too long', async () => {
  await using caller = await phone('1001');
  const call = await caller.invite('510');
  await call.ended();
  await isRecorded('timeout');
});

test('conf/queue-outcomes - full', async () => {
  await using first = await phone('1001');
  await using second = await phone('1002');
  const waits = await first.invite('521');
  await waits.answered();
  const call = await second.invite('521');
  await call.ended();
  await isRecorded('full');
  await waits.hangup();
});

test('conf/queue-outcomes - nobody to join for, and nobody left', async () => {
  await using caller = await phone('1001');
  const call = await caller.invite('522');
  await call.ended();
  await isRecorded('empty_join');
  await using agents = new AsyncDisposableStack();
  const agent = agents.use(await phone('1006'));
  // The queue learns of the registered phone after the phone itself; a caller before that finds nobody.
  let members = '';
  await until(
    'an agent whom the queue can reach',
    async () => /\(Not in use\)/.test((members = await engine.cli('queue show strict'))),
    { seen: () => ({ members }) },
  );
  const waits = await caller.invite('522');
  await waits.answered();
  (await agent.incoming()).ring();
  await agents.disposeAsync();
  await waits.ended();
  await isRecorded('empty_leave');
});

test('conf/queue-outcomes - a key leads out to a number of ours, another one does nothing', async () => {
  await using caller = await phone('1001');
  await using other = await phone('1008');
  const call = await caller.invite('521');
  await call.answered();
  await call.hears();
  await call.digits('3');
  await call.digits('0');
  await (await other.incoming()).answer();
  await call.hangup();
  await isRecorded('exit_key');
});

test('conf/queue-outcomes - who hangs up leaves no reason, and who is withdrawn does', async () => {
  await using caller = await phone('1001');
  const given_up = await caller.invite('521');
  await given_up.answered();
  await given_up.hangup();
  // The queue has one place, and the engine ends a call after its answer to the BYE.
  await engine.idle();
  const call = await caller.invite('521');
  await call.answered();
  const channel = /(PJSIP\/1001-\S+)/
    .exec(await engine.cli('core show channels concise'))?.[1]
    ?.split('!')[0];
  await engine.cli(`channel redirect ${channel} queue-moved,withdrawn,1`);
  await call.ended();
  await isRecorded('withdrawn');
});

test('conf/queue-outcomes - who may not join is the only warning', async () => {
  const others = (await engine.warnings()).filter(
    (line) => !/Unable to join queue '(small|strict)'/.test(line),
  );
  assert.deepEqual(others, []);
});
