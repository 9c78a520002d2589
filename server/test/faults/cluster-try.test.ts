import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openPostgresSiteNodes } from '../../src/adapters/postgres/site-nodes.ts';
import { signIn } from '../support/api.ts';
import { registerPhone } from '../support/phone.ts';
import { GiveUp, until } from '../support/until.ts';
import { REPOSITORY } from '../support/sources.ts';

/** Processes whose command names the folder. */
const processesOf = (folder: string): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return command.includes(folder) ? [`${pid} ${command}`] : [];
      } catch {
        return [];
      }
    });

test('cluster try - a site of several nodes runs on one machine, and leaves nothing', async () => {
  const child = spawn(process.execPath, ['server/src/programs/cluster.ts', 'try'], { cwd: REPOSITORY });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  let folder = '';
  try {
    await until(
      'the site to be ready',
      () => {
        if (child.exitCode !== null) throw new GiveUp('it ended');
        return said.includes('Ctrl-C ends all of it');
      },
      { ms: 300_000, every: 100, seen: () => ({ said }) },
    );
    const found = (pattern: RegExp): string => pattern.exec(said)?.[1] ?? assert.fail(said);
    const file = found(/passwords +(\S+)/);
    folder = path.dirname(path.dirname(file));
    const nodes = openPostgresSiteNodes(found(/OFFHOOK_DATABASE_URL='(.+)' npm run cluster -- status/));
    try {
      const seen = await nodes.list();
      assert.deepEqual(seen.map(({ name, role }) => `${name} ${role}`).toSorted(), [
        'a active',
        'b standby',
        'w1 web',
        'w2 web',
        'w3 web',
      ]);
    } finally {
      await nodes.close();
    }
    // A node is ready without NATS, to which it connects beside its start.
    await until('NATS at a web node', async () => {
      const response = await fetch(`${found(/web node w2 +(\S+)/)}/readyz`);
      const { checks } = (await response.json()) as { checks: Readonly<Record<string, string>> };
      return checks['bus'] === 'ok';
    });
    const people = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly extension: string;
      readonly password: string;
      readonly sip_password: string;
    }[];
    const one = people.find(({ extension }) => extension === '1001') ?? assert.fail('nobody at 1001');
    await signIn(found(/web node w3 +(\S+)/), one.extension, one.password);
    const [host = '', port = ''] = found(/desk phones +(\S+)/).split(':');
    await using phone = await registerPhone({
      server: { host, port: Number(port) },
      extension: one.extension,
      password: one.sip_password,
    });
    assert.equal(phone.extension, '1001');
  } finally {
    child.kill('SIGTERM');
    const [code] = await closed;
    assert.equal(code, 0, said);
  }
  assert.equal(existsSync(folder), false);
  assert.deepEqual(processesOf(folder), []);
});
