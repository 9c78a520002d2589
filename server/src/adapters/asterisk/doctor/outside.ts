/** Proves each way to a site from another machine, with a pass that the site's own machine printed. */
import dgram from 'node:dgram';
import { once } from 'node:events';
import tls from 'node:tls';
import { z } from 'zod';
import { messageOf } from '../../../core/errors.ts';
import { bracketed } from '../../../core/networks.ts';
import type { Clock } from '../../../ports/clock.ts';
import { DOCTOR } from '../conf/call-contexts.ts';
import type { Instance } from '../conf/instance.ts';
import { openWire } from '../phone/media.ts';
import { randomTag } from '../phone/transport.ts';
import { waysOf } from './site-ways.ts';
import type { TurnLogin } from './site-ways.ts';
import { Blocked, at, findingOf, openMediaRelay, tryWay, within } from './way.ts';
import type { Line, WayFinding } from './way.ts';

const Port = z.int().min(1).max(65535);
const Pass = z.object({
  host: z.string().min(1).max(253),
  /** Origin of web, API and SIP over WebSocket. */
  web: z.string().max(300),
  sip_port: Port,
  tls_ports: z.array(Port).max(4),
  turn: z.object({ port: Port, username: z.string().max(100), credential: z.string().max(100) }).nullable(),
  rtp: z.string().max(11),
  password: z.string().max(200),
  /** The site's own authority, PEM. */
  ca: z.string().max(100_000),
});
export type Pass = z.infer<typeof Pass>;
const PASS_TURN_SECONDS = 86_400;

/** Reads a pass. Throws with the reason where the text is none. */
export function readPass(text: string): Pass {
  try {
    return Pass.parse(JSON.parse(text));
  } catch {
    throw new Error(
      'this file is no pass of the doctor: print one on the server with npm run -s doctor -- --pass',
    );
  }
}
/**
 * What a doctor on another machine needs to try the ways of this site. `host`: name or address under which phones outside
 * reach it; without it the external address of the network. Throws where nothing outside can reach it.
 */
export async function passOf(
  instance: Instance,
  {
    host: wanted,
    web,
    turnLogin,
  }: {
    readonly host: string | undefined;
    readonly web: (host: string) => string;
    readonly turnLogin: TurnLogin;
  },
): Promise<Pass> {
  const { sip, tls: secured, turn, external, rtp, password, ca } = await waysOf(instance);
  const host = wanted ?? external;
  if (host === null)
    throw new Error(
      'the network has no external_address: npm run -s doctor -- --pass <name or address of the site>',
    );
  if (sip.host.startsWith('127.') || sip.host === '::1')
    throw new Error(
      `SIP listens on ${sip.host} only, which no other machine reaches: set OFFHOOK_SIP_LISTEN`,
    );
  return {
    host,
    web: web(bracketed(host)),
    sip_port: sip.port,
    tls_ports: secured.map(({ port }) => port),
    turn: turn && { port: turn.port, ...turnLogin(DOCTOR, PASS_TURN_SECONDS) },
    rtp,
    password,
    ca,
  };
}

