/** A certificate is renewed under ten encrypted calls: HTTPS, SIP and TURN show the new one, and nothing drops. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { X509Certificate } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { issueCertificate } from '../../src/adapters/certificates/local-authority.ts';
import { SECRET, extensions, prepareCompany } from '../support/company.ts';
import { registerPhone } from '../support/phone.ts';
import { freePort, freeRange } from '../support/ports.ts';
import { askSecurely, keptConnection, shownAt, signInSecurely } from '../support/tls-client.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';
import { openWs } from '../support/ws-client.ts';

const CALLS = 10;
const PEOPLE = extensions(2001, 2000 + 2 * CALLS);
/** The service looks at given files every 30 s. */
const WATCHED_MS = 90_000;
const own = await mkdtemp(path.join(os.tmpdir(), 'offhook-renewal-'));
const file = (name: string): string => path.join(own, name);
async function give(): Promise<string> {
  const pair = await issueCertificate(own, ['127.0.0.1', 'localhost'], Date.now());
  await writeFile(file('key.pem'), pair.key);
  await writeFile(file('certificate.pem'), pair.certificate);
  return new X509Certificate(pair.certificate).serialNumber;
}

describe('certificate renewal', async () => {
  const first = await give();
  const ca = await readFile(file('ca.pem'), 'utf8');
  const [httpsPort, sipPort, turnPort, turnTlsPort, relay] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freeRange(40),
  ];
  const site = useSite({
    env: {
      OFFHOOK_HTTPS_LISTEN: `127.0.0.1:${httpsPort}`,
      OFFHOOK_TLS_CERTIFICATE: file('certificate.pem'),
      OFFHOOK_TLS_KEY: file('key.pem'),
    },
    prepare: prepareCompany({
      people: PEOPLE,
      encrypted: PEOPLE,
      objects: {
        network: [
          {
            name: 'site',
            tls_port: sipPort,
            turn_port: turnPort,
            turn_tls_port: turnTlsPort,
            turn_relay_ports: { from: relay, to: relay + 39 },
          },
        ],
      },
    }),
  });
  after(() => rm(own, { recursive: true, force: true }));
  const listeners = { https: httpsPort, sip: sipPort, turn: turnTlsPort };
  const shown = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(listeners).map(async ([name, port]) => [name, (await shownAt(port, ca)).serialNumber]),
      ),
    ) as Record<string, string>;
  const each = (serial: string) => ({ https: serial, sip: serial, turn: serial });

  test('https - the phone of the login reply, cookies and the stream are secure by the address of the request', async () => {
    const password = (await site().credentials()).find((one) => one.extension === '1001')!.password;
    const token = await signInSecurely(httpsPort, ca, { username: '1001', password });
    await assert.rejects(askSecurely(httpsPort, '/healthz', {}), 'an unknown authority is refused');
    await using stream = await openWs({ port: httpsPort, ca, token });
    assert.equal((await stream.next('hello')).op, 'hello');
    assert.equal((await fetch(`${site().base}/healthz`)).status, 200, 'the HTTP port stays');
  });

  test('certificate - renewed under ten encrypted calls: none drops, the next handshakes show the new one', async () => {
    await until('TURN to listen', async () => (await shown())['turn'] === first, { ms: WATCHED_MS });
    assert.deepEqual(await shown(), each(first));
    const server = { host: '127.0.0.1', port: sipPort };
    await using open = new AsyncDisposableStack();
    const phones = await Promise.all(
      PEOPLE.map(async (extension) =>
        open.use(await registerPhone({ server, extension, password: SECRET, ca, srtp: true })),
      ),
    );
    const { token } = await site().person('1001');
    await using stream = await openWs({ port: httpsPort, ca, token });
    await stream.next('hello');
    using kept = keptConnection(httpsPort, ca);
    const calls = await Promise.all(
      Array.from({ length: CALLS }, async (_, i) => {
        const out = await phones[2 * i]!.invite(PEOPLE[2 * i + 1]!);
        const incoming = await phones[2 * i + 1]!.incoming(out);
        await incoming.answer();
        await out.answered();
        out.play('tone');
        incoming.play('tone');
        await Promise.all([out.hears(20), incoming.hears(20)]);
        return { out, incoming };
      }),
    );
    assert.equal(await kept.asked('/healthz'), 200);
    const before = kept.opened();
    const next = await give();
    let last: Record<string, string> = {};
    await until(
      'every listener to show the renewed certificate',
      async () => {
        // The service closes a connection that is idle for long.
        assert.equal(await kept.asked('/healthz'), 200);
        return Object.values((last = await shown())).every((serial) => serial === next);
      },
      { ms: WATCHED_MS, every: 500, seen: () => last },
    );
    for (const { out, incoming } of calls) {
      assert.deepEqual([out.state, incoming.state], ['up', 'up']);
      await Promise.all([out.hears(20), incoming.hears(20)]);
      assert.equal(out.media.decrypted, out.media.received);
    }
    assert.equal(stream.close, null, 'the stream stays on its connection');
    assert.equal(await kept.asked('/healthz'), 200);
    assert.equal(kept.opened(), before, 'and so does the HTTPS connection');
    await Promise.all(
      calls.map(async ({ out, incoming }) => {
        await out.hangup();
        await incoming.ended();
      }),
    );
  });
});
