/** Proves each way to a site from another machine, with a pass that the site's own machine printed. */
import dgram from 'node:dgram';
import { setDefaultResultOrder } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { isIP, isIPv6, setDefaultAutoSelectFamily } from 'node:net';
import tls from 'node:tls';
import { z } from 'zod';
import type { PathFinding } from '@offhook/contract/path-check.ts';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import { plainHost } from '../../../core/networks.ts';
import { say } from '../../../core/said.ts';
import type { Clock } from '../../../ports/clock.ts';
import { DOCTOR } from '../conf/call-contexts.ts';
import type { Instance } from '../conf/instance.ts';
import { openWire } from '../phone/media.ts';
import { ownAddresses } from '../turn/server.ts';
import { wayOver, waysOf } from './site-ways.ts';
import type { TurnLogin } from './site-ways.ts';
import { at, findingOf, openMediaRelay, tryWay } from './way.ts';
import type { Line } from './way.ts';
import { tryWeb } from './web.ts';

const Port = z.int().min(1).max(65535);
const Pass = z.object({
  /** The site over IPv4, IPv6 or both. */
  families: z
    .array(
      z.object({
        six: z.boolean(),
        host: z.string().min(1).max(253),
        /** Origin of web, API and SIP over WebSocket; null where they are not there. */
        web: z.string().max(300).nullable(),
      }),
    )
    .min(1)
    .max(2),
  sip_port: Port,
  tls_ports: z.array(Port).max(4),
  turn: z.object({ port: Port, username: z.string().max(100), credential: z.string().max(100) }).nullable(),
  rtp: z.string().max(11),
  password: z.string().max(200),
  /** The site's own authority, PEM. */
  ca: z.string().max(100_000),
});
export type Pass = z.infer<typeof Pass>;
/** Origin of the service for those who reach it at a host over IPv4 or IPv6; null where it does not listen there. */
export type PassWeb = (host: string, six: boolean) => string | null;
const noHost = (): ServiceError =>
  new ServiceError(
    'invalid_request',
    'host: name or address of the site for other machines; the network has no external_address',
  );
const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1';
/** The IPv6 address of this machine, which others reach as it is; null where it has none. */
const ownIPv6 = (bound: string): string | null =>
  bound === '::' ? (ownAddresses().find((one) => isIPv6(one)) ?? null) : bound;
/** Life of the login at TURN. */
export const PASS_SECONDS = 86_400;

