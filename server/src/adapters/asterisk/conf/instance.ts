import { createHmac } from 'node:crypto';
import path from 'node:path';
import type { CertificateFiles } from '../../../ports/certificates.ts';
import type { UnpackedPackages } from '../provision/tree.ts';

/** The program to run and the folders of its read-only parts. */
export interface AsteriskProgram {
  /** Command and leading arguments, e.g. the loader, its library path and the program. */
  readonly command: readonly string[];
  /** e.g. `22.10.1`. */
  readonly version: string;
  /** Null where the program's own default is right. */
  readonly modules_dir: string | null;
  /** Holds `sounds/en` and `moh`. */
  readonly data_dir: string;
  /** Origin for people: `packages` or the given path. */
  readonly origin: string;
  /** The package tree that contains the program; null for a program of the machine. */
  readonly packages?: UnpackedPackages | null;
}

/**
 * Fixed properties of one site's engine, created once and stored in `<folder>/instance.json` (mode 0600), so that a running
 * engine can be adopted.
 */
export interface Instance {
  /** `<data>/engine`; holds etc, log, lib, spool and instance.json. */
  readonly folder: string;
  /** Holds the control socket and the pid file; short enough for a socket path (108 bytes). */
  readonly run_dir: string;
  readonly node: string;
  readonly ami_port: number;
  /** Engine's HTTP server on loopback, for SIP over WebSocket only. */
  readonly http_port: number;
  readonly ami_events: { readonly user: string; readonly secret: string };
  readonly ami_actions: { readonly user: string; readonly secret: string };
}
/** The account of the manager interface that reads console text. Its secret follows from another one, which the file has. */
export const consoleAccount = ({ ami_actions }: Instance): Instance['ami_actions'] => ({
  user: 'offhook-console',
  secret: createHmac('sha256', ami_actions.secret).update('console').digest('base64url'),
});
/** Settings of the site that are added to the instance when its files are rendered. */
export interface InstanceSettings {
  readonly sip: { readonly host: string; readonly port: number };
  /** IPv6 address at which SIP listens too, at the same ports. */
  readonly sip_ipv6?: string | undefined;
  /** Addresses of the SIP proxies through which desk phones and trunks reach the engine; it reaches trunks through the first. */
  readonly sip_proxies?: readonly { readonly host: string; readonly port: number }[];
  readonly rtp: { readonly from: number; readonly to: number };
  /** Host of the HTTP server, where browsers also reach media; the SIP host where absent. */
  readonly web_host?: string;
  readonly zone: string;
  /** DNS servers for names of trunks, with or without a port; without any, those of the machine. */
  readonly dns_servers?: readonly string[];
  /** Addresses of this machine, to which media may be bound. */
  readonly own_addresses?: readonly string[];
  /** Files of the certificate; SIP over TLS cannot be rendered without. */
  readonly tls_files?: CertificateFiles;
  /** Signs the credentials of the TURN server, which cannot be rendered without. */
  readonly turn_secret?: string;
  /** Password with which the engines of the site call each other. */
  readonly engine_secret?: string;
  /** Password of the doctor's account; without it the account does not exist. */
  readonly doctor_secret?: string;
}
export const etcDir = (i: Instance): string => path.join(i.folder, 'etc');
export const asteriskConf = (i: Instance): string => path.join(etcDir(i), 'asterisk.conf');
export const logDir = (i: Instance): string => path.join(i.folder, 'log');
/** Networks whose SIP requests are rejected; `pjsip_acl.conf` includes it (blocked-networks.ts). */
export const blockedFile = (i: Instance): string => path.join(i.folder, 'blocked.conf');
/** File to which Asterisk writes its durable call records. */
export const celFile = (i: Instance): string => path.join(logDir(i), 'cel-custom', 'offhook.csv');
/** Folder of the engine's read-only data, with the sounds of all languages of the site; links alone. */
export const dataDir = (i: Instance): string => path.join(i.folder, 'data');
/** Folder of uploaded sounds, outside the engine's folder; engines with these paths read it and never write to it. */
export const soundsDir = (i: Instance): string => path.join(path.dirname(i.folder), 'sounds');
/** Uploaded prompts of a language. */
export const languageSetDir = (i: Instance, language: string): string =>
  path.join(soundsDir(i), 'languages', language);
/** Folder of the certificate in use, beside the engine. */
export const tlsDir = (i: Instance): string => path.join(path.dirname(i.folder), 'tls');
/** Folder of call recordings, beside the engine because they outlive it. */
export const recordingsDir = (i: Instance): string => path.join(path.dirname(i.folder), 'recordings');
