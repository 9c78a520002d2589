/** Trunks as the engine's objects: endpoints, their identification and their addresses. */
import { isIP, isIPv6 } from 'node:net';
import type { Site, SiteTrunk } from '../../../ports/site.ts';
import type { InstanceSettings } from './instance.ts';
import { encryption, mediaAt, sixth, tlsTransport } from './secure-media.ts';
import {
  conf,
  foreignSecret,
  host,
  joined,
  language,
  literal,
  loginName,
  objectName,
  whole,
  word,
} from './text.ts';
import type { ConfText } from './text.ts';
import { MOST_SERVERS } from '../../../ports/trunk-servers.ts';

const CODECS = ['ulaw', 'alaw', 'g722', 'opus'] as const;
const nothing = conf``;
/** Parameter of the request line in which the SIP proxy names the address from which a request came. */
export const SOURCE = conf`offhook-source`;
export const endpointOf = (t: SiteTrunk): ConfText => objectName(t.endpoint, `trunk ${t.name}: endpoint`);
/** Context of calls from this trunk. It has only the trunk's own routes, so that a caller reaches no other internal number. */
export const arrivals = (t: SiteTrunk): ConfText => conf`from-${endpointOf(t)}`;

/**
 * Rights that the carrier does not have: to forward our calls by itself (REFER, 3xx), watch our extensions, or act as a phone.
 * The engine identifies it by its address before it reads any name in the request.
 */
const template = (spoken: string): ConfText => conf`
[trunk](!)
type = endpoint
identify_by = ip
disallow = all
direct_media = no
rtp_symmetric = yes
force_rport = yes
trust_id_inbound = yes
send_pai = no
allow_transfer = no
allow_subscribe = no
language = ${language(spoken, 'the language of the site')}
`;

/** A server of a trunk: its objects in the engine have this name, its contact this host and port. */
interface Server {
  readonly name: ConfText;
  readonly at: ConfText;
  /** Its address with the transport, without the scheme. */
  readonly uri: ConfText;
}
const transportOf = (t: SiteTrunk): ConfText =>
  word(t.transport, `trunk ${t.name}: transport`, ['udp', 'tcp', 'tls'] as const);
/**
 * The servers of a trunk in the order in which they are tried. By TLS a server is reached by its name, which its certificate
 * has; otherwise by its first address, so that no call waits for a name to be looked up.
 */
export function serversOf(t: SiteTrunk): readonly [Server, ...Server[]] {
  const name = endpointOf(t);
  const what = `trunk ${t.name}`;
  const at = (to: string, port: number): ConfText => {
    const address = host(to, `${what}: host`);
    return conf`${isIPv6(to) ? conf`[${address}]` : address}:${whole(port, `${what}: port`, 1, 65535)}`;
  };
  const [first, ...more] = t.servers.map((server) =>
    at(t.transport === 'tls' ? server.host : (server.addresses[0] ?? server.host), server.port),
  );
  const server = (named: ConfText, to: ConfText): Server => ({
    name: named,
    at: to,
    uri: t.transport === 'udp' ? to : conf`${to}\\;transport=${transportOf(t)}`,
  });
  return [
    server(name, first ?? at(t.host, t.port)),
    ...more.map((to, i) =>
      server(conf`server${whole(i + 2, `${what}: servers`, 2, MOST_SERVERS)}-${name}`, to),
    ),
  ];
}
/** The SIP proxy has one address, of IPv4, and no TLS towards trunks. */
export const isProxied = (
  t: Pick<SiteTrunk, 'transport' | 'host'>,
  { sip_proxies = [] }: Pick<InstanceSettings, 'sip_proxies'>,
): boolean =>
  sip_proxies.length > 0 && t.transport !== 'tls' && ![t, ...sip_proxies].some((one) => isIPv6(one.host));
/**
 * Parts of a trunk whose calls pass the SIP proxy. The proxy writes the source address of a request into its request line. The
 * engine accepts this request line only from the proxy and from the trunk's own servers, so that no other sender can forge it.
 */
function proxied(
  t: SiteTrunk,
  proxies: NonNullable<InstanceSettings['sip_proxies']>,
  used: Site['trunk_proxy'],
  known: readonly ConfText[],
): { readonly endpoint: ConfText; readonly route: ConfText; readonly identify: ConfText } {
  const name = endpointOf(t);
  const addresses = proxies.map((one) => host(one.host, 'the SIP proxy: host'));
  const through = host((used ?? proxies[0]!).host, 'the SIP proxy: host');
  const port = whole((used ?? proxies[0]!).port, 'the SIP proxy: port', 1, 65535);
  const route = conf`outbound_proxy = sip:${through}:${port}\\;lr
`;
  const permit = [...addresses, ...known].map(
    (one) => conf`permit = ${one}
`,
  );
  const pattern = joined(known.map(literal), '|');
  return {
    endpoint: conf`${route}identify_by = ip,request_uri
deny = 0.0.0.0/0
deny = ::/0
${joined(permit, '')}`,
    route,
    identify:
      known.length === 0
        ? nothing
        : conf`[proxied-${name}]
type = identify
endpoint = ${name}
match_request_uri = /^sip:([^@]*@)?[^@\\;?]*\\;${SOURCE}=(${pattern})$/
`,
  };
}
/**
 * Trunks with the host of this one, for example several accounts at a provider. The engine knows a call by its address only as one
 * of the first of them; a trunk without a registration has nothing else by which it could be known.
 */
