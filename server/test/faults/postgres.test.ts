import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { signIn } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import type { Phone } from '../support/phone.ts';
import { PASSWORD, startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { finishedCalls, gist, statusIs, talk } from '../support/steps.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('postgres faults', () => {
  let server: TestPostgres;
  let url = '';
  before(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
  });
  const site = useSite(() => ({ env: { OFFHOOK_DATABASE_URL: url } }));
  after(() => server[Symbol.asyncDispose]());

  /** Requests the history, far less long than a connection without an answer takes. */
  async function ask(person: Person) {
    const response = await fetch(`${site().base}/api/mobile/history.php`, {
      headers: { authorization: `Bearer ${person.token}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { code } = (await response.json()) as { code?: string };
    return { status: response.status, code, after: response.headers.get('retry-after') };
  }
  async function refusesSoon(person: Person, times = 1): Promise<void> {
    for (const answer of await Promise.all(Array.from({ length: times }, () => ask(person)))) {
      assert.deepEqual(answer, { status: 503, code: 'store_unavailable', after: '5' });
    }
  }
  const recordsCheck = async (): Promise<unknown[]> => {
    const response = await fetch(`${site().base}/readyz`);
    const { checks } = (await response.json()) as { checks: Record<string, string> };
    return [response.status, checks['records']];
  };
  async function talkOnce(from: Phone, to: Phone): Promise<void> {
    const [call] = await talk(from, to);
    await call.hangup();
  }
  /** Checks every part of live work. */
  async function liveWorkGoesOn(from: Phone, to: Phone, agent: Person): Promise<void> {
    const { password } = (await site().credentials()).find((c) => c.extension === agent.extension)!;
    const again = await signIn(site().base, agent.extension, password);
    await again.agent('pause', { reason: 'break' });
    await statusIs(agent, 'PAUSED', 'break');
    await again.agent('unpause');
    await talkOnce(from, to);
    assert.equal((await again.contacts()).success, true);
  }

  test('postgres faults - frozen, then killed: live work continues, history is refused soon, and complete afterwards', async () => {
    await using a = await site().phone('1007');
    await using b = await site().phone('1008');
    const [hanako, agent] = [await site().person('1007'), await site().person('1003')];
    await agent.agent('login');
    await talkOnce(a, b);
    await finishedCalls(hanako, 1);
    assert.deepEqual(await recordsCheck(), [200, 'ok']);

    server.freeze();
    try {
      await refusesSoon(hanako, 40);
      await liveWorkGoesOn(a, b, agent);
      await refusesSoon(hanako, 40);
      assert.deepEqual(await recordsCheck(), [200, 'failing']);
    } finally {
      server.resume();
    }
    await finishedCalls(hanako, 2);

    await server.kill();
    await refusesSoon(hanako, 40);
    await liveWorkGoesOn(a, b, agent);
    await refusesSoon(hanako);
    await server.start();
    const calls = await finishedCalls(hanako, 3);
    assert.deepEqual(calls.map(gist), Array(3).fill('out 1008 ANSWERED -'));
    assert.equal(new Set(calls.map((call) => call.call_key)).size, 3);
    await until('the check to be well', async () => (await recordsCheck())[1] === 'ok');
  });

  test('postgres faults - the service starts without it, and the missed records are stored later', async () => {
    await using a = await site().phone('1009');
    await using b = await site().phone('1010');
    const nour = await site().person('1009');
    await talkOnce(a, b);
    await finishedCalls(nour, 1);
    await server.kill();
    await site().kill('SIGKILL');
    await talkOnce(a, b);
    await site().start();
    await refusesSoon(nour);
    assert.deepEqual(await recordsCheck(), [200, 'failing']);
    await talkOnce(a, b);
    await server.start();
    const calls = await finishedCalls(nour, 3);
    assert.deepEqual(calls.map(gist), Array(3).fill('out 1010 ANSWERED -'));
  });

  test('postgres faults - another session locks the tables: refused soon, and as before afterwards', async () => {
    const person = await site().person('1011');
    assert.equal((await ask(person)).status, 200);
    const other = new Client({ connectionString: url });
    await other.connect();
    try {
      await other.query('begin; lock table history_rows in access exclusive mode');
      await refusesSoon(person, 40);
      await other.query('rollback');
    } finally {
      await other.end();
    }
    await until('the history to answer again', async () => (await ask(person)).status === 200);
  });

  test('postgres faults - an administrator ends its sessions: the service reconnects by itself', async () => {
    const person = await site().person('1011');
    const { rows } = await terminate();
    assert.ok(rows > 0, 'the service had no session');
    await until('the service to come back by itself', async () => (await ask(person)).status === 200);
    async function terminate(): Promise<{ rows: number }> {
      const ended = await server.run(
        url,
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'offhook-%'`,
      );
      return { rows: ended.length };
    }
  });

  test('postgres faults - the password is in no log and no output', async () => {
    const log = await readFile(path.join(site().dataDir, 'logs', 'offhook.log'), 'utf8');
    assert.match(log, /PostgreSQL at 127\.0\.0\.1/);
    for (const text of [log, site().tail(400)]) {
      for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)])
        assert.equal(text.includes(secret), false);
    }
  });
});
