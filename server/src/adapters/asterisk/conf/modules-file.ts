import { isIP } from 'node:net';
import type { InstanceSettings } from './instance.ts';
import { conf, host, joined, slug, whole } from './text.ts';
import type { ConfText } from './text.ts';

/**
 * Modules of an exchange and no others: naming modules instead of `autoload` more than halves start-up time and
 * memory. A module that another one needs is listed too, because autoload is what would have found it.
 */
const MODULES = {
  core: ['res_timing_timerfd', 'res_clioriginate', 'res_manager_devicestate', 'res_manager_presencestate'],
  sip: [
    'res_pjproject',
    'res_sorcery_config',
    'res_sorcery_memory',
    'res_sorcery_astdb',
    'res_http_websocket',
    'res_pjsip',
    'res_pjsip_session',
    'res_pjsip_pubsub',
    'res_pjsip_outbound_publish',
    'res_pjsip_acl',
    'res_pjsip_authenticator_digest',
    'res_pjsip_outbound_authenticator_digest',
    'res_pjsip_caller_id',
    'res_pjsip_dialog_info_body_generator',
    'res_pjsip_diversion',
    'res_pjsip_dlg_options',
    'res_pjsip_dtmf_info',
    'res_pjsip_empty_info',
    'res_pjsip_endpoint_identifier_ip',
    'res_pjsip_endpoint_identifier_user',
    'res_pjsip_exten_state',
    'res_pjsip_header_funcs',
    'res_pjsip_logger',
    // Without res_pjsip_messaging, because every MESSAGE enters one task queue of 500, and SIP stops when that is full.
    'res_pjsip_mwi',
    'res_pjsip_mwi_body_generator',
    'res_pjsip_nat',
    'res_pjsip_notify',
    'res_pjsip_outbound_registration',
    'res_pjsip_path',
    'res_pjsip_pidf_body_generator',
    'res_pjsip_pidf_digium_body_supplement',
    'res_pjsip_pidf_eyebeam_body_supplement',
    'res_pjsip_refer',
    'res_pjsip_registrar',
    'res_pjsip_rfc3326',
    'res_pjsip_sdp_rtp',
    'res_pjsip_sips_contact',
    'res_pjsip_transport_websocket',
    'res_pjsip_xpidf_body_generator',
    'chan_pjsip',
    'func_pjsip_aor',
    'func_pjsip_contact',
    'func_pjsip_endpoint',
  ],
  media: [
    'res_rtp_asterisk',
    'res_srtp',
    'res_format_attr_opus',
    'codec_ulaw',
    'codec_alaw',
    'codec_a_mu',
    'codec_gsm',
    'codec_g722',
    'codec_resample',
    'codec_opus_open_source',
    'format_gsm',
    'format_pcm',
    'format_sln',
    'format_wav',
    'format_wav_gsm',
    'format_ogg_opus_open_source',
    'res_musiconhold',
    'res_tonedetect',
  ],
  bridges: [
    'bridge_builtin_features',
    'bridge_builtin_interval_features',
    'bridge_holding',
    'bridge_native_rtp',
    'bridge_simple',
    'bridge_softmix',
  ],
  dialplan: [
    'pbx_config',
    'app_stack',
    'app_exec',
    'app_while',
    'app_db',
    'app_verbose',
    'app_userevent',
    'app_celgenuserevent',
  ],
  functions: [
    'func_callerid',
    'func_channel',
    'func_cut',
    'func_db',
    'func_devstate',
    'func_dialplan',
    'func_extstate',
    'func_global',
    'func_groupcount',
    'func_hangupcause',
    'func_holdintercept',
    'func_json',
    'func_lock',
    'func_logic',
    'func_math',
    'func_presencestate',
    'func_rand',
    'func_strings',
    'func_timeout',
    'func_uri',
    'func_volume',
  ],
  applications: [
    'app_attended_transfer',
    'app_blind_transfer',
    'app_bridgewait',
    'app_channelredirect',
    'app_chanspy',
    'app_confbridge',
    'app_controlplayback',
    'app_dial',
    'app_directed_pickup',
    'app_echo',
    'app_mixmonitor',
    'app_originate',
    'app_page',
    'app_playback',
    'app_playtones',
    'app_queue',
    'app_read',
    'app_record',
    'app_senddtmf',
    'app_softhangup',
    'app_transfer',
    'app_voicemail',
    'app_waitforcond',
    'res_mwi_devstate',
    'res_parking',
  ],
  records: ['res_cdrel_custom', 'cel_custom'],
} as const;

const load = (name: string): ConfText => conf`load = ${slug(name, 'module')}.so
`;
const section = ([title, names]: [string, readonly string[]]): ConfText => conf`
; ${slug(title, 'title')}
${joined(
  names.map((name) => load(name)),
  '',
)}`;

export const modulesConf = ({ dns_servers = [] }: InstanceSettings): ConfText => conf`
[modules]
autoload = no
${joined(Object.entries(MODULES).map(section), '')}${dns_servers.length === 0 ? conf`` : section(['names', ['res_resolver_unbound']])}`;

function nameServer(server: string): ConfText {
  const bare = isIP(server) !== 0;
  const cut = server.lastIndexOf(':');
  const at = bare ? server : server.slice(0, cut).replace('[', '').replace(']', '');
  const port = bare ? 53 : Number(server.slice(cut + 1));
  return conf`nameserver = ${host(at, 'a DNS server')}@${whole(port, 'its port', 1, 65535)}
`;
}
/** Read only where the module of names is loaded. */
export const resolverConf = ({ dns_servers = [] }: InstanceSettings): ConfText => conf`
[general]
; Empty, because it would also ask the servers of the machine, in any order.
resolv =
${joined(dns_servers.map(nameServer), '')}`;
