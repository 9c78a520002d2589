/** Phones: transports, and three endpoints with their credentials and addresses for each extension; media ports. */
import { isIPv6 } from 'node:net';
import type { EndpointKind } from '../../../ports/directory.ts';
import type { SiteExtension, SiteTrunk } from '../../../ports/site.ts';
import type { InstanceSettings } from '../instance.ts';
import { phoneFeatures } from './call-contexts.ts';
import { conf, dialled, displayName, host, joined, objectName, secret, slug, whole } from './text.ts';
import type { ConfText } from './text.ts';
import { trunkObjects } from './trunk-files.ts';

const nothing = conf``;
const isLoopback = (address: string): boolean => /^(127\.|localhost$|::1$)/.test(address);
/** Browsers on the same machine can only be reached, and only reach us, over loopback. */
const mediaOnLoopback = (settings: InstanceSettings): boolean =>
  isLoopback(settings.web_host ?? settings.sip.host);

/** No ICE filter: Asterisk never offers a loopback address itself, so permitting only those would leave it without any. */
export function rtpConf(settings: InstanceSettings): ConfText {
  return conf`
[general]
rtpstart = ${whole(settings.rtp.from, 'the first media port', 1024, 65535)}
rtpend = ${whole(settings.rtp.to, 'the last media port', 1024, 65535)}
strictrtp = yes
icesupport = yes
`;
}

/**
 * After a restart a desk phone is unreachable until it answered for the first time: all are asked within three seconds
 * instead of at some time of the usual minute.
 */
const transports = (settings: InstanceSettings): ConfText => {
  const address = host(settings.sip.host, 'the SIP address');
  const bind = isIPv6(address) ? conf`[${address}]` : address;
  const port = whole(settings.sip.port, 'the SIP port', 1, 65535);
  return conf`
[global]
type = global
user_agent = Offhook
default_realm = offhook
endpoint_identifier_order = ip,auth_username,username
keep_alive_interval = 90
max_initial_qualify_time = 3

[transport-udp]
type = transport
protocol = udp
bind = ${bind}:${port}

[transport-tcp]
type = transport
protocol = tcp
bind = ${bind}:${port}

[transport-ws]
type = transport
protocol = ws
bind = 127.0.0.1
`;
};

/** A browser's page can vanish without a goodbye: its call ends when no media comes for two minutes. */
const templates = (settings: InstanceSettings): ConfText => {
  const browserMedia = mediaOnLoopback(settings)
    ? conf`media_address = 127.0.0.1
bind_rtp_to_media_address = yes
`
    : nothing;
  return conf`
[phone](!)
type = endpoint
context = internal
identify_by = auth_username,username
disallow = all
direct_media = no
rtp_symmetric = yes
force_rport = yes
rewrite_contact = yes
trust_id_inbound = no
send_pai = yes
allow_subscribe = yes
subscribe_context = hints
language = en
${phoneFeatures}
[sip](!,phone)
allow = ulaw,alaw,g722,opus

[browser](!,phone)
allow = opus,ulaw
webrtc = yes
dtls_auto_generate_cert = yes
rtp_timeout = 120
rtp_timeout_hold = 7200
${browserMedia}
[credentials](!)
type = auth
auth_type = digest

[addresses](!)
type = aor
max_contacts = 5
remove_existing = yes
remove_unavailable = yes
minimum_expiration = 60
default_expiration = 600
maximum_expiration = 3600
qualify_frequency = 60
qualify_timeout = 3.0
`;
};

const TEMPLATE: Record<EndpointKind, ConfText> = {
  sip: conf`sip`,
  webrtc: conf`browser`,
  mobile: conf`browser`,
};

function phones(e: SiteExtension): ConfText {
  const extension = dialled(e.extension, 'an extension');
  const who = `extension ${extension}`;
  // A lamp per desk phone: a mailbox on every endpoint costs the engine as much memory as the endpoint itself.
  const mailbox = e.voicemail
    ? conf`mailboxes = ${extension}@default
`
    : nothing;
  const group = e.pickup_group === null ? null : slug(e.pickup_group, `${who}: pickup group`);
  const groups = group
    ? conf`named_call_group = ${group}
named_pickup_group = ${group}
`
    : nothing;
  const common = conf`callerid = "${displayName(e.name, `${who}: name`)}" <${extension}>
set_var = OFFHOOK_EXTENSION=${extension}
${groups}`;
  const password = secret(e.sip_password, `${who}: SIP password`);
  return joined(
    e.endpoints.map((endpoint) => {
      const name = objectName(endpoint.name, `${who}: endpoint`);
      return conf`
[${name}](${TEMPLATE[endpoint.kind]})
auth = ${name}
aors = ${name}
${common}${endpoint.kind === 'sip' ? mailbox : nothing}[${name}](credentials)
username = ${name}
password = ${password}
[${name}](addresses)

`;
    }),
    '',
  );
}

export const pjsipConf = (
  extensions: readonly SiteExtension[],
  trunks: readonly SiteTrunk[],
  settings: InstanceSettings,
): ConfText => conf`
${transports(settings)}
${templates(settings)}
${joined(
  extensions.map((e) => phones(e)),
  '',
)}${trunkObjects(trunks)}#tryinclude custom/pjsip.conf
`;
