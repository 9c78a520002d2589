/** DNS lookups of trunks by the service itself, also at a standby, and the SIP proxy through which trunks leave. */
import { isIP } from 'node:net';
import { isProxied } from '../adapters/asterisk/conf/trunk-files.ts';
import { askSip } from '../adapters/asterisk/sip-probe.ts';
import { findServers } from '../adapters/resolver/trunk-servers.ts';
import { TrunkProxy } from '../features/reachability/trunk-proxy.ts';
import type { TrunkProxyDeps } from '../features/reachability/trunk-proxy.ts';
import type { SiteTrunk } from '../ports/site.ts';
import type { TrunkServers } from '../ports/trunk-servers.ts';
import type { Config } from './config.ts';

/** Time limit for the answer of a SIP proxy. */
const PROXY_ANSWER_MS = 2_000;
/** Time limit of a lookup on which a block of a network waits. */
const LOOKUP_MS = 5_000;
type Named = Pick<SiteTrunk, 'name' | 'host' | 'port' | 'transport' | 'srv'>;
/** Behind a SIP proxy the engine identifies a trunk by the address that the proxy names, so hosts are looked up. */
export const followsServers =
  ({ sipProxies }: Pick<Config, 'sipProxies'>) =>
  (trunk: Named): boolean =>
    trunk.srv || (isIP(trunk.host) === 0 && isProxied(trunk, { sip_proxies: sipProxies }));
/** Looks up each trunk once; trunks without a result are left out. */
async function lookUp(
  trunks: readonly Named[],
  { dnsServers }: Pick<Config, 'dnsServers'>,
  signal: AbortSignal,
): Promise<TrunkServers> {
  const find = findServers(dnsServers);
  const found = await Promise.allSettled(
    trunks.map(async (trunk) => [trunk.name, await find(trunk, signal)] as const),
  );
  return new Map(found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
}
/** Looks up the servers of all trunks once; trunks without a result are left out. */
export const serversNow = (
  trunks: readonly Named[],
  config: Pick<Config, 'sipProxies' | 'dnsServers'>,
  signal: AbortSignal,
): Promise<TrunkServers> => lookUp(trunks.filter(followsServers(config)), config, signal);
/** Present addresses of the enabled trunks whose host is a name, also of those that only the engine looks up. */
export async function namedAddresses(
  trunks: readonly (Named & { readonly enabled: boolean })[],
  config: Pick<Config, 'dnsServers'>,
): Promise<readonly string[]> {
  const named = trunks.filter(({ enabled, host }) => enabled && isIP(host) === 0);
  const found = await lookUp(named, config, AbortSignal.timeout(LOOKUP_MS));
  return [...found.values()].flat().flatMap(({ addresses }) => addresses);
}
/** Asks the proxies once it begins. */
export const createTrunkProxy = ({
  config: { sipProxies },
  trunks,
  ...deps
}: Pick<TrunkProxyDeps, 'up' | 'renew' | 'clock' | 'log'> & {
  readonly config: Pick<Config, 'sipProxies'>;
  /** Applied trunks. */
  readonly trunks: () => readonly (Named & { readonly enabled: boolean })[];
}): TrunkProxy =>
  new TrunkProxy({
    ...deps,
    proxies: sipProxies,
    ask: (proxy) => askSip(proxy, 'trunks', PROXY_ANSWER_MS),
    needed: () => trunks().some((one) => one.enabled && isProxied(one, { sip_proxies: sipProxies })),
  });
