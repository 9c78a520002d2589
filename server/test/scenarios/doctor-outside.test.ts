/** The doctor at home behind NAT against an office behind NAT, through a router that drops one port after the other. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PollReply } from '@offhook/contract/stream.ts';
import { apply, ask } from '../support/config-steps.ts';
import { doctorPorts, useDoctor } from '../support/doctor-rig.ts';
import { ADDRESSES, isInside, noNets, runInNets } from '../support/nets/nets.ts';

const SITE = ADDRESSES.officeGateway;
const WRONG = '203.0.113.99';

if (isInside) {
  const ports = await doctorPorts();
  describe('doctor outside', () => {
    const { site, printPass, atHome, failing, rtp } = useDoctor(ports, { https: ADDRESSES.office });

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
        `ok   web   registered over wss://${SITE}:${ports.https}/ws, called and heard itself encrypted from ${ADDRESSES.home}\n` +
          `ok   udp   ${heard}\nok   tcp   ${heard}\nok   tls   ${heard}\n` +
          `ok   turn  registered, called and heard itself through TURN at ${SITE}:${ports.turn}\n`,
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
      assert.deepEqual(await failing(`tcp dport ${ports.tls}`), [
        `FAIL tls   SIP over TLS at ${SITE}:${ports.tls} takes no connection: the port is blocked or wrong`,
      ]);
      assert.deepEqual(await failing(`udp dport ${ports.turn}`), [
        `FAIL turn  TURN at ${SITE}:${ports.turn} gives no relay: no answer in 5 s`,
      ]);
      assert.deepEqual(await failing(`tcp dport ${ports.https}`), [
        `FAIL web   the service at https://${SITE}:${ports.https} does not answer: TCP port ${ports.https} is blocked or wrong`,
      ]);
      // A firewall that knows the handshake of DTLS by its first byte.
      assert.deepEqual(await failing('udp length > 8 @th,64,8 22'), [
        'FAIL web   the keys of encrypted media were not agreed (DTLS): no answer in 5 s',
      ]);
    });

    test('doctor outside - names the media ports that a router drops; TURN works without them', async () => {
      const sentence = `no media comes back from ${ADDRESSES.home}: UDP ports ${rtp()} of ${SITE} are blocked`;
      assert.deepEqual(
        await failing(`udp dport ${rtp()}`),
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