/** Reads a pass. Throws with the reason where the text is none. */
export function readPass(text: string): Pass {
  try {
    return Pass.parse(JSON.parse(text));
  } catch {
    throw new Error(
      'this file is not a pass of the doctor: print one on the server with npm run -s doctor -- --pass',
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
    readonly web: PassWeb;
    readonly signIn: TurnLogin;
  },
): Promise<Pass> {
  const { families, rtp, password, ca } = await waysOf(instance);
  const outside = families.filter(({ sip }) => !isLoopback(sip.host));
  if (outside.length === 0)
    throw new ServiceError(
      'invalid_request',
      say`SIP listens on ${families[0]?.sip.host ?? ''} only, which no other machine reaches: set OFFHOOK_SIP_LISTEN`,
    );
  const asked = wanted === null ? 0 : isIP(wanted);
  const known = outside.flatMap(({ six, sip, external }) => {
    const isAsked = wanted !== null && (asked === 0 || (asked === 6) === six);
    const host = isAsked ? wanted : (external ?? (six ? ownIPv6(sip.host) : null));
    // Without a name for it, IPv4 is left out only where IPv6 alone is asked for.
    if (host === null && wanted === null) throw noHost();
    return host === null ? [] : [{ six, host: plainHost(host), web: web(plainHost(host), six) }];
  });
  if (known.length === 0) throw noHost();
  const { sip } = outside[0]!;
  const turn = outside.find((one) => one.turn !== null)?.turn;
  return {
    families: known,
    sip_port: sip.port,
    tls_ports: [...new Set(outside.flatMap(({ tls: all }) => all.map(({ port }) => port)))],
    turn: turn ? { port: turn.port, ...signIn(DOCTOR, PASS_SECONDS) } : null,
    rtp,
    password,
    ca,
  };
}

/** Own address from which packets to an address leave. */
async function addressTowards(host: string, port: number): Promise<string> {
  const socket = dgram.createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  try {
    const connected = once(socket, 'connect');
    socket.connect(port, host);
    await connected;
    return socket.address().address;
  } finally {
    socket.close();
  }
}
type Family = Pass['families'][number];
/** The address of the site in a family, and the own one from which it is reached. Throws where there is none. */
async function routeTo({ host, six }: Family, port: number): Promise<{ reached: string; near: string }> {
  const { address } = await lookup(host, { family: six ? 6 : 4 });
  const reached = plainHost(address);
  return { reached, near: await addressTowards(reached, port) };
}
const title = (six: boolean): string => (six ? 'IPv6' : 'IPv4');

export interface Diagnosis {
  readonly findings: readonly PathFinding[];
  /** Why a family was not tried, one sentence each. */
  readonly untried: readonly string[];
}
/** Every way of a pass. Throws where no address of the site is reached from here. */
export async function diagnoseFrom(pass: Pass, clock: Clock): Promise<Diagnosis> {
  // HTTPS and WebSockets take no authorities of their own; this program ends with the check.
  if (pass.ca !== '') tls.setDefaultCACertificates([...tls.getCACertificates('default'), pass.ca]);
  const findings: PathFinding[] = [];
  const untried: string[] = [];
  // One after the other: a name of HTTPS leads to the addresses of one family at a time.
  for (const family of pass.families) {
    const route = await routeTo(family, pass.sip_port).catch((error: unknown) => {
      untried.push(
        `${family.host} has no ${title(family.six)} address that is reached from here: ${messageOf(error)}`,
      );
    });
    if (route) findings.push(...(await diagnoseFamily(pass, family, { ...route, clock })));
  }
  if (findings.length === 0) throw new Error(untried.join('; '));
  return { findings, untried };
}
/** The ways of one family side by side; TURN last. */
async function diagnoseFamily(
  { password, rtp, turn, sip_port, tls_ports, ca: own }: Pass,
  { host, six, web }: Family,
  { near, reached, clock }: { readonly near: string; readonly reached: string; readonly clock: Clock },
): Promise<PathFinding[]> {
  const ca = [...tls.rootCertificates, own].join('\n');
  const server = { host, port: sip_port };
  const line: Line = { server, reached, named: true, near, password, clock, rtp };
  const direct = { openWire: () => openWire(near), media: `from ${near}` };
  // The phone calls by itself, so none of them needs to be found at the address that it registered.
  const findings = await Promise.all([
    ...(web !== null && (await leads(web, six))
      ? [findingOf(wayOver('web', six), () => tryWeb(web, line))]
      : []),
    findingOf(wayOver('udp', six), () => tryWay(line, { protocol: 'UDP', ...direct })),
    findingOf(wayOver('tcp', six), () => tryWay(line, { protocol: 'TCP', ...direct })),
    ...tls_ports.map((port) =>
      findingOf(wayOver('tls', six), () =>
        tryWay({ ...line, server: { host, port } }, { protocol: 'TLS', ca, ...direct }),
      ),
    ),
  ]);
  if (turn !== null) {
    const relayAt = { host, port: turn.port };
    // TURN is on the engine's machine, so the relay's address is one of the engine's, which needs no way around a router.
    const relay = { server: relayAt, reached, engineAt: (_host: string, relayed: string) => relayed };
    const media = `through TURN at ${at(relayAt)}`;
    // Signalling takes the first way that works, so that its fault is not reported as one of TURN.
    const works = findings.find(({ way, ok }) => ok && way !== wayOver('web', six))?.way;
    const protocol = works === wayOver('tls', six) ? 'TLS' : works === wayOver('tcp', six) ? 'TCP' : 'UDP';
    const there = protocol === 'TLS' ? { host, port: tls_ports[0]! } : server;
    findings.push(
      await findingOf(wayOver('turn', six), () =>
        tryWay(
          { ...line, server: there },
          {
            protocol,
            ...(protocol === 'TLS' ? { ca } : {}),
            media,
            openWire: () => openMediaRelay(relay, turn),
          },
        ),
      ),
    );
  }
  return findings;
}
/** Has names of HTTPS lead to this family from now on; false for an address of the other and a name without one of this. */
async function leads(origin: string, six: boolean): Promise<boolean> {
  const host = new URL(origin).hostname.replace(/^\[|\]$/g, '');
  setDefaultResultOrder(six ? 'ipv6first' : 'ipv4first');
  setDefaultAutoSelectFamily(false);
  return isIP(host) === 0
    ? await lookup(host, { family: six ? 6 : 4 }).then(
        () => true,
        () => false,
      )
    : isIPv6(host) === six;
}
