/** The LDAP port for desk phones, on the phonebook, the directory and the certificate of the site. */
import os from 'node:os';
import { ServiceError } from '../core/errors.ts';
import { textOf } from '../core/files.ts';
import { addressIn } from '../core/networks.ts';
import type { ApiKeys } from '../features/api-keys/service.ts';
import type { Listed } from '../features/ldap/entries.ts';
import { LdapServer } from '../features/ldap/server.ts';
import type { StoredDirectory } from '../features/pbx-config/directory.ts';
import { readsAtPhones } from '../features/phonebook/access.ts';
import type { CustomerRow } from '../features/phonebook/rows.ts';
import type { Phonebook } from '../features/phonebook/service.ts';
import type { ExternalAddress } from '../features/reachability/service.ts';
import { EVERYONE } from '../features/phonebook/tables.ts';
import type { Phones } from '../features/phones/service.ts';
import { nationalOf } from '../numbers/e164.ts';
import type { Certificates } from '../ports/certificates.ts';
import type { Person } from '../ports/directory.ts';
import type { Common } from '../ports/common.ts';
import type { Config } from './config.ts';

export interface LdapParts extends Common<'clock' | 'log'> {
  readonly config: Config;
  readonly directory: Pick<StoredDirectory, 'config' | 'onChange' | 'people'>;
  readonly phonebook: Pick<Phonebook, 'store'>;
  readonly phones: Pick<Phones, 'knows'>;
  readonly apiKeys: Pick<ApiKeys, 'authenticate'>;
  readonly engineSite: { readonly certificates: Certificates | null };
  readonly externalAddress: Pick<ExternalAddress, 'shown'>;
}
const spellingsOf = (e164: string): readonly string[] => {
  const national = nationalOf(e164)?.national;
  return [`00${e164.slice(1)}`, ...(national === undefined ? [] : [`0${national}`])];
};
const customerOf = ({ id, kind, name, company, numbers, emails }: CustomerRow): Listed => ({
  id: `c${id}`,
  colleague: false,
  name,
  person: kind === 'person',
  company,
  emails,
  numbers: numbers.map(({ number, e164, label }) => ({
    number: e164 ?? number,
    label,
    spelled: e164 === null ? [] : [number, ...spellingsOf(e164)],
  })),
});
const colleagueOf = ({ extension, name, department, email }: Person): Listed => ({
  id: extension,
  colleague: true,
  name,
  person: true,
  company: department,
  emails: email === null ? [] : [email],
  numbers: [{ number: extension, label: null, spelled: [] }],
});

/** Certificate and key in use; if there are none yet, the site's own authority issues them. */
function pairOf(certificates: Certificates, hosts: () => readonly string[]) {
  let issuing: Promise<void> | null = null;
  return async () => {
    const { certificate, key } = certificates.files;
    const read = () => Promise.all([textOf(certificate), textOf(key)]);
    let pair = await read();
    if (pair.includes(null)) {
      issuing ??= certificates.ensure(hosts(), 'ldap').finally(() => (issuing = null));
      await issuing;
      pair = await read();
    }
    const [cert, secret] = pair;
    if (cert === null || secret === null) throw new ServiceError('invalid_configuration', 'no certificate');
    return { cert, key: secret };
  };
}

export async function createLdap(parts: LdapParts): Promise<LdapServer> {
  const { apiKeys, clock, config, directory, engineSite, log, phonebook, phones } = parts;
  const { certificates } = engineSite;
  const network = () => directory.config().network;
  const { host } = config.sipListen;
  const hosts = (): readonly string[] => {
    const own = host === '0.0.0.0' || host === '::' ? [] : [host];
    const outside = parts.externalAddress.shown();
    return [
      ...new Set([...(outside === null ? [] : [outside]), ...own, os.hostname(), 'localhost', '127.0.0.1']),
    ];
  };
  const server = new LdapServer({
    host,
    port: () => network().ldap_port,
    plain: addressIn([...config.provisionHttp, '127.0.0.0/8', '::1']),
    certificate: certificates === null ? () => Promise.resolve(null) : pairOf(certificates, hosts),
    async knows(token) {
      if (phones.knows(token)) return true;
      const caller = apiKeys.authenticate(token);
      return caller !== null && readsAtPhones(caller);
    },
    source: {
      colleagues: () =>
        directory
          .people()
          .filter(({ active }) => active)
          .map(colleagueOf),
      async customers(q, before, limit) {
        const { store } = phonebook;
        const page = await (q === null
          ? store.page(EVERYONE, before, limit)
          : store.search(EVERYONE, q, before, limit));
        return { rows: page.rows.map(customerOf), next: page.next };
      },
    },
    clock,
    log,
  });
  directory.onChange(() => void server.follow());
  await server.follow();
  return server;
}
