/**
 * Networks whose SIP requests the engine rejects with 403 before anything else. `etc/pjsip_acl.conf` includes their file, which
 * is beside the rendered ones because the service changes it at any time. A reload reads only files that changed.
 */
import { rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { replaceFile, textOf } from '../../core/files.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import { AmiConnection } from './ami/connection.ts';
import { header } from './ami/frame.ts';
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
 * it does at its next start. `console`: asks the engine's console. An equal list is not read again, because with 10,000
 * extensions the reload takes the engine seconds.
 */
export async function blockNetworks(
  instance: Instance,
  networks: readonly string[],
  console: (text: string) => Promise<string>,
): Promise<boolean> {
  const file = blockedFile(instance);
  // In any order of the given networks, the list is the same.
  const text = rendered(networks.toSorted());
  // Exists from before the write until after the reload, because the service may end between them.
  const unread = `${file}.unread`;
  if ((await textOf(file)) !== text || (await textOf(unread)) !== null) {
    await replaceFile(unread, '');
    await replaceFile(file, text, MODE);
    await console('module reload res_pjsip.so');
    await rm(unread, { force: true });
  }
  return /^res_pjsip_acl\.so .* Running /m.test(await console('module show like res_pjsip_acl'));
}

/** Address in the URI of a contact, `sip:1003@192.0.2.7:5060;ob`; null for a name. */
function addressOf(uri: string): string | null {
  const at = uri.indexOf('@');
  const rest = uri.slice((at < 0 ? uri.indexOf(':') : at) + 1);
  const host = rest.startsWith('[') ? rest.slice(1, rest.indexOf(']')) : rest.split(/[:;]/, 1)[0]!;
  return isIP(host) === 0 ? null : host;
}
const MATCH = /^ *Match: (\S+)\/\d+$/gm;
/** Addresses by which the engine identifies trunks, also those that it found for a name. */
export const trunkAddresses = async (console: (text: string) => Promise<string>): Promise<string[]> =>
  [...(await console('pjsip show identifies')).matchAll(MATCH)].flatMap(([, address]) =>
    isIP(address!) === 0 ? [] : [address!],
  );

/*
 * PJSIPShowContacts   ContactList: Uri Path; without the contacts of trunks
 *
 * Path of a phone behind the SIP proxy: <sip:proxy;lr;received=sip:192.0.2.7:5060%3Btransport%3Dtcp>. Its Uri may be any address.
 */
const contactUri = header('Uri');
const contactPath = header('Path');
const RECEIVED = /;received=(sips?:[^;>%]+)/;
/** Addresses at which phones are registered. Throws `AmiClosed` while there is no engine, and `ListVoid`. */
export async function registeredAddresses(
  instance: Instance,
  options: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<string[]> {
  const ami = await AmiConnection.forActions(instance, options);
  const found = new Set<string>();
  try {
    await ami.list(
      'PJSIPShowContacts',
      {},
      (event, frame) => {
        const from = RECEIVED.exec(frame.get(contactPath) ?? '')?.[1] ?? frame.get(contactUri) ?? '';
        const address = event === 'ContactList' ? addressOf(from) : null;
        if (address !== null) found.add(address);
      },
      { signal: options.signal },
    );
  } finally {
    ami.close();
  }
  return [...found];
}
/** Addresses of registered phones and of trunks. Throws as the two lists. */
export const phoneAddresses = async (
  instance: Instance,
  console: (text: string) => Promise<string>,
  options: Parameters<typeof registeredAddresses>[1],
): Promise<string[]> => [
  ...(await registeredAddresses(instance, options)),
  ...(await trunkAddresses(console)),
];
