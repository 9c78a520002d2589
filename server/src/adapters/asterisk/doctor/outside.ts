/** Proves each way to a site from another machine, with a pass that the site's own machine printed. */
import dgram from 'node:dgram';
import { once } from 'node:events';
import tls from 'node:tls';
import { z } from 'zod';
import type { PathFinding } from '@offhook/contract/path-check.ts';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import { bracketed } from '../../../core/networks.ts';
import { say } from '../../../core/said.ts';
import type { Clock } from '../../../ports/clock.ts';
import { DOCTOR } from '../conf/call-contexts.ts';
import type { Instance } from '../conf/instance.ts';
import { openWire } from '../phone/media.ts';
import { waysOf } from './site-ways.ts';
import type { TurnLogin } from './site-ways.ts';
import { at, findingOf, openMediaRelay, tryWay } from './way.ts';
import type { Line } from './way.ts';
import { tryWeb } from './web.ts';

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
/** Life of the login at TURN. */
export const PASS_SECONDS = 86_400;

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
 * Data with which a doctor on another machine tries the ways of this site. `host`: name or address under which phones outside
 * reach it; null for the external address of the network. Throws `invalid_request` where nothing outside can reach it.
 */
export async function passOf(
  instance: Instance,
  {
    host: wanted,
    web,
    signIn,
  }: {
    readonly host: string | null;
    readonly web: (host: string) => string;
    readonly signIn: TurnLogin;
  },
): Promise<Pass> {
  const { sip, tls: secured, turn, external, rtp, password, ca } = await waysOf(instance);
  const host = wanted ?? external;
  if (host === null)
    throw new ServiceError(
      'invalid_request',
      'host: name or address of the site for other machines; the network has no external_address',
    );
  if (sip.host.startsWith('127.') || sip.host === '::1')
    throw new ServiceError(
      'invalid_request',
      say`SIP listens on ${sip.host} only, which no other machine reaches: set OFFHOOK_SIP_LISTEN`,
    );
  return {
    host,
    web: web(bracketed(host)),
    sip_port: sip.port,
    tls_ports: secured.map(({ port }) => port),
    turn: turn && { port: turn.port, ...signIn(DOCTOR, PASS_SECONDS) },
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

/** Every way of a pass; TURN last. */
export async function diagnoseFrom(pass: Pass, clock: Clock): Promise<readonly PathFinding[]> {
  const { host, password, rtp, turn } = pass;
  const ca = [...tls.rootCertificates, pass.ca].join('\n');
  // HTTPS and WebSockets take no authorities of their own; this program ends with the check.
  if (pass.ca !== '') tls.setDefaultCACertificates([...tls.getCACertificates('default'), pass.ca]);
  const near = await addressTowards(host, pass.sip_port);
  const server = { host, port: pass.sip_port };
  const line: Line = { server, near, password, clock, rtp };
  const direct = { openWire: () => openWire(near), media: `from ${near}` };
  // Side by side: the phone calls by itself, so none of them needs to be found at the address that it registered.
  const findings = await Promise.all([
    findingOf('web', () => tryWeb(pass.web, line)),
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
