/** The site in the office as its NAT shows it, and a browser at home that reaches it from outside. */
import type { Browser, WebPhone } from '../browser.ts';
import { freePort, freeRange } from '../ports.ts';
import type { Site } from '../site.ts';
import { ADDRESSES } from './nets.ts';

const RELAY_PORTS = 40;

/** The object `network` of a site in the office, on free ports. */
export async function officeNetwork() {
  const [tls_port, turn_port, relay] = [await freePort(), await freePort(), await freeRange(RELAY_PORTS)];
  return {
    name: 'site' as const,
    external_address: ADDRESSES.officeGateway,
    local_nets: ['192.168.10.0/24', '127.0.0.0/8'],
    tls_port,
    turn_port,
    turn_relay_ports: { from: relay, to: relay + RELAY_PORTS - 1 },
    ice_hosts: [{ local: ADDRESSES.office, external: ADDRESSES.officeGateway }],
  };
}
/** A page at home, registered as the browser phone of an extension by the addresses outside. */
export async function pageAtHome(site: Site, browser: Browser, extension: string): Promise<WebPhone> {
  const { sip } = (await site.person(extension)).login;
  const outside = (url: string): string => url.replace(ADDRESSES.office, ADDRESSES.officeGateway);
  const turn = sip.turn && { ...sip.turn, urls: sip.turn.urls.map(outside) };
  return await browser.phone({ ...sip, ws_url: outside(sip.ws_url), turn });
}
