import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { TOOLS, installTools } from '../../../tools/install.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const site = useSite({ wait: 'answers' });
const text = fs.readFileSync(new URL('../../../docs/streams.md', import.meta.url), 'utf8');
const samples = [...text.matchAll(/^## (\S+)\n[^]*?^```js\n([^]*?)^```$/gm)].map(
  ([, name, code]) => [name!, code!] as const,
);

/** Refuses connections in place of the service until `count` programs have tried. */
async function refuseEach(programs: number): Promise<void> {
  const asked = new Set<string>();
  const server = http.createServer((request, response) => {
    asked.add(String(request.url).replace(/&cursor=\d+$/, ''));
    response.writeHead(503, { connection: 'close' }).end();
  });
  server.listen(Number(new URL(site().base).port), '127.0.0.1');
  await until('each program was refused', () => asked.size >= programs, {
    seen: () => [...asked],
  });
  server.close();
  await once(server, 'close');
}

test('stream samples - each program of docs/streams.md runs as printed, and continues after a restart', async (t) => {
  assert.deepEqual(
    samples.map(([name]) => name),
    ['WebSocket', 'fetch', 'ws', 'eventsource'],
  );
  await installTools();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-samples-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.symlinkSync(path.join(TOOLS, 'node_modules'), path.join(folder, 'node_modules'));
  const { token } = await site().person('1001');
  const heard = new Map<string, string>();
  for (const [name, code] of samples) {
    const file = path.join(folder, `${name}.mjs`);
    fs.writeFileSync(file, code);
    const child = spawn(process.execPath, [file, site().base, token], { stdio: ['ignore', 'pipe', 'pipe'] });
    t.after(() => child.kill());
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part: Buffer) => heard.set(name, (heard.get(name) ?? '') + String(part)));
  }
  const all = (what: string, count: number) =>
    until(
      `every sample prints ${what} ${count} times`,
      () => samples.every(([name]) => (heard.get(name) ?? '').split(what).length > count),
      { seen: () => Object.fromEntries(heard) },
    );
  const change = async (note: string) => {
    const reply = await fetch(`${site().base}/api/v1/presence`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ personal: 'away', note }),
    });
    assert.equal(reply.status, 200, await reply.text());
  };
  await all('snapshot', 1);
  await change('first');
  await all('presence.changed', 1);
  await site().kill('SIGKILL');
  await refuseEach(samples.length);
  await site().start('answers');
  await change('second');
  await all('presence.changed', 2);
});
