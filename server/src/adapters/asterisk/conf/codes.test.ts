/** The feature codes on a real engine, with no service beside it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { registerPhone } from '../../../../test/support/phone.ts';
import type { Phone } from '../../../../test/support/phone.ts';
import { silent } from '../../../core/log.ts';
import { systemClock } from '../../../core/clock.ts';
import { AmiConnection } from '../ami/connection.ts';
import { header } from '../ami/frame.ts';
import { openTransport, randomTag } from '../phone/transport.ts';
import { until } from '../../../../test/support/until.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { etcDir } from './instance.ts';
import { PASSWORD, company, queue } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';

let engine: TestEngine;
before(async () => {
  const late = queue({
    name: 'late-shift',
    number: '520',
    members: [{ extension: '1007', penalty: 3 }, { extension: '1008' }],
  });
  engine = await startTestEngine(
    company({ feature_codes: FEATURE_CODES, queues: [...company().queues, late] }),
  );
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
const phone = (extension: string): Promise<Phone> =>
  registerPhone({ server: engine.server, extension, password: PASSWORD });
/** A phone that has just hung up is in use for a moment longer, so the members are looked at until they are as expected. */
const shows = (queue: string, members: readonly string[]): Promise<unknown> =>
  until(`${queue}: ${members.join(', ') || 'nobody'}`, async () => {
    const seen = await engine.members(queue);
    return isDeepStrictEqual(seen, members);
  });
const DONE = 'auth-thankyou';
const REFUSED = 'im-sorry';

test('conf/codes - who logs in by *81 has the penalty of the configuration', async () => {
  await using last = await phone('1007');
  await using first = await phone('1008');
  for (const agent of [last, first]) assert.equal(await engine.dial(agent, '*81'), DONE);
  const shown = await engine.cli('queue show late-shift');
  assert.match(shown, /^ +1007 \(.*\) with penalty 3 /m, shown);
  assert.match(shown, /^ +1008 /m);
  assert.doesNotMatch(shown, /^ +1008 .* with penalty/m);
  for (const agent of [last, first]) assert.equal(await engine.dial(agent, '*80'), DONE);
});

test('conf/codes - *81, *22, *23 and *80 act in every queue of the caller and say how it went', async () => {
  await using agent = await phone('1003');
  await using static_agent = await phone('1006');
  await using user = await phone('1001');
  assert.equal(await engine.dial(agent, '*22'), REFUSED, 'in no queue there is nothing to pause');
  assert.equal(await engine.dial(agent, '*81'), DONE);
  await shows('support', ['1003 Not in use', '1006 Not in use']);
  await shows('sales', ['1003 Not in use']);
  assert.equal(await engine.dial(agent, '*81'), DONE, 'a repeat is a success');
  assert.equal(await engine.dial(agent, '*22'), DONE);
  for (const queue of ['support', 'sales']) {
    await shows(
      queue,
      queue === 'support'
        ? ['1003 paused:break Not in use', '1006 Not in use']
        : ['1003 paused:break Not in use'],
    );
  }
  assert.equal(await engine.dial(agent, '*222'), DONE);
  for (const queue of ['support', 'sales']) {
    await shows(
      queue,
      queue === 'support'
        ? ['1003 paused:lunch Not in use', '1006 Not in use']
        : ['1003 paused:lunch Not in use'],
    );
  }
  for (const code of ['*223', '*2212']) assert.equal(await engine.dial(agent, code), REFUSED, code);
  // A reason that is none changes nothing.
  await shows('sales', ['1003 paused:lunch Not in use']);
  assert.equal(await engine.dial(agent, '*23'), DONE);
  await shows('sales', ['1003 Not in use']);
  assert.equal(await engine.dial(agent, '*80510'), DONE);
  assert.equal(await engine.dial(agent, '*80510'), DONE, 'a repeat is a success');
  await shows('sales', []);
  await shows('support', ['1003 Not in use', '1006 Not in use']);
  assert.equal(await engine.dial(agent, '*81510'), DONE);
  await shows('sales', ['1003 Not in use']);
  for (const code of ['*81999', '*80999', '*81600', '*8150'])
    assert.equal(await engine.dial(agent, code), REFUSED, code);
  assert.equal(await engine.dial(agent, '*80'), DONE);
  await shows('sales', []);
  await shows('support', ['1006 Not in use']);
  // A member by configuration pauses like the others and cannot leave.
  assert.equal(await engine.dial(static_agent, '*22'), DONE);
  await shows('support', ['1006 paused:break Not in use']);
  assert.equal(await engine.dial(static_agent, '*80'), REFUSED);
  assert.equal(await engine.dial(static_agent, '*23'), DONE);
  await shows('support', ['1006 Not in use']);
  // An agent of one queue cannot get into another, and who is not an agent gets into none.
  assert.equal(await engine.dial(static_agent, '*81510'), REFUSED);
  for (const code of ['*81', '*81500', '*80', '*22', '*23'])
    assert.equal(await engine.dial(user, code), REFUSED, code);
  await shows('sales', []);
  await shows('support', ['1006 Not in use']);
});

