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
type PhonePart = 'endpoints' | 'auths' | 'aors';
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

/** The sections of its devices: what they are, what they sign in with, where they are. */
function phones(e: SiteExtension): Readonly<Record<PhonePart, ConfText>> {
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
  const names = e.endpoints.map(({ name, kind }) => ({ kind, name: objectName(name, `${who}: endpoint`) }));
  return {
    endpoints: joined(
      names.map(
        ({ name, kind }) => conf`
[${name}](${TEMPLATE[kind]})
auth = ${name}
aors = ${name}
${common}${kind === 'sip' ? mailbox : nothing}`,
      ),
      '',
    ),
    auths: joined(
      names.map(
        ({ name }) => conf`
[${name}](credentials)
username = ${name}
password = ${password}
`,
      ),
      '',
    ),
    aors: joined(
      names.map(
        ({ name }) => conf`
[${name}](addresses)
`,
      ),
      '',
    ),
  };
}

/**
 * The engine reads a whole file for each type of object and does so again only when the file has changed, so each of the
 * three types there are thousands of has a file of its own (docs/adr/0013). Trunks, templates and what was written by
 * hand are read with every one of them: the engine takes from each file the objects of its type.
 */
export function pjsipFiles(
  extensions: readonly SiteExtension[],
  trunks: readonly SiteTrunk[],
  settings: InstanceSettings,
): Readonly<Record<string, ConfText>> {
  const all = extensions.map((e) => phones(e));
  const file = (head: ConfText, part: PhonePart | null): ConfText => conf`
${head}#include pjsip_shared.conf
${
  part === null
    ? nothing
    : joined(
        all.map((p) => p[part]),
        '',
      )
}
#tryinclude custom/pjsip.conf
`;
  return {
    'pjsip.conf': file(transports(settings), null),
    'pjsip_shared.conf': conf`
${templates(settings)}
${trunkObjects(trunks)}`,
    'pjsip_endpoints.conf': file(nothing, 'endpoints'),
    'pjsip_auths.conf': file(nothing, 'auths'),
    'pjsip_aors.conf': file(nothing, 'aors'),
  };
}

export const sorceryConf: ConfText = conf`
[res_pjsip]
endpoint = config,pjsip_endpoints.conf,criteria=type=endpoint
auth = config,pjsip_auths.conf,criteria=type=auth
aor = config,pjsip_aors.conf,criteria=type=aor
`;