/** Own address from which packets to a server leave. */
async function addressTowards(host: string, port: number): Promise<string> {
  const socket = dgram.createSocket('udp4');
  try {
    const connected = once(socket, 'connect');
    socket.connect(port, host);
    await connected;
    return socket.address().address;
  } catch (error) {
    throw new Error(`${host} has no address that is reached from here: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    socket.close();
  }
}

const portOf = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');
/** First answer to a registration without a password that comes over the WebSocket. */
async function challenged(url: string, host: string, signal: AbortSignal): Promise<string> {
  const socket = new WebSocket(url, 'sip');
  try {
    const answer = Promise.withResolvers<string>();
    const failed = (): void => answer.reject(new Error('the WebSocket was closed'));
    socket.addEventListener('error', failed);
    socket.addEventListener('close', failed);
    signal.addEventListener('abort', failed);
    socket.addEventListener('message', ({ data }) => answer.resolve(String(data)));
    socket.addEventListener('open', () => {
      const self = `<sip:${DOCTOR}@${host}>`;
      socket.send(
        [
          `REGISTER sip:${host} SIP/2.0`,
          `Via: SIP/2.0/WS doctor.invalid;branch=z9hG4bK${randomTag()}`,
          'Max-Forwards: 70',
          `From: ${self};tag=${randomTag()}`,
          `To: ${self}`,
          `Call-ID: ${randomTag()}`,
          'CSeq: 1 REGISTER',
          `Contact: <sip:${DOCTOR}@doctor.invalid;transport=ws>`,
          'Content-Length: 0',
          '',
          '',
        ].join('\r\n'),
      );
    });
    return await answer.promise;
  } finally {
    socket.close();
  }
}
/** The service answers to HTTP, and its engine to SIP over WebSocket. Throws `Blocked`. */
async function tryWeb(origin: string, host: string, clock: Clock): Promise<string> {
  const url = new URL(origin);
  const reached = await within(
    async (signal) => {
      const answer = await fetch(new URL('/healthz', url), { signal });
      await answer.body?.cancel();
      return answer;
    },
    `the service at ${url.origin} does not answer: TCP port ${portOf(url)} is blocked or wrong`,
    clock,
  );
  if (!reached.ok)
    throw new Blocked(
      `${url.origin} answers with ${reached.status}: TCP port ${portOf(url)} is not this service`,
    );
  const socket = `${url.protocol === 'https:' ? 'wss:' : 'ws:'}//${url.host}/ws`;
  const answer = await within(
    (signal) => challenged(socket, host, signal),
    `${socket} takes no SIP over WebSocket: a proxy in front does not pass upgrades of /ws`,
    clock,
  );
  const [status = ''] = answer.split('\r\n');
  if (!status.startsWith('SIP/2.0 401')) throw new Blocked(`${socket} answers a registration with ${status}`);
  return `HTTP answers, and a registration over ${socket} reaches the engine, which asks for its password`;
}

/** Every way of a pass; TURN last. */
export async function diagnoseFrom(pass: Pass, clock: Clock): Promise<readonly WayFinding[]> {
  const { host, password, rtp, turn } = pass;
  const ca = [...tls.rootCertificates, pass.ca].join('\n');
  const near = await addressTowards(host, pass.sip_port);
  const server = { host, port: pass.sip_port };
  const line: Line = { server, near, password, clock, rtp };
  const direct = { openWire: () => openWire(near), media: `from ${near}` };
  // Side by side: the phone calls by itself, so none of them needs to be found at the address that it registered.
  const findings = await Promise.all([
    findingOf('web', () => tryWeb(pass.web, host, clock)),
    findingOf('udp', () => tryWay(line, { protocol: 'UDP', ...direct })),
    findingOf('tcp', () => tryWay(line, { protocol: 'TCP', ...direct })),
    ...pass.tls_ports.map((port) =>
      findingOf('tls', () => tryWay({ ...line, server: { host, port } }, { protocol: 'TLS', ca, ...direct })),
    ),
  ]);
  if (turn !== null) {
    const relayAt = { host, port: turn.port };
    // TURN is on the engine's machine, so the relay's address is one of the engine's, which needs no way around a router.
    const openWireThere = () => openMediaRelay(relayAt, turn, (_host, relay) => relay);
    const media = `through TURN at ${at(relayAt)}`;
    // Signalling takes the first way that works, so that its fault is not reported as one of TURN.
    const works = findings.find(({ way, ok }) => ok && way !== 'web')?.way ?? 'udp';
    const protocol = works === 'tls' ? 'TLS' : works === 'tcp' ? 'TCP' : 'UDP';
    const there = protocol === 'TLS' ? { host, port: pass.tls_ports[0]! } : server;
    findings.push(
      await findingOf('turn', () =>
        tryWay(
          { ...line, server: there },
          { protocol, ...(protocol === 'TLS' ? { ca } : {}), media, openWire: openWireThere },
        ),
      ),
    );
  }
  return findings;
}
