/** The ways to the engine of a site, read from the engine's own files. */
import path from 'node:path';
import { textOf } from '../../../core/files.ts';
import { securedTransports } from '../apply/handshake.ts';
import { lastOf, readSections } from '../apply/sections.ts';
import type { Instance } from '../conf/instance.ts';
import { etcDir, tlsDir } from '../conf/instance.ts';
import { TURN_FILE } from '../conf/turn-file.ts';
import { readFileOf } from '../conf/write.ts';
import { readWanted } from '../turn/server.ts';
import type { Address } from './way.ts';

/** Signs a sign-in at the site's TURN server for this user and so many seconds. */
export type TurnLogin = (
  user: string,
  seconds: number,
) => { readonly username: string; readonly credential: string };

export interface SiteWays {
  /** Where SIP over UDP and TCP is bound. */
  readonly sip: Address;
  readonly tls: readonly Address[];
  readonly turn: Address | null;
  /** Address shown outside; null for the own. */
  readonly external: string | null;
  /** Media ports, as `from-to`. */
  readonly rtp: string;
  readonly password: string;
  /** Public authorities of this machine, PEM. */
  readonly trusted: string;
  /** The site's own authority, PEM; empty where it has none. */
  readonly ca: string;
}
/** Throws where the engine's files have no account of the doctor yet. */
export async function waysOf(instance: Instance): Promise<SiteWays> {
  const etc = etcDir(instance);
  const read = async (name: string): Promise<string> => (await readFileOf(etc, name, false)) ?? '';
  const sip = await read('pjsip.conf');
  const udp = readSections('pjsip.conf', new Map([['pjsip.conf', sip]])).sections.find(
    ({ name }) => name === 'transport-udp',
  );
  const bound = /^\[?([^\]]+?)\]?:(\d+)$/.exec((udp && lastOf(udp, 'bind')) ?? '') ?? [];
  const { 1: host = '127.0.0.1', 2: port = '5060' } = bound;
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
    sip: { host, port: Number(port) },
    tls: securedTransports(sip).map(({ host: one, port: secured }) => ({ host: one, port: secured })),
    turn: readWanted(await read(TURN_FILE)),
    external: (udp && lastOf(udp, 'external_signaling_address')) ?? null,
    rtp: `${first}-${last}`,
    password,
    trusted: trusted ?? '',
    ca: own ?? '',
  };
}
