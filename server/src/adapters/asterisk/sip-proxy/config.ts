/** The configuration of Kamailio as the SIP proxy in front of the engine nodes of a site, and its list of nodes. */
import { isIPv6 } from 'node:net';
import { SOURCE } from '../conf/trunk-files.ts';
import { conf, filePath, host, joined, network, whole } from '../conf/text.ts';
import type { ConfText } from '../conf/text.ts';

export interface SipAddress {
  readonly host: string;
  readonly port: number;
}
/** Networks that a node may name. */
export const MOST_BLOCKED = 512;
export interface ProxyFolders {
  /** Folder of the program's modules. */
  readonly modules: string;
  /** File of `nodesFile`. */
  readonly nodes: string;
  /** File of `blockedList`. */
  readonly blocked: string;
  /** Unix socket for its commands. */
  readonly control: string;
}
/** Address of TLS for phones, and the file of `tlsConf`. */
export interface ProxyTls {
  readonly port: number;
  readonly config: string;
}
/** The certificate; the program reads it and these lines anew without a restart. */
export const tlsConf = ({
  certificate,
  key,
}: {
  readonly certificate: string;
  readonly key: string;
}): ConfText => conf`
[server:default]
method = TLSv1.2+
verify_certificate = no
require_certificate = no
private_key = ${filePath(key, 'the key')}
certificate = ${filePath(certificate, 'the certificate')}
`;
const at = ({ host: name, port }: SipAddress): ConfText => {
  const text = host(name, 'a SIP address');
  const shown = isIPv6(name) ? conf`[${text}]` : text;
  return conf`${shown}:${whole(port, 'a SIP port', 1, 65535)}`;
};
/** Group 1 holds every node, group 2 the one that leads; the program reads the list anew without a restart. */
export function nodesFile(nodes: readonly SipAddress[], leader: SipAddress | null): ConfText {
  const row = (group: ConfText, node: SipAddress): ConfText => conf`${group} sip:${at(node)}
`;
  const lead = leader === null ? [] : [row(conf`2`, leader)];
  return joined([...nodes.map((node) => row(conf`1`, node)), ...lead], '');
}

/** Networks whose requests get no answer; the program reads the list anew without a restart. */
export const blockedList = (networks: readonly string[]): ConfText =>
  joined(
    networks.map((one) => {
      const [base = '', bits] = network(one, 'a blocked network').split('/') as ConfText[];
      return conf`1 ${base as ConfText} ${whole(Number(bits), 'a blocked network', 24, 64)}
`;
    }),
    '',
  );

/**
 * The proxy keeps no registration: the engine is registrar and authenticator, and reaches a phone by the Path of its REGISTER. A
 * request from outside goes to the leading node or, in a dialog, to the node that its route names, and nowhere else. A node that
 * does not lead may end its calls and send OPTIONS to its phones; the proxy refuses its new requests.
 */
