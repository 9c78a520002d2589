/** IPv6 beside IPv4: phones of both call each other, in the office and from home, where IPv6 needs no NAT. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { askStun } from '../../src/adapters/asterisk/turn/stun.ts';
import { SECRET, extensions, prepareCompany } from '../support/company.ts';
import { ADDRESSES, ADDRESSES_V6, isInside, noNets, runInNets } from '../support/nets/nets.ts';
import { callOffice, remotePhone } from '../support/nets/remote-phone.ts';
import { registerPhone } from '../support/phone.ts';
import type { Phone, PhoneOptions } from '../support/phone.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const HEARD = 50;
const WRONG_PASSWORDS = 10;

if (isInside) {
  const [tlsPort, webPort, turnPort] = [await freePort(), await freePort(), await freePort()];
  describe('ipv6', () => {
    const site = useSite(() => ({
      host: ADDRESSES.office,
      env: {
        OFFHOOK_SIP_LISTEN_IPV6: ADDRESSES_V6.office,
        OFFHOOK_HTTPS_LISTEN: `[${ADDRESSES_V6.office}]:${webPort}`,
      },
      prepare: prepareCompany({
        people: extensions(2001, 2004),
        encrypted: ['2003'],
        objects: {
          network: [
            {
              name: 'site',
              external_address: ADDRESSES.officeGateway,
              local_nets: ['192.168.10.0/24', '127.0.0.0/8'],
              tls_port: tlsPort,
              turn_port: turnPort,
            },
          ],
        },
      }),
    }));
    let ca = '';
    before(async () => {
      ca = await readFile(path.join(site().dataDir, 'tls', 'ca.pem'), 'utf8');
    });
    const phone = (extension: string, host: string, how: Partial<PhoneOptions> = {}) =>
      registerPhone({
        server: { host, port: how.ca === undefined ? site().sip.port : tlsPort },
        extension,
        password: SECRET,
        at: { host, port: 0 },
        ...how,
      });
    /** One calls the other, and both hear each other. */
    async function talk(from: Phone, to: Phone): Promise<void> {
      const call = await from.invite(to.extension);
      call.play('tone');
      const incoming = await to.incoming(call);
      assert.equal(incoming.party.number, from.extension);
      await incoming.answer();
      incoming.play('tone');
      await call.answered();
      await Promise.all([call.hears(HEARD), incoming.hears(HEARD)]);
      await call.hangup();
      await incoming.ended();
    }

    test('ipv6 - phones of both families call each other, by UDP, TCP and TLS', async () => {
      await using four = await phone('2001', ADDRESSES.office);
      const ways = { '2002': {}, '2004': { tcp: true }, '2003': { ca, srtp: true } } as const;
      for (const [extension, how] of Object.entries(ways)) {
        await using six = await phone(extension, ADDRESSES_V6.office, how);
        await talk(six, four);
        await talk(four, six);
      }
      await using other = await phone('2002', ADDRESSES_V6.office);
      await using six = await phone('2003', ADDRESSES_V6.office, { ca, srtp: true });
      await talk(other, six);
    });

    test('ipv6 - a desk phone at home needs no external address, and calls one behind the NAT of the same home', async () => {
      await using four = await phone('2001', ADDRESSES.office);
      await using home = await remotePhone('home', {
        server: { host: ADDRESSES_V6.office, port: tlsPort },
        extension: '2003',
        password: SECRET,
        ca,
        srtp: true,
        at: { host: ADDRESSES_V6.home, port: 0 },
      });
      await using behind = await remotePhone('home', {
        server: { host: ADDRESSES.officeGateway, port: tlsPort },
        extension: '2002',
        password: SECRET,
        ca,
        at: { host: ADDRESSES.home, port: 0 },
      });
      const incoming = await callOffice(home, four, '2001');
      await incoming.hears(HEARD);
      const { decrypted, heard } = await home.hears(HEARD);
      assert.ok(decrypted >= heard);
      await home.hangup();
      await incoming.ended();

      await behind.invite('2003');
      assert.equal(await home.answer(), '2002');
      await behind.answered();
      await Promise.all([behind.hears(HEARD), home.hears(HEARD)]);
      await behind.hangup();
      await home.ended();
    });

    test('ipv6 - HTTPS answers there and names itself in the address of the web phone', async () => {
      const password = (await site().credentials()).find(({ extension }) => extension === '1001')!.password;
      const body = JSON.stringify({ username: '1001', password });
      const reply = await new Promise<string>((done, fail) => {
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
        const asked = request(
          { host: ADDRESSES_V6.office, port: webPort, ca, path: '/api/auth/login', method: 'POST', headers },
          (response) => {
            let text = '';
            response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
            response.on('end', () => done(text));
          },
        );
        asked.on('error', fail);
        asked.end(body);
      });
      assert.match(reply, new RegExp(`"ws_url":"wss://\\[${ADDRESSES_V6.office}\\]:${webPort}/ws"`));
    });

    test('ipv6 - the TURN server answers there, also as a STUN server', async () => {
      const server = { host: ADDRESSES_V6.office, port: turnPort };
      const { mapped } = await until('an answer of TURN', () => askStun(server, 1_000));
      assert.equal(mapped, ADDRESSES_V6.office);
    });

    test('ipv6 - wrong passwords block the /64 of the sender and nobody else', async () => {
      const guess = (): Promise<unknown> =>
        remotePhone('home', {
          server: { host: ADDRESSES_V6.office, port: site().sip.port },
          extension: '2002',
          password: 'not-the-right-one-at-all',
          at: { host: ADDRESSES_V6.home, port: 0 },
        }).catch((error: unknown) => error);
      for (let n = 0; n < WRONG_PASSWORDS; n++) assert.match(String(await guess()), /REGISTER of 2002/);
      const { token } = await site().person('1001');
      const networks = await until('the block', async () => {
        const reply = await fetch(`${site().base}/api/v1/blocked-networks`, {
          headers: { authorization: `Bearer ${token}` },
        });
        const { networks: all } = (await reply.json()) as { networks: { network: string }[] };
        return all.length > 0 && all.map(({ network }) => network);
      });
      assert.deepEqual(networks, ['2001:db8:20:0::/64']);
      await until('the engine to refuse the network', async () =>
        /answered with SIP\/2.0 403/.test(String(await guess())),
      );
      await using six = await phone('2002', ADDRESSES_V6.office);
      await using four = await phone('2001', ADDRESSES.office);
      await talk(six, four);
    });
  });
} else {
  test('ipv6 - beside IPv4, in an office and from a home', { skip: noNets() }, async () => {
    const { code, out } = await runInNets(import.meta.filename);
    assert.equal(code, 0, out);
  });
}