export const trunksAt = (t: SiteTrunk, trunks: readonly SiteTrunk[]): readonly SiteTrunk[] =>
  trunks
    .filter(({ host: other, srv }) => other.toLowerCase() === t.host.toLowerCase() && srv === t.srv)
    .toSorted((a, b) => Number(a.register) - Number(b.register));
/** A server that does not answer is noticed before callers have waited for it more than a few times. */
const checks = (t: SiteTrunk): ConfText => (t.srv ? conf`10` : conf`20`);

function trunk(
  t: SiteTrunk,
  { trunks, network, trunk_proxy: used }: Pick<Site, 'trunks' | 'network' | 'trunk_proxy'>,
  settings: InstanceSettings,
): ConfText {
  const name = endpointOf(t);
  const alike = trunksAt(t, trunks);
  const what = `trunk ${t.name}`;
  const address = host(t.host, `${what}: host`);
  const protocol = transportOf(t);
  const known = t.servers.flatMap((server) => server.addresses.map((one) => host(one, `${what}: address`)));
  const proxies = isProxied(t, settings) ? settings.sip_proxies : undefined;
  const way =
    proxies === undefined
      ? { endpoint: nothing, route: nothing, identify: nothing }
      : proxied(t, proxies, used, known.length === 0 && isIP(t.host) !== 0 ? [address] : known);
  // The engine reaches the proxy by UDP, which reaches the trunk by the transport of its address.
  const first =
    t.transport === 'tls'
      ? tlsTransport(network)
      : proxies === undefined
        ? conf`transport-${protocol}`
        : conf`transport-udp`;
  const six = isIPv6(t.host);
  const transport = six && settings.sip_ipv6 !== undefined ? sixth(first) : first;
  const servers = serversOf(t);
  const codecs = t.codecs.map((codec) => word(codec, `${what}: codec`, CODECS));
  const user = t.login === null ? null : loginName(t.login.username, `${what}: user name`);
  const login =
    t.login === null
      ? nothing
      : conf`
[${name}]
type = auth
auth_type = digest
username = ${user!}
password = ${foreignSecret(t.login.password, `${what}: password`)}
`;
  // With each server, so that calls arrive by whichever the carrier uses, also while this service is away.
  const registration = !t.register
    ? []
    : servers.map(
        (server) => conf`
[${server.name}]
type = registration
transport = ${transport}
server_uri = sip:${server.uri}
client_uri = sip:${user!}@${t.servers.length === 0 ? server.at : address}
contact_user = ${user!}
${
  alike.length === 1
    ? nothing
    : conf`; A carrier that keeps this parameter of the contact names the trunk by it.
line = yes
endpoint = ${name}
`
}outbound_auth = ${name}
retry_interval = 30
forbidden_retry_interval = 300
max_retries = 100000
${way.route}`,
      );
  const addresses = servers.map(
    (server) => conf`[${server.name}]
type = aor
contact = sip:${server.uri}
qualify_frequency = ${checks(t)}
qualify_timeout = 3.0
${way.route}`,
  );
  return conf`
[${name}](trunk)
transport = ${transport}
context = ${arrivals(t)}
aors = ${joined(
    servers.map((server) => server.name),
    ',',
  )}
${
  t.login === null
    ? nothing
    : conf`outbound_auth = ${name}
`
}${
    t.language === null
      ? nothing
      : conf`language = ${language(t.language, `${what}: language`)}
`
  }from_domain = ${address}
${way.endpoint}${
    six
      ? conf`rtp_ipv6 = yes
`
      : nothing
  }allow = ${joined(codecs, ',')}
${mediaAt(t.media_address, settings, what)}${encryption(t.srtp)}${joined(addresses, '')}${
    alike[0] === t
      ? conf`[${name}]
type = identify
endpoint = ${name}
match = ${joined(known.length === 0 ? [address] : known, ',')}
`
      : nothing
  }${alike.find((one) => isProxied(one, settings)) === t ? way.identify : nothing}${login}${joined(registration, '')}`;
}
export const trunkObjects = (
  site: Pick<Site, 'trunks' | 'network' | 'settings' | 'trunk_proxy'>,
  settings: InstanceSettings,
): ConfText =>
  site.trunks.length === 0
    ? nothing
    : conf`${template(site.settings.language)}${joined(
        site.trunks.map((t) => trunk(t, site, settings)),
        '',
      )}`;
