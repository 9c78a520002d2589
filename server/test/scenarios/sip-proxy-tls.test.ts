/** Desk phones by TLS through the SIP proxy: media encrypted end to end, and a certificate that is renewed under a call. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { issueCertificate } from '../../src/adapters/certificates/local-authority.ts';
import { SECRET, prepareCompany } from '../support/company.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone, PhoneCall } from '../support/phone.ts';
import { freePort } from '../support/ports.ts';
import { sipProxyFor } from '../support/sip-proxy.ts';
import type { TestSipProxy } from '../support/sip-proxy.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';
import { shownAt } from '../support/tls-client.ts';
import { until } from '../support/until.ts';

/** The proxy looks at given files every 30 s. */
const WATCHED_MS = 90_000;

describe('sip proxy tls', () => {
  const stack = new AsyncDisposableStack();
  let folder = '';
  let ca = '';
  let port = 0;
  let proxy: TestSipProxy;
  let site: Site;
  const file = (name: string): string => path.join(folder, name);
  async function give(): Promise<string> {
    const pair = await issueCertificate(folder, ['127.0.0.1'], Date.now());
    await writeFile(file('key.pem'), pair.key);
    await writeFile(file('certificate.pem'), pair.certificate);
    return new X509Certificate(pair.certificate).serialNumber;
  }
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-proxy-tls-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    await give();
    ca = await readFile(file('ca.pem'), 'utf8');
    port = await freePort();
    proxy = stack.use(
      await sipProxyFor(() => [site], {
        OFFHOOK_SIP_TLS_PORT: String(port),
        OFFHOOK_TLS_CERTIFICATE: file('certificate.pem'),
        OFFHOOK_TLS_KEY: file('key.pem'),
      }),
    );
    site = stack.use(
      await startSite({
        env: { OFFHOOK_SIP_PROXY: `${proxy.sip.host}:${proxy.sip.port}` },
        prepare: prepareCompany({ people: ['2001', '2002', '2003'], encrypted: ['2001', '2002'] }),
      }),
    );
    await proxy.start();
  });
  after(() => stack.disposeAsync());
  const encrypted = (extension: string): Promise<Phone> =>
    registerPhone({
      server: { host: '127.0.0.1', port },
      extension,
      password: SECRET,
      ca,
      srtp: true,
    });
  async function talk(from: Phone, to: Phone): Promise<readonly [PhoneCall, PhoneCall]> {
    const out = await from.invite(to.extension);
    const incoming = await to.incoming(out);
    await incoming.answer();
    await out.answered();
    out.play('tone');
    incoming.play('tone');
    await Promise.all([out.hears(20), incoming.hears(20)]);
    return [out, incoming];
  }

  test('sip proxy tls - phones by TLS and UDP call each other; the media of those by TLS is encrypted', async () => {
    await using one = await encrypted('2001');
    await using two = await encrypted('2002');
    await using plain = await registerPhone({ server: proxy.sip, extension: '2003', password: SECRET });
    for (const [from, to] of [
      [one, two],
      [plain, one],
      [two, plain],
    ] as const) {
      const [out, incoming] = await talk(from, to);
      for (const [phone, call] of [
        [from, out],
        [to, incoming],
      ] as const)
        if (phone !== plain) assert.equal(call.media.decrypted, call.media.received);
      await incoming.hangup();
      await out.ended();
      assert.equal(out.endedBy, 'them');
    }
  });
  test('sip proxy tls - a certificate is renewed under a call: it goes on, and phones that do nothing are called', async () => {
    await using one = await encrypted('2001');
    await using two = await encrypted('2002');
    const { pid } = proxy;
    const [out, incoming] = await talk(one, two);
    const next = await give();
    let shown = '';
    await until(
      'the renewed certificate to be shown',
      async () => (shown = (await shownAt(port, ca)).serialNumber) === next,
      { ms: WATCHED_MS, every: 500, seen: () => ({ shown, next, lines: proxy.lines.slice(-10) }) },
    );
    assert.deepEqual([out.state, incoming.state], ['up', 'up']);
    await Promise.all([out.hears(20), incoming.hears(20)]);
    await incoming.hangup();
    await out.ended();
    const [again, there] = await talk(two, one);
    await again.hangup();
    await there.ended();
    assert.equal(proxy.pid, pid, 'the same process of Kamailio');
  });
});
