/** `npm run doctor` against a real site, and against one whose ports are really blocked. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { apply, ask } from '../support/config-steps.ts';
import { freePort, freeRange } from '../support/ports.ts';
import { REPOSITORY } from '../support/sources.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('doctor', () => {
  const site = useSite();
  const doctor = (): Promise<{ code: number; text: string }> =>
    new Promise((done) => {
      execFile(
        process.execPath,
        [path.join(REPOSITORY, 'server/src/programs/doctor-cli.ts')],
        { env: { ...process.env, OFFHOOK_DATA: site().dataDir }, timeout: 120_000 },
        (error, stdout, stderr) => done({ code: Number(error?.code ?? 0), text: stdout + stderr }),
      );
    });
  const details = async (): Promise<string> => {
    const { token } = await site().person('1001');
    const reply = await fetch(`${site().base}/readyz`, { headers: { authorization: `Bearer ${token}` } });
    return ((await reply.json()) as { details: { doctor: string } }).details.doctor;
  };

  test('doctor - registers, is called and hears itself by UDP, TCP, TLS and TURN, and nobody else notices', async () => {
    const from = await freeRange(40);
    await ask(site(), 'POST', '/network', {
      tls_port: await freePort(),
      turn_port: await freePort(),
      turn_relay_ports: { from, to: from + 39 },
    });
    assert.equal((await apply(site())).state, 'applied');
    const { code, text } = await doctor();
    assert.deepEqual(
      text
        .trim()
        .split('\n')
        .map((line) => line.slice(0, 10).trim()),
      ['ok   udp', 'ok   tcp', 'ok   tls', 'ok   turn'],
      text,
    );
    assert.equal(code, 0);
    assert.match(await details(), /^all ways work \(udp, tcp, tls, turn\), 20/);
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
    const file = path.join(site().dataDir, 'engine/turn.json');
    const { pid } = JSON.parse(await readFile(file, 'utf8')) as { pid: number };
    process.kill(pid, 'SIGSTOP');
    try {
      const { code, text } = await doctor();
      assert.match(
        text,
        /^ok {3}udp .*\nok {3}tcp .*\nok {3}tls .*\nFAIL turn {2}TURN at 127\.0\.0\.1:\d+ gives no relay: no answer in 5 s$/m,
      );
      assert.equal(code, 1);
      assert.match(await details(), /^turn: TURN at .* gives no relay/);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });
});
