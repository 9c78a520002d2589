import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { isDeepStrictEqual, promisify } from 'node:util';
import { loadInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import { findLiving, lives } from '../../src/adapters/asterisk/process/living.ts';
import { apply, ask, begin, held, newest } from '../support/config-steps.ts';
import { eventsOf } from '../support/call-steps.ts';
import type { FaultFile } from '../support/faulty-main.ts';
import { readDatabase, readJournal } from '../support/journal.ts';
import { REPOSITORY } from '../support/sources.ts';
import { finishedCalls, inEngine } from '../support/steps.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('config apply faults', () => {
  const site = useSite({ main: path.join(REPOSITORY, 'server/test/support/faulty-main.ts') });
  const file = (name: string): string => path.join(site().dataDir, name);
  const conf = (name: string): string => path.join(site().dataDir, 'engine', 'etc', name);
  const fault = (what: FaultFile): Promise<void> => writeFile(file('fault.json'), JSON.stringify(what));
  /** The engine works through a reload after its answer. */
  const holdsAgain = async (before: readonly string[]): Promise<void> => {
    let now: readonly string[] = [];
    await until(
      'the engine to hold what it held before',
      async () => isDeepStrictEqual((now = await held(site())), before),
      { seen: () => now.filter((line) => !before.includes(line)) },
    );
  };
  const extension = { extension: '1013', username: 'newcomer', name: 'New Comer' };

  afterEach(async () => {
    await fault({});
    await ask(site(), 'DELETE', '/draft');
  });

  for (const [broken, name, words] of [
    ['option', 'pjsip_endpoints.conf', /no_such_option/],
    ['bracket', 'pjsip_endpoints.conf', /no closing '\]'/],
    ['application', 'extensions.conf', /NoSuchApplication/],
    ['priority', 'extensions.conf', /1004/],
  ] as const) {
    test(`config apply faults - a broken ${broken} that passed validation and proof is rolled back`, async () => {
      await ask(site(), 'POST', '/extensions', extension);
      const before = await held(site());
      const text = await readFile(conf(name), 'utf8');
      const seq = readJournal(site()).at(-1)?.seq ?? 0;
      await fault({ broken });
      const done = await apply(site());
      await fault({});
      assert.equal(done.state, 'rolled_back', JSON.stringify(done));
      assert.match(done.problems.map((p) => `${p.object}: ${p.words}`).join('\n'), words);
      await holdsAgain(before);
      assert.equal(await readFile(conf(name), 'utf8'), text);
      assert.ok(existsSync(`${conf(name)}.bak`));
      await until('config.rolled_back on the stream', () =>
        readJournal(site()).some((e) => e.seq > seq && e.type === 'config.rolled_back'),
      );
    });
  }

  test('config apply faults - a removed and restored queue has its members and their pauses', async () => {
    await (await site().person('1003')).agent('pause', { reason: 'training' });
    await inEngine(site(), 'sales', '1003', /paused:training/);
    await ask(site(), 'DELETE', '/queues/sales');
    await fault({ lie: true });
    const done = await apply(site());
    await fault({});
    assert.equal(done.state, 'rolled_back', JSON.stringify(done));
    await until('the members of sales as before', async () => {
      const shown = await site().engineCli('queue show sales');
      return /Local\/1003@.*paused:training/.test(shown) && /Local\/1004@/.test(shown);
    });
    assert.equal((await (await site().person('1003')).agent('get_status')).pause_reason, 'training');
  });

  for (const hang of ['writing', 'written', 'reloading', 'reloaded', 'verified'] as const) {
    test(`config apply faults - killed while ${hang}: the next start restores files and engine`, async () => {
      const before = await held(site());
      await ask(site(), 'POST', '/extensions', extension);
      await ask(site(), 'DELETE', '/queues/sales');
      await rm(file('at'), { force: true });
      await fault({ hang });
      await begin(site());
      await until(`it is ${hang}`, () => existsSync(file('at')));
      await site().kill('SIGKILL');
      await fault({});
      await site().start();
      const done = await newest(site());
      assert.equal(done.state, 'rolled_back', JSON.stringify(done));
      assert.match(done.detail ?? '', /The service ended while it was/);
      await until('the members of sales as before', async () =>
        /Local\/1003@.*paused:training/.test(await site().engineCli('queue show sales')),
      );
      await holdsAgain(before);
      const { files } = (await ask(site(), 'GET', '/drift')) as { files: unknown[] };
      assert.deepEqual(files, []);
    });
  }

  test('config apply faults - killed after a reload: no call is reported as lost', async () => {
    await using a = await site().phone('1007');
    await using b = await site().phone('1008');
    const talks = async (count: number): Promise<void> => {
      const call = await a.invite('1008');
      await (await b.incoming(call)).answer();
      await call.answered();
      await call.hangup();
      await finishedCalls(await site().person('1007'), count);
    };
    await talks(1);
    await ask(site(), 'POST', '/extensions', extension);
    await ask(site(), 'PATCH', '/queues/sales', { members: [{ extension: '1009', static: true }] });
    await rm(file('at'), { force: true });
    await fault({ hang: 'reloaded' });
    await begin(site());
    await until('it is reloaded', () => existsSync(file('at')));
    await site().kill('SIGKILL');
    const killed = Date.now();
    await fault({});
    await site().start();
    await talks(2);
    await until('the absence to be searched for lost calls', () => {
      using store = readDatabase(file('offhook.db'));
      const row = store.prepare("select value from history_facts where key = 'proof'").get();
      const { absences, open } = JSON.parse(String(row?.['value'])) as Record<string, { to: number }[]>;
      return open!.length === 0 && absences!.some(({ to }) => to > killed);
    });
    assert.deepEqual(eventsOf(site(), 'history.gap'), []);
  });

  test('config apply faults - killed during the proof: the next start ends and removes the throw-away engine', async () => {
    const shadows = async (): Promise<string[]> =>
      (await readdir(path.join(site().dataDir, 'engine'))).filter((name) => name.startsWith('shadow-'));
    await ask(site(), 'PATCH', '/queues/support', { ring_seconds: 33 });
    await promisify(execFile)('mkfifo', [file('pipe')]);
    await fault({ log: file('pipe') });
    await begin(site());
    const shadow = await until('a throw-away engine', async () => {
      const [name] = await shadows();
      const instance = name === undefined ? null : loadInstance(path.join(site().dataDir, 'engine', name));
      return instance && findLiving(instance);
    });
    await site().kill('SIGKILL');
    assert.ok(lives(shadow));
    await fault({});
    await site().start();
    assert.equal((await newest(site())).state, 'rejected');
    assert.deepEqual(await shadows(), []);
    assert.ok(!lives(shadow));
  });

  test('config apply faults - a file changed by hand is reported, and never overwritten silently, not even at a start', async () => {
    await appendFile(conf('queues.conf'), '\n; by hand\n');
    await ask(site(), 'PATCH', '/queues/support', { title: 'Another title', ring_seconds: 21 });
    await assert.rejects(ask(site(), 'POST', '/applies', {}), /409.*config_drift.*queues\.conf/s);
    await site().kill('SIGKILL');
    await site().start();
    assert.match(await readFile(conf('queues.conf'), 'utf8'), /; by hand/);
    const { files } = (await ask(site(), 'GET', '/drift')) as { files: { name: string; diff: string }[] };
    assert.deepEqual(
      files.map((f) => f.name),
      ['queues.conf'],
    );
    assert.match(files[0]!.diff, /^\+; by hand$/m);
    const done = await apply(site(), { overwrite_drift: true });
    assert.equal(done.state, 'applied', JSON.stringify(done));
    assert.doesNotMatch(await readFile(conf('queues.conf'), 'utf8'), /; by hand/);
    assert.match(await readFile(`${conf('queues.conf')}.bak`, 'utf8'), /; by hand/);
  });
});
