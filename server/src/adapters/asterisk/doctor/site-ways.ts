/** The ways to the engine of a site, read from the engine's own files. */
import { isIP, isIPv6 } from 'node:net';
import path from 'node:path';
import type { PathWay } from '@offhook/contract/path-check.ts';
import { textOf } from '../../../core/files.ts';
import { securedTransports } from '../apply/handshake.ts';
import { lastOf, readSections } from '../apply/sections.ts';
import type { Instance } from '../conf/instance.ts';
import { etcDir, tlsDir } from '../conf/instance.ts';
import { TURN_FILE } from '../conf/turn-file.ts';
import { readFileOf } from '../conf/write.ts';
import { turnAddresses } from '../turn/server.ts';
import type { Address } from './way.ts';

/** Signs a sign-in at the site's TURN server for this user and so many seconds. */
export type TurnLogin = (
  user: string,
  seconds: number,
) => { readonly username: string; readonly credential: string };

/** Ways of one family of addresses. */
export interface FamilyWays {
  readonly six: boolean;
  /** Address of SIP over UDP and TCP. */
  readonly sip: Address;
  readonly tls: readonly Address[];
  readonly turn: Address | null;
  /** Address shown outside; null for the own. */
  readonly external: string | null;
}
export interface SiteWays {
  /** IPv4, IPv6 or both. */
  readonly families: readonly FamilyWays[];
  /** Media ports, as `from-to`. */
  readonly rtp: string;
  readonly password: string;
  /** Public authorities of this machine, PEM. */
  readonly trusted: string;
  /** The site's own authority, PEM; empty where it has none. */
  readonly ca: string;
}
type Way = 'udp' | 'tcp' | 'tls' | 'web' | 'turn';
/** Name of a way over IPv4 or IPv6. */
export const wayOver = (way: Way, six: boolean): PathWay => (six ? `${way}_ipv6` : way);

const BIND = /^\[?([^\]]+?)\]?:(\d+)$/;
/** Throws where the engine's files have no account of the doctor yet. */
export async function waysOf(instance: Instance): Promise<SiteWays> {
  const etc = etcDir(instance);
  const read = async (name: string): Promise<string> => (await readFileOf(etc, name, false)) ?? '';
  const sip = await read('pjsip.conf');
  const secured = securedTransports(sip);
  const turn = await read(TURN_FILE);
  const families = readSections('pjsip.conf', new Map([['pjsip.conf', sip]])).sections.flatMap(
    (s): FamilyWays[] => {
      const [, host, port] = BIND.exec(lastOf(s, 'bind') ?? '') ?? [];
      if (!/^transport-udp(-ipv6)?$/.test(s.name) || host === undefined) return [];
      const same = (one: Address): boolean => isIP(one.host) === isIP(host);
      return [
        {
          six: isIPv6(host),
          sip: { host, port: Number(port) },
          tls: secured.filter(same).map((one) => ({ host: one.host, port: one.port })),
          turn: turnAddresses(turn).find(same) ?? null,
          external: lastOf(s, 'external_signaling_address'),
        },
      ];
    },
  );
  const password = /^\[doctor\]\(credentials\)\nusername = doctor\npassword = (\S+)$/m.exec(
    await read('pjsip_shared.conf'),
  )?.[1];
  if (password === undefined)
    throw new Error('the engine has no account for the doctor yet: start the service once');
  const [trusted, own] = await Promise.all(
    ['trusted.pem', 'ca.pem'].map((name) => textOf(path.join(tlsDir(instance), name))),
  );
  const rtp = await read('rtp.conf');
  const { 1: first = '' } = /^rtpstart = (\d+)$/m.exec(rtp) ?? [];
  const { 1: last = '' } = /^rtpend = (\d+)$/m.exec(rtp) ?? [];
  return {
    families,
    rtp: `${first}-${last}`,
    password,
    trusted: trusted ?? '',
    ca: own ?? '',
  };
}
