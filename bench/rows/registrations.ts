/** P28: the phones of a site register at once, by TLS and by WSS, beside the bare engine with the same configuration. */
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteStore } from '../../server/src/adapters/sqlite/store.ts';
import { issueCertificate } from '../../server/src/adapters/certificates/local-authority.ts';
import { etcDir } from '../../server/src/adapters/asterisk/conf/instance.ts';
import { putObjects } from '../../server/src/features/pbx-config/put.ts';
import { freePort } from '../../server/test/support/ports.ts';
import { PASSWORD as PEER_PASSWORD, company, extension } from '../../server/test/support/rendered-company.ts';
import { startTestEngine } from '../../server/test/support/throwaway-engine.ts';
import { startExchange } from '../exchange.ts';
import { request, together } from '../http-client.ts';
import { QUICK, atMost, count, figure, interleave, quantile, ratiosOf, temporaryFolder } from '../lib.ts';
import type { Row } from '../lib.ts';
import { register } from '../registering-phone.ts';
import type { Registered, RegisteringPhone } from '../registering-phone.ts';
import { extensionOf, tokenOf } from '../site-data.ts';

const PHONES = QUICK ? 200 : 2_000;
const AT_ONCE = 100;
const PAIRS = QUICK ? 3 : 5;
/** Networks that the phones are spread over. */
const NETWORKS = 40;
const fromOf = (i: number): string => `127.10.${i % NETWORKS}.1`;
const HOST = '127.0.0.1';
/**
 * Phones by TLS that stay connected: Debian's engine has 1,019 connections by TCP and TLS at once, and counts ended ones for a
 * moment.
 */
const MOST_OPEN = 400;
/**
 * Pause between two rounds of a subject: 32 s after a connection was made, the engine closes the connection that has
 * its memory by then, unless that one has sent a request already, and a storm reuses the memory of many connections.
 */
const FORGOTTEN_MS = 33_000;

interface Round {
  readonly seconds: number;
  readonly p99: number;
  /** Requests beyond the first of each phone. */
  readonly again: number;
}
type Account = Pick<RegisteringPhone, 'host' | 'port' | 'over' | 'username' | 'password'>;

/** The bare engine; its own HTTP server ends TLS for WebSockets. */
async function startPeer(
  stack: AsyncDisposableStack,
  pair: { certificate: string; key: string; ca: string },
) {
  const [tlsPort, webPort] = [await freePort(), await freePort()];
  const base = company();
  const engine = stack.use(
    await startTestEngine(
      company({
        network: { ...base.network, tls_port: tlsPort },
        extensions: Array.from({ length: PHONES }, (_, i) => extension(extensionOf(i))),
        queues: [],
      }),
    ),
  );
  const files = engine.settings.tls_files!;
  await mkdir(path.dirname(files.certificate), { recursive: true });
  await writeFile(files.certificate, pair.certificate);
  await writeFile(files.key, pair.key);
  await writeFile(files.trusted, pair.ca);
  await appendFile(
    path.join(etcDir(engine.instance), 'http.conf'),
    `\ntlsenable = yes\ntlsbindaddr = ${HOST}:${webPort}\ntlscertfile = ${files.certificate}\ntlsprivatekey = ${files.key}\n`,
  );
  await engine.restart();
  return { tlsPort, webPort };
}

