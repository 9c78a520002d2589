/** Forms of the values of settings. Each function returns the value, or undefined for a text of another form. */
import net from 'node:net';
import path from 'node:path';
import { zoneName } from '../core/zone.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}
/** An engine node as the SIP proxy in front of it knows it. */
export interface ProxiedNode {
  readonly sip: Address;
  readonly url: string;
}
export const integer =
  (min: number, max: number) =>
  (text: string): number | undefined => {
    if (!/^\d{1,9}$/.test(text)) return undefined;
    const n = Number(text);
    return n >= min && n <= max ? n : undefined;
  };
export const address = (text: string): Address | undefined => {
  const m = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
  if (!m) return undefined;
  const port = Number(m[3]);
  return port <= 65535 ? { host: (m[1] ?? m[2])!, port } : undefined;
};
/** Numeric address with a port: a host name could resolve to another address later. */
export const numbered = (text: string): Address | undefined => {
  const at = address(text);
  return at !== undefined && at.port > 0 && net.isIP(at.host) !== 0 ? at : undefined;
};
export const listed = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);
export const origins = (text: string): readonly string[] | undefined => {
  const list = listed(text);
  return list.every((o) => URL.canParse(o) && new URL(o).origin === o) ? list : undefined;
};
/** Issuers of Entra ID for accounts of every company, whose administrators could give them any e-mail address. */
const ANY_COMPANY = /^https:\/\/login\.microsoftonline\.com\/(?:common|organizations|consumers)(?:\/|$)/i;
/** Plain HTTP on loopback only: on a network, others could read and change what a provider says. */
export const issuer = (text: string): string | undefined => {
  if (text === '') return '';
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return undefined;
  const isLocal =
    url.protocol === 'http:' && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  return (url.protocol === 'https:' || isLocal) && !ANY_COMPANY.test(text) ? text : undefined;
};
/** Addresses of Debian mirrors, or null to use the default ones. */
export const mirrors = (text: string): readonly string[] | null | undefined => {
  const list = listed(text).map((s) => s.replace(/\/+$/, ''));
  const fits = list.every((m) => /^https?:\/\/[^\s"'\\]+$/.test(m) && URL.canParse(m));
  if (!fits) return undefined;
  return list.length === 0 ? null : list;
};
/** By name only: the engine knows no zone such as `+05:45`. */
export const zone = (text: string): string | undefined => {
  const known = zoneName(text);
  return known !== null && /^[A-Z]/i.test(known) ? known : undefined;
};
const LETSENCRYPT: Readonly<Record<string, string>> = {
  letsencrypt: 'https://acme-v02.api.letsencrypt.org/directory',
  'letsencrypt-staging': 'https://acme-staging-v02.api.letsencrypt.org/directory',
};
export const directory = (text: string): string | null | undefined => {
  if (text === '') return null;
  const url = LETSENCRYPT[text] ?? text;
  return URL.canParse(url) && new URL(url).protocol === 'https:' ? url : undefined;
};
export const range = (text: string): { from: number; to: number } | undefined => {
  const m = /^(\d{4,5})-(\d{4,5})$/.exec(text);
  if (!m) return undefined;
  const [from, to] = [Number(m[1]), Number(m[2])];
  return from >= 1024 && to <= 65535 && to - from >= 3 ? { from, to } : undefined;
};
export const folder = (text: string): string | undefined =>
  text === '' || text.includes('\0') ? undefined : path.resolve(text);
export const network = (text: string): boolean => {
  const [ip = '', bits, ...more] = text.split('/');
  const size = net.isIPv4(ip) ? 32 : net.isIPv6(ip) ? 128 : -1;
  return (
    more.length === 0 && size > 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= size))
  );
};
/** Host names, addresses and networks, separated by commas. */
export const targets = (text: string): readonly string[] | undefined => {
  const list = listed(text.toLowerCase());
  // A malformed address would be taken for a host name and allow nothing.
  const isHost = (entry: string): boolean =>
    entry.length <= 253 &&
    /[a-z]/.test(entry) &&
    /^[a-z0-9][a-z0-9.-]*$/.test(entry) &&
    /[a-z0-9]$/.test(entry);
  return list.every((entry) => network(entry) || isHost(entry)) ? list : undefined;
};
/** The address of a PostgreSQL database, or null for none. */
export const database = (text: string): string | null | undefined => {
  if (text === '') return null;
  if (!URL.canParse(text)) return undefined;
  const { protocol, pathname, hash } = new URL(text);
  return /^postgres(?:ql)?:$/.test(protocol) && /^\/[^/]+$/.test(pathname) && hash === '' ? text : undefined;
};
/** Addresses of NATS servers as they were given, or null for none. */
export const natsServers = (text: string): string | null | undefined => {
  if (text === '') return null;
  const list = listed(text);
  const fits = (one: string): boolean => {
    if (!/^(?:nats|tls):\/\//.test(one) || !URL.canParse(one)) return false;
    const { hostname, pathname, search, hash } = new URL(one);
    return hostname !== '' && /^\/?$/.test(pathname) && search === '' && hash === '';
  };
  return list.length > 0 && list.length <= 8 && list.every(fits) ? list.join(',') : undefined;
};
export const oneOf =
  <T extends string>(...words: T[]) =>
  (text: string): T | undefined =>
    words.find((w) => w === text);
