/** Registrations of desk phones: those behind a SIP proxy read at one node and made again at another, former ones ended. */
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import { bracketed } from '../../../core/networks.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Common } from '../../../ports/common.ts';
import type { ContactAddress } from '../../../ports/site-nodes.ts';
import { AmiConnection } from '../ami/connection.ts';
import { header } from '../ami/frame.ts';
import type { Frame } from '../ami/frame.ts';
import { ListVoid } from '../ami/pending.ts';
import { etcDir } from '../conf/instance.ts';
import type { Instance } from '../conf/instance.ts';
import { digestAnswer } from '../phone/digest.ts';
import { openDatagrams } from '../phone/link.ts';
import { nearHost } from '../phone/media.ts';
import { formatMessage, header as headerOf, parseMessage, statusOf } from '../phone/message.ts';
import type { SipMessage } from '../phone/message.ts';

/*
 * PJSIPShowContacts   ContactList: ObjectName(aor;@hash) Uri Path ExpirationTime(unix seconds) Endpoint
 */
const uri = header('Uri');
const pathOf = header('Path');
const endpoint = header('Endpoint');
const expires = header('ExpirationTime');

/** Requests under way at once. */
const AT_ONCE = 50;
const ANSWER_MS = 4_000;
const REPEAT_MS = 500;
/** Shortest registration that the engine takes. */
const LEAST_SECONDS = 60;
/** Neither ends a header nor begins another parameter of ours. */
const URI = /^sips?:[^\s<>",]{1,500}$/;
const PATH = /^<sips?:[^\s<>"]{1,500}>$/;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Phones that registered through a proxy. Throws `engine_unavailable` while there is no engine. */
export async function readAddresses(
  instance: Instance,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<ContactAddress[]> {
  const ami = await AmiConnection.forActions(instance, { clock, log, signal });
  try {
    return (await contactsOf(ami, signal)).filter(isSound);
  } finally {
    ami.close();
  }
}
/** Every registration that the engine has. */
export async function contactsOf(
  ami: Pick<AmiConnection, 'list'>,
  signal: AbortSignal | undefined,
): Promise<ContactAddress[]> {
  const found: ContactAddress[] = [];
  const row = (event: string, frame: Frame): void => {
    if (event !== 'ContactList') return;
    found.push({
      endpoint: frame.get(endpoint) ?? '',
      uri: frame.get(uri) ?? '',
      path: frame.get(pathOf) ?? '',
      until: Number(frame.get(expires) ?? 0),
    });
  };
  try {
    await ami.list('PJSIPShowContacts', {}, row, signal === undefined ? {} : { signal });
  } catch (error) {
    // The engine refuses the list while it would be empty.
    if (!(error instanceof ListVoid)) throw error;
  }
  return found;
}
const isSound = (one: ContactAddress): boolean =>
  NAME.test(one.endpoint) && URI.test(one.uri) && PATH.test(one.path) && Number.isSafeInteger(one.until);

/** Passwords by endpoint in a file of the engine. */
export function passwordsIn(auths: string): Map<string, string> {
  const found = new Map<string, string>();
  let name = '';
  for (const line of auths.split('\n')) {
    if (line.startsWith('[')) name = /^\[([\w-]+)\]\(credentials\)$/.exec(line)?.[1] ?? '';
    else if (line.startsWith('password = ') && name !== '') found.set(name, line.slice('password = '.length));
  }
  return found;
}
/** One contact is one registration to the engine, whichever node stored it. */
const callIdOf = (endpointName: string, address: string): string =>
  createHash('sha256').update(`${endpointName} ${address}`).digest('hex').slice(0, 32);

export interface RegisterOptions extends Common<'clock' | 'log'> {
  /** SIP address of the engine. */
  readonly sip: { readonly host: string; readonly port: number };
}
/**
 * Registers phones at the engine of this node as they are at another, or unregisters those whose time is over. Resolves with those
 * that the engine did not take.
 */
export async function registerAddresses(
  instance: Instance,
  addresses: readonly ContactAddress[],
  options: RegisterOptions,
): Promise<ContactAddress[]> {
  const auths = await readFile(path.join(etcDir(instance), 'pjsip_auths.conf'), 'utf8');
  return sendRegisters(passwordsIn(auths), addresses, options, (one) => {
    if (!isSound(one)) return null;
    const seconds = one.until - Math.floor(options.clock.now() / 1_000);
    return {
      contact: `<${one.uri}>`,
      expires: seconds <= 0 ? 0 : Math.max(LEAST_SECONDS, seconds),
      more: [
        ['path', one.path],
        ['supported', 'path'],
      ],
    };
  });
}
/**
 * Ends every registration of these endpoints, as a phone with the present password can: the engine then publishes it, which it
 * does not for a row that is deleted from its store. `passwords`: by endpoint. Resolves with the endpoints that the engine did not take.
 */
export const endRegistrations = async (
  passwords: ReadonlyMap<string, string>,
  endpoints: readonly string[],
  options: RegisterOptions,
): Promise<readonly string[]> => {
  const all = endpoints.map((name) => ({ endpoint: name }));
  const failed = await sendRegisters(passwords, all, options, () => ({ contact: '*', expires: 0, more: [] }));
  return failed.map((one) => one.endpoint);
};
interface Asked {
  readonly contact: string;
  readonly expires: number;
  readonly more: readonly (readonly [name: string, value: string])[];
}
/** Sends a REGISTER for each, signed with the phone's password. Resolves with those that the engine did not take. */
async function sendRegisters<T extends { readonly endpoint: string }>(
  passwords: ReadonlyMap<string, string>,
  all: readonly T[],
  { sip, clock, log }: RegisterOptions,
  askedOf: (one: T) => Asked | null,
): Promise<T[]> {
  const waiting = new Map<string, (m: SipMessage) => void>();
  const server = { host: nearHost(sip.host), port: sip.port };
  const link = await openDatagrams(server, { host: server.host, port: 0 }, (data) => {
    const m = parseMessage(data);
    if (m !== undefined) waiting.get(`${headerOf(m, 'call-id')} ${headerOf(m, 'cseq')}`)?.(m);
  });
  const target = `sip:${bracketed(server.host)}:${server.port}`;
  async function ask(
    name: string,
    asked: Asked,
    cseq: number,
    authorization: string | null,
  ): Promise<SipMessage> {
    const address = `<sip:${name}@${bracketed(server.host)}>`;
    const callId = callIdOf(name, asked.contact);
    const data = formatMessage({
      start: `REGISTER ${target} SIP/2.0`,
      headers: [
        ['via', `SIP/2.0/UDP ${link.here};rport;branch=z9hG4bK${randomBytes(8).toString('hex')}`],
        ['max-forwards', '1'],
        ['from', `${address};tag=${randomBytes(8).toString('hex')}`],
        ['to', address],
        ['call-id', callId],
        ['cseq', `${cseq} REGISTER`],
        ['contact', asked.contact],
        ...asked.more,
        ['expires', String(asked.expires)],
        ...(authorization === null ? [] : [['authorization', authorization] as const]),
      ],
      body: '',
    });
    const key = `${callId} ${cseq} REGISTER`;
    const answer = Promise.withResolvers<SipMessage>();
    waiting.set(key, answer.resolve);
    link.send(data);
    const again = setInterval(() => link.send(data), REPEAT_MS);
    const late = setTimeout(
      () => answer.reject(new ServiceError('engine_unavailable', 'the engine answers no REGISTER')),
      ANSWER_MS,
    );
    try {
      return await answer.promise;
    } finally {
      clearInterval(again);
      clearTimeout(late);
      waiting.delete(key);
    }
  }
  async function register(one: T): Promise<string | null> {
    const { endpoint: name } = one;
    const password = passwords.get(name);
    const asked = askedOf(one);
    if (asked === null || password === undefined) return 'this node knows no such phone';
    // The clock makes the CSeq of a repeat greater than that of the request before.
    const cseq = Math.floor(clock.now() / 1_000);
    const first = await ask(name, asked, cseq, null);
    if (statusOf(first) !== 401) return first.start;
    const given = { method: 'REGISTER', uri: target, username: name, password };
    const last = await ask(name, asked, cseq + 1, digestAnswer(headerOf(first, 'www-authenticate'), given));
    return statusOf(last) === 200 ? null : last.start;
  }
  const failed: T[] = [];
  try {
    for (let i = 0; i < all.length; i += AT_ONCE) {
      const batch = all.slice(i, i + AT_ONCE);
      const results = await Promise.allSettled(batch.map(register));
      for (const [at, result] of results.entries()) {
        const why = result.status === 'rejected' ? messageOf(result.reason) : result.value;
        if (why === null) continue;
        failed.push(batch[at]!);
        log.debug({ endpoint: batch[at]!.endpoint, error: why }, 'a phone is not registered at this node');
      }
      // Waiting for each of thousands, a standby could not take the lease for minutes.
      if (results.every(({ status }) => status === 'rejected')) {
        failed.push(...all.slice(i + AT_ONCE));
        break;
      }
    }
  } finally {
    await link.close();
  }
  return failed;
}
