/** The address by which this machine is reached from outside: as a STUN server sees it, or as a network interface has it. */
import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { FindAddress, FoundAddress } from '../../../ports/external-address.ts';
import { askStun } from './stun.ts';

const ANSWER_MS = 3_000;
const EVERY: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

function ofInterface(name: string, six: boolean): FoundAddress {
  const all = networkInterfaces()[name];
  if (all === undefined) throw new Error('this machine has no such interface, or it is down');
  const found = all.find(({ family, scopeid }) => family === (six ? 'IPv6' : 'IPv4') && !scopeid);
  if (found === undefined) throw new Error(`it has no ${six ? 'IPv6' : 'IPv4'} address`);
  return { address: found.address, local: found.address };
}
/** `listen`: address of SIP, from which a STUN server is asked too. */
export const findAddress =
  (listen: string): FindAddress =>
  async (source, signal) => {
    const six = isIPv6(listen);
    if (source.kind === 'interface') return ofInterface(source.name, six);
    const { address: host } = await lookup(source.host, { family: six ? 6 : 4 });
    const from = EVERY.has(listen) ? undefined : listen;
    const { mapped, local } = await askStun({ host, port: source.port }, ANSWER_MS, { from, signal });
    if (mapped === null) throw new Error('its answer has no address');
    return { address: mapped, local };
  };
