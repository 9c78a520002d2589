/** Addresses of the service as others reach it, and where the doctor leaves its results. */
import { isIPv6 } from 'node:net';
import path from 'node:path';
import { bracketed } from '../core/networks.ts';
import type { Address } from './setting-values.ts';
import type { Config } from './config.ts';

/** Results of `npm run doctor`, which the service takes in. */
export const doctorFile = (data: string): string => path.join(data, 'doctor.json');

const NEAR: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
/** Origins of the plain port on this machine, one for each family of addresses that it listens on. */
export const ownOrigins = ({ host, port }: Address): readonly string[] => [
  ...(host === '::' ? [`http://127.0.0.1:${port}`] : []),
  `http://${bracketed(NEAR[host] ?? host)}:${port}`,
];
/**
 * Origin of the service for clients that reach this machine as `host`, over IPv6 if `six`: the public URL of the
 * settings, else the HTTPS port, else the HTTP port; null where that port listens on the other address family only.
 */
export const webOrigin =
  ({ publicUrl, listen, httpsListen }: Pick<Config, 'publicUrl' | 'listen' | 'httpsListen'>) =>
  (host: string, six: boolean): string | null => {
    const scheme = httpsListen === null ? 'http' : 'https';
    const { host: bound, port } = httpsListen ?? listen;
    if (publicUrl) return publicUrl;
    return bound === '::' || isIPv6(bound) === six ? `${scheme}://${bracketed(host)}:${port}` : null;
  };
