/** The TURN server beside the engine (coturn), through which phones behind strict firewalls reach its media. */
import path from 'node:path';
import { edgesOf } from '../../../core/networks.ts';
import { ServiceError } from '../../../core/errors.ts';
import type { SiteNetwork } from '../../../ports/site.ts';
import type { Instance, InstanceSettings } from './instance.ts';
import { cidr, conf, filePath, host, joined, secret, whole } from './text.ts';
import type { ConfText } from './text.ts';

export const TURN_FILE = 'turnserver.conf';
const nothing = conf``;
/** Listening on every address is the default of the program and has no line. */
const EVERY = new Set(['0.0.0.0', '::']);
/** Relayed calls of one person at a time; a browser needs one allocation for each address it has. */
const MOST_ALLOCATIONS = 24;

const allowed = (range: ConfText): ConfText => conf`allowed-peer-ip=${range}
`;
/** Peers that media may be relayed to besides the addresses of this machine, which are known only at a start. */
function peers(network: SiteNetwork): ConfText {
  const own = [
    ...[network.external_address, network.external_media_address].flatMap((one) => one ?? []),
    ...network.ice_hosts.flatMap(({ local, external }) => [local, external]),
  ];
  const nets = network.turn_nets.map((one) => {
    const [first, last] = edgesOf(cidr(one, 'a network for relayed media'));
    return allowed(conf`${host(first, 'its first address')}-${host(last, 'its last address')}`);
  });
  return joined([...[...new Set(own)].map((one) => allowed(host(one, 'an own address'))), ...nets], '');
}
function secured({ tls_files }: InstanceSettings, port: number | null): ConfText {
  if (port === null)
    return conf`no-tls
`;
  if (tls_files === undefined)
    throw new ServiceError('invalid_request', 'network: TURN over TLS needs the files of a certificate');
  return conf`tls-listening-port=${whole(port, 'the port of TURN over TLS', 1, 65535)}
cert=${filePath(tls_files.certificate, 'the certificate')}
pkey=${filePath(tls_files.key, 'its key')}
`;
}
/** Only a comment where the site has no TURN server: the file always exists, so that an apply can roll it back. */
export function turnConf(settings: InstanceSettings, network: SiteNetwork, instance: Instance): ConfText {
  const { turn_port, turn_tls_port, turn_relay_ports } = network;
  if (turn_port === null) return nothing;
  if (settings.turn_secret === undefined)
    throw new ServiceError('invalid_request', 'network: TURN needs the secret of the site');
  const address = host(settings.sip.host, 'the SIP address');
  const six = settings.sip_ipv6 === undefined ? [] : [host(settings.sip_ipv6, 'the SIP address of IPv6')];
  const at = EVERY.has(settings.sip.host)
    ? nothing
    : joined(
        [address, ...six].map(
          (one) => conf`listening-ip=${one}
`,
        ),
        '',
      );
  // Before its first message a file of its own would be opened.
  return conf`
log-file=stdout
simple-log
listening-port=${whole(turn_port, 'the TURN port', 1, 65535)}
${at}${secured(settings, turn_tls_port)}min-port=${whole(turn_relay_ports?.from ?? 49152, 'the first relay port', 1024, 65535)}
max-port=${whole(turn_relay_ports?.to ?? 65535, 'the last relay port', 1024, 65535)}
fingerprint
use-auth-secret
static-auth-secret=${secret(settings.turn_secret, 'the TURN secret')}
realm=offhook
user-quota=${whole(MOST_ALLOCATIONS, 'the allocations of a person', 1, 1000)}
stale-nonce=600
no-tcp-relay
no-multicast-peers
no-rfc5780
no-software-attribute
denied-peer-ip=0.0.0.0-255.255.255.255
denied-peer-ip=::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
${peers(network)}userdb=${filePath(path.join(instance.folder, 'lib', 'turn.db'), 'the TURN database')}
pidfile=${filePath(turnPidFile(instance), 'the pid file of TURN')}
`;
}
export const turnPidFile = (instance: Instance): string => path.join(instance.run_dir, 'turnserver.pid');