test('conf/codes - an agent that is paused joins further queues by *81 paused', async () => {
  await using agent = await phone('1003');
  assert.equal(await engine.dial(agent, '*81510'), DONE);
  assert.equal(await engine.dial(agent, '*222'), DONE);
  assert.equal(await engine.dial(agent, '*81500'), DONE);
  await shows('sales', ['1003 paused:lunch Not in use']);
  await shows('support', ['1003 paused:login Not in use', '1006 Unavailable']);
  assert.equal(await engine.dial(agent, '*80500'), DONE);
  // A caller who waits could ring a member that joins ready and is paused after that.
  const joined: string[] = [];
  const { ami_port: port, ami_events: account } = engine.instance;
  const events = await AmiConnection.open({
    host: '127.0.0.1',
    port,
    ...account,
    events: 'agent',
    awaitBoot: false,
    clock: systemClock,
    log: silent,
    wants: (name) => name === 'QueueMemberAdded',
    event: (_, frame) => void joined.push(`${frame.get(header('Queue'))} ${frame.get(header('Paused'))}`),
  });
  assert.equal(await engine.dial(agent, '*81'), DONE);
  await until('the member is reported', () => Promise.resolve(joined.length > 0));
  events.close();
  assert.deepEqual(joined, ['support 1']);
  await shows('sales', ['1003 paused:lunch Not in use']);
  await shows('support', ['1003 paused:login Not in use', '1006 Unavailable']);
  assert.equal(await engine.dial(agent, '*23'), DONE);
  await shows('support', ['1003 Not in use', '1006 Unavailable']);
  // A pause ends with the membership, so the next login is ready.
  assert.equal(await engine.dial(agent, '*22'), DONE);
  assert.equal(await engine.dial(agent, '*80'), DONE);
  assert.equal(await engine.dial(agent, '*81'), DONE);
  await shows('sales', ['1003 Not in use']);
  await shows('support', ['1003 Not in use', '1006 Unavailable']);
  assert.equal(await engine.dial(agent, '*80'), DONE);
});

test('conf/codes - a code acts for the endpoint that dials, never for the caller ID or for somebody transferred', async () => {
  await using agent = await phone('1003');
  await using other = await phone('1001');
  assert.equal(await engine.dial(agent, '*81'), DONE);
  // The phone of 1001 says it is 1003.
  const at = `${engine.server.host}:${engine.server.port}`;
  const transport = await openTransport({
    server: engine.server,
    username: '1001',
    password: PASSWORD,
    onRequest() {},
  });
  try {
    const sent = transport.send(
      {
        callId: randomTag(),
        local: `"1003" <sip:1003@${at}>;tag=${randomTag()}`,
        remote: `<sip:*22@${at}>`,
        target: `sip:*22@${at}`,
        cseq: 0,
      },
      'INVITE',
      {
        body: 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n',
      },
    );
    await sent.response;
    await until('the refusal', async () => (await engine.heard('1001')).at(-1) === REFUSED);
  } finally {
    await transport.close();
  }
  // A channel of no endpoint.
  await engine.cli('channel originate Local/*22@internal application Wait 1');
  // 1001 sends the call of 1003 to the code.
  const call = await agent.invite('1001');
  const answered = await other.incoming();
  await answered.answer();
  await call.answered();
  await answered.bridged();
  await answered.transfer('*22');
  await until('the refusal', async () => (await engine.heard('1003')).at(-1) === REFUSED);
  await call.ended();
  await until('1003 unpaused', async () => (await engine.members('support')).includes('1003 Not in use'));
  assert.equal(await engine.dial(agent, '*80'), DONE);
});

test('conf/codes - what was done by phone holds after the engine was restarted', async () => {
  await using agent = await phone('1003');
  assert.equal(await engine.dial(agent, '*81'), DONE);
  assert.equal(await engine.dial(agent, '*222'), DONE);
  await engine.restart();
  await until('1003 reachable and paused as before', async () =>
    (await engine.members('support')).includes('1003 paused:lunch Not in use'),
  );
  await shows('sales', ['1003 paused:lunch Not in use']);
  const call = await agent.invite('601');
  await until('1003 in a call', async () =>
    (await engine.members('sales')).includes('1003 paused:lunch In use'),
  );
  await call.hangup();
  assert.equal(await engine.dial(agent, '*80'), DONE);
});

test('conf/codes - a refusal is all that stands in the log', async () => {
  const meant =
    /Attempt to (un)?pause interface Local\/\d+@queue-agent, not found|Unable to add interface .*: Already there|Unable to remove interface .* is not a dynamic member/;
  assert.deepEqual(
    (await engine.warnings()).filter((line) => !meant.test(line)),
    [],
  );
});

test('conf/codes - the engine has every application that the dialplan calls', async () => {
  const dialplan = await readFile(path.join(etcDir(engine.instance), 'extensions.conf'), 'utf8');
  const applications = new Set(
    [...dialplan.matchAll(/^\s*(?:exten|same) => (?:[^,(]*,)?[^,(]+(?:\([a-z0-9_-]+\))?,([A-Z]\w+)\(/gm)].map(
      (m) => m[1]!,
    ),
  );
  assert.ok(applications.has('PauseQueueMember') && applications.has('Dial'), [...applications].join(' '));
  for (const name of applications) {
    const about = await engine.cli(`core show application ${name}`);
    assert.ok(about.includes(`Info about Application '${name}'`), `${name} is missing: see modules-file.ts`);
  }
});
