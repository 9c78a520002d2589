/** Rules of the object `network`: its ports, the source of its external address, and its locations. */
import { edgesOf } from '../../core/networks.ts';
import { say } from '../../core/said.ts';
import type { Found } from './findings.ts';
import type { Model, StoredObject } from './model.ts';
import type { House } from './check.ts';

/** Ports that one service listens at, first and last included. */
export interface UsedPorts {
  readonly protocol: 'tcp' | 'udp';
  readonly from: number;
  readonly to: number;
  /** The setting or field that names them. */
  readonly by: string;
}

/** Relay ports of coturn by default. */
const RELAY_PORTS = { from: 49_152, to: 65_535 };
/** Ports of each field of the network; TURN takes both protocols. */
function* portsOf(body: StoredObject<'network'>['body']): Generator<UsedPorts> {
  const { ldap_port, tls_port, turn_port, turn_tls_port, turn_relay_ports: relay, rtp_ports: media } = body;
  const both = ['tcp', 'udp'] as const;
  for (const [by, port, protocols] of [
    ['tls_port', tls_port, ['tcp']],
    ['ldap_port', ldap_port, ['tcp']],
    ['turn_port', turn_port, both],
    ['turn_tls_port', turn_tls_port, both],
  ] as const)
    if (port != null) for (const protocol of protocols) yield { protocol, from: port, to: port, by };
  if (media != null) yield { protocol: 'udp', ...media, by: 'rtp_ports' };
  if (turn_port != null) yield { protocol: 'udp', ...(relay ?? RELAY_PORTS), by: 'turn_relay_ports' };
}
export function* networkPorts(model: Model, { ports = [], rtpPorts }: House): Generator<Found> {
  for (const object of model.of('network').values()) {
    const { turn_port, turn_tls_port, ice_hosts, rtp_ports } = object.body;
    if ((turn_tls_port ?? null) !== null && (turn_port ?? null) === null)
      yield [object, 'turn_tls_port', 'TURN over TLS needs turn_port too'];
    // The relay runs beside the engine, and most gateways do not forward packets from inside to their outside address.
    for (const [i, { keep_local }] of (ice_hosts ?? []).entries())
      if (!keep_local && (turn_port ?? null) !== null)
        yield [
          object,
          `ice_hosts.${i}.keep_local`,
          'must be true with TURN, which relays to the local address',
        ];
    const used = [...ports, ...(rtp_ports == null && rtpPorts !== undefined ? [rtpPorts] : [])];
    const reported = new Set<string>();
    for (const one of portsOf(object.body)) {
      const other = used.find((o) => o.protocol === one.protocol && o.from <= one.to && one.from <= o.to);
      used.push(one);
      if (other === undefined || reported.has(`${one.by} ${other.by}`)) continue;
      reported.add(`${one.by} ${other.by}`);
      const port = Math.max(one.from, other.from);
      yield [object, one.by, say`port ${port} is also used by ${other.by}`];
    }
  }
}
export function* networkSources(model: Model): Generator<Found> {
  for (const object of model.of('network').values()) {
    const { external_address_source: source, stun_server, external_interface } = object.body;
    if (source === 'stun' && (stun_server ?? null) === null)
      yield [object, 'stun_server', 'is missing: it is needed to determine the external address'];
    if (source === 'interface' && (external_interface ?? null) === null)
      yield [object, 'external_interface', 'is missing: it is needed to determine the external address'];
  }
}
/** Each network may have one location only, because an emergency call reports the location of its network. */
export function* networkLocations(model: Model): Generator<Found> {
  for (const object of model.of('network').values()) {
    const known = new Map<string, string>();
    for (const [i, { net, location }] of (object.body.locations ?? []).entries()) {
      const network = edgesOf(net).join(' ');
      const other = known.get(network);
      if (other !== undefined)
        yield [object, `locations.${i}.net`, say`this network is ${JSON.stringify(other)} already`];
      known.set(network, location);
    }
  }
}
