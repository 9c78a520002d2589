/** Addresses on which audio and passwords are sent unencrypted. */
import { BlockList, isIPv6 } from 'node:net';
import type { Config } from './config.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');
const local = new BlockList();
for (const [net, bits] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  local.addSubnet(net, bits);
}
local.addAddress('::1', 'ipv6');
local.addSubnet('fc00::', 7, 'ipv6');
local.addSubnet('fe80::', 10, 'ipv6');
const isIn = (list: BlockList, host: string): boolean =>
  host === 'localhost' || list.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');

/**
 * Warnings about the configured addresses. HTTP is plain, so only loopback is safe, or an address behind a configured TLS proxy
 * on another machine. SIP is plain too and belongs to the network of its phones, so a wildcard or public address causes a
 * warning.
 */
export function exposures({
  listen,
  sipListen,
  sipListenIpv6,
  publicUrl,
  trustProxy,
}: Pick<Config, 'listen' | 'sipListen' | 'sipListenIpv6' | 'publicUrl' | 'trustProxy'>): readonly string[] {
  const found: string[] = [];
  const proxied = publicUrl.startsWith('https:') && trustProxy.length > 0;
  if (!isIn(loopback, listen.host) && !proxied) {
    found.push(
      `OFFHOOK_LISTEN ${listen.host}:${listen.port} is reached from other machines without TLS: passwords and tokens can be read on the way. Listen on 127.0.0.1 with TLS in front, or use OFFHOOK_HTTPS_LISTEN (docs/tls.md)`,
    );
  }
  if (!isIn(local, sipListen.host)) {
    found.push(
      `OFFHOOK_SIP_LISTEN ${sipListen.host}:${sipListen.port} is not of a private network, and SIP is plain: give it the address of the phones' network, and let nobody else in by the firewall`,
    );
  }
  if (sipListenIpv6 !== null && !isIn(local, sipListenIpv6)) {
    found.push(
      `OFFHOOK_SIP_LISTEN_IPV6 ${sipListenIpv6} is not of a private network, and SIP is plain: let only phones in by the firewall`,
    );
  }
  return found;
}
