import { FEATURE_CODES } from '../features/feature-codes/feature-codes.ts';
import { ROOT } from '../features/ldap/entries.ts';
import type { PbxConfig } from '../features/pbx-config/config.ts';
import type { StoredDirectory } from '../features/pbx-config/directory.ts';
import { defaultCode, sharedEndpoint, sharedPhones } from '../features/pbx-config/site.ts';
import type { Phonebook } from '../features/phonebook/service.ts';
import { Phones } from '../features/phones/service.ts';
import type { PhoneSite, PhonesDeps } from '../features/phones/service.ts';
import { SharedPhones } from '../features/phones/shared.ts';
import type { SharedPhonesDeps } from '../features/phones/shared.ts';
import { PhoneStore } from '../features/phones/store.ts';
import { offsetOf } from '../features/phones/values.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Config } from './config.ts';

/** A feature code as the site dials it; empty where it is switched off. */
function codeOf({ feature_codes }: PbxConfig, wanted: string): string {
  const code = FEATURE_CODES.find(({ id }) => id === wanted)!;
  const changed = feature_codes.find(({ id }) => id === code.id);
  return changed === undefined ? defaultCode(code) : changed.enabled ? changed.code : '';
}

/** The applied configuration as desk phones need it; made once for each. */
function phoneSites(
  directory: Pick<StoredDirectory, 'config'>,
  {
    sipListen,
    sipProxies,
    sipTlsPort,
    siteZone,
  }: Pick<Config, 'sipListen' | 'sipProxies' | 'sipTlsPort' | 'siteZone'>,
  clock: Clock,
): () => PhoneSite {
  const secureProxies = sipTlsPort === null ? [] : sipProxies.map(({ host }) => ({ host, port: sipTlsPort }));
  let made: { readonly config: PbxConfig; readonly site: PhoneSite } | undefined;
  return () => {
    const config = directory.config();
    if (made?.config === config) return made.site;
    const people = new Map(
      config.people.flatMap((one) => {
        const endpoint = one.person.endpoints.find(({ kind }) => kind === 'sip');
        return one.person.active && endpoint !== undefined
          ? [[one.person.extension, { ...one, endpoint: endpoint.name }] as const]
          : [];
      }),
    );
    const engines = new Map(config.engines.map((engine) => [engine.node, engine]));
    const homes = new Map(config.people.map(({ person, engine }) => [person.extension, engine]));
    const queues = new Map(config.queues.map((queue) => [queue.name, queue]));
    const layouts = new Map(config.phone_layouts.map((layout) => [layout.name, layout]));
    const site: PhoneSite = {
      phones: config.phones,
      layout: (name) => layouts.get(name),
      servers({ transport, extensions }) {
        const { tls_port } = config.network;
        const home = engines.get(homes.get(extensions[0] ?? '') ?? '');
        if (home !== undefined)
          return [{ host: home.host, port: (transport === 'tls' ? tls_port : null) ?? home.port }];
        const own = { host: null, port: (transport === 'tls' ? tls_port : null) ?? sipListen.port };
        const [first, ...more] = transport === 'tls' ? secureProxies : sipProxies;
        return first === undefined ? [own] : [first, ...more];
      },
      sharedEndpoint: ({ id }) => sharedEndpoint(id),
      endpoint: (extension) => people.get(extension)?.endpoint ?? null,
      person(extension) {
        const one = people.get(extension);
        return one && { name: one.person.name, password: one.sip_password, srtp: one.srtp };
      },
      queue: (name) => queues.get(name),
      offset: offsetOf(siteZone, new Date(clock.now()).getUTCFullYear()),
      ldap: config.network.ldap_port === null ? null : { port: config.network.ldap_port, base: ROOT },
      pickup: codeOf(config, 'pickup.extension'),
      nightSwitch(name) {
        const found = config.time_conditions.find((one) => one.name === name && one.switched_by.length > 0);
        const code = codeOf(config, 'night.switch');
        return found?.number == null || code === ''
          ? undefined
          : { code: `${code}${found.number}`, title: found.title };
      },
    };
    made = { config, site };
    return site;
  };
}

export async function createPhones(
  parts: Omit<PhonesDeps & SharedPhonesDeps, 'store' | 'site' | 'phonebook'> & {
    readonly phonebook: Pick<Phonebook, 'directory'>;
    readonly store: Store;
    readonly directory: Pick<StoredDirectory, 'config' | 'onChange'>;
    readonly config: Config;
  },
): Promise<{ readonly phones: Phones; readonly shared: SharedPhones }> {
  const { clock, config, directory, store } = parts;
  const site = phoneSites(directory, config, clock);
  const phones = await Phones.open({
    ...parts,
    site,
    store: await PhoneStore.open(store),
    phonebook: (file, q) => parts.phonebook.directory(file, q),
  });
  const shared = new SharedPhones({
    ...parts,
    site() {
      const config = directory.config();
      const endpoints = new Set(sharedPhones(config.phones).map(({ endpoint }) => endpoint));
      const people = new Set(config.people.flatMap(({ person: p }) => (p.active ? [p.extension] : [])));
      return {
        has: (endpoint, extension) => endpoints.has(endpoint) && people.has(extension),
        hours: config.settings.sign_out_hours,
      };
    },
  });
  directory.onChange(() => {
    phones.changed();
    void shared.look();
  });
  return { phones, shared };
}
