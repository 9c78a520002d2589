import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { freePort } from '../../../test/support/ports.ts';
import { until } from '../../../test/support/until.ts';
import { newSecret, signatures } from './signature.ts';

test('webhooks - the receiver in docs/webhooks.md accepts our signatures and no others', async (t) => {
  const document = await readFile(new URL('../../../../docs/webhooks.md', import.meta.url), 'utf8');
  const source = /```js\n([\s\S]+?)```/.exec(document)?.[1] ?? '';
  assert.ok(source.trimEnd().split('\n').length <= 12);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-receiver-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'receiver.mjs');
  await writeFile(file, source);
  const [secret, before, port] = [newSecret(), newSecret(), await freePort()];
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => void child.kill());
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));

  const now = Math.floor(Date.now() / 1_000);
  const body = JSON.stringify({ type: 'call.ringing', data: { name: 'Zoë' } });
  const post = async (time: number, signature: string, text = body): Promise<number> => {
    const headers = {
      'webhook-id': 'e1:7',
      'webhook-timestamp': String(time),
      'webhook-signature': signature,
    };
    return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: text })).status;
  };
  const signed = (secrets: readonly string[], time = now): string => signatures(secrets, 'e1:7', time, body);
  await until('the receiver', () => post(now, '').catch(() => null));
  assert.equal(await post(now, signed([secret])), 204);
  assert.equal(await post(now, signed([before, secret])), 204, 'while a secret is being replaced');
  assert.equal(await post(now, signed([before])), 401, 'another secret');
  assert.equal(
    await post(now, signed([secret]), body.replace('7', '8').replace('Zoë', 'Eva')),
    401,
    'another body',
  );
  assert.equal(await post(now - 400, signed([secret], now - 400)), 401, 'too old');
  assert.equal(await post(now + 400, signed([secret], now + 400)), 401, 'from the future');
  assert.equal(said, 'e1:7 call.ringing\n'.repeat(2));
});
