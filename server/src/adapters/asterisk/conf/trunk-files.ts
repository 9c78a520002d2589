/** Trunks as the engine's objects: who they are, how they are known and where they are reached. */
import { isIPv6 } from 'node:net';
import type { Site, SiteNetwork, SiteTrunk } from '../../../ports/site.ts';
import type { InstanceSettings } from './instance.ts';
import { encryption, sixth, tlsTransport } from './secure-media.ts';
import { conf, foreignSecret, host, joined, language, loginName, objectName, whole, word } from './text.ts';
import type { ConfText } from './text.ts';

const CODECS = ['ulaw', 'alaw', 'g722', 'opus'] as const;
const nothing = conf``;
export const endpointOf = (t: SiteTrunk): ConfText => objectName(t.endpoint, `trunk ${t.name}: endpoint`);
/** Where calls from this trunk arrive. Only its own routes are there: nothing of the house can be reached but what they name. */
export const arrivals = (t: SiteTrunk): ConfText => conf`from-${endpointOf(t)}`;

/**
 * Rights that the other side does not have: to send our calls on by itself (REFER, 3xx), watch our extensions, or be taken for a phone.
 * It is looked for by address before anything it says of itself is read.
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

function trunk(t: SiteTrunk, network: SiteNetwork, settings: InstanceSettings): ConfText {
  const name = endpointOf(t);
  const what = `trunk ${t.name}`;
  const address = host(t.host, `${what}: host`);
  const protocol = word(t.transport, `${what}: transport`, ['udp', 'tcp', 'tls'] as const);
  const first = t.transport === 'tls' ? tlsTransport(network) : conf`transport-${protocol}`;
  const six = isIPv6(t.host);
  const transport = six && settings.sip_ipv6 !== undefined ? sixth(first) : first;
  const at = conf`${six ? conf`[${address}]` : address}:${whole(t.port, `${what}: port`, 1, 65535)}`;
  const uri = t.transport === 'udp' ? at : conf`${at}\\;transport=${protocol}`;
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
  const registration = !t.register
    ? nothing
    : conf`
[${name}]
type = registration
transport = ${transport}
server_uri = sip:${uri}
client_uri = sip:${user!}@${at}
contact_user = ${user!}
outbound_auth = ${name}
retry_interval = 30
forbidden_retry_interval = 300
max_retries = 100000
`;
  return conf`
[${name}](trunk)
transport = ${transport}
context = ${arrivals(t)}
aors = ${name}
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
${
  six
    ? conf`rtp_ipv6 = yes
`
    : nothing
}allow = ${joined(codecs, ',')}
${encryption(t.srtp)}[${name}]
type = aor
contact = sip:${uri}
qualify_frequency = 20
qualify_timeout = 3.0
[${name}]
type = identify
endpoint = ${name}
match = ${address}
${login}${registration}`;
}
export const trunkObjects = (
  { trunks, network, settings: { language: spoken } }: Pick<Site, 'trunks' | 'network' | 'settings'>,
  settings: InstanceSettings,
): ConfText =>
  trunks.length === 0
    ? nothing
    : conf`${template(spoken)}${joined(
        trunks.map((t) => trunk(t, network, settings)),
        '',
      )}`;
