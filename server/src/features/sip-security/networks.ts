/** Networks to block, and their comparison with spared addresses. */
import net from 'node:net';
import { networkOf } from '../../core/networks.ts';

const familyOf = (address: string): 'ipv4' | 'ipv6' => (net.isIPv4(address) ? 'ipv4' : 'ipv6');

/** The /24 or /64 of an address, such as `203.0.113.0/24`; null for anything that is no address. */
export function blockedNetworkOf(address: string): string | null {
  if (net.isIP(address) === 0) return null;
  const network = networkOf(address, 24, 64);
  return network.includes(':') ? `${network}::/64` : `${network}.0/24`;
}
/** True if a network of `blockedNetworkOf` contains one of these addresses or networks, or is part of one of them. */
export function meets(network: string, others: readonly string[]): boolean {
  const [base = '', bits] = network.split('/');
  const own = new net.BlockList();
  own.addSubnet(base, Number(bits), familyOf(base));
  return others.some((other) => {
    const [address = '', size] = other.split('/');
    if (net.isIP(address) === 0) return false;
    if (own.check(address, familyOf(address))) return true;
    if (size === undefined) return false;
    const wide = new net.BlockList();
    wide.addSubnet(address, Number(size), familyOf(address));
    return wide.check(base, familyOf(base));
  });
}
