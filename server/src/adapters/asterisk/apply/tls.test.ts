/** SIP over TLS and SRTP on a real engine: phones, trunks, and a certificate that is renewed under a call. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { after, before, test } from 'node:test';
import { NetworkConfig } from '@offhook/contract/config-network.ts';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import type { Site } from '../../../ports/site.ts';
import { PASSWORD, company, extension, trunk } from '../../../../test/support/rendered-company.ts';
import { registerPhone } from '../../../../test/support/phone.ts';
import { freePort } from '../../../../test/support/ports.ts';
import { configOf, startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { until } from '../../../../test/support/until.ts';
import { issueCertificate } from '../../certificates/local-authority.ts';
import { CertificateKeeper } from '../../certificates/keeper.ts';
import { tlsDir } from '../conf/instance.ts';
import type { AsteriskConfig } from './engine-config.ts';

const HOSTS = ['127.0.0.1', 'localhost'];
let engine: TestEngine;
let config: AsteriskConfig;
let keeper: CertificateKeeper;
let port: number;
let ca: string;
/** Folder of the given certificate and key. */
let own: string;
const ownFile = (name: string): string => path.join(own, name);
async function give(pair: { readonly certificate: string; readonly key: string }): Promise<void> {
  await writeFile(ownFile('certificate.pem'), pair.certificate);
  await writeFile(ownFile('key.pem'), pair.key);
}
const secured = (more: Partial<Site> = {}, tls_port = port): Site =>
  company({
    extensions: ['1001', '1002', '1003'].map((number) =>
      extension(number, { srtp: number === '1003' ? 'offered' : 'required' }),
    ),
    queues: [],
    network: NetworkConfig.parse({ tls_port }),
    ...more,
  });
