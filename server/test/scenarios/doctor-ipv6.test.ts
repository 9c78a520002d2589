/** The doctor at a site with IPv6 beside IPv4: each way over both, from the site and from a home whose router drops ports. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PathCheckReply } from '@offhook/contract/path-check.ts';
import { apply, ask } from '../support/config-steps.ts';
import { doctorPorts, useDoctor } from '../support/doctor-rig.ts';
import { ADDRESSES, ADDRESSES_V6, giveHomeIPv6, isInside, noNets, runInNets } from '../support/nets/nets.ts';
import { until } from '../support/until.ts';

const SITE = ADDRESSES.officeGateway;
const SITE_V6 = ADDRESSES_V6.office;
const WRONG = '2001:db8:10::99';

if (isInside) {
  const ports = await doctorPorts();
  describe('doctor ipv6', () => {
    const { site, printPass, atHome, failing, rtp } = useDoctor(ports, {
      https: '[::]',
      env: { OFFHOOK_SIP_LISTEN_IPV6: SITE_V6 },
      rules: 'ip6',
    });

    test('doctor ipv6 - proves every way over both from a home, and names the family', async () => {
      const { code, text } = await atHome();
      const heard = (host: string): string => `registered, called and heard itself from ${host}`;
      const ways = (suffix: string, shown: string, home: string): string =>
        [
          `web${suffix}`.padEnd(9) +
            ` registered over wss://${shown}:${ports.https}/ws, called and heard itself encrypted from ${home}`,
          ...['udp', 'tcp', 'tls'].map((way) => `${way}${suffix}`.padEnd(9) + ` ${heard(home)}`),
          `turn${suffix}`.padEnd(9) +
            ` registered, called and heard itself through TURN at ${shown}:${ports.turn}`,
        ]
          .map((line) => `ok   ${line}\n`)
          .join('');
      assert.equal(text, ways('', SITE, ADDRESSES.home) + ways('_ipv6', `[${SITE_V6}]`, ADDRESSES_V6.home));
      assert.equal(code, 0);
    });

    test('doctor ipv6 - the service proves every way over both', async () => {
      const { token } = await site().person('1001');
      const request = { headers: { authorization: `Bearer ${token}` } };
      const url = `${site().base}/api/v1/path-check`;
      assert.equal((await fetch(url, { ...request, method: 'POST' })).status, 202);
      const { ways } = await until('the end of the check', async () => {
        const state = PathCheckReply.parse(await (await fetch(url, request)).json());
        return state.running === null && state.ways.length > 0 ? state : null;
      });
      assert.deepEqual(
        ways.map(({ way, ok }) => [way, ok]),
        ['udp', 'udp_ipv6', 'tcp', 'tcp_ipv6', 'tls', 'tls_ipv6', 'web', 'turn', 'turn_ipv6'].map((way) => [
          way,
          true,
        ]),
        JSON.stringify(ways),
      );
    });

    test('doctor ipv6 - names the port of UDP, TCP, TLS, TURN, WSS and media that a router drops', async () => {
      const { port } = site().sip;
      const at = `[${SITE_V6}]`;
      assert.deepEqual(await failing(`udp dport ${port}`), [
        `FAIL udp_ipv6  SIP over UDP at ${at}:${port} does not answer: the port is blocked or wrong`,
      ]);
      assert.deepEqual(await failing(`tcp dport ${port}`), [
        `FAIL tcp_ipv6  SIP over TCP at ${at}:${port} takes no connection: the port is blocked or wrong`,
      ]);
      assert.deepEqual(await failing(`tcp dport ${ports.tls}`), [
        `FAIL tls_ipv6  SIP over TLS at ${at}:${ports.tls} takes no connection: the port is blocked or wrong`,
      ]);
      assert.deepEqual(await failing(`udp dport ${ports.turn}`), [
        `FAIL turn_ipv6 TURN at ${at}:${ports.turn} gives no relay: no answer in 5 s`,
      ]);
      assert.deepEqual(await failing(`tcp dport ${ports.https}`), [
        `FAIL web_ipv6  the service at https://${at}:${ports.https} does not answer: TCP port ${ports.https} is blocked or wrong`,
      ]);
      const silent = `no media comes back from ${ADDRESSES_V6.home}: UDP ports ${rtp()} of ${SITE_V6} are blocked`;
      assert.deepEqual(
        await failing(`udp dport ${rtp()}`),
        ['web_ipv6 ', 'udp_ipv6 ', 'tcp_ipv6 ', 'tls_ipv6 '].map((way) => `FAIL ${way} ${silent}`),
      );
    });

    test('doctor ipv6 - a home without IPv6 tries IPv4 alone and says so', async () => {
      giveHomeIPv6(false);
      try {
        const { code, text } = await atHome();
        assert.equal(code, 0, text);
        const lines = text.trim().split('\n');
        assert.equal(lines.length, 6, text);
        assert.match(
          lines[5]!,
          new RegExp(`^Not tried: ${SITE_V6} has no IPv6 address that is reached from here: `),
        );
      } finally {
        giveHomeIPv6(true);
      }
    });

    test('doctor ipv6 - names a wrong external address of IPv6 and the setting', async () => {
      await ask(site(), 'PATCH', '/network/site', { external_address: WRONG });
      assert.equal((await apply(site())).state, 'applied');
      await printPass(SITE_V6);
      assert.ok(
        (await failing('')).includes(
          `FAIL udp_ipv6  the engine gives ${WRONG} as its address for SIP, but it is reached at ${SITE_V6}: external_address of the network is wrong or missing`,
        ),
      );
    });
  });
} else {
  test('doctor ipv6 - beside IPv4, from a home through its router', { skip: noNets() }, async () => {
    const { code, out } = await runInNets(import.meta.filename);
    assert.equal(code, 0, out);
  });
}
