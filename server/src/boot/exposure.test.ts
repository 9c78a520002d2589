import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readyText } from './banner.ts';
import { readConfig } from './config.ts';
import { exposures } from './exposure.ts';

const of = (env: Record<string, string>): number[] =>
  exposures(readConfig(env)).map((text) => (text.startsWith('OFFHOOK_LISTEN') ? 1 : 2));

test('exposure - the defaults, a proxy with TLS and phones of the own network are well', () => {
  for (const env of [
    {},
    { OFFHOOK_LISTEN: '[::1]:8080' },
    { OFFHOOK_SIP_LISTEN: '192.168.1.5:5060' },
    { OFFHOOK_SIP_LISTEN: '[fd00::1]:5060' },
    {
      OFFHOOK_LISTEN: '0.0.0.0:8080',
      OFFHOOK_PUBLIC_URL: 'https://pbx.example.com',
      OFFHOOK_TRUST_PROXY: '10.0.0.1',
    },
  ]) {
    assert.deepEqual(of(env), [], JSON.stringify(env));
  }
});
test('exposure - what is public and plain is told, each by the setting', () => {
  assert.deepEqual(of({ OFFHOOK_LISTEN: '0.0.0.0:8080' }), [1]);
  assert.deepEqual(of({ OFFHOOK_LISTEN: '192.168.1.5:8080' }), [1]);
  assert.deepEqual(of({ OFFHOOK_LISTEN: '[::]:8080', OFFHOOK_PUBLIC_URL: 'https://pbx.example.com' }), [1]);
  assert.deepEqual(of({ OFFHOOK_SIP_LISTEN: '0.0.0.0:5060' }), [2]);
  assert.deepEqual(of({ OFFHOOK_SIP_LISTEN: '[::]:5060' }), [2]);
  assert.deepEqual(of({ OFFHOOK_SIP_LISTEN: '203.0.113.5:5060' }), [2]);
});
test('banner - first passwords are shown on a terminal alone; elsewhere it says where they are, and warns', async () => {
  const data = await mkdtemp(path.join(os.tmpdir(), 'offhook-banner-'));
  const file = path.join(data, 'credentials.json');
  const person = { extension: '1003', username: 'zoe', full_name: 'Zoë', level: 'agent' };
  await writeFile(file, JSON.stringify([{ ...person, password: 'open-sesame', sip_password: 'sip-sesame' }]));
  const config = readConfig({ OFFHOOK_DATA: data, OFFHOOK_LISTEN: '0.0.0.0:8080' });
  const text = (terminal: boolean) =>
    readyText(config, 'http://127.0.0.1:8080', { deskPhones: true, seconds: 1, terminal });
  const shown = await text(true);
  assert.match(shown, /1003 {2}Zoë {2}agent {7}open-sesame/);
  assert.match(shown, /curl .*open-sesame/);
  const logged = await text(false);
  assert.doesNotMatch(logged, /sesame/);
  assert.ok(logged.includes(file), 'it says where they are');
  for (const one of [shown, logged]) assert.match(one, /Warning.*OFFHOOK_LISTEN 0\.0\.0\.0:8080/s);
  await rm(data, { recursive: true });
});
