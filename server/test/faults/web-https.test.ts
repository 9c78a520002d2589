/** HTTPS at a web node: the certificate of the leading node, renewed there without a connection that drops. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { issueCertificate } from '../../src/adapters/certificates/local-authority.ts';
import { startWebNode } from '../support/nodes.ts';
import { freePort } from '../support/ports.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { askSecurely, keptConnection, shownAt, signInSecurely } from '../support/tls-client.ts';
import { until } from '../support/until.ts';
import { openWs } from '../support/ws-client.ts';

/** The leading node looks at given files every 30 s, and the web node asks it every 10 s. */
const RENEWED_MS = 120_000;

describe('web nodes, https', () => {
  let own = '';
  let server: TestPostgres;
  let leader: Site;
  let web: Site;
  let port = 0;
  let ca = '';
  let token = '';
  const file = (name: string): string => path.join(own, name);
  /** Writes another certificate to the files of a node, whose names begin with `to`; returns its serial number. */
  async function give(to = ''): Promise<string> {
    const pair = await issueCertificate(own, ['127.0.0.1', 'localhost'], Date.now());
    await writeFile(file(`${to}key.pem`), pair.key);
    await writeFile(file(`${to}certificate.pem`), pair.certificate);
    return new X509Certificate(pair.certificate).serialNumber;
  }
  const envOf = (node: string, to = '') => ({
    OFFHOOK_DATABASE_URL: url,
    OFFHOOK_SITE_STORE: 'postgres',
    OFFHOOK_NODE: node,
    OFFHOOK_TLS_CERTIFICATE: file(`${to}certificate.pem`),
    OFFHOOK_TLS_KEY: file(`${to}key.pem`),
  });
  let url = '';
  let given = '';
  const shown = async (): Promise<string> => (await shownAt(port, ca)).serialNumber;
  const listens = (): Promise<boolean> =>
    shown().then(
      () => true,
      () => false,
    );
  before(async () => {
    own = await mkdtemp(path.join(os.tmpdir(), 'offhook-web-https-'));
    given = await give();
    ca = await readFile(file('ca.pem'), 'utf8');
    [server, port] = [await startPostgres(), await freePort()];
    url = await server.createDatabase();
    leader = await startSite({ env: envOf('a') });
    web = await startWebNode('w1', url, { OFFHOOK_HTTPS_LISTEN: `127.0.0.1:${port}` });
    // It listens by HTTP a moment before.
    await until('HTTPS', listens);
  });
  after(async () => {
    await web?.[Symbol.asyncDispose]();
    await leader?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    await rm(own, { recursive: true, force: true });
  });

  test('web https - sign-in, cookies, phone and stream are secure by the address of the request', async () => {
    assert.equal(await shown(), given);
    const { password } = (await leader.credentials()).find((one) => one.extension === '1001')!;
    token = await signInSecurely(port, ca, { username: '1001', password });
    const page = await askSecurely(port, '/', { ca });
    assert.equal(page.status, 200);
    const checks = await askSecurely(port, '/readyz', { ca, headers: { authorization: `Bearer ${token}` } });
    assert.match(
      (JSON.parse(checks.body) as { details: Record<string, string> }).details['certificate']!,
      /^\d+ days left, issued by /,
    );
    // The key is for the owner of the folder only, as at the leading node.
    const kept = await readFile(path.join(web.dataDir, 'tls', 'key.pem'), 'utf8');
    assert.equal(kept, await readFile(file('key.pem'), 'utf8'));
  });
  test('web https - a certificate renewed at the leading node is shown by the next handshake; streams and connections stay', async () => {
    await using stream = await openWs({ port, ca, token });
    stream.send({ op: 'subscribe', id: 1, topics: ['agents'] });
    await stream.next('subscribed');
    using kept = keptConnection(port, ca);
    assert.equal(await kept.asked('/healthz'), 200);
    const renewed = await give();
    await until(
      'the renewed certificate',
      async () => (await kept.asked('/healthz')) === 200 && (await shown()) === renewed,
      {
        ms: RENEWED_MS,
        every: 500,
        seen: () => ({ tail: web.tail() }),
      },
    );
    given = renewed;
    assert.equal(kept.opened(), 1, 'the connection stayed');
    const pause = await askSecurely(port, '/api/v1/agents/1003/pause', {
      method: 'POST',
      ca,
      json: { reason: 'training' },
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(pause.status, 200, pause.body);
    await until(
      'the pause by the stream that stayed open',
      () => stream.frames.some((frame) => frame.op === 'event' && frame.event.type === 'agent.not_ready'),
      { seen: () => ({ frames: stream.frames, close: stream.close }) },
    );
    assert.equal(stream.close, null);
  });
  test('web https - it begins again with the kept certificate while no node leads', async () => {
    await leader.stop();
    await web.stop();
    await web.start('answers');
    await until('HTTPS', listens);
    assert.equal(await shown(), given);
  });
  test('web https - another node leads with another certificate: the next handshake shows it', async () => {
    const other = await give('b-');
    await using next = await startSite({ env: envOf('b', 'b-') });
    await until('the certificate of the next node', async () => (await shown()) === other, {
      ms: RENEWED_MS,
      every: 500,
      seen: () => ({ web: web.tail(), next: next.tail() }),
    });
  });
});
