/** Addresses of the service as others reach it, and where the doctor leaves its results. */
import path from 'node:path';
import { bracketed } from '../core/networks.ts';
import type { Address, Config } from './config.ts';

/** Results of `npm run doctor`, which the service takes in. */
export const doctorFile = (data: string): string => path.join(data, 'doctor.json');

const NEAR: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
/** Origin of the plain port on this machine. */
export const ownOrigin = ({ host, port }: Address): string =>
  `http://${bracketed(NEAR[host] ?? host)}:${port}`;
/** Origin for those who reach this machine as `host`: the public address of the settings, else the port by HTTPS, else the plain one. */
export const webOrigin =
  ({ publicUrl, listen, httpsListen }: Pick<Config, 'publicUrl' | 'listen' | 'httpsListen'>) =>
  (host: string): string => {
    const scheme = httpsListen === null ? 'http' : 'https';
    return publicUrl || `${scheme}://${bracketed(host)}:${(httpsListen ?? listen).port}`;
  };
