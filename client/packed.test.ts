import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { scriptedStream } from '../server/test/support/scripted-stream.ts';
import { packSdk } from '../scripts/pack-sdk.ts';

const PROGRAM = `
import { createClient, OffhookError } from '@offhook/client';
const offhook = createClient({ base: process.argv[2], token: 'x' });
console.log(await offhook.queues.get('support').catch((e) => e instanceof OffhookError && e.code));
for await (const event of offhook.stream({ topics: ['queues'] })) { console.log(event.type); break; }
`;
/** Compiles only with the contract's own types, not with \`any\` or \`unknown\`. */
const CONSUMER = `
import { createClient, OffhookError } from '@offhook/client';
import type { StreamItem } from '@offhook/client';
import type { NewWebhook, Webhook } from '@offhook/client/contract/webhooks';
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const yes = <T extends true>(_: T | null = null): void => undefined;
const offhook = createClient({ base: 'http://127.0.0.1:8080' });
const { webhooks } = await offhook.webhooks.list();
yes<Same<(typeof webhooks)[number], Webhook>>();
yes<Same<Webhook['types'], string[] | null>>();
yes<Same<Webhook['disabled_reason'], 'request' | 'gone' | 'failing' | 'no_owner' | 'not_allowed' | null>>();
yes<Same<NewWebhook['enabled'], boolean>>();
await offhook.webhooks.create({ url: 'https://crm.example.com', topics: ['calls'] });
// @ts-expect-error a webhook has topics
await offhook.webhooks.create({ url: 'https://crm.example.com' });
// @ts-expect-error no such field
await offhook.agents.pause('1003', { reasn: 'lunch' });
const store = offhook.store('queues');
for (const [name, { stats }] of store) console.log(name, stats?.service_level?.toFixed(2));
export function heard(event: StreamItem): string {
  if (event.type === 'call.answered') return event.data.leg.name;
  if (event.type === 'snapshot' || event.type === 'gap') return event.type;
  return event.id + JSON.stringify(event.data);
}
for await (const event of offhook.stream({ topics: ['calls'] })) {
  if ('data' in event) console.log(event.type, event.data);
}
export const code = (error: OffhookError): boolean => error.code === 'outcome_unknown';
`;

test('client - packed it runs in plain Node and holds for a strict compiler, without zod and without the clone', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-consumer-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const tarball = packSdk(folder);
  const write = (name: string, text: string): void => fs.writeFileSync(path.join(folder, name), text);
  write('package.json', JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
  const npm = spawnSync('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], {
    cwd: folder,
    encoding: 'utf8',
  });
  assert.equal(npm.status, 0, npm.stderr);
  assert.deepEqual(
    fs.readdirSync(path.join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['@offhook'],
  );

  const server = await scriptedStream(t);
  const problem = { status: 404, code: 'no_such_queue', detail: 'there is none' };
  server.answer('/api/v1/queues/support', 404, problem);
  write('program.js', PROGRAM);
  const flags = ['--no-experimental-strip-types', 'program.js', server.base];
  const running = promisify(execFile)(process.execPath, flags, { cwd: folder, timeout: 60_000 });
  const link = await server.link(0);
  link.send({
    op: 'hello',
    protocol: 'offhook.v1',
    epoch: 'e1',
    head: 0,
    heartbeat_seconds: 15,
    level: 'agent',
  });
  const { id, topics } = await link.heard('subscribe');
  link.send({ op: 'subscribed', id, topics, cursor: 5 });
  link.send({ op: 'gap', from: 1, to: 5, reason: 'cursor_outdated' });
  assert.equal((await running).stdout, 'no_such_queue\ngap\n');

  write('consumer.ts', CONSUMER);
  // Both kinds of program: one that has only the browser's types, one that has only Node's.
  const strict = {
    strict: true,
    noEmit: true,
    target: 'es2024',
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
  };
  const kinds = [
    { module: 'nodenext', lib: ['es2024', 'esnext.iterator', 'dom'], types: [] },
    { module: 'esnext', moduleResolution: 'bundler', lib: ['es2024', 'dom'], types: [] },
  ];
  const tsc = path.resolve(import.meta.dirname, '../node_modules/.bin/tsc');
  for (const kind of kinds) {
    write(
      'tsconfig.json',
      JSON.stringify({ compilerOptions: { ...strict, ...kind }, files: ['consumer.ts'] }),
    );
    const { status, stdout } = spawnSync(tsc, ['-p', '.'], { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0, stdout);
  }
});
