/** The check of the ways, by command and by API, against a real site whose ways are really broken. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { PathCheckReply } from '@offhook/contract/path-check.ts';
import { PollReply } from '@offhook/contract/stream.ts';
import type { MediaWire } from '../../src/adapters/asterisk/phone/media.ts';
import { issueCertificate } from '../../src/adapters/certificates/local-authority.ts';
import { NoRelayPorts, openRelay } from '../../src/adapters/asterisk/turn/relay.ts';
import { apply, ask } from '../support/config-steps.ts';
import { freePort, freeRange } from '../support/ports.ts';
import { REPOSITORY } from '../support/sources.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('doctor', async () => {
  // The usual certificate has the name of the site alone, by which nothing on its own machine calls it.
  const own = await mkdtemp(path.join(os.tmpdir(), 'offhook-doctor-'));
  const file = (name: string): string => path.join(own, name);
  const pair = await issueCertificate(own, ['pbx.example.com'], Date.now());
  await writeFile(file('key.pem'), pair.key, { mode: 0o600 });
  await writeFile(file('certificate.pem'), pair.certificate);
  after(() => rm(own, { recursive: true, force: true }));
  const site = useSite({
    env: {
      OFFHOOK_TLS_CERTIFICATE: file('certificate.pem'),
      OFFHOOK_TLS_KEY: file('key.pem'),
      OFFHOOK_TLS_TRUSTED: file('ca.pem'),
    },
  });
  let tlsPort = 0;
  const doctor = (
    listen = new URL(site().base).host,
    ...args: readonly string[]
  ): Promise<{ code: number; text: string }> =>
    new Promise((done) => {
      execFile(
        process.execPath,
        [path.join(REPOSITORY, 'server/src/programs/doctor-cli.ts'), ...args],
        {
          env: { ...process.env, OFFHOOK_DATA: site().dataDir, OFFHOOK_LISTEN: listen },
          timeout: 5 * PATIENCE_MS,
        },
        (error, stdout, stderr) => done({ code: Number(error?.code ?? 0), text: stdout + stderr }),
      );
    });
  const api = async (method: 'GET' | 'POST', url: string): Promise<{ status: number; body: unknown }> => {
    const { token } = await site().person('1001');
    const reply = await fetch(`${site().base}/api/v1${url}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: reply.status, body: await reply.json() };
  };
  const state = async (): Promise<PathCheckReply> =>
    PathCheckReply.parse((await api('GET', '/path-check')).body);
  const ended = () =>
    until('the end of the check', async () => {
      const now = await state();
      return now.running === null ? now : null;
    });
  /** Events of the check since a cursor, and the next cursor. */
  const reports = async (after = '') => {
    const { body } = await api('GET', `/events/poll?topics=system&wait=0${after}`);
    const { cursor, events } = PollReply.parse(body);
    return {
      after: `&cursor=${cursor}`,
      events: events.flatMap(({ type, subject }) =>
        type.startsWith('path_check.') ? [`${type} ${subject}`] : [],
      ),
    };
  };
  const turnPid = async (): Promise<number> => {
    const file = path.join(site().dataDir, 'engine/turn.json');
    return (JSON.parse(await readFile(file, 'utf8')) as { pid: number }).pid;
  };
  const traces = async (): Promise<string> =>
    [await site().engineCli('pjsip show contacts'), await site().engineCli('core show channels concise')]
      .join('\n')
      .split('\n')
      .filter((line) => line.includes('doctor'))
      .join('\n');
  const details = async (): Promise<string> => {
    const { token } = await site().person('1001');
    const reply = await fetch(`${site().base}/readyz`, { headers: { authorization: `Bearer ${token}` } });
    return ((await reply.json()) as { details: { doctor: string } }).details.doctor;
  };

  test('doctor - registers, is called and hears itself by UDP, TCP, TLS, WebSocket and TURN, and nobody else notices', async () => {
    const from = await freeRange(8);
    tlsPort = await freePort();
    await ask(site(), 'POST', '/network', {
      tls_port: tlsPort,
      turn_port: await freePort(),
      turn_relay_ports: { from, to: from + 7 },
    });
    assert.equal((await apply(site())).state, 'applied');
    const { code, text } = await doctor();
    assert.deepEqual(
      text
        .trim()
        .split('\n')
        .map((line) => line.slice(0, 10).trim()),
      ['ok   udp', 'ok   tcp', 'ok   tls', 'ok   web', 'ok   turn'],
      text,
    );
    assert.equal(code, 0);
    assert.match(await details(), /^all ways work \(udp, tcp, tls, web, turn\), 20/);
    const { token } = await site().person('1001');
    const calls = await fetch(`${site().base}/api/v1/calls`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.deepEqual(((await calls.json()) as { calls: unknown[] }).calls, []);
    await until('the phone of the doctor is gone', async () => {
      return !(await site().engineCli('pjsip show contacts')).includes('doctor');
    });
  });

  test('doctor - names what does not answer: a TURN server that hangs', async () => {
    const pid = await turnPid();
    process.kill(pid, 'SIGSTOP');
    try {
      const { code, text } = await doctor();
      assert.match(
        text,
        /^ok {3}udp .*\nok {3}tcp .*\nok {3}tls .*\nok {3}web .*\nFAIL turn {2}TURN at 127\.0\.0\.1:\d+ gives no relay: no answer in 5 s$/m,
      );
      assert.equal(code, 1);
      assert.match(await details(), /^turn: TURN at .* gives no relay/);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });

  test('doctor - names relay ports that are all in use, and one that is given back works again', async () => {
    const { token } = await site().person('1001');
    const reply = await fetch(`${site().base}/api/v1/session/sip`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { turn } = (
      (await reply.json()) as { sip: { turn: { username: string; credential: string; urls: string[] } } }
    ).sip;
    const port = Number(/:(\d+)\?/.exec(turn.urls[0]!)![1]);
    const relays: MediaWire[] = [];
    const fill = async (): Promise<void> => {
      for (;;) {
        const relay = await openRelay({ host: '127.0.0.1', port }, turn, PATIENCE_MS).catch(
          (error: unknown) => error,
        );
        if (relay instanceof NoRelayPorts) return;
        if (relay instanceof Error) throw relay;
        relays.push(relay as MediaWire);
      }
    };
    let text = '';
    // The port of the check before may be given back after the others are taken.
    await until(
      'the doctor to name them',
      async () => {
        await fill();
        ({ text } = await doctor());
        return /^FAIL turn {2}TURN at .* has no port left for a relay: turn_relay_ports of .* too few$/m.test(
          text,
        );
      },
      { seen: () => ({ text }) },
    );
    for (const relay of relays) relay.close();
    await until('TURN to relay again', async () => /^ok {3}turn /m.test((await doctor()).text));
  });

  test('doctor - names a proxy that passes no WebSocket, another program at the port, a wrong password and a foreign authority', async () => {
    let status = 200;
    const proxy = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const listen = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const webLine = async () => /^.* web .*$/m.exec((await doctor(listen)).text)?.[0];
    assert.equal(
      await webLine(),
      `FAIL web   ws://${listen}/ws takes no SIP over WebSocket: a proxy in front does not pass upgrades of /ws: the WebSocket was refused`,
    );
    status = 404;
    assert.equal(
      await webLine(),
      `FAIL web   http://${listen} answers with 404: TCP port ${listen.split(':')[1]} is not this service`,
    );
    proxy.close();
    await once(proxy, 'close');
    assert.match(
      (await webLine()) ?? '',
      /^FAIL web {3}the service at http:\/\/\S+ does not answer: TCP port \d+ is blocked or wrong: /,
    );
    const { host, port } = site().sip;
    const pass = path.join(site().dataDir, 'wrong-pass.json');
    const tls = `${host}:${tlsPort}`;
    await writeFile(
      pass,
      JSON.stringify({
        families: [{ six: false, host, web: site().base }],
        sip_port: port,
        tls_ports: [tlsPort],
        turn: null,
        rtp: '10000-10099',
        password: 'not-the-right-one',
        ca: '',
      }),
    );
    const { text } = await doctor(undefined, '--from', pass);
    const refuses = (way: string) => `SIP over ${way} refuses a registration with SIP/2.0 401 Unauthorized\n`;
    assert.equal(
      text.replace(/(takes no connection[^:]*: the port[^:]*): .*/, '$1: REASON'),
      `FAIL web   ${refuses(`WebSocket at ${site().wsUrl}`)}` +
        `FAIL udp   ${refuses(`UDP at ${host}:${port}`)}` +
        `FAIL tcp   ${refuses(`TCP at ${host}:${port}`)}` +
        `FAIL tls   SIP over TLS at ${tls} takes no connection: the port is blocked or wrong: REASON\n`,
    );
  });

  test('path check - a job with its events: one at a time, a way that fails and works again', async () => {
    // Takes in what the command found before.
    await state();
    const start = await reports();
    const first = await api('POST', '/path-check');
    assert.equal(first.status, 202);
    const second = await api('POST', '/path-check');
    assert.deepEqual([second.status, (second.body as { code: string }).code], [409, 'check_running']);
    const works = await ended();
    assert.deepEqual(
      works.ways.map(({ way, ok }) => [way, ok]),
      [
        ['udp', true],
        ['tcp', true],
        ['tls', true],
        ['web', true],
        ['turn', true],
      ],
      JSON.stringify(works),
    );
    const pid = await turnPid();
    process.kill(pid, 'SIGSTOP');
    try {
      assert.equal((await api('POST', '/path-check')).status, 202);
      const failing = (await ended()).ways.find(({ way }) => way === 'turn');
      assert.deepEqual([failing?.ok, failing?.fault], [false, 'no_relay']);
      assert.match(await details(), /^turn: TURN at .* gives no relay/);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    assert.equal((await api('POST', '/path-check')).status, 202);
    assert.equal((await ended()).ways.find(({ way }) => way === 'turn')?.ok, true);
    const events = await until('three completed checks on the stream', async () => {
      const all = (await reports(start.after)).events;
      return all.filter((event) => event === 'path_check.completed paths').length === 3 && all;
    });
    assert.deepEqual(events.filter((event) => event !== 'path_check.completed paths').slice(-2), [
      'path_check.way_failed paths/turn',
      'path_check.way_restored paths/turn',
    ]);
    const { token } = await site().person('1001');
    const metrics = await fetch(`${site().base}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    assert.match(await metrics.text(), /^offhook_path_ok\{way="web"\} 1$/m);
  });

  test('path check - a service killed during a check leaves no phone and no call of it behind', async () => {
    await until('a phone of the doctor in the engine', async () => {
      const { status } = await api('POST', '/path-check');
      assert.ok(status === 202 || status === 409, String(status));
      return (await traces()) !== '';
    });
    await site().kill('SIGKILL');
    await site().start();
    assert.equal((await state()).running, null);
    let left = '';
    await until('nothing of the doctor in the engine', async () => (left = await traces()) === '', {
      seen: () => ({ left }),
    });
    assert.equal((await api('POST', '/path-check')).status, 202);
    const failed = (await ended()).ways.filter(({ ok }) => !ok);
    // It failed once by TCP without a trace of why.
    const engine = ['pjsip show transports', 'pjsip show contacts', 'core show taskprocessors'];
    const states = await Promise.all(engine.map((one) => site().engineCli(one)));
    assert.equal(failed.length, 0, [JSON.stringify(failed), ...states].join('\n'));
  });
});
