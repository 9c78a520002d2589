import { createHash } from 'node:crypto';
import net from 'node:net';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import { Client, FilterParser, InvalidCredentialsError } from 'ldapts';
import type { Entry } from 'ldapts';
import type { LdapSettings } from '@offhook/contract/phonebook-sources.ts';
import { messageOf, ServiceError } from '../../../core/errors.ts';
import { languageOf } from '../../../core/language-tag.ts';
import { certificatesOf } from '../../../core/pem.ts';
import type { Guard } from '../../../outbound/address-guard.ts';
import { SyncFailure } from '../../../outbound/sync-schedule.ts';
import type { Resolve } from '../../../outbound/transport.ts';
import { MAX_VALUES } from '../line.ts';
import type { Line, Value } from '../line.ts';
import { MAX_SOURCE_CUSTOMERS } from './reader.ts';
import type { SourceConfig, SourceCursor, SourcePart } from './reader.ts';

const PAGE = 500;
/** Bytes of one page. */
const MAX_PAGE_BYTES = 8_388_608;
const TIMEOUT_MS = 15_000;
const MAX_ID = 200;
/** Attributes that identify an entry: OpenLDAP and others, Active Directory. */
const IDS = ['entryUUID', 'objectGUID'] as const;

/** Part of a distinguished name whose escapes are replaced (RFC 4514). */
const NAME_PART = /^ *(?:[A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)*) *= *[^ "+,;<>\\\p{Cc}][^"+,;<>\\\p{Cc}]*$/u;
const isName = (base: string): boolean =>
  base
    .replaceAll(/\\(?:[0-9A-Fa-f]{2}|[ "#+,;<=>\\])/g, 'x')
    .split(/[,+]/)
    .every((part) => NAME_PART.test(part));
/** Whether `pem` has certificates only; replies would show another block, such as a private key. */
function isCertificates(pem: string): boolean {
  try {
    const { length } = certificatesOf(pem);
    return length > 0 && length === pem.split('-----BEGIN ').length - 1;
  } catch {
    return false;
  }
}
/** Throws `invalid_request` and `webhook_target_refused`. */
export function checkLdap(address: string, { base, ca, filter }: LdapSettings, guard: Guard): URL {
  const url = URL.parse(address);
  if (url === null || !/^ldaps?:$/.test(url.protocol) || !/^\/?$/.test(url.pathname + url.search + url.hash))
    throw new ServiceError('invalid_request', 'address: write it as ldaps://ldap.example.com');
  if (url.username !== '' || url.password !== '')
    throw new ServiceError('invalid_request', 'address: must not contain credentials');
  // Without the port, because the guard refuses the ports of LDAP for HTTP.
  guard.readTarget(`https://${url.hostname}/`);
  try {
    FilterParser.parseString(filter);
  } catch {
    throw new ServiceError('invalid_request', 'ldap.filter: must be an LDAP filter');
  }
  if (!isName(base))
    throw new ServiceError(
      'invalid_request',
      'ldap.base: write a distinguished name such as ou=people,dc=example,dc=com',
    );
  if (ca !== null && !isCertificates(ca))
    throw new ServiceError('invalid_request', 'ldap.ca: must contain only certificates in PEM');
  return url;
}

const textsOf = (entry: Entry, attribute: string): readonly string[] => {
  const found =
    Object.entries(entry).find(([name]) => name.toLowerCase() === attribute.toLowerCase())?.[1] ?? [];
  return [found]
    .flat()
    .flatMap((one: unknown) => (typeof one === 'string' && one.trim() !== '' ? [one.trim()] : []));
};
function idOf(entry: Entry): string {
  const [guid] = [entry['objectGUID'] ?? []].flat();
  const id =
    textsOf(entry, 'entryUUID')[0] ??
    (Buffer.isBuffer(guid) && guid.length > 0 ? guid.toString('hex') : entry.dn);
  return id.length > MAX_ID ? createHash('sha256').update(id).digest('base64url') : id;
}
function lineOf(entry: Entry, { name, company, email, language, numbers }: LdapSettings['attributes']): Line {
  const values = (attribute: string, label: string | null): readonly Value[] =>
    textsOf(entry, attribute).map((value) => ({ value, label, field: attribute }));
  const spoken = languageOf(textsOf(entry, language)[0] ?? '');
  return {
    line: 0,
    uid: null,
    fields: {
      kind: 'person',
      name: textsOf(entry, name)[0] ?? '',
      company: textsOf(entry, company)[0] ?? '',
      ...(spoken !== undefined && { language: spoken }),
    },
    numbers: Object.entries(numbers)
      .flatMap(([attribute, label]) => values(attribute, label))
      .slice(0, MAX_VALUES),
    emails: values(email, null).slice(0, MAX_VALUES),
    unreadable: [],
  };
}

/** A connection to an allowed address of the server; a second one is refused, because it would not be signed in. */
class Connection {
  readonly client: Client;
  #bytes = 0;
  constructor(url: URL, address: string, ca: string | null, signal: AbortSignal) {
    const secure = url.protocol === 'ldaps:';
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const port = Number(url.port || (secure ? 636 : 389));
    let opened = false;
    const open = (): Socket => {
      if (opened) throw new SyncFailure('the server closed the connection');
      opened = true;
      const trusted = { ...(net.isIP(host) === 0 && { servername: host }), ...(ca !== null && { ca }) };
      const socket = secure ? tls.connect({ host: address, port, ...trusted }) : net.connect(port, address);
      socket.on('data', (chunk: Buffer) => {
        this.#bytes += chunk.length;
        if (this.#bytes > MAX_PAGE_BYTES)
          socket.destroy(new Error(`a page has more than ${MAX_PAGE_BYTES} bytes`));
      });
      const end = (): void => void socket.destroy();
      signal.addEventListener('abort', end, { once: true });
      socket.once('close', () => signal.removeEventListener('abort', end));
      return socket;
    };
    this.client = new Client({
      url: `${url.protocol}//${url.host}`,
      timeout: TIMEOUT_MS,
      connectTimeout: TIMEOUT_MS,
      createConnection: open as typeof net.connect,
      createSecureConnection: open as unknown as typeof tls.connect,
    });
  }
  nextPage(): void {
    this.#bytes = 0;
  }
}

/** All entries of an LDAP server, compared with those of the sync before. Throws `SyncFailure`. */
export async function* readLdap(
  { address, username, password, ldap }: SourceConfig & { readonly ldap: LdapSettings },
  { tags }: Pick<SourceCursor, 'tags'>,
  {
    guard,
    resolve,
    signal,
  }: { readonly guard: Guard; readonly resolve: Resolve; readonly signal: AbortSignal },
): AsyncGenerator<SourcePart, null> {
  const url = checkLdap(address, ldap, guard);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const named = new Set<string>();
  const { base, filter, attributes } = ldap;
  const wanted = [
    ...IDS,
    attributes.name,
    attributes.company,
    attributes.email,
    attributes.language,
    ...Object.keys(attributes.numbers),
  ];
  let connection: Connection | null = null;
  try {
    const [allowed] = guard.allowed(host, await resolve(host));
    if (allowed === undefined)
      throw new SyncFailure(`${host} does not resolve to an address that may be called`);
    connection = new Connection(url, allowed.address, ldap.ca, signal);
    const { client } = connection;
    // Without a password the server would treat the bind as anonymous (RFC 4513, 5.1.2).
    if (username !== '' && password === '') throw new SyncFailure('the user name needs a password');
    if (username !== '') await client.bind(username, password);
    const pages = client.searchPaginated(base, {
      scope: 'sub',
      filter,
      attributes: wanted,
      explicitBufferAttributes: ['objectGUID'],
      paged: { pageSize: PAGE },
    });
    for await (const { searchEntries } of pages) {
      connection.nextPage();
      const changed = searchEntries.flatMap((entry) => {
        const id = idOf(entry);
        const line = lineOf(entry, attributes);
        const tag = createHash('sha256').update(JSON.stringify(line)).digest('base64url');
        named.add(id);
        return tags.get(id) === tag ? [] : [{ id, tag, line }];
      });
      if (named.size > MAX_SOURCE_CUSTOMERS)
        throw new SyncFailure(`the server lists more than ${MAX_SOURCE_CUSTOMERS} entries`);
      yield { changed, gone: [] };
    }
  } catch (error) {
    if (error instanceof SyncFailure) throw error;
    throw new SyncFailure(
      error instanceof InvalidCredentialsError
        ? 'the server does not accept user name and password'
        : messageOf(error).slice(0, 300),
    );
  } finally {
    await connection?.client.unbind().catch(() => undefined);
  }
  // An empty list deletes nothing: a fault of the server is more likely than an empty directory.
  yield { changed: [], gone: named.size === 0 ? [] : [...tags.keys()].filter((id) => !named.has(id)) };
  return null;
}
