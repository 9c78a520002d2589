import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { NoFields } from '@offhook/contract/session.ts';
import { siteFixture } from '../../test/support/sessions-fixture.ts';

test('late body - a session that ends while the body is on its way does nothing more', async (t) => {
  let runs = 0;
  const site = await siteFixture({
    routes: (app) =>
      app.post('/api/v1/late', { config: { level: 'user' }, schema: { body: NoFields } }, () => {
        runs += 1;
        return { success: true };
      }),
  });
  t.after(() => site.close());
  const { port } = await site.host.listen({ host: '127.0.0.1', port: 0 });
  /** The answer to a request whose body is sent after `meanwhile`. */
  const late = async (token: string, meanwhile: () => Promise<void>): Promise<string> => {
    const socket = net.connect(port, '127.0.0.1');
    socket.write(
      `POST /api/v1/late HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n` +
        'Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n',
    );
    // The service writes this once it has the head, and checks the head before it reads more.
    const [head] = (await once(socket, 'data')) as [Buffer];
    assert.match(head.toString('latin1'), /^HTTP\/1\.1 100 /);
    await meanwhile();
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write('{}');
    await once(socket, 'close');
    return Buffer.concat(chunks).toString('latin1');
  };
  const token = await site.signIn('1005');
  assert.match(await late(token, async () => {}), /^HTTP\/1\.1 200 /);
  const caller = (await site.sessions.authenticate(token))!;
  const answer = await late(token, () => site.sessions.logout(caller, '192.0.2.1'));
  assert.match(answer, /^HTTP\/1\.1 401 /);
  assert.match(answer, /"code":"not_authenticated"/);
  assert.equal(runs, 1);
});
