/** Refused requests from the network of a carrier. Contacts of its trunk have the name of its host, not an address. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BlockedNetworks } from '@offhook/contract/blocked-networks.ts';
import { statusOf } from '../../src/adapters/asterisk/phone/message.ts';
import { openTransport, randomTag } from '../../src/adapters/asterisk/phone/transport.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { prepareDemo } from '../support/company.ts';
import { apply, ask, newest } from '../support/config-steps.ts';
import { startFakeDns } from '../support/fake-dns.ts';
import type { FakeDns } from '../support/fake-dns.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const DOMAIN = 'carrier.example.com';

describe('attack from the network of a carrier', () => {
  let dns: FakeDns;
  before(async () => {
    dns = await startFakeDns({ a: { [DOMAIN]: ['127.9.8.1'] } });
  });
  after(() => dns[Symbol.asyncDispose]());
  const site = useSite(() => ({
    env: { OFFHOOK_SIP_NEVER_BLOCK: '', OFFHOOK_DNS_SERVERS: dns.address },
    prepare: prepareDemo(async (store) => {
      await putObjects(store, { trunk: [{ name: 'named', title: 'Named', host: DOMAIN, srv: true }] });
    }),
  }));
  const blocked = async (): Promise<readonly string[]> => {
    const { token } = await site().person('1001');
    const response = await fetch(`${site().base}/api/v1/blocked-networks`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return BlockedNetworks.parse(await response.json()).networks.map(({ network }) => network);
  };
  async function attack(host: string): Promise<void> {
    const at = `${site().sip.host}:${site().sip.port}`;
    const transport = await openTransport({
      server: site().sip,
      username: 'nobody',
      password: 'wrong',
      at: { host, port: 0 },
      onRequest() {},
    });
    try {
      for (let i = 0; i < 12; i += 1) {
        const dialog = {
          callId: randomTag(),
          local: `<sip:nobody@${at}>;tag=${randomTag()}`,
          remote: `<sip:nobody@${at}>`,
          target: `sip:${at}`,
          cseq: 0,
        };
        assert.ok([401, 403].includes(statusOf(await transport.send(dialog, 'REGISTER').response)));
      }
    } finally {
      await transport.close();
    }
  }

  test('attack from the network of a carrier - its block ends once an apply brings its trunk', async () => {
    await until('the lookup of the other trunk', async () =>
      (await site().engineCli('pjsip show identifies')).includes('127.9.8.1'),
    );
    await until('the end of its apply', async () => (await newest(site())).finished_at !== null);
    await attack('127.9.5.9');
    await until('the block', async () => (await blocked()).includes('127.9.5.0/24'));
    await ask(site(), 'POST', '/trunks', { name: 'later', title: 'Later', host: '127.9.5.1' });
    const { state, detail, problems } = await apply(site());
    assert.equal(state, 'applied', JSON.stringify({ detail, problems }));
    await until('its end', async () => (await blocked()).length === 0);
  });
  test('attack from the network of a carrier - it is not blocked, also after a change of DNS', async () => {
    await attack('127.9.8.9');
    dns.become({ a: { [DOMAIN]: ['127.9.6.1'] } });
    await attack('127.9.6.9');
    // Networks are blocked one after the other.
    await attack('127.9.7.9');
    await until('the block of the last network', async () => (await blocked()).includes('127.9.7.0/24'));
    assert.deepEqual(await blocked(), ['127.9.7.0/24']);
  });
});
