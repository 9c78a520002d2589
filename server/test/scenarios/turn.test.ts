/** TURN: a browser that may only relay calls through a real coturn beside the real engine. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { obtainPackages } from '../../src/adapters/asterisk/provision/packages.ts';
import { apply, ask } from '../support/config-steps.ts';
import { freePort, freeRange } from '../support/ports.ts';
import type { Site } from '../support/site.ts';
import { openRelay } from '../../src/adapters/asterisk/turn/relay.ts';
import { until } from '../support/until.ts';
import { useBrowser, useSite } from '../support/use-site.ts';

const RELAY = `
  const Own = RTCPeerConnection;
  window.RTCPeerConnection = class extends Own {
    constructor(config) { super({ ...config, iceTransportPolicy: 'relay' }); window.relayed = this; }
  };`;
/** Bytes of the pairs that are in use, and the kind of the local candidate. */
const PATH = `(async () => {
  const stats = await window.relayed.getStats();
  const pair = [...stats.values()].find((s) => s.type === 'candidate-pair' && s.nominated && s.state === 'succeeded');
  return pair === undefined ? null : { kind: stats.get(pair.localCandidateId).candidateType, sent: pair.bytesSent, received: pair.bytesReceived };
})()`;
/** An address of this machine: that is where the engine's media is. */
const own = (): string =>
  Object.values(os.networkInterfaces())
    .flatMap((one) => one ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')!.address;
const turnPid = async (site: Site): Promise<number> =>
  (JSON.parse(await readFile(path.join(site.dataDir, 'engine', 'turn.json'), 'utf8')) as { pid: number }).pid;
const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
/** Detail of the health check. */
async function checkOf(site: Site): Promise<string> {
  const { token } = await site.person('1001');
  const reply = await fetch(`${site.base}/readyz`, { headers: { authorization: `Bearer ${token}` } });
  return ((await reply.json()) as { details: { turn: string } }).details.turn;
}

/** Less than the life of a relay that nobody ends, ten minutes. */
const RELAY_MS = 60_000;

describe('turn', () => {
  const browser = useBrowser();
  const site = useSite(() => ({ env: { OFFHOOK_CORS_ORIGINS: browser().origin } }));
  const turnOf = async (extension: string) => {
    const { token } = await site().person(extension);
    const reply = await fetch(`${site().base}/api/v1/session/sip`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return (
      (await reply.json()) as { sip: { turn: { username: string; credential: string; urls: string[] } } }
    ).sip;
  };
  let port = 0;
  /** The answer to Debian's own client, which asks for a relay to this peer. */
  async function relay(username: string, credential: string, peer = own()): Promise<string> {
    const cache = process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook');
    const tree = await obtainPackages({ cache, packages: ['coturn'] });
    const [program = '', ...leading] = tree.command('usr/bin/turnutils_uclient');
    const to = ['-e', peer, '-r', '9', '-n', '1', '-c', '-v', '-p', String(port), '127.0.0.1'];
    const child = spawn(program, [...leading, '-u', username, '-w', credential, ...to]);
    const output: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => output.push(chunk.toString()));
    const found = await until(
      `an answer to a relay to ${peer}`,
      () => /success: 0x|channel bind: error \d+|Cannot complete Allocation/.exec(output.join(''))?.[0],
      { seen: () => ({ output: output.join('').slice(-500) }) },
    );
    child.kill('SIGKILL');
    return found;
  }

  test('turn - an apply switches it on, and a browser that only relays talks through it both ways', async () => {
    assert.equal((await turnOf('1008')).turn, null);
    port = await freePort();
    const from = await freeRange(40);
    await ask(site(), 'POST', '/network', {
      turn_port: port,
      turn_relay_ports: { from, to: from + 39 },
    });
    assert.equal((await apply(site())).state, 'applied');
    await until('TURN to answer', async () => (await checkOf(site())) === `answers at 127.0.0.1:${port}`);
    const [one, two] = [await turnOf('1008'), await turnOf('1009')];
    assert.deepEqual(one.turn.urls, [
      `turn:127.0.0.1:${port}?transport=udp`,
      `turn:127.0.0.1:${port}?transport=tcp`,
    ]);
    const expiry = Number(one.turn.username.replace(/:1008$/, '')) - Date.now() / 1000;
    assert.ok(expiry > 3_500 && expiry <= 3_600, `${one.turn.username} holds for an hour`);
    const a = await browser().phone(one as never);
    const b = await browser().phone(two as never);
    await a.page.evaluate(RELAY);
    await a.call('1009');
    await b.incoming();
    await b.answer();
    await a.answered();
    await Promise.all([a.talks(), b.talks()]);
    const way = (await a.page.evaluate(PATH)) as { kind: string; sent: number; received: number };
    assert.equal(way.kind, 'relay');
    assert.ok(way.sent > 2_000 && way.received > 2_000, JSON.stringify(way));
    await a.hangup();
    await b.ended();
    await Promise.all([a.close(), b.close()]);
  });

  test('turn - refuses a wrong secret, an expired credential and a peer that is not the engine', async () => {
    const { turn } = await turnOf('1008');
    const secret = /^static-auth-secret=(.*)$/m.exec(
      await readFile(path.join(site().dataDir, 'engine/etc/turnserver.conf'), 'utf8'),
    )![1]!;
    const signed = (username: string, key: string): string =>
      createHmac('sha1', key).update(username).digest('base64');
    assert.equal(signed(turn.username, secret), turn.credential);
    assert.equal(await relay(turn.username, turn.credential), 'success: 0x');
    const past = `${Math.floor(Date.now() / 1000) - 10}:1008`;
    const refused = [
      relay(turn.username, signed(turn.username, 'x'.repeat(43))),
      relay(past, signed(past, secret)),
    ];
    assert.deepEqual(await Promise.all(refused), Array(2).fill('Cannot complete Allocation'));
    for (const peer of ['127.0.0.1', '127.0.0.2', '10.0.0.1', '192.168.1.1', '8.8.8.8'])
      assert.equal(await relay(turn.username, turn.credential, peer), 'channel bind: error 403', peer);
  });

  test('turn - a relay of the doctor that is closed no longer counts for the quota of its person', async () => {
    const { turn } = await turnOf('1009');
    for (let i = 0; i < 30; i += 1)
      await until(
        `relay ${i + 1} of one person`,
        async () => {
          (await openRelay({ host: '127.0.0.1', port }, turn, RELAY_MS)).close();
          return true;
        },
        { ms: RELAY_MS },
      );
  });

  test('turn - lives on when the service is killed, is adopted, and ends with the site', async () => {
    const pid = await turnPid(site());
    await site().kill('SIGKILL');
    assert.ok(alive(pid));
    await site().start();
    await until('the adopted TURN server answers', async () => (await checkOf(site())).startsWith('answers'));
    assert.equal(await turnPid(site()), pid);
    process.kill(pid, 'SIGKILL');
    const next = await until('another TURN server', async () => {
      const now = await turnPid(site());
      return now !== pid && (await checkOf(site())).startsWith('answers') ? now : null;
    });
    await site().stop();
    await until('the end of TURN', () => !alive(next));
    await site().start();
  });
});