/** An apply without its journal: problems of the proof, then of the living engine. */
async function applied(site: Site) {
  const files = config.render(site);
  const proof = await config.prove(files);
  assert.deepEqual(proof.problems, []);
  const names = await config.write(files);
  await config.reload(names);
  return await config.verify(proof, names);
}
/** Serial of the certificate that a new connection is shown. */
async function shownSerial(): Promise<string> {
  const socket = tls.connect({ host: '127.0.0.1', port, ca });
  try {
    await new Promise<void>((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    return socket.getPeerCertificate().serialNumber;
  } finally {
    socket.destroy();
  }
}
const phone = (number: string, more: { readonly srtp: boolean }) =>
  registerPhone({ server: { host: '127.0.0.1', port }, extension: number, password: PASSWORD, ca, ...more });

before(async () => {
  engine = await startTestEngine(company({ queues: [] }));
  own = await mkdtemp(path.join(os.tmpdir(), 'offhook-tls-'));
  await give(await issueCertificate(own, HOSTS, Date.now()));
  ca = await readFile(ownFile('ca.pem'), 'utf8');
  port = await freePort();
  keeper = new CertificateKeeper({
    folder: tlsDir(engine.instance),
    own: { certificate: ownFile('certificate.pem'), key: ownFile('key.pem') },
    trusted: ownFile('ca.pem'),
    clock: systemClock,
    log: silent,
  });
  config = configOf(engine, { certificates: keeper });
  assert.deepEqual(await applied(secured()), []);
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
  if (own !== undefined) await rm(own, { recursive: true, force: true });
});

test('tls - phones by TLS talk with encrypted media both ways, and a renewed certificate drops no call', async () => {
  await using ada = await phone('1001', { srtp: true });
  await using bob = await phone('1002', { srtp: true });
  const out = await ada.invite('1002');
  const incoming = await bob.incoming(out);
  incoming.ring();
  await incoming.answer();
  await out.answered();
  out.play('tone');
  incoming.play('tone');
  await Promise.all([out.hears(20), incoming.hears(20)]);
  assert.equal(
    out.media.decrypted,
    out.media.received,
    'every packet was encrypted with the key of the engine',
  );

  const before = await shownSerial();
  const next = await issueCertificate(own, HOSTS, Date.now());
  await give(next);
  await keeper.renew(() => config.takeCertificate());
  assert.equal(await shownSerial(), new X509Certificate(next.certificate).serialNumber);
  assert.notEqual(await shownSerial(), before);
  await Promise.all([out.hears(20), incoming.hears(20)]);
  await ada.register();
  await out.hangup();
  await incoming.ended();
});

test('tls - a phone that must encrypt its media is refused without, one that may is not', async () => {
  await using ada = await phone('1001', { srtp: false });
  const refused = await ada.invite('600');
  await refused.ended();
  assert.equal(refused.status, 488);
  for (const srtp of [false, true]) {
    await using cem = await phone('1003', { srtp });
    const call = await cem.invite('600');
    await call.answered();
    call.play('tone');
    await call.hears(20);
    await call.hangup();
  }
});

test('tls - a certificate that cannot be used has a code, and the one before stays in use', async () => {
  const before = await shownSerial();
  const good = {
    certificate: await readFile(ownFile('certificate.pem'), 'utf8'),
    key: await readFile(ownFile('key.pem'), 'utf8'),
  };
  const other = await issueCertificate(own, HOSTS, Date.now());
  const old = await issueCertificate(own, HOSTS, Date.now() - 400 * 86_400_000);
  const later = await issueCertificate(own, HOSTS, Date.now() + 10 * 86_400_000);
  const faults = [
    ['certificate_unreadable', { ...good, certificate: 'not PEM' }],
    ['certificate_unreadable', { ...good, key: 'not PEM' }],
    ['certificate_key_mismatch', { ...good, key: other.key }],
    ['certificate_expired', old],
    ['certificate_not_yet_valid', later],
  ] as const;
  for (const [code, pair] of faults) {
    await give(pair);
    await keeper.renew(() => assert.fail(`${code} must not reach the engine`));
    assert.equal(keeper.state().fault?.code, code);
    assert.equal(await shownSerial(), before);
  }
  await give(good);
  await keeper.renew(() => config.takeCertificate());
  assert.equal(keeper.state().fault, null);
});

test('tls - a certificate that the engine does not show afterwards is taken back', async () => {
  const before = await shownSerial();
  await give(await issueCertificate(own, HOSTS, Date.now()));
  let calls = 0;
  await keeper.renew(async () => {
    calls += 1;
    if (calls === 1) throw new Error('no handshake');
    await config.takeCertificate();
  });
  assert.equal(calls, 2);
  assert.equal(await shownSerial(), before);
  await keeper.renew(() => assert.fail('the refused certificate is not offered again'));
});

test('tls - a port that another program has is a problem of the apply, and the way back is clean', async () => {
  const taken = net.createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const problems = await applied(secured({}, (taken.address() as net.AddressInfo).port));
  assert.ok(
    problems.some((p) => p.object?.startsWith('transport transport-tls-')),
    JSON.stringify(problems),
  );
  await new Promise((resolve) => taken.close(resolve));
  assert.deepEqual(await applied(secured()), []);
  assert.equal(
    await shownSerial(),
    new X509Certificate(await readFile(keeper.files.certificate)).serialNumber,
  );
});

test('tls - a trunk by TLS is reached with a certificate of a known authority only', async () => {
  const foreign = await mkdtemp(path.join(os.tmpdir(), 'offhook-foreign-'));
  const pair = await issueCertificate(foreign, HOSTS, Date.now());
  let closed = 0;
  let sent = 0;
  const far = tls.createServer({ cert: pair.certificate, key: pair.key }, (socket) => {
    socket.on('data', () => void (sent += 1));
    socket.on('error', () => {});
    socket.once('close', () => void (closed += 1));
  });
  far.on('tlsClientError', () => void (closed += 1));
  try {
    await new Promise<void>((resolve) => far.listen(0, '127.0.0.1', resolve));
    const lines = [
      trunk({ name: 'known', host: '127.0.0.1', port, transport: 'tls', srtp: 'required' }),
      trunk({
        name: 'foreign',
        host: '127.0.0.1',
        port: (far.address() as net.AddressInfo).port,
        transport: 'tls',
      }),
    ];
    assert.deepEqual(await applied(secured({ trunks: lines })), []);
    await until('the known trunk to be reached and the foreign one to be given up', async () => {
      const shown = await engine.cli('pjsip show contacts');
      return /trunk-known\/\S+ +\S+ +Avail/.test(shown) && closed > 0;
    });
    assert.equal(sent, 0, 'nothing is sent to a host whose authority is unknown');
    assert.doesNotMatch(await engine.cli('pjsip show contacts'), /trunk-foreign\/\S+ +\S+ +Avail/);
  } finally {
    await new Promise((resolve) => far.close(resolve));
    await rm(foreign, { recursive: true, force: true });
  }
});
