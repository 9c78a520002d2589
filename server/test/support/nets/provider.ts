/** A provider in the public net: an Asterisk with the site as its customer, by TLS and SRTP, and a subscriber of its own by UDP. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { issueCertificate } from '../../../src/adapters/certificates/local-authority.ts';
import { etcDir } from '../../../src/adapters/asterisk/conf/instance.ts';
import { createInstance } from '../../../src/adapters/asterisk/process/instance-file.ts';
import { EngineProcess } from '../../../src/adapters/asterisk/process/supervise.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { silent } from '../../../src/core/log.ts';
import { siteFolderPrefix } from '../abandoned.ts';
import { configure, realProgram } from '../engine-instance.ts';
import { PATIENCE_MS } from '../until.ts';
import { ADDRESSES, inNet } from './nets.ts';

export const PROVIDER = {
  tls: { host: ADDRESSES.provider, port: 5061 },
  /** Address where the subscriber registers. */
  phones: { host: ADDRESSES.provider, port: 5060 },
  customer: 'office',
  subscriber: 'subscriber',
  /** Number of the subscriber. */
  number: '+4915112345678',
  secret: 'a-secret-of-the-provider',
} as const;
const MODULES = [
  'res_timing_timerfd',
  'res_pjproject',
  'res_sorcery_config',
  'res_sorcery_memory',
  'res_sorcery_astdb',
  'res_pjsip',
  'res_pjsip_session',
  'res_pjsip_pubsub',
  'res_pjsip_authenticator_digest',
  'res_pjsip_caller_id',
  'res_pjsip_dlg_options',
  'res_pjsip_endpoint_identifier_ip',
  'res_pjsip_endpoint_identifier_user',
  'res_pjsip_registrar',
  'res_pjsip_sdp_rtp',
  'chan_pjsip',
  'func_callerid',
  'func_cut',
  'func_pjsip_aor',
  'func_pjsip_contact',
  'res_rtp_asterisk',
  'res_srtp',
  'codec_ulaw',
  'bridge_simple',
  'pbx_config',
  'app_dial',
] as const;

/** It corrects nothing for a customer behind NAT: requests and media go to the addresses in its Contact and SDP. */
const pjsip = (folder: string): string => `
[tls]
type = transport
protocol = tls
method = tlsv1_2
bind = ${PROVIDER.tls.host}:${PROVIDER.tls.port}
cert_file = ${folder}/certificate.pem
priv_key_file = ${folder}/key.pem
ca_list_file = ${folder}/ca.pem
verify_server = yes
[udp]
type = transport
protocol = udp
bind = ${PROVIDER.phones.host}:${PROVIDER.phones.port}
[line](!)
type = endpoint
disallow = all
allow = ulaw
direct_media = no
rtp_symmetric = no
force_rport = no
rewrite_contact = no
[login](!)
type = auth
auth_type = digest
password = ${PROVIDER.secret}
[contact](!)
type = aor
max_contacts = 1
remove_existing = yes

[${PROVIDER.customer}](line)
transport = tls
context = from-customer
identify_by = ip,username
media_encryption = sdes
auth = ${PROVIDER.customer}
aors = ${PROVIDER.customer}
[${PROVIDER.customer}](login)
username = ${PROVIDER.customer}
[${PROVIDER.customer}](contact)
[${PROVIDER.customer}]
type = identify
endpoint = ${PROVIDER.customer}
match = ${ADDRESSES.officeGateway}

[${PROVIDER.subscriber}](line)
transport = udp
context = from-subscriber
callerid = <${PROVIDER.number}>
auth = ${PROVIDER.subscriber}
aors = ${PROVIDER.subscriber}
[${PROVIDER.subscriber}](login)
username = ${PROVIDER.subscriber}
[${PROVIDER.subscriber}](contact)
`;
/** Calls of the subscriber go to the registered contact of the customer, with the called number as the user. */
const DIALPLAN = `
[from-customer]
exten => _[+0-9].,1,Dial(PJSIP/${PROVIDER.subscriber},60)
[from-subscriber]
exten => _[+0-9].,1,Set(contact=\${PJSIP_CONTACT(\${PJSIP_AOR(${PROVIDER.customer},contact)},uri)})
 same => n,Dial(PJSIP/${PROVIDER.customer}/sip:\${EXTEN}@\${CUT(contact,@,2)},60)
`;

export interface Provider extends AsyncDisposable {
  /** PEM files of the authority of both certificates, and of the customer's certificate and key. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}
/** Issues both certificates and boots the provider. Disposal ends its engine and removes its folder. */
export async function startProvider(): Promise<Provider> {
  const data = await mkdtemp(siteFolderPrefix());
  const found = await realProgram();
  const program = { ...found, command: inNet('public', ...found.command) };
  const instance = await createInstance(data);
  configure(
    instance,
    program,
    MODULES.map((name) => `load = ${name}.so`),
  );
  const file = (name: string): string => path.join(data, name);
  const own = await issueCertificate(data, [PROVIDER.tls.host], Date.now());
  const customer = await issueCertificate(data, [ADDRESSES.officeGateway], Date.now());
  const etc = etcDir(instance);
  await Promise.all([
    writeFile(file('certificate.pem'), own.certificate),
    writeFile(file('key.pem'), own.key, { mode: 0o600 }),
    writeFile(file('customer.pem'), customer.certificate),
    writeFile(file('customer-key.pem'), customer.key, { mode: 0o600 }),
    writeFile(path.join(etc, 'pjsip.conf'), pjsip(data)),
    writeFile(path.join(etc, 'extensions.conf'), DIALPLAN),
    writeFile(path.join(etc, 'rtp.conf'), '[general]\nrtpstart = 20000\nrtpend = 20099\n'),
  ]);
  const engine = new EngineProcess({ program, instance, log: silent, clock: systemClock });
  const provider: Provider = {
    ca: file('ca.pem'),
    certificate: file('customer.pem'),
    key: file('customer-key.pem'),
    async [Symbol.asyncDispose]() {
      await engine.stop();
      await rm(data, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  try {
    engine.start();
    await engine.up(AbortSignal.timeout(PATIENCE_MS));
  } catch (error) {
    await provider[Symbol.asyncDispose]();
    throw error;
  }
  return provider;
}
