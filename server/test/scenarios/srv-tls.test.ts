/** A trunk by TLS whose servers are named by SRV records; the servers are real engines with certificates of an authority. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { TrunkChange } from '@offhook/contract/trunks.ts';
import { issueCertificate } from '../../src/adapters/certificates/local-authority.ts';
import { findLiving } from '../../src/adapters/asterisk/process/living.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { eventsOf } from '../support/call-steps.ts';
import { apply, ask, newest } from '../support/config-steps.ts';
import { prepareDemo } from '../support/company.ts';
import { startFakeDns } from '../support/fake-dns.ts';
import type { FakeDns, FakeRecords } from '../support/fake-dns.ts';
import { freePort } from '../support/ports.ts';
import { PASSWORD, company } from '../support/rendered-company.ts';
import { startTestEngine } from '../support/throwaway-engine.ts';
import type { TestEngine } from '../support/throwaway-engine.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

const DOMAIN = 'carrier.example.com';
/** Account of the carrier that the site signs in with, and a number there that answers. */
const [ACCOUNT, MUSIC] = ['1001', '601'];
const HOSTS = ['127.0.0.2', '127.0.0.3'] as const;
const nameOf = (host: string): string => `sip-${host.at(-1)}.${DOMAIN}`;

interface Carrier {
  readonly engine: TestEngine;
  readonly server: string;
  readonly port: number;
  /** Shows a certificate for these names from its next start on. */
  certified(...names: string[]): Promise<void>;
  /** Calls that the carrier has. */
  calls(): Promise<number>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
}
async function startCarrier(host: string, folder: string): Promise<Carrier> {
  const port = await freePort();
  const base = company();
  const engine = await startTestEngine(company({ network: { ...base.network, tls_port: port } }), { host });
  const files = engine.settings.tls_files!;
  return {
    engine,
    port,
    server: `${nameOf(host)}:${port}`,
    async certified(...names) {
      const issued = await issueCertificate(folder, names, Date.now());
      await mkdir(path.dirname(files.certificate), { recursive: true });
      await writeFile(files.certificate, issued.certificate);
      await writeFile(files.key, issued.key, { mode: 0o600 });
      await writeFile(files.trusted, issued.certificate);
      await engine.restart();
    },
    calls: async () => Number(/^(\d+) active call/m.exec(await engine.cli('core show channels count'))?.[1]),
    signal: (name) => void process.kill(findLiving(engine.instance)!.pid, name),
  };
}

