/** Certificates that a node receives from the leading node but cannot keep yet. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { until } from '../../test/support/until.ts';
import { issueCertificate } from '../adapters/certificates/local-authority.ts';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import { systemClock } from '../core/clock.ts';
import { silent } from '../core/log.ts';
import { seal } from '../core/seal.ts';
import type { Renewal } from '../ports/certificates.ts';
import type { SeenNode } from '../ports/site-nodes.ts';
import type { CertificateAnswer, NodeCall } from './node-calls.ts';
import { followOrdered } from './ordered-certificate.ts';
import { sealingKey, siteKey } from './site-key.ts';
import { WebCertificate } from './web-certificate.ts';

/** Answers of a leading node that has `certificate`; `transfers` counts those with its key. */
function leaderWith(key: Buffer, certificate: { readonly certificate: string }) {
  const leader = {
    transfers: 0,
    answers: 0,
    answer(call: NodeCall): CertificateAnswer {
      leader.answers += 1;
      const own = hash('sha256', certificate.certificate, 'base64url');
      if ('has' in call && call.has === own) return { sealed: null };
      leader.transfers += 1;
      return { sealed: seal(key, Buffer.from(JSON.stringify(certificate))).toString('base64') };
    },
  };
  return leader;
}
async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-kept-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('certificates - a standby that orders other names receives the certificate of the leading node once', async (t) => {
  const data = await folderFor(t);
  const ordered = { certificate: 'a certificate', key: 'its key', order: 'its names' };
  const leader = leaderWith(sealingKey(await siteKey(data)), ordered);
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      const { payload } = JSON.parse(body) as { payload: string };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(leader.answer(JSON.parse(payload) as NodeCall)));
    });
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const clock = createVirtualClock();
  let tries = 0;
  let fits = false;
  let kept: unknown = null;
  const renewal = {
    ordered: () => Promise.resolve(null),
    keep(given: unknown) {
      tries += 1;
      if (fits) kept = given;
      return Promise.resolve(fits);
    },
  } as Partial<Renewal> as Renewal;
  const stop = new AbortController();
  t.after(() => stop.abort());
  const seen = await followOrdered({ renewal, data, clock, log: silent }, stop.signal);
  seen([{ url, holds: true, role: 'active', seconds: 0 } as SeenNode]);
  const again = async (time: number): Promise<void> => {
    await until('the pause before the next request', () => clock.sleepers === 1);
    await clock.advance(10_000);
    await until(`try ${time}`, () => tries === time, { every: 5 });
  };
  await again(1);
  await again(2);
  await again(3);
  assert.deepEqual([leader.answers, leader.transfers], [3, 1]);
  fits = true;
  await again(4);
  assert.deepEqual(kept, ordered, 'it is kept as soon as it can be, without another transfer');
  assert.equal(leader.transfers, 1);
});

test('certificates - a web node with a slow clock receives a new certificate once and uses it when it is valid', async (t) => {
  const data = await folderFor(t);
  const now = Date.now();
  const pair = await issueCertificate(data, ['localhost'], now);
  const key = Buffer.alloc(32, 1);
  const leader = leaderWith(key, pair);
  let behind = 7 * 86_400_000;
  const certificate = new WebCertificate({
    leader: {
      call(call) {
        if (leader.answers === 1) behind = 0;
        return Promise.resolve(leader.answer(call));
      },
    },
    key,
    data,
    clock: { ...systemClock, now: () => now - behind },
    log: silent,
  });
  let waited = 0;
  assert.deepEqual(
    await certificate.first(t.signal, () => {
      waited += 1;
      assert.equal(certificate.state().fault?.code, 'certificate_not_yet_valid');
    }),
    pair,
  );
  assert.deepEqual([waited, leader.answers, leader.transfers], [1, 2, 1]);
});
