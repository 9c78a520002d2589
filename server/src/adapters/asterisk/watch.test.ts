import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import dgram from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import { askSip } from './sip-probe.ts';
import { taskQueues } from './watch.ts';

test('watch - the task queues are read with their limits', () => {
  const text = `
Processor                                       Processed   In Queue  Max Depth  Low water High water Low time(us) High time(us)
app_voicemail                                           0          0          0        450        500          0          0
pjsip/distributor-0000001e                            812        501        512        450        500          0         12

2 taskprocessors
`;
  assert.deepEqual(taskQueues(text), [
    { name: 'app_voicemail', waiting: 0, most: 500 },
    { name: 'pjsip/distributor-0000001e', waiting: 501, most: 500 },
  ]);
  // The format of Asterisk 20.
  assert.deepEqual(taskQueues('stasis/m:cdr-00000003   12   3   5   2700   3000\n'), [
    { name: 'stasis/m:cdr-00000003', waiting: 3, most: 3000 },
  ]);
});

test('watch - OPTIONS is repeated until an answer of its own comes; none, and a closed port, are failures', async () => {
  const server = dgram.createSocket('udp4');
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  const to = { host: '127.0.0.1', port: server.address().port };
  let asked = 0;
  const answer = (data: Buffer, { port }: { port: number }, id?: string): void => {
    const call = id ?? /^Call-ID: (.*)\r$/m.exec(data.toString())![1]!;
    server.send(`SIP/2.0 401 Unauthorized\r\nCall-ID: ${call}\r\n\r\n`, port, '127.0.0.1');
  };
  server.on('message', (data, from) => {
    assert.match(data.toString(), /^OPTIONS sip:127\.0\.0\.1:\d+ SIP\/2\.0\r\n/);
    asked += 1;
    if (asked === 1) answer(data, from, 'another');
    else answer(data, from);
  });
  try {
    assert.equal(await askSip(to, 'nobody', 3_000), 401);
    assert.equal(asked, 2);
    server.removeAllListeners('message');
    await assert.rejects(askSip(to, 'nobody', 200), /no answer in 0\.2 s/);
  } finally {
    server.close();
  }
  await assert.rejects(askSip(to, 'nobody', 1_000));
  // A wildcard address is checked on loopback.
  await assert.rejects(askSip({ host: '0.0.0.0', port: to.port }, 'nobody', 200));
});

test('watch - without a free descriptor the SIP check fails and the process goes on', () => {
  const probe = new URL('sip-probe.ts', import.meta.url).href;
  const program = `
    import fs from 'node:fs';
    const { askSip } = await import(${JSON.stringify(probe)});
    try {
      for (;;) fs.openSync('/dev/null');
    } catch {}
    const error = await askSip({ host: '127.0.0.1', port: 9 }, 'nobody', 200).catch((e) => e);
    fs.writeSync(1, error.message);`;
  const args = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath];
  const { status, stdout } = spawnSync('sh', [...args, '--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  assert.match(stdout, /EMFILE/);
  assert.equal(status, 0);
});
