import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { createClient } from '@offhook/client';
import type { Client, StreamCursor } from '@offhook/client';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { EVERYONE, mineOf, topicsOf } from '../../src/rights/topics.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { prepareDemo } from '../support/company.ts';
import { readJournal } from '../support/journal.ts';
import { runProgram } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import type { Site } from '../support/site.ts';
import { REPOSITORY } from '../support/sources.ts';
import { comesInEngine, shows, statusIs } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { steadyZone } from '../support/steady-zone.ts';
import { useSite } from '../support/use-site.ts';

const EXAMPLES = path.join(REPOSITORY, 'client/examples');
const example = (name: string, ...args: string[]): Program => runProgram(path.join(EXAMPLES, name), args);

async function passwordOf(site: Site, extension: string): Promise<string> {
  const own = (await site.credentials()).find((c) => c.extension === extension);
  assert.ok(own);
  return own.password;
}
async function clientOf(site: Site, extension: string): Promise<Client> {
  const client = createClient({ base: site.base });
  await client.login({ username: extension, password: await passwordOf(site, extension) });
  return client;
}

/** Lines of the script that controls a call, without the import, the arguments, and the clients' sign-in. */
const SCRIPT_LINES = 10;

describe('sdk', () => {
  // Longer than the wallboard of a busy machine needs to show it.
  const site = useSite({
    env: { OFFHOOK_SITE_ZONE: steadyZone() },
    prepare: prepareDemo((store) => putObjects(store, { queue: [{ name: 'sales', wrap_up_seconds: 60 }] })),
  });

  test('sdk - a wallboard of 30 lines shows a real queue call; killed together with the service, it misses and repeats no event', async () => {
    const admin = await clientOf(site(), (await adminOf(site())).extension);
    const { key } = await admin.apiKeys.create({ name: 'wallboard', scopes: ['queues:read', 'agents:read'] });
    const log = path.join(site().dataDir, 'wallboard.log');
    const start = (): Program => example('wallboard.ts', site().base, key, log);
    await using caller = await site().phone('1001');
    await using agent = await site().phone('1003');
    await statusIs(await site().person('1003'), 'READY');
    const zoe = await clientOf(site(), '1003');

    const board = start();
    await board.says(/^sales: 0 waiting, 0 ringing, 0 talking, 0 in wrap-up, SL -$/);
    const call = await caller.invite('510');
    await board.says(/^sales: 1 waiting/);
    const incoming = await agent.incoming();
    incoming.ring();
    await board.says(/^sales: 1 waiting, 1 ringing/);
    await incoming.answer();
    await board.says(/^sales: 0 waiting, 0 ringing, 1 talking, .* SL 100 %/);
    await call.hangup();
    await board.says(/^sales: 0 waiting, 0 ringing, 0 talking, 1 in wrap-up, SL 100 %$/);
    await zoe.agents.wrapUp('1003', { finish: true });

    // While the wallboard is dead, a caller waits, is answered and leaves.
    await board.kill();
    const unseen = await caller.invite('510');
    const second = await agent.incoming();
    second.ring();
    await second.answer();
    await unseen.answered();

    await using again = start();
    await again.says(/^sales: 0 waiting, 0 ringing, 1 talking/);
    await site().kill('SIGKILL');
    await again.says(/^\(stale\) sales:/);
    // The call continues without the service, and ends without it.
    await unseen.hangup();
    await second.ended();
    const seen = again.lines.length;
    await site().start();
    await again.says(/^sales: 0 waiting, 0 ringing, 0 talking/, seen);
    const third = await caller.invite('510');
    await again.says(/^sales: 1 waiting/, seen);
    const waiting = again.lines.length;
    await third.hangup();
    await again.says(/^sales: 0 waiting, 0 ringing, 0 talking/, waiting);

    const written = async () =>
      (await readFile(log, 'utf8'))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { cursor: StreamCursor; type: string });
    const [first] = await written();
    assert.ok(first);
    const isHeard = (topic: string): boolean => /^(queues|agents)$/.test(topic) || topic === EVERYONE;
    const heard = () =>
      readJournal(site())
        .filter((event) => event.seq >= first.cursor.seq)
        .filter((event) => topicsOf(event as unknown as DomainEvent).some(isHeard))
        .map(({ seq, type }) => `${seq} ${type}`);
    const wanted = heard();
    assert.ok(wanted.length > 20, `only ${wanted.length} events`);
    await until(
      'the log of the wallboard to be the journal',
      async () => {
        const own = (await written()).map(({ cursor, type }) => `${cursor.seq} ${type}`);
        return own.length >= wanted.length;
      },
      { every: 50 },
    );
    const own = (await written()).map(({ cursor, type }) => `${cursor.seq} ${type}`);
    assert.deepEqual(own, heard().slice(0, own.length), 'each event once, in order, and none left out');
    assert.equal(new Set((await written()).map(({ cursor }) => cursor.epoch)).size, 1);
    assert.ok(
      own.some((line) => line.endsWith('engine.resynced')),
      'also what the restart was about',
    );
  });

  test('sdk - a screen pop of 20 lines names the caller while the phone rings', async () => {
    await using pop = example('screen-pop.ts', site().base, '1003', await passwordOf(site(), '1003'));
    await using caller = await site().phone('1001');
    await using phone = await site().phone('1003');
    // The stream reports calls that began after it was open; earlier ones show no pop.
    await until('the pop', async () => {
      const call = await caller.invite('1003');
      const incoming = await phone.incoming();
      incoming.ring();
      const line = await pop
        .says(/\(1001\) calls: https:\/\/crm\.example\.com\/people\?phone=1001$/, 0, 1_000)
        .catch(() => null);
      await call.hangup();
      await incoming.ended();
      return line;
    });
  });

  test('sdk - the buttons of an agent in 20 lines pause and unpause in the real engine, and show the state', async () => {
    const zoe = await site().person('1003');
    await zoe.agent('unpause');
    await using phone = await site().phone('1003');
    await statusIs(zoe, 'READY');
    await using buttons = example('agent-buttons.ts', site().base, '1003', await passwordOf(site(), '1003'));
    await buttons.says(/^live: (available|wrap_up)/);
    buttons.write('pause lunch');
    await buttons.says(/^live: not_ready lunch since/);
    await comesInEngine(site(), 'sales', '1003', /paused:lunch/);
    buttons.write('pause siesta');
    await buttons.says(/^this pause reason does not exist/);
    buttons.write('siesta');
    await buttons.says(/^action: no command has this name/);
    assert.ok(!buttons.lines.some((line) => line.includes('undefined')), buttons.lines.join('\n'));
    const before = buttons.lines.length;
    buttons.write('ready');
    await buttons.says(/^live: available {2}since/, before);
    assert.equal(phone.extension, '1003');
  });

  test('sdk - a script of ten lines calls a customer, transfers the call attended and gets every event; a supervisor listens', async () => {
    const text = await readFile(path.join(EXAMPLES, 'call-control.ts'), 'utf8');
    const own = text
      .split('\n')
      .filter((line) => !/^(\/\*|import|const \[|process\.on|await \w+\.login|$)/.test(line));
    assert.ok(own.length <= SCRIPT_LINES, `${own.length} lines`);
    await using desk = await site().phone('1003');
    await using customer = await site().phone('1010');
    await using colleague = await site().phone('1011');
    await using office = await site().phone('1002');
    const people = ['1003', await passwordOf(site(), '1003'), '1002', await passwordOf(site(), '1002')];
    const zoe = await site().person('1003');
    await Promise.all(['1003', '1002'].map((who) => shows(zoe, who, 'online', 'idle')));
    await using script = example('call-control.ts', site().base, '1010', '1011', ...people);

    const agent = await desk.incoming();
    agent.ring();
    await agent.answer();
    agent.play('tone');
    const other = await customer.incoming();
    other.ring();
    await other.answer();
    other.play('tone');
    const ear = await office.incoming();
    await ear.answer();
    await ear.hears();
    const third = await colleague.incoming();
    third.ring();
    await third.answer();
    third.play('tone');
    await agent.ended();
    await other.hears();
    await third.hears();
    await third.hangup();
    await other.ended();
    await until('the script to end', () => script.exitCode !== null, { seen: () => script.lines.slice(-5) });
    assert.equal(script.exitCode, 0, script.lines.slice(-5).join('\n'));
    const steps = script.lines.map((line) => line.split(' ', 1)[0]);
    for (const step of [
      'call.started',
      'call.ringing',
      'call.answered',
      'call.held',
      'call.joined',
      'call.transferred',
      'operation.completed',
      'call.ended',
    ]) {
      assert.ok(steps.includes(step), `${step}: ${steps.join(' ')}`);
    }
    // What comes after the script ended is none of its steps.
    const newest = Number(/"seq":(\d+)/.exec(script.lines.at(-1) ?? '')?.[1]);
    const journal = readJournal(site())
      .filter(({ seq }) => seq <= newest)
      .filter((event) =>
        topicsOf(event as unknown as DomainEvent).some((t) => t === mineOf('1003') || t === EVERYONE),
      )
      .map(({ type }) => type as string);
    assert.deepEqual(
      steps.filter((step) => step !== 'snapshot'),
      journal.slice(-steps.length + 1),
      'every step, in order, as the journal has it',
    );
  });
});
async function adminOf(site: Site): Promise<{ extension: string }> {
  const found = (await site.credentials()).find((c) => c.level === 'admin');
  assert.ok(found);
  return found;
}
