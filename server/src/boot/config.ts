/** The configuration of a process: the environment read by the table of settings, and rules between settings. */
import { SETTINGS } from './settings.ts';

export const VERSION = '0.1.0';

/** Read by `npm run config` only. */
const OF_COMMANDS: ReadonlySet<string> = new Set(['OFFHOOK_URL', 'OFFHOOK_API_KEY']);
type SettingsTable = typeof SETTINGS;
/** The whole configuration, validated once. `empty` comes from `--empty`. */
export type Config = {
  readonly [K in keyof SettingsTable]: Exclude<ReturnType<SettingsTable[K]['parse']>, undefined>;
} & { readonly empty: boolean };

/** Lists every wrong setting with the expected form; nothing is started then. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Further settings that ACME requires; `given` reads a setting. */
function acmeFaults(given: (name: string) => string): readonly string[] {
  if (given('OFFHOOK_ACME_DIRECTORY') === '') return [];
  const name = 'OFFHOOK_ACME_DIRECTORY';
  const [listens, challenge] =
    given('OFFHOOK_ACME_CHALLENGE') === 'tls-alpn-01'
      ? ['OFFHOOK_HTTPS_LISTEN', 'tls-alpn-01']
      : ['OFFHOOK_ACME_HTTP_LISTEN', 'http-01'];
  return [
    ...(given('OFFHOOK_ACME_NAMES') === '' ? [`${name} needs OFFHOOK_ACME_NAMES`] : []),
    ...(given('OFFHOOK_ACME_TERMS') === 'agreed'
      ? []
      : [`${name}: read the terms of service of the ACME server and give OFFHOOK_ACME_TERMS=agreed`]),
    ...(given(listens) === '' ? [`${name}: the challenge ${challenge} needs ${listens}`] : []),
    ...(given('OFFHOOK_TLS_CERTIFICATE') === ''
      ? []
      : [`${name} and OFFHOOK_TLS_CERTIFICATE: give one of both`]),
  ];
}
/** Settings that a web node needs, and those it cannot use; `given` reads a setting. */
function webFaults(given: (name: string) => string): readonly string[] {
  const name = 'OFFHOOK_NODE_ROLE=web';
  return [
    ...(given('OFFHOOK_NODE') === '' ? [`${name} needs OFFHOOK_NODE`] : []),
    ...['OFFHOOK_TLS_CERTIFICATE', 'OFFHOOK_TLS_KEY', 'OFFHOOK_ACME_DIRECTORY', 'OFFHOOK_ACME_HTTP_LISTEN']
      .filter((other) => given(other) !== '')
      .map((other) => `${name}: a web node shows the certificate of the leading node; leave ${other} empty`),
  ];
}
/** Reads the environment. An unknown `OFFHOOK_` name is rejected because it is usually a typing error. */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[] = [],
): Config {
  const wrong: string[] = [];
  const known = new Set<string>(Object.values(SETTINGS).map((s) => s.name));
  for (const name of Object.keys(env)) {
    if (name.startsWith('OFFHOOK_') && !known.has(name) && !OF_COMMANDS.has(name)) {
      wrong.push(`${name} is not a setting; there are: ${[...known].join(', ')}`);
    }
  }
  const values = Object.entries(SETTINGS).map(([key, s]) => {
    const text = env[s.name] ?? s.initial;
    const value = s.parse(text);
    if (value === undefined) {
      wrong.push(`${s.name}=${s.secret ? '(not shown)' : JSON.stringify(text)}: expected ${s.expects}`);
    }
    return [key, value] as const;
  });
  if (((env['OFFHOOK_TLS_CERTIFICATE'] ?? '') === '') !== ((env['OFFHOOK_TLS_KEY'] ?? '') === ''))
    wrong.push('OFFHOOK_TLS_CERTIFICATE and OFFHOOK_TLS_KEY: give both or none');
  if ((env['OFFHOOK_SIP_LISTEN_IPV6'] ?? '') !== '' && env['OFFHOOK_SIP_LISTEN']?.startsWith('[') === true)
    wrong.push('OFFHOOK_SIP_LISTEN_IPV6: OFFHOOK_SIP_LISTEN is IPv6 already; give it an IPv4 address');
  if (((env['OFFHOOK_OIDC_ISSUER'] ?? '') === '') !== ((env['OFFHOOK_OIDC_CLIENT_ID'] ?? '') === ''))
    wrong.push('OFFHOOK_OIDC_ISSUER and OFFHOOK_OIDC_CLIENT_ID: give both or none');
  if (env['OFFHOOK_SITE_STORE'] === 'postgres' && (env['OFFHOOK_DATABASE_URL'] ?? '') === '')
    wrong.push('OFFHOOK_SITE_STORE=postgres needs OFFHOOK_DATABASE_URL');
  if ((env['OFFHOOK_NODE'] ?? '') !== '' && env['OFFHOOK_SITE_STORE'] !== 'postgres')
    wrong.push('OFFHOOK_NODE needs OFFHOOK_SITE_STORE=postgres');
  if ((env['OFFHOOK_NATS_STREAM'] ?? '') !== '' && (env['OFFHOOK_NATS'] ?? '') === '')
    wrong.push('OFFHOOK_NATS_STREAM needs OFFHOOK_NATS');
  if (env['OFFHOOK_NODE_ROLE'] === 'home' && (env['OFFHOOK_NODE'] ?? '') === '')
    wrong.push('OFFHOOK_NODE_ROLE=home needs OFFHOOK_NODE');
  if (env['OFFHOOK_NODE_ROLE'] === 'web') wrong.push(...webFaults((name) => env[name] ?? ''));
  wrong.push(...acmeFaults((name) => env[name] ?? ''));
  for (const arg of args) if (arg !== '--empty') wrong.push(`${arg} is not an option; there is --empty`);
  if (wrong.length > 0) throw new ConfigError(wrong.join('\n'));
  return {
    ...(Object.fromEntries(values) as unknown as Omit<Config, 'empty'>),
    empty: args.includes('--empty'),
  };
}