const entry = (own: ConfText): ConfText => conf`
request_route {
  $avp(class) = $(si{s.md5}{s.substr,0,4});
  # Calls have a count of their own: a phone that registers with a wrong password silences no call, also to an emergency number.
  if (is_method("INVITE")) $avp(class) = $avp(class) + "-calls";
  $avp(peer) = $si + ":" + $sp;
  $avp(user) = $si + ":" + $fU;
  $avp(node) = 0;
  $avp(signed) = 0;
  $avp(begins) = 0;
  $avp(source) = $si;
  if (ds_is_from_list("1", "0")) $avp(node) = 1;
  if ($avp(node) == 0) {
    if (allow_source_address("1") || $ml > 16384) exit;
    # So that nobody can silence a trunk by requests that bear its address.
    if ($sht(trunks=>$si) == 0) {
      if (!pike_check_req()) exit;
      if ($sht(refused=>$avp(class)) > 20 && $sht(phones=>$avp(peer)) == 0) route(REFUSED);
    }
    if (!sanity_check("1511", "7")) exit;
    if ($rU =~ "[@?]") exit;
  }
  if (!mf_process_maxfwd_header("16")) {
    sl_send_reply("483", "Too Many Hops");
    exit;
  }
  if (is_method("CANCEL") || (is_method("ACK") && !has_totag())) {
    if (t_check_trans()) t_relay();
    exit;
  }
  if (is_present_hf("Authorization") || is_present_hf("Proxy-Authorization")) $avp(signed) = 1;
  if (is_method("INVITE") && !has_totag()) {
    $avp(begins) = 1;
    # A stranger chooses the Call-ID.
    if ($ci =~ "^[-A-Za-z0-9._@:+*%~]+$") $avp(ring) = $ci + "|" + $cs;
    $avp(of) = $siz + ":" + $sp + "|" + $TS;
  }
  if ($avp(node) == 0) {
    force_rport();
    if (!is_method("REGISTER")) add_contact_alias();
  }
  t_on_reply("BACK");
  # A REGISTER has no dialog; with a tag it would bring Path and Route of its own to the node.
  if (has_totag() && !is_method("REGISTER")) route(DIALOG);
  if ($avp(node) == 1) route(FROM_NODE);
  if (is_method("OPTIONS") && $rU == $null) {
    sl_send_reply("200", "OK");
    exit;
  }
  if (!is_method("REGISTER|INVITE|SUBSCRIBE|PUBLISH|MESSAGE|OPTIONS|REFER")) {
    sl_send_reply("405", "Method Not Allowed");
    exit;
  }
  # Routes that a stranger brings along lead nowhere.
  remove_hf("Route");
  remove_hf("Path");
  if (is_method("REGISTER")) {
    # The registrar refuses a Path (420) where the phone does not claim to know it, and phones do not.
    remove_hf("Supported");
    append_hf("Supported: path\\r\\n");
    # Written by hand: a node reaches this proxy by UDP, also for phones that came by another transport.
    $var(by) = "";
    if ($proto != "udp") $var(by) = "%3Btransport%3D" + $proto;
    append_hf("Path: <sip:${own};lr;received=sip:$siz:$sp$var(by)>\\r\\n");
  } else record_route();
  if (!ds_select_dst("2", "4")) route(NO_NODE);
  $avp(of) = $(du{s.substr,4,0}) + "|" + $TS;
  # If the node died, the phone or carrier tries again soon, by then at the next node.
  t_set_fr(3600000, 5000);
  route(NAME_SOURCE);
  route(ON);
}
`;
const ways = (own: ConfText): ConfText => conf`
# A phone that registered from this address has another port after a restart; it has a count of its own.
route[REFUSED] {
  if ($sht(users=>$avp(user)) == 0 || $sht(guessed=>$avp(user)) > 20) route(SILENT);
}
# The engine checks no password of ACK, CANCEL and requests in a dialog, except REGISTER: phones can end and hold their calls.
route[SILENT] {
  if (is_method("REGISTER") || !(has_totag() || is_method("ACK|CANCEL"))) exit;
}
# The engine knows a trunk by this parameter. The line is written anew, so that nothing of the request can be taken for it.
route[NAME_SOURCE] {
  $var(at) = $rd + ":" + $rp + ";${SOURCE}=" + $avp(source);
  if ($rU == $null) $ru = "sip:" + $var(at);
  else $ru = "sip:" + $rU + "@" + $var(at);
}
route[DIALOG] {
  if (!loose_route()) {
    if (is_method("ACK") && t_check_trans()) t_relay();
    else if (!is_method("ACK")) sl_send_reply("404", "Not Here");
    exit;
  }
  if ($avp(node) == 1) {
    # A carrier's own proxies come before the address from which its last request came.
    if ($du == $null) handle_ruri_alias();
  } else {
    if ($du == $null) $du = $ru;
    if (!ds_is_from_list("1", "0", "$du")) {
      if (!is_method("ACK")) sl_send_reply("403", "Forbidden");
      exit;
    }
    # A dead node answers none of them, and each is kept until then.
    if (!is_method("INVITE|BYE")) t_set_fr(660000, 5000);
    route(NAME_SOURCE);
  }
  if (is_method("INVITE|SUBSCRIBE")) record_route();
  route(ON);
}
route[FROM_NODE] {
  loose_route();
  # -3: processed, and the first request of its dialog.
  if ($rc != 1 && $rc != -3) {
    sl_send_reply("404", "Not Here");
    exit;
  }
  if (!is_method("OPTIONS") && !ds_is_from_list("2", "0")) {
    # When a trunk of it registers again, so that it does soon after its node begins to lead.
    append_to_reply("Retry-After: 5\\r\\n");
    sl_send_reply("503", "Not Leading");
    exit;
  }
  if (is_method("REGISTER")) route(REGISTER_TRUNK);
  else record_route();
  # Its engine takes a trunk that sends 100 for a slow one and not for a dead one, so that of the trunk is passed on.
  if (is_method("INVITE")) t_set_auto_inv_100("0");
  # A node waits 3 s for the answer, and asks each phone every minute: those of a lost network would fill the memory.
  if (is_method("OPTIONS")) t_set_fr(660000, 5000);
  route(ON);
}
# The carrier calls the trunk at this proxy, whichever node leads.
route[REGISTER_TRUNK] {
  $var(tcp) = "";
  if ($(ru{uri.transport}) == "tcp") $var(tcp) = ";transport=tcp";
  $var(user) = $(ct{nameaddr.uri}{uri.user});
  remove_hf("Contact");
  append_hf("Contact: <sip:$var(user)@${own}$var(tcp)>\\r\\n");
}
route[ON] {
  if (!t_relay()) sl_reply_error();
  exit;
}
route[NO_NODE] {
  append_to_reply("Retry-After: 5\\r\\n");
  sl_send_reply("503", "No Node Leads");
  exit;
}
# Callers get a refusal, and phones a CANCEL. Functions of the module tmx would keep each transaction in memory.
route[LOST] {
  sht_iterator_start("ring", "rings");
  while (sht_iterator_next("ring")) {
    $var(of) = $(shtitval(ring){s.select,0,|});
    if ($sht(lost=>$var(of)) >= $(shtitval(ring){s.select,1,|}{s.int})) $avp(gone) = $shtitkey(ring);
  }
  sht_iterator_end("ring");
  while ($avp(gone) != $null) {
    $var(id) = $(avp(gone){s.select,0,|});
    $var(cseq) = $(avp(gone){s.select,1,|});
    jsonrpc_exec('{"jsonrpc":"2.0","method":"tm.reply_callid","params":[503,"Node Lost","$var(id)","$var(cseq)","lost","",""],"id":1}');
    $sht(rings=>$avp(gone)) = $null;
    $avp(gone) = $null;
  }
}
onreply_route[BACK] {
  if ($avp(ring) != $null) {
    if ($rs < 200) $sht(rings=>$avp(ring)) = $avp(of);
    else $sht(rings=>$avp(ring)) = $null;
  }
  if ($avp(node) == 1) {
    if ($avp(begins) == 1 && $rs == 100) t_reply("100", "Trying");
    # Nodes send OPTIONS only to trunks and to phones that registered with their password.
    if (is_method("OPTIONS")) $sht(phones=>$si:$sp) = 1;
    if (!is_method("REGISTER")) add_contact_alias();
  } else if ($avp(signed) == 0) {
    # Only a trunk is let in without a password.
    if ($avp(begins) == 1 && $rs < 300) $sht(trunks=>$avp(source)) = 1;
  } else if (($rs == 401 || $rs == 407) && !($hdr(WWW-Authenticate) =~ "stale=true")) {
    # A 403 refuses the call, not the password: a class of numbers, a limit, or the other party.
    $var(refused) = $shtinc(refused=>$avp(class));
    $sht(phones=>$avp(peer)) = $null;
    if ($sht(users=>$avp(user)) == 1) $var(guessed) = $shtinc(guessed=>$avp(user));
  } else if (is_method("REGISTER") && $rs == 200) $sht(users=>$avp(user)) = 1;
}
`;