describe('srv tls', () => {
  let folder: string;
  let dns: FakeDns;
  let tlsPort: number;
  const carriers: Carrier[] = [];
  before(async () => {
    tlsPort = await freePort();
    folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-srv-tls-'));
    for (const host of HOSTS) {
      const carrier = await startCarrier(host, folder);
      carriers.push(carrier);
      await carrier.certified(nameOf(host));
    }
    dns = await startFakeDns(records(...HOSTS.map(nameOf)));
  });
  /** The records of both servers, under these names. */
  const records = (...names: string[]): FakeRecords => ({
    srv: {
      [`_sips._tcp.${DOMAIN}`]: names.map((name, i) => [i, 0, carriers[i]!.port, name]),
    },
    a: Object.fromEntries(names.map((name, i) => [name, [HOSTS[i]!]])),
  });
  after(async () => {
    await dns?.[Symbol.asyncDispose]();
    for (const { engine } of carriers) await engine[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  const site = useSite(() => {
    return {
      env: { OFFHOOK_DNS_SERVERS: dns.address, OFFHOOK_TLS_TRUSTED: path.join(folder, 'ca.pem') },
      prepare: prepareDemo(async (store) => {
        await putObjects(store, {
          network: [{ tls_port: tlsPort }],
          trunk: [
            {
              name: 'carrier',
              title: 'Carrier',
              host: DOMAIN,
              srv: true,
              transport: 'tls',
              username: ACCOUNT,
              password: PASSWORD,
              register: true,
            },
          ],
          outbound_route: [{ name: 'all', patterns: ['0X!'], trunks: [{ trunk: 'carrier', strip: 1 }] }],
        });
      }),
    };
  });
  const told = (): string | undefined =>
    eventsOf(site(), 'trunk.up', 'trunk.down')
      .map(({ type, data }) => {
        const { servers } = TrunkChange.parse(data);
        return [type, ...servers.map((one) => (one.reachable === false ? '-' : '') + one.server)].join(' ');
      })
      .at(-1);
  const heard = (line: string) =>
    until(`the event ${line}`, () => told() === line, {
      seen: () => ({ told: told() }),
    });
  const [first, second] = [() => carriers[0]!, () => carriers[1]!];
  async function callBy(carrier: Carrier): Promise<void> {
    await using desk = await site().phone('1007');
    const call = await desk.invite(`0${MUSIC}`);
    await call.answered();
    assert.deepEqual(
      await Promise.all(carriers.map((one) => one.calls())),
      carriers.map((one) => Number(one === carrier)),
    );
    await call.hangup();
    await carrier.engine.idle();
  }

  test('srv tls - both servers answer by TLS under their names, and the first has the calls', async () => {
    await heard(`trunk.up ${first().server} ${second().server}`);
    await until('two registrations of the site', async () => {
      const shown = await site().engineCli('pjsip show registrations');
      return [...shown.matchAll(/ Registered /g)].length === 2;
    });
    await callBy(first());
  });

  test('srv tls - a first server that is silent costs a call a few seconds, and is left out once it is known', async () => {
    first().signal('SIGSTOP');
    try {
      await callBySecondOnly();
      await site().engineCli('pjsip qualify trunk-carrier');
      await heard(`trunk.up -${first().server} ${second().server}`);
      await callBySecondOnly();
    } finally {
      first().signal('SIGCONT');
    }
    await site().engineCli('pjsip qualify trunk-carrier');
    await heard(`trunk.up ${first().server} ${second().server}`);
  });
  const check = async (): Promise<string> => {
    const { token } = await site().person('1001');
    const reply = await fetch(`${site().base}/readyz`, { headers: { authorization: `Bearer ${token}` } });
    const { checks, details } = (await reply.json()) as Record<string, Record<string, string>>;
    return `${checks!['trunk_servers']} ${details!['trunk_servers']}`;
  };
  /** Any apply makes the service look at once instead of within half a minute. */
  async function looksAgain(max_calls: number, line: string): Promise<void> {
    await ask(site(), 'PATCH', '/trunks/carrier', { max_calls });
    assert.equal((await apply(site())).state, 'applied');
    let last = '';
    await until(`the check ${line}`, async () => (last = await check()) === line, { seen: () => ({ last }) });
  }
  const OTHER = 'sip.other.example.net';

  test('srv tls - a server with the certificate of another name is named, and calls go by the second', async () => {
    await first().certified(OTHER);
    await looksAgain(
      20,
      `failing Carrier: ${first().server}: its certificate is for ${OTHER}, not for ${nameOf(HOSTS[0])}; in use: ${first().server}, ${second().server}`,
    );
    await heard(`trunk.up -${first().server} ${second().server}`);
    await callBy(second());
  });

  test('srv tls - a server outside of the domain is used only if its certificate has the domain, too', async () => {
    dns.become(records(OTHER, nameOf(HOSTS[1])));
    await looksAgain(
      21,
      `failing Carrier: ${OTHER}:${first().port}: its certificate is for ${OTHER}, not for ${DOMAIN}; in use: ${second().server}`,
    );
    await heard(`trunk.up ${second().server}`);
    await until('the end of the apply with the servers', async () =>
      ['applied', 'rolled_back'].includes((await newest(site())).state),
    );
    await callBy(second());
    await first().certified(OTHER, DOMAIN);
    await looksAgain(22, `ok Carrier: ${OTHER}:${first().port}, ${second().server}`);
    await heard(`trunk.up ${second().server} ${OTHER}:${first().port}`);
    await callBy(first());
  });
  async function callBySecondOnly(): Promise<void> {
    await using desk = await site().phone('1007');
    const call = await desk.invite(`0${MUSIC}`);
    await call.answered();
    assert.equal(await second().calls(), 1);
    await call.hangup();
    await second().engine.idle();
  }
});
