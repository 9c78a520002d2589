import net from 'node:net';

const V4_BITS = 32;
const GROUPS = 8;

/** Groups of an IPv6 address without its zone. */
export function groupsOf(ip: string): number[] {
  const [head = '', tail = ''] = ip.split('%', 1)[0]!.split('::', 2) as [string?, string?];
  const front = head === '' ? [] : head.split(':');
  const back = tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, GROUPS - front.length - back.length) }, () => '0');
  const groups = ip.includes('::') ? [...front, ...zeros, ...back] : front;
  return groups.map((g) => Number.parseInt(g, 16));
}

/**
 * Network of an address as one word: its first `v4` bits (whole bytes) or `v6` bits. An IPv4-mapped IPv6 address counts as
 * IPv4. `unknown` for anything else.
 */
export function networkOf(ip: string, v4: 8 | 16 | 24 | 32 = 24, v6 = 56): string {
  const inside = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (inside !== undefined) {
    return inside
      .split('.')
      .slice(0, (v4 / V4_BITS) * 4)
      .join('.');
  }
  if (!net.isIPv6(ip)) return 'unknown';
  return groupsOf(ip)
    .slice(0, Math.ceil(v6 / 16))
    .map((group, i) => {
      const bits = Math.min(16, v6 - i * 16);
      return ((group >> (16 - bits)) << (16 - bits)).toString(16);
    })
    .join(':');
}

/** First and last address of a network such as `192.168.0.0/16`, which must be valid. */
export function edgesOf(cidr: string): readonly [first: string, last: string] {
  const [address = '', size = ''] = cidr.split('/');
  const six = net.isIPv6(address);
  const parts = six ? groupsOf(plainHost(address)) : address.split('.').map(Number);
  const width = six ? 16 : 8;
  const edge = (last: boolean): string =>
    parts
      .map((part, i) => {
        const free = 2 ** (width - Math.max(0, Math.min(width, Number(size) - i * width)));
        const first = part - (part % free);
        return (last ? first + free - 1 : first).toString(six ? 16 : 10);
      })
      .join(six ? ':' : '.');
  return [edge(false), edge(true)];
}
/** True for an address in one of these networks; an IPv4 address may be written as IPv6. */
export function addressIn(networks: readonly string[]): (ip: string) => boolean {
  const list = new net.BlockList();
  for (const network of networks) {
    const [base = '', size] = network.split('/');
    const family = net.isIPv6(base) ? 'ipv6' : 'ipv4';
    list.addSubnet(base, Number(size ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return (ip) => {
    const plain = ip.replace(/^::ffff:(?=[0-9.]+$)/i, '');
    const family = net.isIP(plain);
    return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  };
}
/** An IPv6 address as programs print it, also where it ends in an IPv4 address; any other host as it is. */
export const plainHost = (host: string): string =>
  net.isIPv6(host) ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host;
/** A host as URLs and SIP addresses write it: an IPv6 address in brackets. */
export const bracketed = (host: string): string => (net.isIPv6(host) ? `[${host}]` : host);
