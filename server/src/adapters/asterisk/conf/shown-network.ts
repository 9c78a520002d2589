/** The network as SIP and media show it. */
import type { Site, SiteNetwork } from '../../../ports/site.ts';

/** With the address that was found, also for browsers, where the site follows one. */
export function shownNetwork({
  network,
  found_address: found,
}: Pick<Site, 'network' | 'found_address'>): SiteNetwork {
  if (found === null) return network;
  const { address, local } = found;
  const known = network.ice_hosts.some((host) => host.local === local);
  const mapped =
    local === null || local === address || known ? [] : [{ local, external: address, keep_local: true }];
  return { ...network, external_address: address, ice_hosts: [...network.ice_hosts, ...mapped] };
}