export async function p28(): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder()).path;
  const issued = await issueCertificate(folder, [HOST, 'localhost'], Date.now());
  const file = (name: string): string => path.join(folder, name);
  await writeFile(file('certificate.pem'), issued.certificate);
  await writeFile(file('key.pem'), issued.key, { mode: 0o600 });
  const ca = await readFile(file('ca.pem'), 'utf8');
  const [tlsPort, webPort] = [await freePort(), await freePort()];
  const site = stack.use(
    await startExchange({ extensions: PHONES, queues: 0, agentsPerQueue: 0, sessions: PHONES }, true, {
      env: {
        OFFHOOK_HTTPS_LISTEN: `${HOST}:${webPort}`,
        OFFHOOK_TLS_CERTIFICATE: file('certificate.pem'),
        OFFHOOK_TLS_KEY: file('key.pem'),
      },
      async prepare(data) {
        const store = await openSqliteStore(path.join(data, 'offhook.db'));
        await putObjects(store, { network: [{ name: 'site', tls_port: tlsPort }] });
        await store.close();
      },
    }),
  );
  const peer = await startPeer(stack, { ...issued, ca });
  const all = Array.from({ length: PHONES }, (_, i) => i);
  const webs: Account[] = [];
  await together(all, AT_ONCE, async (i) => {
    const answer = await request(`${site.base}/api/v1/session/sip`, { token: tokenOf(i) });
    const { sip } = JSON.parse(answer.body) as { sip: { sip_username: string; sip_password: string } };
    webs[i] = {
      host: HOST,
      port: webPort,
      over: 'wss',
      username: sip.sip_username,
      password: sip.sip_password,
    };
  });
  const accounts: Record<string, (i: number) => Account> = {
    tls: (i) => ({
      host: HOST,
      port: tlsPort,
      over: 'tls',
      username: extensionOf(i),
      password: `a-long-sip-password-of-${i}`,
    }),
    wss: (i) => webs[i]!,
    'bare tls': (i) => ({
      host: HOST,
      port: peer.tlsPort,
      over: 'tls',
      username: extensionOf(i),
      password: PEER_PASSWORD,
    }),
    'bare wss': (i) => ({
      host: HOST,
      port: peer.webPort,
      over: 'wss',
      username: `${extensionOf(i)}-mobile`,
      password: PEER_PASSWORD,
    }),
  };
  const ends = new Map<string, number>();
  async function round(which: string): Promise<Round> {
    await sleep(Math.max(0, (ends.get(which) ?? -FORGOTTEN_MS) + FORGOTTEN_MS - performance.now()));
    const phones: Registered[] = [];
    const ms: number[] = [];
    let again = 0;
    const began = performance.now();
    try {
      await together(all, AT_ONCE, async (i) => {
        const phone = await register({ ...accounts[which]!(i), ca, from: fromOf(i) });
        ms.push(phone.ms);
        again += phone.again;
        phones.push(phone);
        if (phone.over === 'tls' && phones.length > MOST_OPEN) phones.shift()!.cut();
      });
      return { seconds: (performance.now() - began) / 1_000, p99: quantile(ms, 0.99), again };
    } finally {
      for (const { cut } of phones) cut();
      ends.set(which, performance.now());
    }
  }
  const rounds = await interleave(Object.keys(accounts), PAIRS, round);
  const seconds = (who: string): number[] => (rounds.get(who) ?? []).map((one) => one.seconds);
  const p99 = (who: string): number[] => (rounds.get(who) ?? []).map((one) => one.p99);
  const again = (who: string): number[] => (rounds.get(who) ?? []).map((one) => one.again);
  const times = (way: string): number[] => ratiosOf(seconds(way), seconds(`bare ${way}`));
  return {
    id: 'P28',
    title: `${count(PHONES)} phones register, ${AT_ONCE} at once`,
    figures: ['tls', 'wss'].flatMap((way) => {
      const name = way.toUpperCase();
      return [
        figure(`${name}: Offhook, until the last`, 's', 'ours', seconds(way)),
        figure(`${name}: Offhook, one registration, p99`, 'ms', 'ours', p99(way)),
        figure(`${name}: Offhook, asked again`, 'times', 'ours', again(way)),
        figure(`${name}: bare Asterisk, until the last`, 's', 'peer', seconds(`bare ${way}`)),
        figure(`${name}: bare Asterisk, one registration, p99`, 'ms', 'peer', p99(`bare ${way}`)),
        figure(`${name}: bare Asterisk, asked again`, 'times', 'peer', again(`bare ${way}`)),
        figure(`${name}: times the bare engine`, '×', 'ours', times(way)),
      ];
    }),
    gates: [
      atMost('TLS: times the bare engine', 1.3, times('tls'), '×'),
      atMost('WSS: times the bare engine', 2, times('wss'), '×'),
    ],
    notes: [
      'Each phone makes a TLS connection, is challenged and registers. By TLS it registers at the engine itself; by WSS the service ends TLS, checks the password of the session and signs in at the engine for it. The peer is an engine with the same configuration and no service, whose own HTTP server ends TLS.',
      'A phone whose connection was closed, or that got 503, waits half a second, or what Retry-After says, and asks again, each time after twice the pause, up to 8 s (RFC 3261, 21.5.4); its time counts the pauses.',
      `At most ${MOST_OPEN} phones are connected by TLS: beyond 1,019 connections by TCP and TLS the engine of Debian’s packages takes no other.`,
      `${FORGOTTEN_MS / 1_000} s are between two rounds of a subject: 32 s after each connection the engine closes the one that has its place in memory by then, unless that one has asked already.`,
      `The phones are in ${NETWORKS} networks: the service lets a network open 1,000 connections at once and 100 a second from then on.`,
    ],
  };
}
