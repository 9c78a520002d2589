import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import { etcDir } from '../conf/instance.ts';
import type { Instance } from '../conf/instance.ts';
import { registerAddresses } from './contact-addresses.ts';

test('contact addresses - an engine that answers no REGISTER is waited for once, however many phones there are', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-contacts-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const instance = { folder } as Instance;
  const names = Array.from({ length: 500 }, (_, i) => String(1000 + i));
  await mkdir(etcDir(instance), { recursive: true });
  await writeFile(
    path.join(etcDir(instance), 'pjsip_auths.conf'),
    names.map((name) => `[${name}](credentials)\nusername = ${name}\npassword = secret\n`).join('\n'),
  );
  await using deaf = dgram.createSocket('udp4').bind(0, '127.0.0.1');
  await once(deaf, 'listening');
  const asked = new Set<string>();
  deaf.on('message', (data) => void asked.add(/^From: (.*);tag=/im.exec(data.toString())![1]!));
  const addresses = names.map((endpoint) => ({
    endpoint,
    uri: `sip:${endpoint}@10.1.2.3:5060`,
    path: '<sip:192.0.2.9:5060;lr;received=sip:203.0.113.7:40000>',
    until: Math.floor(Date.now() / 1_000) + 600,
  }));
  const sip = { host: '127.0.0.1', port: deaf.address().port };
  const failed = await registerAddresses(instance, addresses, { sip, clock: systemClock, log: silent });
  assert.deepEqual(
    failed.map(({ endpoint }) => endpoint),
    names,
  );
  assert.equal(asked.size, 50);
});
