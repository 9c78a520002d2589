/** The external address of an office that follows a STUN server, in a call that is up while the provider changes it. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventsOf } from '../support/call-steps.ts';
import { apply, ask } from '../support/config-steps.ts';
import { SECRET, extensions, prepareCompany } from '../support/company.ts';
import {
  ADDRESSES,
  NEXT_ADDRESS,
  dropFormerAddress,
  isInside,
  moveOffice,
  noNets,
  runInNets,
} from '../support/nets/nets.ts';
import { callOffice, remotePhone } from '../support/nets/remote-phone.ts';
import type { RemotePhone } from '../support/nets/remote-phone.ts';
import { startLiar, startStun } from '../support/nets/stun-servers.ts';
import { registerPhone } from '../support/phone.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const HEARD = 50;
const FIRST = ADDRESSES.officeGateway;
const STUN = { host: ADDRESSES.provider, port: 3478 };
const LIAR = { port: 3479, lie: '10.0.0.1' };

if (isInside) {
  const tlsPort = await freePort();
  const network = {
    name: 'site' as const,
    external_address_source: 'stun' as const,
    stun_server: STUN.host,
    stun_port: STUN.port,
    local_nets: ['192.168.10.0/24', '127.0.0.0/8'],
    tls_port: tlsPort,
  };
  describe('external address', () => {
    const running: AsyncDisposable[] = [];
    let folder = '';
    before(async () => {
      folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-stun-'));
      running.push(startStun(STUN.port, folder), startLiar(LIAR.port, LIAR.lie, folder));
    });
    const site = useSite(() => ({
      host: ADDRESSES.office,
      prepare: prepareCompany({
        people: extensions(2001, 2003),
        encrypted: ['2001', '2003'],
        objects: { network: [network] },
      }),
    }));
    after(async () => {
      await Promise.all(running.map((one) => one[Symbol.asyncDispose]()));
      await rm(folder, { recursive: true, force: true });
    });
    const changes = () =>
      eventsOf(site(), 'network.address_changed', 'network.address_doubted').map(({ type, data }) =>
        [type.replace('network.address_', ''), data['address'], data['former'] ?? '-'].join(' '),
      );
    const published = (change: string) =>
      until(`the event ${change}`, () => changes().includes(change), {
        seen: () => ({ changes: changes() }),
      });
    /** Health and files follow the event. */
    const isUsed = (address: string, health: string) =>
      until(
        `${address} in health and files`,
        async () => (await check()) === health && (await rendered()).join() === address,
        { seen: () => ({ changes: changes() }) },
      );
    async function check(): Promise<string> {
      const { token } = await site().person('1001');
      const reply = await fetch(`${site().base}/readyz`, { headers: { authorization: `Bearer ${token}` } });
      const { checks, details } = (await reply.json()) as Record<string, Record<string, string>>;
      return `${checks!['external_address']} ${details!['external_address']}`;
    }
    const rendered = async (): Promise<string[]> => {
      const text = await readFile(path.join(site().dataDir, 'engine/etc/pjsip.conf'), 'utf8');
      return [...new Set([...text.matchAll(/^external_\w+ = (\S+)$/gm)].map(([, address]) => address!))];
    };
    /** A desk phone at home that reaches the office by one of its addresses. */
    const atHome = async (extension: string, host: string): Promise<RemotePhone> =>
      remotePhone('home', {
        server: { host, port: tlsPort },
        extension,
        password: SECRET,
        ca: await readFile(path.join(site().dataDir, 'tls', 'ca.pem'), 'utf8'),
        srtp: true,
        at: { host: ADDRESSES.home, port: 0 },
      });

    test('external address - a call goes on while it changes, and the next one uses the new one', async () => {
      await published(`changed ${FIRST} -`);
      await isUsed(FIRST, `ok ${FIRST}, of STUN server ${STUN.host}:${STUN.port}`);
      const home = await atHome('2001', FIRST);
      await using office = await registerPhone({
        server: site().sip,
        extension: '2002',
        password: SECRET,
        at: { host: ADDRESSES.office, port: 0 },
      });
      const incoming = await callOffice(home, office, '2002');
      await Promise.all([incoming.hears(HEARD), home.hears(HEARD)]);

      moveOffice();
      await published(`changed ${NEXT_ADDRESS} ${FIRST}`);
      await isUsed(NEXT_ADDRESS, `ok ${NEXT_ADDRESS}, of STUN server ${STUN.host}:${STUN.port}`);
      await Promise.all([incoming.hears(HEARD), home.hears(HEARD)]);
      await home.hangup();
      await incoming.ended();
      await home[Symbol.asyncDispose]();

      await using moved = await atHome('2003', NEXT_ADDRESS);
      dropFormerAddress();
      const call = await office.invite('2003');
      call.play('tone');
      assert.equal(await moved.answer(), '2002');
      await call.hears(HEARD);
      const { heard, decrypted } = await moved.hears(HEARD);
      assert.ok(decrypted >= heard);
      await call.hangup();
      await moved.ended();
    });

    test('external address - a server that lies is named by the health check, and the address stays', async () => {
      await ask(site(), 'PATCH', '/network/site', { stun_port: LIAR.port });
      assert.equal((await apply(site())).state, 'applied');
      await published(`doubted ${NEXT_ADDRESS} -`);
      await isUsed(
        NEXT_ADDRESS,
        `failing STUN server ${STUN.host}:${LIAR.port} gives ${LIAR.lie}, which is no public address; ${NEXT_ADDRESS} stays`,
      );
    });

    test('external address - it stays over a restart, and an interface may give it instead', async () => {
      await site().kill('SIGKILL');
      await site().start();
      assert.deepEqual(await rendered(), [NEXT_ADDRESS]);
      await ask(site(), 'PATCH', '/network/site', {
        external_address_source: 'interface',
        external_interface: 'lan',
      });
      assert.equal((await apply(site())).state, 'applied');
      await published(`changed ${ADDRESSES.office} ${NEXT_ADDRESS}`);
      await isUsed(ADDRESSES.office, `ok ${ADDRESSES.office}, of interface lan`);
    });
  });
} else {
  test('external address - followed from an office behind a NAT', { skip: noNets() }, async () => {
    const { code, out } = await runInNets(import.meta.filename);
    assert.equal(code, 0, out);
  });
}
