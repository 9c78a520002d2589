/** Which trunks are looked up in DNS by the service itself, and what a standby finds before it leads. */
import { isIP } from 'node:net';
import { isProxied } from '../adapters/asterisk/conf/trunk-files.ts';
import { findServers } from '../adapters/resolver/trunk-servers.ts';
import type { SiteTrunk } from '../ports/site.ts';
import type { TrunkServers } from '../ports/trunk-servers.ts';
import type { Config } from './config.ts';

type Named = Pick<SiteTrunk, 'name' | 'host' | 'port' | 'transport' | 'srv'>;
/** Behind the SIP proxy the engine knows a trunk by the address that the proxy names, so it needs the addresses of each host. */
export const followsServers =
  ({ sipProxies }: Pick<Config, 'sipProxies'>) =>
  (trunk: Named): boolean =>
    trunk.srv || (isIP(trunk.host) === 0 && isProxied(trunk, { sip_proxies: sipProxies }));
/** One look at all of them; those that are not found are left out. */
export async function serversNow(
  trunks: readonly Named[],
  config: Pick<Config, 'sipProxies' | 'dnsServers'>,
  signal: AbortSignal,
): Promise<TrunkServers> {
  const find = findServers(config.dnsServers);
  const found = await Promise.allSettled(
    trunks
      .filter(followsServers(config))
      .map(async (trunk) => [trunk.name, await find(trunk, signal)] as const),
  );
  return new Map(found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
}
