/** Sources of the external address, and the rules for accepting a found address. */
import { addressIn, bracketed } from '../../core/networks.ts';
import type { AddressSource, FoundAddress } from '../../ports/external-address.ts';
import type { SiteNetwork } from '../../ports/site.ts';

/** Source in the configuration; null for a fixed address, or if a field is missing. */
export function sourceOf(network: SiteNetwork): AddressSource | null {
  const { external_address_source: kind, stun_server, stun_port, external_interface } = network;
  if (kind === 'stun' && stun_server !== null) return { kind, host: stun_server, port: stun_port };
  if (kind === 'interface' && external_interface !== null) return { kind, name: external_interface };
  return null;
}
export const wordsOf = (source: AddressSource): string =>
  source.kind === 'stun'
    ? `STUN server ${bracketed(source.host)}:${source.port}`
    : `interface ${source.name}`;

/** Addresses to which no other machine can send, whatever network this machine is in. */
const NOWHERE = addressIn([
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/3',
  '::/127',
  'fe80::/10',
  'ff00::/8',
]);
/** Private addresses, addresses that a provider's customers share, and test networks: no server outside sees them. */
const INSIDE = addressIn([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
]);
const OUTSIDE_V6 = addressIn(['2000::/3']);

/** Reason for rejecting a found address; null if it is accepted. */
export function disbelief(
  { address }: FoundAddress,
  source: AddressSource,
  network: SiteNetwork,
): string | null {
  if (NOWHERE(address)) return 'which no other machine can reach';
  if (source.kind === 'interface') return null;
  if (INSIDE(address) || (address.includes(':') && !OUTSIDE_V6(address))) return 'which is no public address';
  return addressIn(network.local_nets)(address) ? 'which is in local_nets' : null;
}
