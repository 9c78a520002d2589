/** The lines `npm start` prints for the person at the terminal. */
import { bracketed } from '../core/networks.ts';
import { SETTINGS } from './settings.ts';
import type { Address } from './setting-values.ts';
import type { Config } from './config.ts';
import { credentialsFile, readCredentials } from './credentials.ts';
import { exposures } from './exposure.ts';

const ANY = new Set(['0.0.0.0', '::']);

/** The address to open on this machine: that by HTTPS where there is one. */
export function urlOf(plain: Address, secured: Address | null): string {
  const { host, port } = secured ?? plain;
  const name = ANY.has(host) ? 'localhost' : bracketed(host);
  return `${secured === null ? 'http' : 'https'}://${name}:${port}`;
}

/**
 * The lines printed once everything works. They contain passwords only while the site's own file still holds them, and only on
 * a `terminal`: anything else stores its input, as the system's journal does.
 */
export async function readyText(
  config: Config,
  address: string,
  { deskPhones, seconds, terminal }: { deskPhones: boolean; seconds: number; terminal: boolean },
): Promise<string> {
  const url = config.publicUrl === '' ? address : config.publicUrl;
  const { host, port } = config.sipListen;
  const six = config.sipListenIpv6 === null ? '' : `, [${config.sipListenIpv6}]:${port}`;
  const sip = deskPhones ? `SIP ${host}:${port}${six}` : `none: ${host}:${port} is used by another program`;
  // The other exchange may run in the default folder.
  const ours =
    config.data === SETTINGS.data.parse(SETTINGS.data.initial) ? '' : `OFFHOOK_DATA=${config.data} `;
  const people = await readCredentials(config.data);
  const known = people.filter((p) => p.password !== undefined);
  const first = known.find((p) => p.level === 'agent') ?? known[0];
  const owner = people.find((p) => p.level === 'admin');
  const lines = [
    '',
    `  ${config.siteTitle} is ready after ${seconds.toFixed(1)} s`,
    '',
    `  Console            ${url}      (${owner === undefined ? 'open it in a browser' : `open it in a browser; sign in as ${owner.extension}`})`,
    `  API                ${url}/docs`,
    `  Phones             browsers ${url.replace(/^http/, 'ws')}/ws; desk phones ${sip}`,
    `  Engine's console   ${ours}npm run engine -- "queue show"`,
  ];
  for (const warning of exposures(config)) lines.push('', `  Warning: ${warning}.`);
  if (known.length > 0 && !terminal) {
    lines.push('', `  First passwords of people: in ${credentialsFile(config.data)}`);
  } else if (known.length > 0) {
    const width = Math.max(...known.map((p) => p.full_name.length));
    lines.push(
      '',
      `  People and the first passwords that still hold (${credentialsFile(config.data)})`,
      ...known.map(
        (p) => `    ${p.extension}  ${p.full_name.padEnd(width)}  ${p.level.padEnd(10)}  ${p.password}`,
      ),
    );
  }
  if (first !== undefined && terminal) {
    const body = JSON.stringify({ username: first.extension, password: first.password });
    lines.push(
      '',
      '  Try the API',
      `    curl -s ${url}/api/auth/login -H 'content-type: application/json' -d '${body}'`,
    );
  }
  lines.push('', '  Ctrl-C stops the service and the engine.', '', '');
  return lines.join('\n');
}
