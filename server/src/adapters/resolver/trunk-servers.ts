/** Servers of a trunk by SRV records (RFC 3263, RFC 2782), or the addresses of its host where it has none. */
import { Resolver } from 'node:dns/promises';
import { messageOf } from '../../core/errors.ts';
import { addressIn } from '../../core/networks.ts';
import { MOST_SERVERS } from '../../ports/trunk-servers.ts';
import type { FindServers, TrunkServer } from '../../ports/trunk-servers.ts';

const SERVICE = { udp: '_sip._udp', tcp: '_sip._tcp', tls: '_sips._tcp' } as const;
/** A question is asked twice, each time for this long. */
const PATIENCE_MS = 2_000;
/** Addresses of one server beyond these are left out. */
const MOST_ADDRESSES = 8;
const HOST = /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/;
/** The engine identifies trunks by address: loopback would be every browser, and no server has one of the others. */
const NO_SERVER = addressIn(['0.0.0.0/8', '127.0.0.1/32', '169.254.0.0/16', '224.0.0.0/3']);
/** Codes of an answer that there are no such records, unlike those of no answer. */
const ABSENT: readonly unknown[] = ['ENOTFOUND', 'ENODATA'];
const isAbsence = (error: unknown): boolean => ABSENT.includes((error as NodeJS.ErrnoException).code);

/** `servers`: addresses of the DNS servers that are asked, those of the machine where there are none. */
export const findServers =
  (servers: readonly string[]): FindServers =>
  async ({ host, port, srv, transport }, signal) => {
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: PATIENCE_MS, tries: 2 });
    if (servers.length > 0) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const name = `${SERVICE[transport]}.${host}`;
      const itself = [{ name: host, port, priority: 0, weight: 0 }];
      const records = !srv
        ? itself
        : await resolver.resolveSrv(name).catch((error: unknown) => {
            if (isAbsence(error)) return itself;
            throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
          });
      const offered = records
        .filter((one) => HOST.test(one.name) && one.port > 0)
        // A fixed order of equal weights: a random one would be a change of the configuration at each look.
        .toSorted(
          (a, b) =>
            a.priority - b.priority ||
            b.weight - a.weight ||
            (a.name < b.name ? -1 : a.name > b.name ? 1 : a.port - b.port),
        )
        .slice(0, MOST_SERVERS);
      if (offered.length === 0) throw new Error(`${name}: the domain offers no such service`);
      const found = await Promise.all(
        offered.map(async (one): Promise<TrunkServer | null> => {
          const addresses = await resolver.resolve4(one.name).catch((error: unknown) => {
            if (isAbsence(error)) return [];
            throw new Error(`${one.name}: ${messageOf(error)}`, { cause: error });
          });
          const usable = addresses.filter((address) => !NO_SERVER(address)).toSorted();
          return usable.length === 0
            ? null
            : { host: one.name, port: one.port, addresses: usable.slice(0, MOST_ADDRESSES) };
        }),
      );
      const usable = found.filter((one) => one !== null);
      if (usable.length === 0)
        throw new Error(`${host}: no server of it has an IPv4 address that can be used`);
      return usable;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
