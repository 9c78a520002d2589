/** Attacks over SIP on a whole site, and the reports of health, metrics and the audit trail. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { registerPhone } from '../support/phone.ts';
import { statusOf } from '../../src/adapters/asterisk/phone/message.ts';
import { openTransport, randomTag } from '../../src/adapters/asterisk/phone/transport.ts';
import type { Dialog, SipTransport } from '../../src/adapters/asterisk/phone/transport.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('attacks over SIP', () => {
  // All of 127.0.0.0/8 is local to this machine, and local networks are never blocked by default.
  const site = useSite({ env: { OFFHOOK_SIP_NEVER_BLOCK: '127.0.0.0/24' } });
  const ask = async <T>(extension: string, path: string, body?: object) => {
    const { token } = await site().person(extension);
    const response = await fetch(`${site().base}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      text,
      body: (text.startsWith('{') ? JSON.parse(text) : {}) as T,
    };
  };
  const readiness = async () => {
    const { status, body } = await ask<{
      checks: Record<string, string>;
      details: Record<string, string>;
    }>('1001', '/readyz');
    return { ...body, status };
  };
  const sipOf = async (extension: string): Promise<{ username: string; password: string }> => {
    const found = (await site().credentials()).find((c) => c.extension === extension)!;
    return { username: extension, password: found.sip_password };
  };
  const dialogOf = (username: string, to: string): Dialog => {
    const at = `${site().sip.host}:${site().sip.port}`;
    return {
      callId: randomTag(),
      local: `<sip:${username}@${at}>;tag=${randomTag()}`,
      remote: `<sip:${to}@${at}>`,
      target: to === username ? `sip:${at}` : `sip:${to}@${at}`,
      cseq: 0,
    };
  };
  const many = async (
    count: number,
    send: () => Promise<number>,
    signal?: AbortSignal,
  ): Promise<Map<number, number>> => {
    const answers = new Map<number, number>();
    let left = count;
    const worker = async (): Promise<void> => {
      while (left-- > 0 && signal?.aborted !== true) {
        const status = await send();
        answers.set(status, (answers.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 30 }, worker));
    return answers;
  };
  const message = (transport: SipTransport, username: string): Promise<number> =>
    transport
      .send(dialogOf(username, '601'), 'MESSAGE', {
        headers: [['content-type', 'text/plain']],
        body: 'x'.repeat(200),
      })
      .response.then(statusOf);

  test('attacks over SIP - every check of the engine holds, and its own call is in no list and no history', async () => {
    await site().ready();
    const { status, checks } = await readiness();
    assert.equal(status, 200);
    for (const name of ['sip', 'call', 'call_records', 'task_queues', 'sip_refusals'])
      assert.equal(checks[name], 'ok', name);
    assert.deepEqual((await ask<{ calls: object[] }>('1001', '/api/v1/calls')).body.calls, []);
    // The engine's own call of the next check may be up at this moment.
    await until('no call in the engine', async () =>
      /^0 active channels/m.test(await site().engineCli('core show channels count')),
    );
    const recorded = await ask<{ conversations: object[] }>('1001', '/api/v1/conversations');
    assert.deepEqual([recorded.status, recorded.body.conversations], [200, []]);
    const events = (await ask('1001', '/metrics')).text;
    assert.match(events, /^offhook_engine_sip_ok 1$/m);
    assert.match(events, /^offhook_engine_unknown \d+$/m);
  });

  test('attacks over SIP - the service’s own proofs that SIP works are counted as no attack', async () => {
    const log = path.join(site().dataDir, 'engine', 'log', 'console.log');
    // The first one of an address is not reported, and the event of one comes before the next.
    await until('three refused proofs', async () => {
      const lines = (await readFile(log, 'utf8')).split('\n');
      return lines.filter((line) => /<sip:health-.* - No matching endpoint found/.test(line)).length >= 3;
    });
    assert.match((await ask('1001', '/metrics')).text, /^offhook_sip_refused_account 0$/m);
  });

  test('attacks over SIP - **1&s and similar numbers pick up no supervisor and no call', async () => {
    await using caller = await site().phone('1003');
    await using callee = await site().phone('1004');
    await using supervisor = await site().phone('1002');
    await using attacker = await site().phone('1010');
    const call = await caller.invite('1004');
    const incoming = await callee.incoming();
    await incoming.answer();
    await call.answered();
    const listed = await until('the talk in the list', async () => {
      const { body } = await ask<{ calls: { call_id: string; state: string }[] }>('1002', '/api/v1/calls');
      return body.calls.find(({ state }) => state === 'connected');
    });
    const listening = await ask('1002', `/api/v1/calls/${listed.call_id}/listen`, {});
    assert.equal(listening.status, 202, listening.text);
    const ear = await supervisor.incoming();
    ear.ring();
    for (const number of ['**1&s', '**s', '**1&ownring', '**1&ownring@internal', '**1002', '*8', '**1,s']) {
      const tried = await attacker.invite(number);
      await tried.ended();
      // A refused feature code answers with an announcement.
      if (!/^[*0-9]+$/.test(number)) assert.notEqual(tried.status, 200, number);
      assert.equal(ear.state, 'ringing', number);
    }
    await ear.answer();
    await until('the supervisor to listen', () => ear.state === 'up');
    await ear.hangup();
    await call.hangup();
  });

  test('attacks over SIP - 2,000 messages have no effect, and calls continue', async () => {
    const { username, password } = await sipOf('1010');
    const transport = await openTransport({ server: site().sip, username, password, onRequest() {} });
    const answers = await many(2_000, () => message(transport, username));
    await transport.close();
    assert.deepEqual([...answers], [[501, 2_000]]);
    await using caller = await site().phone('1011');
    const call = await caller.invite('600');
    await call.answered();
    await call.hangup();
    assert.equal((await readiness()).status, 200);
  });

  test('attacks over SIP - a phone cannot have the engine send requests to an address of its choice', async () => {
    const { username, password } = await sipOf('1010');
    await using end = new AsyncDisposableStack();
    const transport = await openTransport({ server: site().sip, username, password, onRequest() {} });
    end.defer(() => transport.close());
    const asked = transport.send(dialogOf(username, username), 'REGISTER', {
      headers: [
        ['expires', '60'],
        ['supported', 'path'],
        ['path', '<sip:127.0.0.77:45679;transport=tcp;lr>'],
      ],
    });
    assert.equal(statusOf(await asked.response), 200);
    const stored = await site().engineCli('database show registrar/contact');
    assert.match(stored, /"endpoint":"1010"/);
    assert.doesNotMatch(stored, /45679/);
  });

  test('attacks over SIP - a page cannot subscribe to the calls of others', async () => {
    await using end = new AsyncDisposableStack();
    const { sip } = (await site().person('1010')).login;
    const transport = await openTransport({
      server: site().sip,
      username: sip.webrtc_username,
      password: sip.sip_password,
      web: site().wsUrl,
      onRequest() {},
    });
    end.defer(() => transport.close());
    const asked = transport.send(dialogOf(sip.webrtc_username, '1001'), 'SUBSCRIBE', {
      headers: [
        ['event', 'dialog'],
        ['accept', 'application/dialog-info+xml'],
        ['expires', '3600'],
      ],
    });
    assert.equal(statusOf(await asked.response), 603);
  });

  test('attacks over SIP - 600 wrong passwords register no phone; health, metrics and a bounded audit trail report them', async () => {
    const { username } = await sipOf('1009');
    const transport = await openTransport({
      server: site().sip,
      username,
      password: 'wrong',
      onRequest() {},
    });
    const answers = await many(600, () =>
      transport
        .send(dialogOf(username, username), 'REGISTER', { headers: [['expires', '60']] })
        .response.then(statusOf),
    );
    await transport.close();
    assert.deepEqual([...answers], [[401, 600]]);
    await assert.rejects(
      registerPhone({ server: site().sip, extension: '1009', username: 'nobody-at-all', password: 'wrong' }),
    );
    const seen = await until('600 refusals in health', async () => {
      const now = await readiness();
      return Number.parseInt(now.details['sip_refusals'] ?? '0', 10) >= 600 && now;
    });
    assert.equal(seen.status, 200, 'who is attacked still works');
    assert.equal(seen.checks['sip_refusals'], 'failing');
    const metrics = (await ask('1001', '/metrics')).text;
    assert.ok(
      Number(/^offhook_sip_refused_password (\d+)$/m.exec(metrics)?.[1]) >= 600,
      metrics.slice(0, 200),
    );
    interface Row {
      readonly action: string;
      readonly object: string | null;
      readonly ip: string | null;
      readonly detail: Record<string, number>;
    }
    const rows = await until(
      'the audit trail to hold them',
      async () => {
        const { body } = await ask<{ entries: Row[] }>('1001', '/api/v1/audit?action=sip.refused');
        const found = body.entries;
        return found.reduce((all, row) => all + row.detail['requests']!, 0) >= 600 && found;
      },
      { ms: 3 * PATIENCE_MS, every: 1_000 },
    );
    assert.ok(rows.length <= 3, JSON.stringify(rows));
    assert.ok(
      rows.every((row) => row.ip === '127.0.0.1' && (row.object === username || row.object === null)),
    );
  });

  test('attacks over SIP - a scanner is blocked within ten attempts, listed, and released by a person', async () => {
    interface Listed {
      readonly enforced: boolean;
      readonly networks: readonly { id: number; network: string; reason: string; requests: number }[];
    }
    const scanner = await openTransport({
      server: site().sip,
      username: 'scanner',
      password: 'wrong',
      at: { host: '127.9.9.9', port: 0 },
      onRequest() {},
    });
    const attempt = (method: 'REGISTER' | 'INVITE'): Promise<number> =>
      scanner.send(dialogOf('scanner', '600'), method, {}).response.then(statusOf);
    try {
      for (let i = 0; i < 10; i++)
        assert.ok([401, 403].includes(await attempt(i % 2 === 0 ? 'REGISTER' : 'INVITE')));
      const listed = await until('the block', async () => {
        const { body } = await ask<Listed>('1001', '/api/v1/blocked-networks');
        return body.networks.length > 0 && body.enforced && body;
      });
      const { id, ...block } = listed.networks[0]!;
      assert.deepEqual([block.network, block.reason, block.requests], ['127.9.9.0/24', 'account', 9]);
      assert.equal(await attempt('REGISTER'), 403);
      assert.equal(await attempt('INVITE'), 403);
      await using desk = await site().phone('1011');
      const call = await desk.invite('600');
      await call.answered();
      await call.hangup();
      const { token } = await site().person('1001');
      const gone = await fetch(`${site().base}/api/v1/blocked-networks/${id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${token}` },
      });
      assert.equal(gone.status, 200);
      assert.equal(await attempt('REGISTER'), 401);
    } finally {
      await scanner.close();
    }
  });

  test('attacks over SIP - health is red and names SIP while it hangs and the engine’s manager answers', async () => {
    const { username, password } = await sipOf('1010');
    // As the engine is without this setting of ours: any full queue makes it refuse SIP.
    const shared = path.join(site().dataDir, 'engine', 'etc', 'pjsip.conf');
    const text = await readFile(shared, 'utf8');
    assert.match(text, /^taskprocessor_overload_trigger = pjsip_only$/m);
    await writeFile(shared, text.replace(' = pjsip_only', ' = global'));
    await site().engineCli('module reload res_pjsip.so');
    await until('the setting in the engine', async () =>
      (await site().engineCli('pjsip show settings')).match(/^ taskprocessor_overload_trigger +: global$/m),
    );
    // Not loaded by the rendered configuration: its only queue takes every message, and never drains at a number with
    // music.
    assert.match(await site().engineCli('module load res_pjsip_messaging.so'), /Loaded/);
    const transport = await openTransport({ server: site().sip, username, password, onRequest() {} });
    const over = new AbortController();
    try {
      void many(1_500, () => message(transport, username), over.signal);
      const red = await until(
        'health to be red',
        async () => {
          const now = await readiness();
          return now.status === 503 && now.checks['sip'] === 'failing' && now;
        },
        { every: 500 },
      );
      assert.equal(red.checks['engine'], 'ok', 'the manager answers');
      assert.match(red.details['sip']!, /no answer/);
    } finally {
      over.abort();
      await transport.close();
    }
    process.kill(site().enginePid()!, 'SIGKILL');
    await site().ready();
  });
});
