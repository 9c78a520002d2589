import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { EVERYONE } from '../../src/rights/topics.ts';
import type { Person } from '../support/api.ts';
import { readDatabase } from '../support/journal.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { REPOSITORY } from '../support/sources.ts';
import { finishedCalls, gist, statusIs, talk } from '../support/steps.ts';
import { useSite } from '../support/use-site.ts';
import { openWs } from '../support/ws-client.ts';

const PROGRAM = path.join(REPOSITORY, 'server/src/programs/migrate.ts');
/** Code of a program that kills itself at its n-th line, and not once another process has read that, which may be too late. */
const dyingAt = (line: number): string => `
  let lines = 0;
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream);
    stream.write = (chunk, ...more) => {
      const written = write(chunk, ...more);
      lines += String(chunk).split('\\n').length - 1;
      if (lines >= ${line}) process.kill(process.pid, 'SIGKILL');
      return written;
    };
  }`;

describe('site move', () => {
  let server: TestPostgres;
  let url = '';
  before(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
  });
  const site = useSite();
  after(() => server[Symbol.asyncDispose]());

  /** Runs `npm run migrate`; it kills itself once it has written as many lines as are given. */
  async function migrate(args: readonly string[], killAt?: number) {
    const dies =
      killAt === undefined ? [] : [`--import=data:text/javascript,${encodeURIComponent(dyingAt(killAt))}`];
    const child = spawn(process.execPath, [...dies, PROGRAM, ...args], {
      env: {
        PATH: process.env['PATH'],
        OFFHOOK_DATA: site().dataDir,
        OFFHOOK_DATABASE_URL: url,
        OFFHOOK_SITE_STORE: 'postgres',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, said };
  }
  /** A client with a cursor, which it keeps over the moves. */
  async function client(person: Person) {
    const port = Number(new URL(site().base).port);
    const seqs: number[] = [];
    let epoch = '';
    let cursor: number | undefined;
    return {
      seqs,
      async listen(work: () => Promise<void>): Promise<void> {
        await using ws = await openWs({ port, token: person.token });
        const hello = await ws.next('hello');
        if (cursor !== undefined) assert.equal(hello.epoch, epoch, 'the epoch stayed');
        epoch = hello.epoch;
        const from = cursor === undefined ? {} : { cursor, epoch };
        ws.send({ op: 'subscribe', id: 1, topics: ['agents', 'calls'], ...from });
        const subscribed = await ws.next('subscribed');
        if (cursor !== undefined) await ws.next('resumed');
        cursor ??= subscribed.cursor;
        await work();
        ws.send({ op: 'ping', id: 'end' });
        await ws.next('pong');
        assert.ok(!ws.frames.some((frame) => frame.op === 'gap'), 'nothing was lost');
        seqs.push(...ws.seqs());
        cursor = seqs.at(-1) ?? cursor;
      },
    };
  }
  /** Seq of every event that the client must have. */
  function heard(after: number): number[] {
    const db = readDatabase(path.join(site().dataDir, 'journal.db'));
    try {
      return db
        .prepare('select seq, topics from journal where seq > ? order by seq')
        .all(after)
        .filter(({ topics }) =>
          String(topics)
            .split(' ')
            .some((name) => ['agents', 'calls', EVERYONE].includes(name)),
        )
        .map(({ seq }) => Number(seq));
    } finally {
      db.close();
    }
  }
  const talkOnce = async (): Promise<void> => {
    await using a = await site().phone('1007');
    await using b = await site().phone('1008');
    const [call] = await talk(a, b);
    await call.hangup();
  };

  /** Blocks a caller; the rule gets a number that no other one has. */
  async function block(person: Person, number: string): Promise<void> {
    const response = await fetch(`${site().base}/api/v1/caller-rules`, {
      method: 'POST',
      headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ number }),
    });
    assert.equal(response.status, 201, await response.text());
  }

  test('site move - into PostgreSQL and back: people stay signed in, agents and history stay, cursors go on', async () => {
    const [hanako, agent] = [await site().person('1007'), await site().person('1003')];
    await agent.agent('login');
    await agent.agent('pause', { reason: 'break' });
    await block(agent, '+4930555771');
    const listener = await client(await site().person('1002'));
    await listener.listen(async () => {
      await talkOnce();
      await finishedCalls(hanako, 1);
    });
    const refused = await migrate([]);
    assert.equal(refused.code, 1);
    assert.match(refused.said, /another Offhook \(process \d+\) uses/);

    await site().kill('SIGUSR2');
    for (const line of [3, 20]) assert.equal((await migrate([], line)).code, null, 'it was killed');
    assert.ok(existsSync(path.join(site().dataDir, 'offhook.db')));
    const there = await migrate([]);
    assert.equal(there.code, 0, there.said);
    assert.match(there.said, /the cursors of clients go on/);

    await site().start('ready', { OFFHOOK_SITE_STORE: 'postgres', OFFHOOK_DATABASE_URL: url });
    await listener.listen(async () => {
      await talkOnce();
      await finishedCalls(hanako, 2);
    });
    await statusIs(agent, 'PAUSED', 'break');
    await block(agent, '+4930555772');
    await agent.agent('unpause');
    assert.match((await migrate(['--back'])).said, /another Offhook \(process \d+\) uses/);

    await site().kill('SIGUSR2');
    const without = await migrate([]);
    assert.match(without.said, /offhook\.db is not there/);
    const back = await migrate(['--back']);
    assert.equal(back.code, 0, back.said);
    await assert.rejects(site().start(), /holds a site that is not in PostgreSQL/);
    await site().start('ready', { OFFHOOK_SITE_STORE: '', OFFHOOK_DATABASE_URL: '' });
    await listener.listen(async () => {
      await talkOnce();
      const calls = await finishedCalls(hanako, 3);
      await block(agent, '+4930555773');
      assert.deepEqual(calls.map(gist), Array(3).fill('out 1008 ANSWERED -'));
    });
    const [first = 0, last = 0] = [listener.seqs[0], listener.seqs.at(-1)];
    assert.deepEqual(
      listener.seqs,
      heard(first - 1).filter((seq) => seq <= last),
      'each event once, in order',
    );
    assert.ok(listener.seqs.length > 10, `${listener.seqs.length} events`);
    await agent.agent('pause', { reason: 'break' });
    await statusIs(agent, 'PAUSED', 'break');
  });
});
