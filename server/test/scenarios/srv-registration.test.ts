/** A trunk registers with every server of its domain; the servers are real engines that check the password. */
import { after, before, describe, test } from 'node:test';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { prepareDemo } from '../support/company.ts';
import { startFakeDns } from '../support/fake-dns.ts';
import type { FakeDns } from '../support/fake-dns.ts';
import { PASSWORD, company } from '../support/rendered-company.ts';
import { startTestEngine } from '../support/throwaway-engine.ts';
import type { TestEngine } from '../support/throwaway-engine.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const DOMAIN = 'carrier.example.com';
/** Account of the carrier that the site signs in with. */
const ACCOUNT = '1001';
const nameOf = (host: string): string => `sip-${host.at(-1)}.example.com`;

describe('srv registration', () => {
  let dns: FakeDns;
  const carriers: TestEngine[] = [];
  before(async () => {
    for (const host of ['127.0.0.2', '127.0.0.3']) carriers.push(await startTestEngine(company(), { host }));
    const servers = carriers.map(({ server }) => server);
    dns = await startFakeDns({
      srv: {
        [`_sip._udp.${DOMAIN}`]: servers.map(({ host, port }, i) => [i, 0, port, nameOf(host)]),
      },
      a: Object.fromEntries(servers.map(({ host }) => [nameOf(host), [host]])),
    });
  });
  after(async () => {
    await dns[Symbol.asyncDispose]();
    for (const carrier of carriers) await carrier[Symbol.asyncDispose]();
  });
  const site = useSite(() => ({
    env: { OFFHOOK_DNS_SERVERS: dns.address },
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        trunk: [
          {
            name: 'carrier',
            title: 'Carrier',
            host: DOMAIN,
            srv: true,
            username: ACCOUNT,
            password: PASSWORD,
            register: true,
          },
        ],
      });
    }),
  }));
  const contacts = async (carrier: TestEngine): Promise<readonly string[]> => {
    const shown = await carrier.cli('pjsip show contacts');
    return [...shown.matchAll(new RegExp(`Contact: +${ACCOUNT}/(\\S+)`, 'g'))].map(([, uri]) => uri!);
  };

  test('srv registration - each server challenges the site, and has its address then', async () => {
    for (const carrier of carriers)
      await until(
        `a contact at ${carrier.server.host}`,
        async () => (await contacts(carrier)).some((uri) => uri.includes(`:${site().sip.port}`)),
        { seen: () => ({ host: carrier.server.host }) },
      );
    const registered = async (): Promise<number> =>
      [...(await site().engineCli('pjsip show registrations')).matchAll(/ Registered /g)].length;
    await until('two registrations of the site', async () => (await registered()) === 2);
  });
});
