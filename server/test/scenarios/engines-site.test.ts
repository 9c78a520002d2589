/** A site with two engines: its own, and one whose people and queue the service follows beside it. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { siteAt } from '../../src/adapters/asterisk/conf/engine-trunks.ts';
import { siteKey, siteSecret } from '../../src/boot/site-key.ts';
import { callsIn, eventsOf } from '../support/call-steps.ts';
import { SECRET, prepareCompany } from '../support/company.ts';
import { ENGINES_FILE } from '../support/second-engine.ts';
import type { SecondEngine } from '../support/second-engine.ts';
import { registerPhone } from '../support/phone.ts';
import { freePort } from '../support/ports.ts';
import { company, extension, queue } from '../support/rendered-company.ts';
import { finishedCalls, onlyCall } from '../support/steps.ts';
import { startTestEngine } from '../support/throwaway-engine.ts';
import type { TestEngine } from '../support/throwaway-engine.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const THERE = ['1003', '1004'];

describe('a site with two engines', () => {
  let other: TestEngine | undefined;
  const site = useSite({
    // Phones are on 127.0.0.1, which must not be the address of an engine.
    host: '127.0.0.2',
    main: path.join(import.meta.dirname, '../support/engines-main.ts'),
    async prepare(dataDir, sip) {
      const engine = { node: 'b', host: '127.0.0.3', port: await freePort() };
      await prepareCompany({
        people: ['1002', ...THERE],
        homes: Object.fromEntries(THERE.map((one) => [one, 'b'])),
        queues: [{ number: '500', agents: ['1003'], engine: 'b' }],
        objects: { engine: [{ ...engine, title: 'The other one' }] },
      })(dataDir);
      const secret = siteSecret(await siteKey(dataDir), 'engines');
      const people = ['1001', '1002', ...THERE].map((one) =>
        extension(one, {
          sip_password: SECRET,
          voicemail: false,
          name: `Person ${one}`,
          engine: THERE.includes(one) ? 'b' : null,
        }),
      );
      const whole = company({
        extensions: people,
        queues: [
          queue({
            name: 'q500',
            number: '500',
            members: [{ extension: '1003', static: true }],
            engine: 'b',
          }),
        ],
        engines: [engine],
      });
      const here = siteAt(whole, 'b', { node: 'ast1', ...sip });
      other = await startTestEngine(here, { ...engine, engine_secret: secret });
      const second: SecondEngine = { engine, instance: other.instance };
      await writeFile(path.join(dataDir, ENGINES_FILE), JSON.stringify(second));
    },
  });
  after(() => other?.[Symbol.asyncDispose]());
  const phoneThere = async (one: string) => {
    const phone = await registerPhone({ server: other!.server, extension: one, password: SECRET });
    const admin = await site().person('1001');
    await until(
      `${one} to be shown as reachable`,
      async () => (await admin.contact(one)).status !== 'offline',
    );
    return phone;
  };

  test('engines - a call between two engines is one conversation in history.php, and contacts.php shows both people', async () => {
    await using here = await site().phone('1002');
    await using there = await phoneThere('1003');
    const admin = await site().person('1001');
    await until('the trunk between the engines', async () =>
      /Contact: +engine-\S+ +\S+ Avail /.test(await site().engineCli('pjsip show contacts')),
    );
    const call = await here.invite('1003');
    const got = await there.incoming(call);
    assert.equal(got.party.number, '1002');
    got.ring();
    await got.answer();
    await call.answered();
    got.play('tone');
    await call.hears(100);
    await until('the answer', () => eventsOf(site(), 'call.answered').length > 0);
    const shown = [await admin.contact('1002'), await admin.contact('1003')];
    await got.hold();
    await call.hears(250);
    await got.retrieve();
    await got.hangup();
    await call.ended();
    const [mine, theirs] = [
      await onlyCall(await site().person('1002')),
      await onlyCall(await site().person('1003')),
    ];
    assert.deepEqual(
      shown.map(({ extension: one, status, presence }) => [one, status, presence.activity]),
      [
        ['1002', 'busy', 'in_call'],
        ['1003', 'busy', 'in_call'],
      ],
    );
    assert.equal(mine.call_key, theirs.call_key);
    // The history may have its end before the journal.
    await until('its end', () => callsIn(site()).ended === 1);
    assert.equal(callsIn(site()).began, 1);
    for (const { talk_seconds, hold_seconds, disposition } of [mine, theirs]) {
      assert.equal(disposition, 'ANSWERED');
      assert.ok(
        talk_seconds >= 1 && hold_seconds >= 1,
        `${talk_seconds} s of talk, ${hold_seconds} s of hold`,
      );
    }
  });

  test('engines - a caller of one engine waits in the queue of the other, and its agent is seen to talk', async () => {
    await using here = await site().phone('1002');
    await using there = await phoneThere('1003');
    const call = await here.invite('500');
    const offer = await there.incoming(call);
    await offer.answer();
    await call.bridged();
    await until('the agent', () => eventsOf(site(), 'agent.talking').length === 1);
    await call.hangup();
    await until('its end', () => callsIn(site()).ended === 2);
    const [row] = await finishedCalls(await site().person('1003'), 2);
    assert.deepEqual([row!.party, row!.queue], ['1002', 'q500']);
  });
});
