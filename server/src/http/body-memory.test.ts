import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { z } from 'zod';
import { authenticatorWithKeys, hostFixture } from '../../test/support/host-fixture.ts';
import { until } from '../../test/support/until.ts';

const MIB = 1024 * 1024;

async function rig(t: TestContext) {
  const scopes = ['config:write'] as const;
  const host = await hostFixture({
    authenticator: authenticatorWithKeys({
      other: { id: 2, scopes },
      third: { id: 3, scopes },
      fourth: { id: 4, scopes },
    }),
    limits: { bodyMemoryBytes: 8 * MIB },
  });
  let gate = Promise.resolve();
  let working = 0;
  host.app.post(
    '/api/v1/document',
    {
      config: { level: 'admin', scope: 'config:write', bodyBytes: 2 * MIB, errors: [] },
      schema: { body: z.strictObject({ text: z.string() }) },
    },
    async ({ body }) => {
      working += 1;
      await gate;
      working -= 1;
      return { bytes: body.text.length };
    },
  );
  host.app.post(
    '/api/mobile/public.php',
    { config: { level: 'public', body: 'form' }, schema: { body: z.object({ text: z.string() }) } },
    ({ body }) => ({ bytes: body.text.length }),
  );
  t.after(() => host.close());
  const { port } = await host.listen({ host: '127.0.0.1', port: 0 });
  const head = (who: string, more: string): string =>
    who === ''
      ? `POST /api/mobile/public.php HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}\r\n\r\n`
      : `POST /api/v1/document HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${who}\r\nContent-Type: application/json\r\n${more}\r\n\r\n`;
  /** Sends a head and the start of a body; `answer` is the reply so far. */
  function begin(who: string, more: string) {
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    t.after(() => socket.destroy());
    socket.write(`${head(who, more)}{"text":"`);
    return { socket, answer: () => text };
  }
  const whole = async (who: string, bytes: number) => {
    const reply = await fetch(`http://127.0.0.1:${port}/api/v1/document`, {
      method: 'POST',
      headers: { authorization: `Bearer ${who}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'x'.repeat(bytes) }),
    });
    const { code } = (await reply.json()) as { code?: string };
    return [reply.status, code, reply.headers.get('retry-after')];
  };
  const stranger = async (bytes: number): Promise<number> => {
    const body = new URLSearchParams({ text: 'x'.repeat(bytes) });
    return (await fetch(`http://127.0.0.1:${port}/api/mobile/public.php`, { method: 'POST', body })).status;
  };
  return {
    begin,
    whole,
    stranger,
    port,
    hold: (until: Promise<void>): void => void (gate = until),
    working: () => working,
  };
}

test('body memory - slow large bodies of one caller leave room for another, and for its own once they end', async (t) => {
  const { begin, whole } = await rig(t);
  const slow = Array.from({ length: 20 }, () => begin('token-admin', `Content-Length: ${2 * MIB}`));
  await until('the refusals', () => slow.filter(({ answer }) => answer() !== '').length >= 18);
  for (const { answer } of slow)
    assert.match(answer(), /^$|^HTTP\/1\.1 429 [^]*retry-after: 10\r\n[^]*"code":"too_many_requests"/);
  assert.deepEqual(await whole('key-other', MIB), [200, undefined, null]);
  assert.deepEqual(await whole('token-admin', MIB), [429, 'too_many_requests', '10']);
  for (const { socket } of slow) socket.destroy();
  await until('room again', async () => (await whole('token-admin', MIB))[0] === 200);
});

test('body memory - all bodies together never exceed the limit; a caller without a share gets 503', async (t) => {
  const { begin, whole } = await rig(t);
  // Half, a quarter, an eighth: each caller leaves as much free as it takes.
  for (const [who, bytes] of [
    ['token-admin', 2 * MIB],
    ['token-admin', 2 * MIB],
    ['key-other', 2 * MIB],
    ['key-third', MIB],
  ] as const)
    assert.equal(
      await new Promise((resolve) =>
        begin(who, `Content-Length: ${bytes}\r\nExpect: 100-continue`).socket.once('data', (answer) =>
          resolve(/\d{3}/.exec(String(answer).slice(9))![0]),
        ),
      ),
      '100',
    );
  assert.deepEqual(await whole('key-fourth', MIB), [503, 'overloaded', '10']);
  assert.deepEqual(await whole('key-fourth', MIB / 4), [200, undefined, null]);
});

test('body memory - a body of no stated length counts as the longest, and a handler without its client still counts', async (t) => {
  const { begin, whole, hold, working } = await rig(t);
  const chunked = [1, 2].map(() => begin('token-admin', 'Transfer-Encoding: chunked'));
  await until('both hold', async () => (await whole('token-admin', MIB))[0] === 429);
  for (const { socket } of chunked) socket.destroy();
  await until('they are gone', async () => (await whole('token-admin', MIB))[0] === 200);

  const gate = Promise.withResolvers<void>();
  hold(gate.promise);
  const body = `${'x'.repeat(2 * MIB - 100)}"}`;
  const sent = [1, 2].map(() => begin('token-admin', `Content-Length: ${body.length + 9}`));
  for (const { socket } of sent) socket.write(body);
  await until('both run', () => working() === 2);
  for (const { socket } of sent) socket.destroy();
  assert.deepEqual(await whole('token-admin', MIB), [429, 'too_many_requests', '10']);
  gate.resolve();
  await until('they are done', async () => (await whole('token-admin', MIB))[0] === 200);
});

test('body memory - strangers hold no more than a share of it, and small bodies are taken all the same', async (t) => {
  const { begin, whole, stranger } = await rig(t);
  const slow = Array.from({ length: 100 }, () => begin('', 'Content-Length: 65000'));
  // 64 of them are half of 8 MiB.
  await until('the refusals', () => slow.filter(({ answer }) => / 429 /.test(answer())).length === 36);
  assert.equal(await stranger(1_000), 200);
  assert.equal(await stranger(60_000), 429);
  assert.deepEqual(await whole('token-admin', MIB), [200, undefined, null]);
  for (const { socket } of slow) socket.destroy();
  await until('room again', async () => (await stranger(60_000)) === 200);
});
