/** Phones: transports, and three endpoints with their credentials and addresses for each extension; media ports. */
import { isIPv6 } from 'node:net';
import type { EndpointKind } from '../../../ports/directory.ts';
import type { Site, SiteExtension, SiteNetwork } from '../../../ports/site.ts';
import type { Instance, InstanceSettings } from './instance.ts';
import { engineObjects } from './engine-trunks.ts';
import { isHere } from '../../../ports/site.ts';
import { phoneFeatures } from './call-contexts.ts';
import { ServiceError } from '../../../core/errors.ts';
import {
  cidr,
  conf,
  dialled,
  displayName,
  filePath,
  host,
  joined,
  language,
  objectName,
  secret,
  slug,
  whole,
} from './text.ts';
import type { ConfText } from './text.ts';
import { encryption, mediaAt, sixth, tlsTransport } from './secure-media.ts';
import { sharedPhoneSections } from './shared-phone-contexts.ts';
import { trunkObjects } from './trunk-files.ts';

const nothing = conf``;
type PhonePart = 'endpoints' | 'auths' | 'aors';
const isLoopback = (address: string): boolean => /^(127\.|localhost$|::1$)/.test(address);
/** Browsers on the same machine can only be reached, and only reach us, over loopback; nothing is relayed there. */
const mediaOnLoopback = (settings: InstanceSettings, network: SiteNetwork): boolean =>
  isLoopback(settings.web_host ?? settings.sip.host) &&
  network.external_address === null &&
  network.external_address_source === 'fixed' &&
  network.turn_port === null &&
  network.ice_hosts.length === 0;

/** No ICE filter: Asterisk never offers a loopback address itself, so permitting only those would leave it without any. */
export function rtpConf(settings: InstanceSettings, network: SiteNetwork): ConfText {
  const { from, to } = network.rtp_ports ?? settings.rtp;
  const hosts = network.ice_hosts.map(({ local, external, keep_local }) => {
    const kept = keep_local ? conf`,include_local_address` : nothing;
    return conf`${host(local, 'a local address')} => ${host(external, 'its external address')}${kept}
`;
  });
  return conf`
[general]
rtpstart = ${whole(from, 'the first media port', 1024, 65535)}
rtpend = ${whole(to, 'the last media port', 1024, 65535)}
strictrtp = yes
icesupport = yes
${
  hosts.length === 0
    ? nothing
    : conf`
[ice_host_candidates]
${joined(hosts, '')}`
}`;
}
/** Address of a transport for peers outside the local nets; this machine itself is always inside. */
function outsideOf(own: string, network: SiteNetwork): ConfText {
  const { external_address: signalling, external_media_address: media, local_nets } = network;
  const fits = (address: string | null): address is string =>
    address !== null && isIPv6(address) === isIPv6(own);
  if (!fits(signalling)) return nothing;
  const shown = fits(media) ? media : signalling;
  const nets = [isIPv6(own) ? '::1/128' : '127.0.0.0/8', ...local_nets].map(
    (net) => conf`local_net = ${cidr(net, 'a local net')}
`,
  );
  return conf`external_signaling_address = ${host(signalling, 'the external address')}
external_media_address = ${host(shown, 'the external media address')}
${joined(nets, '')}`;
}

/** The paths never change: the engine reads files of the same names again at a reload, and no others. */
function secured(
  { tls_files }: InstanceSettings,
  network: SiteNetwork,
  { named, bind, outside }: Listening,
): ConfText {
  if (network.tls_port === null) return nothing;
  if (tls_files === undefined)
    throw new ServiceError('invalid_request', 'network: SIP over TLS needs the files of a certificate');
  return conf`[${named(tlsTransport(network))}]
type = transport
protocol = tls
method = tlsv1_2
bind = ${bind}:${whole(network.tls_port, 'the TLS port', 1, 65535)}
cert_file = ${filePath(tls_files.certificate, 'the certificate')}
priv_key_file = ${filePath(tls_files.key, 'its key')}
ca_list_file = ${filePath(tls_files.trusted, 'the authorities')}
verify_server = yes
${outside}
`;
}
/** One address at which SIP listens. */
interface Listening {
  readonly named: (transport: ConfText) => ConfText;
  readonly bind: ConfText;
  readonly outside: ConfText;
}
function listening(settings: InstanceSettings, network: SiteNetwork, own: string, second: boolean): ConfText {
  const address = host(own, 'the SIP address');
  const at: Listening = {
    named: second ? sixth : (name) => name,
    bind: isIPv6(own) ? conf`[${address}]` : address,
    outside: outsideOf(own, network),
  };
  const port = whole(settings.sip.port, 'the SIP port', 1, 65535);
  return conf`[${at.named(conf`transport-udp`)}]
type = transport
protocol = udp
bind = ${at.bind}:${port}
${at.outside}
[${at.named(conf`transport-tcp`)}]
type = transport
protocol = tcp
bind = ${at.bind}:${port}
${at.outside}
${secured(settings, network, at)}`;
}
/**
 * After a restart a desk phone is unreachable until it answered for the first time: all are asked within three seconds
 * instead of at some time of the usual minute.
 */
const transports = (settings: InstanceSettings, network: SiteNetwork): ConfText => {
  const { sip, sip_ipv6 } = settings;
  return conf`
[global]
type = global
user_agent = Offhook
default_realm = offhook
endpoint_identifier_order = ip,request_uri,auth_username,username
; A scanner that answers no challenge is counted from its second request within the period.
unidentified_request_count = 1
unidentified_request_period = 60
keep_alive_interval = 90
max_initial_qualify_time = 3
; A full queue of contacts or device states, as when many browsers vanish at once, must not refuse the calls of all phones with 503.
taskprocessor_overload_trigger = pjsip_only

${listening(settings, network, sip.host, false)}${
    sip_ipv6 === undefined ? nothing : listening(settings, network, sip_ipv6, true)
  }[transport-ws]
type = transport
protocol = ws
bind = 127.0.0.1
`;
};

