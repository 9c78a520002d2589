import net from 'node:net';
import { ServiceError } from '../core/errors.ts';
import { say } from '../core/said.ts';
import type { Said } from '../core/said.ts';

/** An address as a resolver gives it. */
export interface Address {
  readonly address: string;
  readonly family: number;
}
/** Targets that are reachable although their addresses are not public: host names, and networks or addresses. */
export type Allow = readonly string[];

/** Ranges outside the public internet; `isAllowed` also refuses IPv6 outside 2000::/3. */
const PRIVATE: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Public by its range, but it answers only inside Azure: the host of the virtual machine, with its secrets.
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Tunnels carry an IPv4 address inside, which may be any of the above.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
];
/** Ports of other protocols, which an HTTP request could attack: the list of the fetch standard, and the engine's. */
const PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5038, 5039, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
  11211,
]);

function blockListOf(networks: readonly string[]): net.BlockList {
  const list = new net.BlockList();
  for (const network of networks) {
    const [ip = '', bits] = network.split('/');
    const family = net.isIPv6(ip) ? 'ipv6' : 'ipv4';
    list.addSubnet(ip, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return list;
}
const PRIVATE_LIST = blockListOf(PRIVATE);
const GLOBAL_IPV6 = blockListOf(['2000::/3']);
const isNetwork = (entry: string): boolean => net.isIP(entry.split('/')[0]!) !== 0;
const bare = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** Decides which addresses may be connected to. */
export interface Guard {
  /** Throws `ServiceError('webhook_target_refused')`, and `invalid_request` for a text that is not a URL. */
  readTarget(url: string): URL;
  /** Replaces the list of allowed targets. */
  allow(allow: Allow): void;
  /** Those of the resolved addresses of a host that may be connected to. */
  allowed(host: string, addresses: readonly Address[]): readonly Address[];
}
const refuse = (detail: Said | string): never => {
  throw new ServiceError('webhook_target_refused', detail);
};

export function createGuard(initial: Allow): Guard {
  let hosts: ReadonlySet<string> = new Set();
  let networks = blockListOf([]);
  const setAllowed = (entries: Allow): void => {
    hosts = new Set(entries.filter((entry) => !isNetwork(entry)).map((host) => host.toLowerCase()));
    networks = blockListOf(entries.filter(isNetwork));
  };
  setAllowed(initial);
  const isAllowed = (text: string): boolean => {
    const address = text.split('%')[0]!;
    const family = net.isIP(address);
    if (family === 0) return false;
    const kind = family === 6 ? 'ipv6' : 'ipv4';
    if (networks.check(address, kind)) return true;
    if (family === 6 && !GLOBAL_IPV6.check(address, kind)) return false;
    return !PRIVATE_LIST.check(address, kind);
  };
  return {
    allow: setAllowed,
    readTarget(text) {
      if (!URL.canParse(text))
        throw new ServiceError(
          'invalid_request',
          'url: must be a URL with its scheme, such as https://example.com/calls',
        );
      const url = new URL(text);
      if (url.protocol !== 'http:' && url.protocol !== 'https:')
        refuse('url: the scheme must be http or https');
      if (url.username !== '' || url.password !== '') refuse('url: must not contain credentials');
      if (/[\\\s\p{Cc}]/u.test(text)) refuse('url: must not contain a space or a backslash');
      if (text.includes('#')) refuse('url: must not contain a fragment (#), which is never sent');
      // The parser accepts many spellings of one host; an unusual one may hide a private address.
      const written = /^https?:\/\/([^/?]*)/i.exec(text)?.[1]?.toLowerCase().replace(/:\d*$/, '');
      if (written !== url.hostname) refuse(say`url: write the host as ${url.hostname}`);
      const port = url.port === '' ? null : Number(url.port);
      if (port !== null && (port < 1 || PORTS.has(port)))
        refuse(say`url: requests to port ${port} are not allowed`);
      const host = bare(url.hostname);
      if (hosts.has(host)) return url;
      if (host.endsWith('.')) refuse('url: the host must not end in a full stop');
      if (net.isIP(host) === 0 ? /(^|\.)localhost$/.test(host) : !isAllowed(host)) {
        refuse(
          say`url: ${host} is not a public address; an administrator can allow it in the settings of webhooks`,
        );
      }
      return url;
    },
    allowed(name, addresses) {
      const host = bare(name).toLowerCase();
      return hosts.has(host) ? addresses : addresses.filter(({ address }) => isAllowed(address));
    },
  };
}