export function proxyConf(
  listen: SipAddress,
  { blocked, modules, nodes, control }: ProxyFolders,
  tls: ProxyTls | null = null,
): ConfText {
  const secured =
    tls === null
      ? { listen: conf``, module: conf`` }
      : {
          listen: conf`enable_tls=yes
listen=tls:${at({ ...listen, port: tls.port })}
`,
          module: conf`loadmodule "tls.so"
modparam("tls", "config", "${filePath(tls.config, 'the TLS configuration')}")
`,
        };
  return conf`
#!KAMAILIO
debug=0
log_stderror=yes
children=4
tcp_children=4
tcp_max_connections=4096
tcp_connection_lifetime=3700
tcp_accept_no_cl=no
pv_buffer_size=8192
server_signature=no
max_while_loops=100000
auto_aliases=no
listen=udp:${at(listen)}
listen=tcp:${at(listen)}
${secured.listen}mpath="${filePath(modules, 'the folder of modules')}"
loadmodule "kex.so"
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "maxfwd.so"
loadmodule "textops.so"
loadmodule "siputils.so"
loadmodule "sanity.so"
loadmodule "path.so"
loadmodule "nathelper.so"
loadmodule "pike.so"
loadmodule "htable.so"
loadmodule "dispatcher.so"
loadmodule "permissions.so"
loadmodule "ctl.so"
loadmodule "jsonrpcs.so"
loadmodule "rtimer.so"
${secured.module}modparam("ctl", "binrpc", "unix:${filePath(control, 'the control socket')}")
modparam("ctl", "mode", 0600)
modparam("path", "use_received", 1)
# As long as the engine repeats a request, so that a phone without a network for some seconds loses no call.
modparam("tm", "fr_timer", 32000)
# Longer than a queue may ring an agent, so that the engine ends each ring; the proxy ends those of an engine that died.
modparam("tm", "fr_inv_timer", 660000)
# A caller may wait for several phones, one after the other.
modparam("tm", "max_inv_lifetime", 3600000)
modparam("tm", "failure_reply_mode", 3)
modparam("dispatcher", "list_file", "${filePath(nodes, 'the list of nodes')}")
# As the name of the function does not say: addresses of this list are blocked.
modparam("permissions", "address_file", "${filePath(blocked, 'the list of blocked networks')}")
modparam("permissions", "reload_delta", 0)
modparam("permissions", "max_subnets", ${whole(MOST_BLOCKED, 'blocked networks', 1, 65535)})
modparam("pike", "sampling_time_unit", 2)
modparam("pike", "reqs_density_per_unit", 400)
# Refused credentials within five minutes of the first, by one of 65,536 classes of addresses, so that forged ones do not fill
# the memory.
modparam("htable", "htable", "refused=>size=12;autoexpire=300;initval=0;updateexpire=0;")
# Addresses of trunks, for a day after their last call.
modparam("htable", "htable", "trunks=>size=8;autoexpire=86400;initval=0;")
# Addresses and ports of phones that answered OPTIONS of a node, which sends it every minute, and none with a refused password since.
modparam("htable", "htable", "phones=>size=12;autoexpire=600;initval=0;")
# Users that registered from an address within a day, and their refused credentials within five minutes of the first.
modparam("htable", "htable", "users=>size=12;autoexpire=86400;initval=0;")
modparam("htable", "htable", "guessed=>size=12;autoexpire=300;initval=0;updateexpire=0;")
# Calls that wait for an answer, with the node and the second of their INVITE.
modparam("htable", "htable", "rings=>size=10;autoexpire=3700;")
# Nodes whose calls until this second have lost their engine. A phone may begin to ring 32 s after the INVITE.
modparam("htable", "htable", "lost=>size=2;autoexpire=60;initval=0;")
modparam("rtimer", "timer", "name=lost;interval=1;mode=1;")
modparam("rtimer", "exec", "timer=lost;route=LOST")

${entry(at(listen))}
${ways(at(listen))}`;
}