/**
 * A browser's page can vanish without a goodbye: its call ends when no media comes for two minutes. A page on a busy machine answers
 * late, and a phone whose answer is too late is not rung for the next minute; one whose connection ended is gone at once. A page
 * has the state of others from the stream, so it may not subscribe: thousands of subscriptions would block the engine. The Path of a
 * REGISTER makes the engine send requests there, so it is accepted only where SIP proxies add it.
 */
const templates = (
  settings: InstanceSettings,
  { network, settings: { language: spoken } }: Pick<Site, 'network' | 'settings'>,
): ConfText => {
  const proxied = (settings.sip_proxies ?? []).length > 0;
  const browserMedia = mediaOnLoopback(settings, network)
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
language = ${language(spoken, 'the language of the site')}
${phoneFeatures}
[sip](!,phone)
allow = ulaw,alaw,g722,opus
${
  proxied
    ? conf`; Rewritten, it would be the address of the proxy for every phone.
rewrite_contact = no
`
    : nothing
}
[browser](!,phone)
allow_subscribe = no
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
support_path = ${proxied ? conf`yes` : conf`no`}
minimum_expiration = 60
default_expiration = 600
maximum_expiration = 3600
qualify_frequency = 60
qualify_timeout = 3.0

[pages](!,addresses)
support_path = no
qualify_timeout = 15.0
`;
};

const BROWSER = { endpoint: conf`browser`, aor: conf`pages` };
/** Templates of a device by its kind. */
const TEMPLATE: Record<EndpointKind, { readonly endpoint: ConfText; readonly aor: ConfText }> = {
  sip: { endpoint: conf`sip`, aor: conf`addresses` },
  webrtc: BROWSER,
  mobile: BROWSER,
};

/** Sections of an extension's devices: settings, credentials and addresses. */
function phones(e: SiteExtension, settings: InstanceSettings): Readonly<Record<PhonePart, ConfText>> {
  const extension = dialled(e.extension, 'an extension');
  const who = `extension ${e.extension}`;
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
${groups}${
    e.language === null
      ? nothing
      : conf`language = ${language(e.language, `${who}: language`)}
`
  }`;
  const password = secret(e.sip_password, `${who}: SIP password`);
  const names = e.endpoints.map(({ name, kind }) => ({ kind, name: objectName(name, `${who}: endpoint`) }));
  return {
    endpoints: joined(
      names.map(
        ({ name, kind }) => conf`
[${name}](${TEMPLATE[kind].endpoint})
auth = ${name}
aors = ${name}
${common}${kind === 'sip' ? conf`${mailbox}${mediaAt(e.media_address, settings, who)}${encryption(e.srtp)}` : nothing}`,
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
        ({ name, kind }) => conf`
[${name}](${TEMPLATE[kind].aor})
`,
      ),
      '',
    ),
  };
}

/**
 * The accounts of the doctor, a desk phone and a browser: they can register, be called and call the echo; any other number is
 * hung up. An address that a killed doctor left behind is gone within half a minute.
 */
const doctor = ({ doctor_secret }: InstanceSettings): ConfText =>
  doctor_secret === undefined
    ? nothing
    : joined(
        (
          [
            [conf`doctor`, conf`sip`, 1],
            [conf`doctor-web`, conf`browser`, 5],
          ] as const
        ).map(
          ([name, template, contacts]) => conf`
[${name}](${template})
context = health
auth = ${name}
aors = ${name}

[${name}](credentials)
username = ${name}
password = ${secret(doctor_secret, 'the secret of the doctor')}

[${name}](addresses)
max_contacts = ${whole(contacts, 'addresses of the doctor', 1, 5)}
minimum_expiration = 10
qualify_frequency = 0
`,
        ),
        '',
      );

/**
 * The engine reads a whole file for each type of object and does so again only when the file has changed, so each of the
 * three types there are thousands of has a file of its own (docs/adr/0013). Trunks, templates and what was written by
 * hand are read with every one of them: the engine takes from each file the objects of its type.
 */
export function pjsipFiles(
  site: Pick<Site, 'extensions' | 'trunks' | 'network' | 'settings' | 'shared_phones' | 'engines'>,
  instance: Pick<Instance, 'node'>,
  settings: InstanceSettings,
): Readonly<Record<string, ConfText>> {
  const { extensions, network } = site;
  const all = [...extensions.filter(isHere).map((e) => phones(e, settings)), sharedPhoneSections(site)];
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
    'pjsip.conf': file(transports(settings, network), null),
    'pjsip_shared.conf': conf`
${templates(settings, site)}
${trunkObjects(site, settings)}${engineObjects(site, instance, settings)}${doctor(settings)}`,
    'pjsip_endpoints.conf': file(nothing, 'endpoints'),
    'pjsip_auths.conf': file(nothing, 'auths'),
    'pjsip_aors.conf': file(nothing, 'aors'),
    'pjsip_acl.conf': conf`
#tryinclude ../blocked.conf
`,
  };
}

export const sorceryConf: ConfText = conf`
[res_pjsip]
endpoint = config,pjsip_endpoints.conf,criteria=type=endpoint
auth = config,pjsip_auths.conf,criteria=type=auth
aor = config,pjsip_aors.conf,criteria=type=aor

[acl]
acl = config,pjsip_acl.conf,criteria=type=acl
`;
