import assert from 'node:assert/strict';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { startNats } from '../../../test/support/nats.ts';
import { until } from '../../../test/support/until.ts';
import { silent } from '../../core/log.ts';
import type { JournalRow } from '../../ports/journal-store.ts';
import { issueCertificate } from '../certificates/local-authority.ts';
import { NatsEventStream } from './event-stream.ts';
import { NatsLink } from './link.ts';

const HOST = '127.0.0.1';
const PASSWORD = 'a secret, with: signs/@';

function open(t: TestContext, urls: string) {
  const link = new NatsLink({ urls, name: 'test', log: silent });
  t.after(() => link.close());
  return link;
}
const says = (link: NatsLink, what: RegExp): Promise<boolean> =>
  until(String(what), () => what.test(link.state().detail), { seen: () => link.state() });

test('nats link - TLS and a password: an unknown authority, a wrong password and plain text are named', async (t) => {
  await using temporary = await mkdtempDisposable(path.join(os.tmpdir(), 'offhook-nats-tls-'));
  const folder = temporary.path;
  const { certificate, key } = await issueCertificate(folder, [HOST], Date.now());
  const file = (name: string): string => path.join(folder, name);
  await writeFile(file('nats.pem'), certificate);
  await writeFile(file('nats.key'), key, { mode: 0o600 });
  const ca = await readFile(file('ca.pem'), 'utf8');
  await using server = await startNats(
    `tls { cert_file: "${file('nats.pem')}", key_file: "${file('nats.key')}" }
authorization { user: offhook, password: "${PASSWORD}" }`,
    { tls: Object.assign({ ca }, { host: HOST }), user: 'offhook', pass: PASSWORD },
  );
  const { port } = new URL(server.url);
  const right = encodeURIComponent(PASSWORD);
  const stranger = open(t, `tls://offhook:${right}@${HOST}:${port}`);
  await says(stranger, /unable to (verify|get)|self-signed/);
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, ca]);
  t.after(() => setDefaultCACertificates(before));
  const known = open(t, `tls://offhook:${right}@${HOST}:${port}`);
  await says(known, /^connected to /);
  await says(stranger, /^connected to /);
  const wrong = open(t, `tls://offhook:wrong@${HOST}:${port}`);
  await says(wrong, /Authorization/i);
  await says(open(t, `nats://offhook:${right}@${HOST}:${port}`), /demands TLS: .* tls:/);
  const other = open(t, `tls://offhook:${right}@localhost:${port}`);
  await says(other, /does not match certificate|altnames/);
  for (const link of [wrong, other, stranger]) {
    assert.doesNotMatch(link.state().detail, /secret/);
  }
  await server.kill();
  await says(known, /ECONNREFUSED/);
  await server.start();
  await says(known, /^connected to /);
});
const rowOf = (seq: number, text = ''): JournalRow => {
  const json = JSON.stringify({ specversion: '1.0', id: `e:${seq}`, seq, text });
  return { seq, type: 'agent.ready', subject: 'agents/1003', at: seq, topics: 'agents', json };
};
test('nats link - an event that is too large is named and goes once the server takes it', async (t) => {
  await using server = await startNats('max_payload: 4096');
  const link = open(t, server.url);
  await says(link, /^connected to /);
  const stream = new NatsEventStream(link, { name: 'large', site: 'large' });
  await stream.open();
  await stream.append([rowOf(1)]);
  const large = [rowOf(2), rowOf(3, 'x'.repeat(5_000))];
  await assert.rejects(stream.append(large), /event 3 is larger than a message may be: raise max_payload/);
  await server.kill();
  await server.start('max_payload: 65536');
  await says(link, /^connected to /);
  const end = await stream.open();
  assert.equal(end.at === 'event' && end.event.seq, 1, 'nothing of the page was stored');
  await stream.append(large);
  const after = await stream.open();
  assert.equal(after.at === 'event' && after.event.seq, 3);
});
