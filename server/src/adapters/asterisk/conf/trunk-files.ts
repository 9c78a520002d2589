/** Trunks: who they are, what comes in over them and what goes out. */
import { isIPv6 } from 'node:net';
import type {
  NumberChange,
  Site,
  SiteInboundRoute,
  SiteOutboundRoute,
  SiteTrunk,
} from '../../../ports/site.ts';
import { callingPhone } from './call-contexts.ts';
import { destinationSteps } from './destinations.ts';
import { context, exten } from './dialplan-text.ts';
import type { RecordingSteps } from './recording-contexts.ts';
import {
  conf,
  foreignSecret,
  host,
  joined,
  loginName,
  objectName,
  outside,
  outsidePattern,
  whole,
  word,
} from './text.ts';
import type { ConfText } from './text.ts';

const CODECS = ['ulaw', 'alaw', 'g722', 'opus'] as const;
const nothing = conf``;
const endpointOf = (t: SiteTrunk): ConfText => objectName(t.endpoint, `trunk ${t.name}: endpoint`);
/** Where calls from this trunk arrive. Only its own routes are there: nothing of the house can be reached but what they name. */
const arrivals = (t: SiteTrunk): ConfText => conf`from-${endpointOf(t)}`;

/**
 * What the other side may not do: send our calls on by itself (REFER, 3xx), watch our extensions, or be taken for a phone.
 * It is looked for by address before anything it says of itself is read.
 */
const TEMPLATE = conf`
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
language = en
`;

function trunk(t: SiteTrunk): ConfText {
  const name = endpointOf(t);
  const what = `trunk ${t.name}`;
  const address = host(t.host, `${what}: host`);
  const transport = word(t.transport, `${what}: transport`, ['udp', 'tcp'] as const);
  const at = conf`${isIPv6(address) ? conf`[${address}]` : address}:${whole(t.port, `${what}: port`, 1, 65535)}`;
  const uri = t.transport === 'tcp' ? conf`${at}\\;transport=tcp` : at;
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
transport = transport-${transport}
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
transport = transport-${transport}
context = ${arrivals(t)}
aors = ${name}
${
  t.login === null
    ? nothing
    : conf`outbound_auth = ${name}
`
}from_domain = ${address}
allow = ${joined(codecs, ',')}
[${name}]
type = aor
contact = sip:${uri}
qualify_frequency = 60
qualify_timeout = 3.0
[${name}]
type = identify
endpoint = ${name}
match = ${address}
${login}${registration}`;
}
export const trunkObjects = (trunks: readonly SiteTrunk[]): ConfText =>
  trunks.length === 0 ? nothing : conf`${TEMPLATE}${joined(trunks.map(trunk), '')}`;

/** A number that is dialled may hold anything a SIP address can; in Dial, an & or a comma would be another destination. */
const DIGITS_ONLY = conf`GotoIf($["$\{REGEX("^[+]?[0-9]+$" $\{EXTEN})}" = "1"]?:refused)`;
const REFUSED = conf`(refused),Hangup(28)`;
/**
 * Only the number of the side that is called is changed, so that the caller stays who it is in the records; a call placed
 * from the API may show another number the site allows. A trunk's own 3xx is not followed (i).
 */
function dial(
  t: SiteTrunk,
  { strip, prepend }: NumberChange,
  shows: 'trunk' | 'caller',
  more: ConfText,
): ConfText {
  const what = `trunk ${t.name}: route`;
  const first = prepend === '' ? nothing : outside(prepend, `${what}: prepend`);
  const own = t.outbound_number === null ? null : outside(t.outbound_number, `trunk ${t.name}: number`);
  const chosen = conf`$["$\{OFFHOOK_FROM}" = "" | "$\{OFFHOOK_FROM}" = "$\{OFFHOOK_FOR}"]`;
  const shown =
    own === null || shows === 'caller'
      ? nothing
      : conf`b(shown-outside^s^1($\{IF(${chosen}?${own}:$\{OFFHOOK_FROM})}))`;
  const rest = conf`$\{EXTEN:${whole(strip, `${what}: strip`, 0, 32)}}`;
  return conf`Dial(PJSIP/${first}${rest}@${endpointOf(t)},,i${callingPhone}${shown}${more})`;
}
const OVER = conf`Hangup($\{HANGUPCAUSE})`;

function inbound(route: SiteInboundRoute, site: Site, trunks: ReadonlyMap<string, SiteTrunk>): ConfText {
  const what = `inbound route ${route.name}`;
  const number = route.number === null ? conf`_X!` : outside(route.number, `${what}: number`);
  const matched = route.prefix ? conf`_${number}!` : number;
  const { to } = route;
  return to.kind === 'trunk'
    ? exten(matched, [DIGITS_ONLY, dial(trunks.get(to.key)!, to, 'caller', nothing), OVER, REFUSED])
    : exten(matched, destinationSteps(to, site, what));
}

function outbound(
  route: SiteOutboundRoute,
  trunks: ReadonlyMap<string, SiteTrunk>,
  { caller, announce, announced, answered }: RecordingSteps,
): ConfText {
  const more = conf`${announced}${answered}`;
  const tries = route.trunks.flatMap((way, i) => [
    ...(i === 0
      ? []
      : [conf`GotoIf($["$\{DIALSTATUS}" = "CHANUNAVAIL" | "$\{DIALSTATUS}" = "CONGESTION"]?:over)`]),
    dial(trunks.get(way.trunk)!, way, 'trunk', more),
  ]);
  return joined(
    route.patterns.map((p) =>
      exten(conf`_${outsidePattern(p, `outbound route ${route.name}: pattern`)}`, [
        DIGITS_ONLY,
        ...caller,
        ...announce,
        ...tries,
        conf`(over),${OVER}`,
        REFUSED,
      ]),
    ),
    '',
  );
}

export function trunkContexts(site: Site, recording: RecordingSteps): ConfText {
  if (site.trunks.length === 0) return nothing;
  const trunks = new Map(site.trunks.map((t) => [t.name, t]));
  return joined(
    [
      ...site.trunks.map((t) =>
        context(
          arrivals(t),
          site.inbound_routes
            .filter((r) => r.trunk === null || r.trunk === t.name)
            .map((r) => inbound(r, site, trunks)),
        ),
      ),
      context(
        conf`outbound`,
        site.outbound_routes.map((route) => outbound(route, trunks, recording)),
      ),
      context(conf`shown-outside`, [
        exten(conf`s`, [conf`Set(CONNECTEDLINE(all,i)=<$\{ARG1}>)`, conf`Return()`]),
      ]),
    ],
    '',
  );
}
/** Where a number of none of ours is looked for last. */
export const outboundInclude = (site: Site): ConfText =>
  site.outbound_routes.length === 0
    ? nothing
    : conf`include => outbound
`;
