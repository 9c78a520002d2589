/**
 * Networks whose SIP requests the engine rejects with 403 before anything else. `etc/pjsip_acl.conf` includes their file, which
 * is beside the rendered ones because the service changes it at any time. A reload reads only files that changed.
 */
import { isIP } from 'node:net';
import { replaceFile } from '../../core/files.ts';
import { blockedFile } from './conf/instance.ts';
import type { Instance } from './conf/instance.ts';
import { conf, joined, network } from './conf/text.ts';

const MODE = 0o640;
/** A value that the engine cannot read would make it reject every request, so each is checked here. */
const rendered = (networks: readonly string[]): string =>
  networks.length === 0
    ? ''
    : conf`
[blocked]
type = acl
${joined(
  networks.map(
    (one) => conf`deny = ${network(one, 'a blocked network')}
`,
  ),
  '',
)}`;

/**
 * Replaces the list. True where the engine rejects their requests from now on; false where it has not loaded the module, which
 * it does at its next start. `console`: asks the engine's console.
 */
export async function blockNetworks(
  instance: Instance,
  networks: readonly string[],
  console: (text: string) => Promise<string>,
): Promise<boolean> {
  await replaceFile(blockedFile(instance), rendered(networks), MODE);
  await console('module reload res_pjsip.so');
  return /^res_pjsip_acl\.so .* Running /m.test(await console('module show like res_pjsip_acl'));
}

const CONTACT = /^ *Contact: +(\S+)/gm;
/** Address in a contact as the engine's console lists it, `1003/sip:1003@192.0.2.7:5060;ob`; null for a name. */
function addressOf(contact: string): string | null {
  const uri = contact.slice(contact.indexOf('/') + 1);
  const at = uri.indexOf('@');
  const rest = uri.slice((at < 0 ? uri.indexOf(':') : at) + 1);
  const host = rest.startsWith('[') ? rest.slice(1, rest.indexOf(']')) : rest.split(/[:;]/, 1)[0]!;
  return isIP(host) === 0 ? null : host;
}
/** Addresses at which phones are registered. */
export const phoneAddresses = async (console: (text: string) => Promise<string>): Promise<string[]> => [
  ...new Set(
    [...(await console('pjsip show contacts')).matchAll(CONTACT)].flatMap(
      ([, contact]) => addressOf(contact!) ?? [],
    ),
  ),
];
