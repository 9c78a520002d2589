/** The doctor at home behind NAT against an office behind NAT, through a router that drops one port after the other. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { PollReply } from '@offhook/contract/stream.ts';
import { apply, ask } from '../support/config-steps.ts';
import { extensions, prepareCompany } from '../support/company.ts';
import { freePort, freeRange } from '../support/ports.ts';
import { REPOSITORY } from '../support/sources.ts';
import { ADDRESSES, blockAtHome, inNet, isInside, noNets, runInNets } from '../support/nets/nets.ts';
import { useSite } from '../support/use-site.ts';

const DOCTOR = path.join(REPOSITORY, 'server/src/programs/doctor-cli.ts');
const SITE = ADDRESSES.officeGateway;
const WRONG = '203.0.113.99';

if (isInside) {
  const [tlsPort, turnPort, httpsPort] = [await freePort(), await freePort(), await freePort()];
  const relayPorts = await freeRange(40);
  const HTTPS = `${ADDRESSES.office}:${httpsPort}`;
  describe('doctor outside', () => {
    const site = useSite(() => ({
      host: ADDRESSES.office,
      env: { OFFHOOK_HTTPS_LISTEN: HTTPS },
      prepare: prepareCompany({
        people: extensions(2001, 2002),
        objects: {
          network: [
            {
              name: 'site',
              external_address: SITE,
              ice_hosts: [{ local: ADDRESSES.office, external: SITE, keep_local: true }],
              local_nets: ['192.168.10.0/24', '127.0.0.0/8'],
              tls_port: tlsPort,
              turn_port: turnPort,
              turn_relay_ports: { from: relayPorts, to: relayPorts + 39 },
            },
          ],
        },
      }),
    }));
    const run = (
      command: readonly string[],
      env: NodeJS.ProcessEnv = {},
    ): Promise<{ code: number; text: string }> =>
      new Promise((done) => {
        const [program = '', ...args] = command;
        execFile(
          program,
          args,
          { env: { ...process.env, ...env }, timeout: 120_000 },
          (error, stdout, stderr) => done({ code: Number(error?.code ?? 0), text: stdout + stderr }),
        );
      });
    const passFile = () => path.join(site().dataDir, 'pass.json');
    async function printPass(...host: readonly string[]): Promise<{ readonly rtp: string }> {
      const { code, text } = await run([process.execPath, DOCTOR, '--pass', ...host], {
        OFFHOOK_DATA: site().dataDir,
        OFFHOOK_LISTEN: new URL(site().base).host,
        OFFHOOK_HTTPS_LISTEN: HTTPS,
      });
      assert.equal(code, 0, text);
      await writeFile(passFile(), text, { mode: 0o600 });
      return JSON.parse(text) as { rtp: string };
    }
    let rtp = '';
    const atHome = () => run(inNet('home', process.execPath, DOCTOR, '--from', passFile()));
    /** Lines of the ways that fail, while the router of the home drops what the rule matches. */
    async function failing(rule: string): Promise<readonly string[]> {
      blockAtHome(rule);
      try {
        const { code, text } = await atHome();
        const lines = text.trim().split('\n');
        assert.equal(lines.length, 5, text);
        const failed = lines.filter((line) => line.startsWith('FAIL'));
        assert.equal(code, failed.length === 0 ? 0 : 1);
        return failed;
      } finally {
        blockAtHome('');
      }
    }
    before(async () => {
      ({ rtp } = await printPass());
    });

    test('doctor outside - proves WSS, UDP, TCP, TLS and TURN of an office from a home, and no call is shown', async () => {
      const { token } = await site().person('1001');
      const poll = async (after: string) => {
        const url = `${site().base}/api/v1/events/poll?topics=calls&wait=0${after}`;
        const reply = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
        return PollReply.parse(await reply.json());
      };
      const { cursor } = await poll('');
      const { code, text } = await atHome();
      const { sip } = site();
      const heard = `registered, called and heard itself from ${ADDRESSES.home}`;
      assert.equal(
        text,
        `ok   web   registered over wss://${SITE}:${httpsPort}/ws, called and heard itself encrypted from ${ADDRESSES.home}\n` +
          `ok   udp   ${heard}\nok   tcp   ${heard}\nok   tls   ${heard}\n` +
          `ok   turn  registered, called and heard itself through TURN at ${SITE}:${turnPort}\n`,
        `SIP port ${sip.port}`,
      );
      assert.equal(code, 0);
      assert.deepEqual((await poll(`&cursor=${cursor}`)).events, []);
    });

    test('doctor outside - names the port of UDP, TCP, TLS, TURN, WSS and DTLS that a router drops', async () => {
      const { port } = site().sip;
      assert.deepEqual(await failing(`udp dport ${port}`), [
        `FAIL udp   SIP over UDP at ${SITE}:${port} does not answer: the port is blocked or wrong`,
      ]);
      assert.deepEqual(await failing(`tcp dport ${port}`), [
        `FAIL tcp   SIP over TCP at ${SITE}:${port} takes no connection: the port is blocked or wrong`,
      ]);
      assert.deepEqual(await failing(`tcp dport ${tlsPort}`), [
        `FAIL tls   SIP over TLS at ${SITE}:${tlsPort} takes no connection: the port is blocked or wrong`,
      ]);
      assert.deepEqual(await failing(`udp dport ${turnPort}`), [
        `FAIL turn  TURN at ${SITE}:${turnPort} gives no relay: no answer in 5 s`,
      ]);
      assert.deepEqual(await failing(`tcp dport ${httpsPort}`), [
        `FAIL web   the service at https://${SITE}:${httpsPort} does not answer: TCP port ${httpsPort} is blocked or wrong`,
      ]);
      // A firewall that knows the handshake of DTLS by its first byte.
      assert.deepEqual(await failing('udp length > 8 @th,64,8 22'), [
        'FAIL web   the keys of encrypted media were not agreed (DTLS): no answer in 5 s',
      ]);
    });

    test('doctor outside - names the media ports that a router drops; TURN works without them', async () => {
      const sentence = `no media comes back from ${ADDRESSES.home}: UDP ports ${rtp} of ${SITE} are blocked`;
      assert.deepEqual(
        await failing(`udp dport ${rtp}`),
        ['web', 'udp', 'tcp', 'tls'].map((way) => `FAIL ${way}   ${sentence}`),
      );
    });

    test('doctor outside - names a wrong external address and the setting', async () => {
      await ask(site(), 'PATCH', '/network/site', { external_media_address: WRONG });
      assert.equal((await apply(site())).state, 'applied');
      await printPass(SITE);
      const sentence = `the engine gives ${WRONG} as its address for media, but it is reached at ${SITE}: external_address or external_media_address of the network is wrong or missing`;
      assert.deepEqual(
        await failing(''),
        ['udp', 'tcp', 'tls'].map((way) => `FAIL ${way}   ${sentence}`),
      );
    });
  });
} else {
  test('doctor outside - at home, through the NAT of an office', { skip: noNets() }, async () => {
    const { code, out } = await runInNets(import.meta.filename);
    assert.equal(code, 0, out);
  });
}
