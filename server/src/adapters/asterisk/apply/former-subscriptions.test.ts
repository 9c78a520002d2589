/** Subscriptions of desk phones that lost their password or their person, on a real engine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PASSWORD, company } from '../../../../test/support/rendered-company.ts';
import { configOf, startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';
import type { Site } from '../../../ports/site.ts';
import { header, statusOf, uriOf } from '../phone/message.ts';
import { openTransport, randomTag } from '../phone/transport.ts';
import type { Dialog } from '../phone/transport.ts';

const NEW_PASSWORD = 'another-secret-of-24-char';

/** A phone that subscribes and takes every NOTIFY. */
async function subscriber(
  { server }: TestEngine,
  username: string,
  { password = PASSWORD, tcp = false }: { password?: string; tcp?: boolean } = {},
) {
  const at = `${server.host}:${server.port}`;
  const transport = await openTransport({
    server,
    username,
    password,
    tcp,
    onRequest: (notify) => transport.reply(notify, { status: 200, reason: 'OK' }),
  });
  const ask = async (dialog: Dialog, event = 'dialog'): Promise<number> => {
    const headers = [
      ['event', event],
      ['expires', '600'],
    ] as const;
    const answer = await transport.send(dialog, 'SUBSCRIBE', { headers }).response;
    if (statusOf(answer) === 200 && !dialog.remote.includes(';tag=')) {
      dialog.remote = header(answer, 'to');
      dialog.target = uriOf(header(answer, 'contact'));
    }
    return statusOf(answer);
  };
  return {
    /** Subscribes, and returns what refreshes it. */
    async subscribe(to: string, event?: string): Promise<() => Promise<number>> {
      const local = `<sip:${username}@${at}>;tag=${randomTag()}`;
      const target = `sip:${to}@${at}`;
      const dialog = { callId: randomTag(), local, remote: `<${target}>`, target, cseq: 0 };
      assert.equal(await ask(dialog, event), 200, `${username} to ${to}`);
      return () => ask(dialog, event);
    },
    async first(to: string): Promise<number> {
      const target = `sip:${to}@${at}`;
      const local = `<sip:${username}@${at}>;tag=${randomTag()}`;
      return await ask({ callId: randomTag(), local, remote: `<${target}>`, target, cseq: 0 });
    },
    [Symbol.asyncDispose]: () => transport.close(),
  };
}

test('apply/former - an apply ends the subscriptions of a removed person and of a former password, and no others', async () => {
  const site = company();
  await using engine = await startTestEngine(site);
  const config = configOf(engine);
  await using removed = await subscriber(engine, '1001', { tcp: true });
  await using changed = await subscriber(engine, '1003');
  await using kept = await subscriber(engine, '1004');
  const former = [
    await removed.subscribe('1002'),
    await removed.subscribe('1002', 'presence;id=7'),
    await changed.subscribe('1001', 'presence'),
    ...(await Promise.all(Array.from({ length: 250 }, () => changed.subscribe('1002')))),
  ];
  const own = await kept.subscribe('1002');
  const next: Site = {
    ...site,
    extensions: site.extensions
      .filter((e) => e.extension !== '1001')
      .map((e) => (e.extension === '1003' ? { ...e, sip_password: NEW_PASSWORD } : e)),
  };
  const files = config.render(next);
  const proof = await config.prove(files);
  const names = await config.write(files);
  await config.reload(names);
  assert.deepEqual(await config.verify(proof, names), []);

  await until('only the subscription of 1004 to be left', async () => {
    const list = await engine.cli('pjsip list subscriptions inbound');
    return list.includes('1 active subscription') && list.includes('1004/');
  });
  const refreshed = await Promise.all(former.map((refresh) => refresh()));
  assert.ok(!refreshed.includes(200), 'a refresh of a former phone brings none back');
  assert.match(await engine.cli('pjsip list subscriptions inbound'), /\n1 active subscription/);
  assert.equal(await own(), 200, 'a phone that nothing changed keeps its own');
  assert.deepEqual([await removed.first('1002'), await changed.first('1002')], [401, 401]);
  await using renewed = await subscriber(engine, '1003', { password: NEW_PASSWORD });
  await renewed.subscribe('1002');
});
