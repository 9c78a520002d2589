/** TLS, SRTP and the address of media, which phones and trunks share. */
import type { SiteNetwork, SrtpRule } from '../../../ports/site.ts';
import { conf, host, whole } from './text.ts';
import type { ConfText } from './text.ts';
import type { InstanceSettings } from './instance.ts';

/** Its name has the port, because the engine opens a transport of another name at once but never moves one. */
export const tlsTransport = (network: SiteNetwork): ConfText =>
  conf`transport-tls-${whole(network.tls_port ?? 0, 'the TLS port', 1, 65535)}`;
/** Transport of IPv6 beside that of IPv4. */
export const sixth = (name: ConfText): ConfText => conf`${name}-ipv6`;
/** Options of media encryption of a desk phone or trunk; none for plain media. */
export const encryption = (srtp: SrtpRule): ConfText =>
  srtp === 'off'
    ? conf``
    : conf`media_encryption = sdes
${
  srtp === 'offered'
    ? conf`media_encryption_optimistic = yes
`
    : conf``
}`;
/** Address to which the other side sends its media, unless the network decides it. */
export const mediaAt = (
  address: string | null,
  { own_addresses }: InstanceSettings,
  what: string,
): ConfText =>
  address === null
    ? conf``
    : conf`media_address = ${host(address, `${what}: media address`)}
${
  own_addresses?.includes(address) === true
    ? conf`bind_rtp_to_media_address = yes
`
    : conf``
}`;
