/** Settings of the environment. */
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { machineZone } from '../core/zone.ts';
import { isCountry } from '../numbers/e164.ts';
import {
  address,
  database,
  directory,
  folder,
  integer,
  issuer,
  listed,
  mirrors,
  natsServers,
  network,
  numbered,
  oneOf,
  origins,
  range,
  targets,
  zone,
} from './setting-values.ts';
import type { Address, ProxiedNode } from './setting-values.ts';

/** One documented setting of the environment. */
interface Setting<T> {
  readonly name: string;
  readonly expects: string;
  readonly initial: string;
  readonly about: string;
  /** Never shown, not even in an error. */
  readonly secret?: true;
  parse(text: string): T | undefined;
}
const setting = <T>(s: Setting<T>): Setting<T> => s;
/** All settings; `docs/settings.md` is generated from this table. */
export const SETTINGS = {
  listen: setting({
    name: 'OFFHOOK_LISTEN',
    expects: 'host:port; port 0 takes a free one',
    initial: '127.0.0.1:8080',
    about: 'Web, API and SIP over WebSocket (`/ws`) on one port.',
    parse: address,
  }),
  httpsListen: setting({
    name: 'OFFHOOK_HTTPS_LISTEN',
    expects: 'host:port, or empty; port 0 takes a free one',
    initial: '',
    about: 'The same by HTTPS with the certificate of SIP over TLS; empty: a proxy does it (docs/tls.md).',
    parse: (text) => (text === '' ? null : address(text)),
  }),
  data: setting({
    name: 'OFFHOOK_DATA',
    expects: 'a folder',
    initial: './data',
    about: 'Database, engine instance, logs and `credentials.json`.',
    parse: folder,
  }),
  databaseUrl: setting({
    name: 'OFFHOOK_DATABASE_URL',
    expects: 'postgres://user:password@host:port/database, or empty',
    initial: '',
    about:
      'PostgreSQL for the records: history, recordings, exports, or for the whole site (`OFFHOOK_SITE_STORE`). Everything else stays in the data folder (docs/postgresql.md).',
    secret: true,
    parse: database,
  }),
  siteStore: setting({
    name: 'OFFHOOK_SITE_STORE',
    expects: 'sqlite or postgres',
    initial: 'sqlite',
    about:
      'Where the site is kept: in the data folder, or with its events in the PostgreSQL of `OFFHOOK_DATABASE_URL` (docs/postgresql.md).',
    parse: oneOf('sqlite', 'postgres'),
  }),
  node: setting({
    name: 'OFFHOOK_NODE',
    expects: '1 to 16 small letters and digits that begin with a letter, or empty',
    initial: '',
    about:
      'Name of this machine among the nodes of a site in PostgreSQL, of which one leads (docs/nodes.md); empty: this is the only one.',
    parse: (text) => (text === '' ? null : /^[a-z][a-z0-9]{0,15}$/.test(text) ? text : undefined),
  }),
  nodeRole: setting({
    name: 'OFFHOOK_NODE_ROLE',
    expects: 'engine, home or web',
    initial: 'engine',
    about:
      'What this node is: one with an engine, which can lead the site; one whose engine has people and queues of its own and never leads; or one without an engine, which serves the console and the event streams and forwards everything else to the leading node (docs/nodes.md).',
    parse: oneOf('engine', 'home', 'web'),
  }),
  nodeUrl: setting({
    name: 'OFFHOOK_NODE_URL',
    expects: 'http(s)://host[:port], or empty',
    initial: '',
    about:
      'Address of this node itself, which a standby names to clients while this one is active; empty: the one of `OFFHOOK_LISTEN`.',
    parse: (text) => {
      if (text === '') return null;
      return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
        ? new URL(text).origin
        : undefined;
    },
  }),
  nats: setting({
    name: 'OFFHOOK_NATS',
    expects: 'nats://[user:password@]host[:port]; tls:// demands TLS; up to 8 separated by commas; or empty',
    initial: '',
    about:
      'NATS servers by which the leading node wakes the others as soon as there are events (docs/nodes.md); empty: they ask the database.',
    secret: true,
    parse: natsServers,
  }),
  sharedFiles: setting({
    name: 'OFFHOOK_SHARED_FILES',
    expects: 'a folder that exists, or empty',
    initial: '',
    about:
      'Folder that all engine nodes of a site reach, such as a mounted one, for recordings, files of exports and uploaded sounds; empty: each node has its own in its data folder (docs/nodes.md).',
    parse: (text) => (text === '' ? null : folder(text)),
  }),
  natsStream: setting({
    name: 'OFFHOOK_NATS_STREAM',
    expects: '1 to 64 letters, digits, - and _, or empty',
    initial: '',
    about:
      'JetStream stream of `OFFHOOK_NATS` that gets every event of the site, for other programs (docs/nodes.md); empty: none.',
    parse: (text) => (text === '' ? null : /^[\w-]{1,64}$/.test(text) ? text : undefined),
  }),
  sipListen: setting({
    name: 'OFFHOOK_SIP_LISTEN',
    expects: 'host:port',
    initial: '127.0.0.1:5060',
    about: 'UDP and TCP for desk phones.',
    parse: (text) => {
      const a = address(text);
      return a && a.port > 0 ? a : undefined;
    },
  }),
  sipListenIpv6: setting({
    name: 'OFFHOOK_SIP_LISTEN_IPV6',
    expects: 'an IPv6 address such as :: without brackets, or empty',
    initial: '',
    about:
      'IPv6 address at which SIP listens beside the IPv4 address of `OFFHOOK_SIP_LISTEN`, at the same ports; empty for none.',
    parse: (text) => (text === '' ? null : net.isIPv6(text) && !text.includes('%') ? text : undefined),
  }),
  sipProxies: setting({
    name: 'OFFHOOK_SIP_PROXY',
    expects: 'host:port, the host as an address, up to four separated by commas, or empty',
    initial: '',
    about:
      'Where the SIP proxy of `npm run sip-proxy` listens: desk phones register there and reach the node that leads (docs/nodes.md), trunks leave through the first that answers; empty: they reach the engine itself.',
    parse: (text): readonly Address[] | undefined => {
      const all = listed(text).map(numbered);
      return all.length <= 4 && all.every((one) => one !== undefined) ? all : undefined;
    },
  }),
  sipProxyNodes: setting({
    name: 'OFFHOOK_SIP_PROXY_NODES',
    expects: 'host:port=http(s)://host[:port] for each node, separated by commas, or empty',
    initial: '',
    about:
      'For `npm run sip-proxy` alone: address of each node’s SIP, and of its HTTP, whose `/readyz` names the one that leads.',
    parse: (text): readonly ProxiedNode[] | undefined => {
      const nodes = listed(text).map((entry) => {
        const [sip = '', url = '', ...more] = entry.split('=');
        const at = numbered(sip);
        const fits = more.length === 0 && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
        return at !== undefined && fits ? { sip: at, url: new URL(url).origin } : null;
      });
      return nodes.length <= 16 && nodes.every((one) => one !== null) ? nodes : undefined;
    },
  }),
  sipTlsPort: setting({
    name: 'OFFHOOK_SIP_TLS_PORT',
    expects: '1 to 65535, or empty',
    initial: '',
    about:
      'Port at which `npm run sip-proxy` takes desk phones by TLS, with the certificate of its own `OFFHOOK_TLS_CERTIFICATE`; at an engine node: where phones with TLS that it provisions register; empty: none.',
    parse(text): number | null | undefined {
      if (text === '') return null;
      const port = Number(/^\d{1,5}$/.exec(text)?.[0]);
      return port >= 1 && port <= 65_535 ? port : undefined;
    },
  }),
  dnsServers: setting({
    name: 'OFFHOOK_DNS_SERVERS',
    expects: 'addresses with or without a port, separated by commas, or empty',
    initial: '',
    about:
      'DNS servers that are asked for the records of trunks, and by the engine for names of their hosts; empty for those of this machine.',
    parse: (text): readonly string[] | undefined => {
      const list = listed(text);
      const fits = (one: string): boolean => net.isIP(one) !== 0 || net.isIP(address(one)?.host ?? '') !== 0;
      return list.every(fits) ? list : undefined;
    },
  }),
  rtpPorts: setting({
    name: 'OFFHOOK_RTP_PORTS',
    expects: 'first-last, 1024 to 65535, at least four ports',
    initial: '10000-10199',
    about: 'UDP ports for media.',
    parse: range,
  }),
  tlsCertificate: setting({
    name: 'OFFHOOK_TLS_CERTIFICATE',
    expects: 'a file, or empty',
    initial: '',
    about:
      'PEM file of the certificate for SIP over TLS and HTTPS, followed by those up to its authority; empty: the site’s own authority issues one (docs/tls.md).',
    parse: (text) => (text === '' ? null : folder(text)),
  }),
  tlsKey: setting({
    name: 'OFFHOOK_TLS_KEY',
    expects: 'a file, or empty',
    initial: '',
    about: 'PEM file of the key of `OFFHOOK_TLS_CERTIFICATE`, without a password.',
    parse: (text) => (text === '' ? null : folder(text)),
  }),
  tlsTrusted: setting({
    name: 'OFFHOOK_TLS_TRUSTED',
    expects: 'a file, or empty',
    initial: '',
    about: 'PEM file of authorities that trunks by TLS are checked against, beside the public ones.',
    parse: (text) => (text === '' ? null : folder(text)),
  }),
  acmeDirectory: setting({
    name: 'OFFHOOK_ACME_DIRECTORY',
    expects: 'letsencrypt, letsencrypt-staging, an https address, or empty',
    initial: '',
    about:
      'ACME server that issues the certificate of HTTPS, SIP and TURN over TLS, checked against the public authorities and those of `OFFHOOK_TLS_TRUSTED`; empty: none (docs/tls.md).',
    parse: directory,
  }),
  acmeNames: setting({
    name: 'OFFHOOK_ACME_NAMES',
    expects: 'host names such as pbx.example.com, separated by commas, at most 100; or empty',
    initial: '',
    about: 'Names of that certificate; each leads to this machine.',
    parse: (text) => {
      const list = listed(text.toLowerCase());
      const isLabel = (label: string): boolean =>
        /^[a-z0-9-]{1,63}$/.test(label) && !label.startsWith('-') && !label.endsWith('-');
      const isName = (name: string): boolean =>
        name.length <= 253 && name.split('.').every(isLabel) && /[a-z]$/.test(name);
      return list.length <= 100 && list.every(isName) ? list : undefined;
    },
  }),
  acmeTerms: setting({
    name: 'OFFHOOK_ACME_TERMS',
    expects: 'agreed, or empty',
    initial: '',
    about: '`agreed`: you accept the terms of service of the ACME server, without which it issues nothing.',
    parse: oneOf('agreed', ''),
  }),
  acmeEmail: setting({
    name: 'OFFHOOK_ACME_EMAIL',
    expects: 'an e-mail address, or empty',
    initial: '',
    about: 'Address that the ACME server may write to.',
    parse: (text) =>
      text === '' ? null : /^[^\s@,<>?&]{1,64}@[^\s@,<>?&]{1,190}$/.test(text) ? text : undefined,
  }),
  acmeChallenge: setting({
    name: 'OFFHOOK_ACME_CHALLENGE',
    expects: 'http-01 or tls-alpn-01',
    initial: 'http-01',
    about:
      'How the names are proven: at port 80 by `OFFHOOK_ACME_HTTP_LISTEN`, or at port 443 by `OFFHOOK_HTTPS_LISTEN`.',
    parse: oneOf('http-01', 'tls-alpn-01'),
  }),
  acmeHttpListen: setting({
    name: 'OFFHOOK_ACME_HTTP_LISTEN',
    expects: 'host:port such as 0.0.0.0:80, or empty',
    initial: '',
    about:
      'Answers to the challenges of `http-01`; everything else there is sent to `OFFHOOK_PUBLIC_URL` where that is https.',
    parse: (text) => (text === '' ? null : address(text)),
  }),
  cache: setting({
    name: 'OFFHOOK_CACHE',
    expects: 'a folder',
    initial: path.join(os.homedir(), '.cache', 'offhook'),
    about: 'Where engine packages lie; may be shared by several sites.',
    parse: folder,
  }),
  asterisk: setting({
    name: 'OFFHOOK_ASTERISK',
    expects: 'the path of an Asterisk program, version 22 or later',
    initial: '',
    about:
      'An Asterisk to use instead of the one Offhook gets by itself; `asterisk` on the PATH is used too.',
    parse: (text) => text,
  }),
  debianMirrors: setting({
    name: 'OFFHOOK_DEBIAN_MIRRORS',
    expects: 'addresses such as https://deb.debian.org/debian, separated by commas, or empty',
    initial: '',
    about:
      'Where the engine’s packages come from. Empty: the machine’s own sources of Debian, then deb.debian.org, by https first.',
    parse: mirrors,
  }),
  debianSecurity: setting({
    name: 'OFFHOOK_DEBIAN_SECURITY',
    expects: 'addresses such as https://deb.debian.org/debian-security, separated by commas, or empty',
    initial: '',
    about:
      'Where their security updates come from. Empty: the machine’s own sources, then deb.debian.org where `OFFHOOK_DEBIAN_MIRRORS` is empty.',
    parse: mirrors,
  }),
  corsOrigins: setting({
    name: 'OFFHOOK_CORS_ORIGINS',
    expects: 'origins such as https://crm.example.com, separated by commas',
    initial: '',
    about: 'Origins whose pages may call the API.',
    parse: origins,
  }),
  siteZone: setting({
    name: 'OFFHOOK_SITE_ZONE',
    expects: 'a time zone such as Europe/Istanbul',
    initial: machineZone(),
    about: "The site's zone: `calldate` and the days of reports.",
    parse: zone,
  }),
  siteCountry: setting({
    name: 'OFFHOOK_SITE_COUNTRY',
    expects: 'a country as two capital letters such as DE, or empty',
    initial: '',
    about:
      'Whose national numbers are read into E.164; when it is empty, only those that carry a plus or `00` are.',
    parse: (text) => (text === '' || isCountry(text) ? text : undefined),
  }),
  siteTitle: setting({
    name: 'OFFHOOK_SITE_TITLE',
    expects: '1 to 80 characters',
    initial: 'Offhook',
    about: 'Name shown by the front door and `ping.php`.',
    parse: (text) => (/^[^\p{C}]{1,80}$/u.test(text) ? text : undefined),
  }),
  publicUrl: setting({
    name: 'OFFHOOK_PUBLIC_URL',
    expects: 'http(s)://host[:port], or empty',
    initial: '',
    about:
      'The address phones and browsers use when a proxy stands in front; without it the request’s own Host is taken.',
    parse: (text) => {
      if (text === '') return '';
      return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
        ? new URL(text).origin
        : undefined;
    },
  }),
  oidcIssuer: setting({
    name: 'OFFHOOK_OIDC_ISSUER',
    expects:
      'an https address such as https://login.example.com/realms/staff, of one company alone, or empty',
    initial: '',
    about:
      'OpenID provider of the company, with whose accounts people sign in to the console (docs/company-sign-in.md); empty: none.',
    parse: issuer,
  }),
  oidcClientId: setting({
    name: 'OFFHOOK_OIDC_CLIENT_ID',
    expects: '1 to 200 characters without spaces, or empty',
    initial: '',
    about: 'Name of this site at that provider.',
    parse: (text) => (/^[^\s\p{C}]{0,200}$/u.test(text) ? text : undefined),
  }),
  oidcClientSecret: setting({
    name: 'OFFHOOK_OIDC_CLIENT_SECRET',
    expects: 'text, or empty',
    initial: '',
    about: 'Secret of this site at that provider; empty: it has none and proves itself by PKCE alone.',
    secret: true,
    parse: (text) => (text === '' ? null : text),
  }),
  oidcTitle: setting({
    name: 'OFFHOOK_OIDC_TITLE',
    expects: '1 to 40 characters',
    initial: 'Company account',
    about: 'Title of that sign-in on the sign-in page.',
    parse: (text) => (/^[^\p{C}]{1,40}$/u.test(text) ? text : undefined),
  }),
  oidcClaim: setting({
    name: 'OFFHOOK_OIDC_CLAIM',
    expects: 'email or preferred_username',
    initial: 'email',
    about:
      'What names a person there: the e-mail address, or the user name; it must be that of a person of the site.',
    parse: oneOf('email', 'preferred_username'),
  }),
  trustProxy: setting({
    name: 'OFFHOOK_TRUST_PROXY',
    expects: 'addresses or networks such as 127.0.0.1,10.0.0.0/8, or empty',
    initial: '',
    about: 'Proxies whose X-Forwarded headers are believed.',
    parse: (text) => {
      const list = listed(text);
      return list.every(network) ? list : undefined;
    },
  }),
  sipNeverBlock: setting({
    name: 'OFFHOOK_SIP_NEVER_BLOCK',
    expects: 'networks such as own,10.0.0.0/8, or empty',
    initial: 'own',
    about:
      'Networks that are not blocked after refused SIP requests; `own` are those of this machine. Proxies, loopback and networks with a registered phone or an address of a trunk are never blocked. `0.0.0.0/0,::/0` blocks nothing.',
    parse: (text) => {
      const list = listed(text);
      return list.every((entry) => entry === 'own' || network(entry)) ? list : undefined;
    },
  }),
  firewall: setting({
    name: 'OFFHOOK_FIREWALL',
    expects: 'nftables, or empty',
    initial: '',
    about:
      'Where blocked networks are dropped beside the engine: `nftables`, in a table of this site’s own, which needs the program `nft` and CAP_NET_ADMIN; empty: nowhere (docs/runbook.md).',
    parse: oneOf('nftables', ''),
  }),
  provisionHttp: setting({
    name: 'OFFHOOK_PROVISION_HTTP',
    expects: 'networks such as 192.168.10.0/24, or empty',
    initial: '',
    about:
      'Networks whose desk phones may fetch their configuration, with its passwords, without TLS. This machine itself always may.',
    parse: (text) => {
      const list = text
        .split(',')
        .map((s) => s.trim())
        .filter(Boolean);
      return list.every(network) ? list : undefined;
    },
  }),
  metricsListen: setting({
    name: 'OFFHOOK_METRICS_LISTEN',
    expects: 'a loopback host:port, or empty',
    initial: '',
    about: 'A second listener for `/metrics` and health details without sign-in.',
    parse: (text): Address | undefined | null => {
      if (text === '') return null;
      const a = address(text);
      return a && /^(127\.|localhost$|::1$)/.test(a.host) ? a : undefined;
    },
  }),
  webhookAllow: setting({
    name: 'OFFHOOK_WEBHOOK_ALLOW',
    expects: 'hosts, addresses or networks such as crm.internal,10.1.0.0/16, or empty',
    initial: '',
    about:
      'Targets of webhooks that may be called although their addresses are not public, beside those an administrator allows.',
    parse: targets,
  }),
  speech: setting({
    name: 'OFFHOOK_SPEECH',
    expects: 'the path of a file, or empty',
    initial: '',
    about:
      'File that describes the voice service for texts that are spoken (docs/sounds.md); empty: eSpeak NG alone.',
    parse: (text) => (text === '' ? '' : folder(text)),
  }),
  pushWaitSeconds: setting({
    name: 'OFFHOOK_PUSH_WAIT_SECONDS',
    expects: 'whole seconds from 1 to 25',
    initial: '15',
    about: 'Longest time for which a call waits until a woken app registers.',
    parse: integer(1, 25),
  }),
  sessionIdleSeconds: setting({
    name: 'OFFHOOK_SESSION_IDLE_SECONDS',
    expects: 'whole seconds from 60 to 2592000',
    initial: '43200',
    about: 'Idle life of a session.',
    parse: integer(60, 2_592_000),
  }),
  sessionAbsoluteSeconds: setting({
    name: 'OFFHOOK_SESSION_ABSOLUTE_SECONDS',
    expects: 'whole seconds from 60 to 31536000',
    initial: '2592000',
    about: 'Absolute life of a session.',
    parse: integer(60, 31_536_000),
  }),
  journalDays: setting({
    name: 'OFFHOOK_JOURNAL_DAYS',
    expects: 'whole days from 1 to 3650',
    initial: '7',
    about: 'How long events are kept; a client that was away for longer is told to take a snapshot.',
    parse: integer(1, 3_650),
  }),
  journalMegabytes: setting({
    name: 'OFFHOOK_JOURNAL_MEGABYTES',
    expects: 'a whole number from 16 to 1000000',
    initial: '4096',
    about: 'Room the kept events may take; the oldest go first.',
    parse: integer(16, 1_000_000),
  }),
  recordingDays: setting({
    name: 'OFFHOOK_RECORDING_DAYS',
    expects: 'whole days from 0 to 36500',
    initial: '0',
    about: 'How long recordings of calls are kept; 0 for ever.',
    parse: integer(0, 36_500),
  }),
  ownRecordings: setting({
    name: 'OFFHOOK_OWN_RECORDINGS',
    expects: 'yes or no',
    initial: 'yes',
    about: 'Whether people below supervisor may play recordings of the conversations in which they talked.',
    parse: oneOf('yes', 'no'),
  }),
  exportHours: setting({
    name: 'OFFHOOK_EXPORT_HOURS',
    expects: 'whole hours from 1 to 8760',
    initial: '24',
    about: 'How long the file of an export is kept.',
    parse: integer(1, 8_760),
  }),
  soundMegabytes: setting({
    name: 'OFFHOOK_SOUND_MEGABYTES',
    expects: 'a whole number from 1 to 1000000',
    initial: '1024',
    about: 'Room that uploaded prompts and music on hold may take.',
    parse: integer(1, 1_000_000),
  }),
  streamHeartbeatSeconds: setting({
    name: 'OFFHOOK_STREAM_HEARTBEAT_SECONDS',
    expects: 'whole seconds from 1 to 300',
    initial: '15',
    about: 'Heartbeats of the event stream; a client that shows no sign for two of them is gone.',
    parse: integer(1, 300),
  }),
  streamsPerPerson: setting({
    name: 'OFFHOOK_STREAMS_PER_PERSON',
    expects: 'a whole number from 1 to 100000',
    initial: '100',
    about: 'Event streams that one person or API key may have open at once.',
    parse: integer(1, 100_000),
  }),
  noAnswerLimit: setting({
    name: 'OFFHOOK_NO_ANSWER_LIMIT',
    expects: 'a whole number from 0 to 100',
    initial: '3',
    about: 'Unanswered offers in a row after which an agent is taken out as `not_responding`; 0 for never.',
    parse: integer(0, 100),
  }),
  unreachableSeconds: setting({
    name: 'OFFHOOK_UNREACHABLE_SECONDS',
    expects: 'whole seconds from 1 to 3600',
    initial: '15',
    about:
      'How long none of the devices of an agent may be reached before it shows as `unreachable`; at once where none was reached since the service started.',
    parse: integer(1, 3_600),
  }),
  logLevel: setting({
    name: 'OFFHOOK_LOG_LEVEL',
    expects: 'debug, info, warn, error or silent',
    initial: 'info',
    about: 'How much is logged.',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
  }),
} as const;
