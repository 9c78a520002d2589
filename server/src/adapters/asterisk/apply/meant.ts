/** Settings that an engine must load from some files, by our own reader: keys and values equal those of `read-back.ts`. */
import type { EngineFiles, EngineProblem } from '../../../ports/engine-config.ts';
import { lastOf, readSections } from './sections.ts';
import type { FileRead, Section } from './sections.ts';

/** Objects by kind and name, e.g. `endpoint 1004`, each with its known values as one line. */
export type Objects = ReadonlyMap<string, string>;
/** File of each kind of object. A new kind here needs a reader in `read-back.ts`. */
export const FILE_OF = {
  endpoint: 'pjsip_endpoints.conf',
  auth: 'pjsip_auths.conf',
  aor: 'pjsip_aors.conf',
  identify: 'pjsip.conf',
  registration: 'pjsip.conf',
  transport: 'pjsip.conf',
  queue: 'queues.conf',
  member: 'queues.conf',
  dialplan: 'extensions.conf',
  mailbox: 'voicemail.conf',
  music: 'musiconhold.conf',
  parking: 'res_parking.conf',
  'conference-user': 'confbridge.conf',
  'conference-bridge': 'confbridge.conf',
  'conference-menu': 'confbridge.conf',
  feature: 'features.conf',
} as const satisfies Readonly<Record<string, string>>;
export type Kind = keyof typeof FILE_OF;
export const kindOf = (key: string): Kind => key.slice(0, key.indexOf(' ')) as Kind;

/** Our files that must not be empty: an empty one would remove all its objects. */
const NEVER_EMPTY: readonly string[] = [
  ...new Set<string>(Object.values(FILE_OF)),
  'modules.conf',
  'logger.conf',
  'cel.conf',
  'manager.conf',
];

export interface Meant {
  readonly objects: Objects;
  /** Endpoints identified by their address: the engine shows an address only with its endpoint. */
  readonly identified: readonly string[];
  /** Names of transports. */
  readonly transports: readonly string[];
  readonly problems: readonly EngineProblem[];
}

/** Of two objects with one name the engine keeps one, or rejects the whole file. */
const ONLY_ONCE: ReadonlySet<Kind> = new Set([
  'endpoint',
  'auth',
  'aor',
  'identify',
  'registration',
  'dialplan',
]);
const SIP_KINDS = ['endpoint', 'auth', 'aor', 'identify', 'registration'] as const;

function dialplan(sections: readonly Section[], put: (key: string, value: string) => void): void {
  for (const section of sections) {
    if (section.name === 'general' || section.name === 'globals') continue;
    let exten = '';
    let priority = 0;
    for (const { key, value } of section.options) {
      if (key === 'include') {
        put(`dialplan ${section.name} include ${value}`, '');
        continue;
      }
      let rest = value;
      if (key === 'exten') {
        const comma = value.indexOf(',');
        exten = comma < 0 ? value : value.slice(0, comma).trim();
        rest = comma < 0 ? '' : value.slice(comma + 1);
      } else if (key !== 'same') {
        continue;
      }
      const comma = rest.indexOf(',');
      const [place, step] = comma < 0 ? [rest, ''] : [rest.slice(0, comma).trim(), rest.slice(comma + 1)];
      if (place === 'hint') {
        put(`dialplan ${section.name},${exten},hint`, step.trim());
        continue;
      }
      const label = /^(n|same|[0-9]+)(?:\(([^)]*)\))?$/.exec(place);
      // The engine cannot read it either; its log names the line.
      if (label === null) continue;
      priority = label[1] === 'n' ? priority + 1 : Number(label[1]);
      const open = step.indexOf('(');
      const app = (open < 0 ? step : step.slice(0, open)).trim();
      const data = open < 0 ? '' : step.slice(open + 1, step.lastIndexOf(')'));
      put(`dialplan ${section.name},${exten},${priority}`, `${app}(${data})`);
    }
  }
}

/** Settings that the engine shows, by their name there, with their defaults. */
export const QUEUE_SETTINGS = [
  ['maxlen', 'Max', '0'],
  ['weight', 'Weight', '0'],
  ['servicelevel', 'ServiceLevel', '0'],
] as const;
/** Settings of a transport that a reload takes in. */
export const TRANSPORT_SETTINGS = ['external_signaling_address', 'external_media_address'] as const;
function queues(sections: readonly Section[], put: (key: string, value: string) => void): void {
  for (const section of sections) {
    if (section.name === 'general') continue;
    const strategy = lastOf(section, 'strategy') ?? 'ringall';
    const settings = QUEUE_SETTINGS.map(([key, shown, usual]) => `${shown}=${lastOf(section, key) ?? usual}`);
    put(`queue ${section.name}`, [`strategy=${strategy}`, ...settings].join(' '));
    for (const { key, value } of section.options) {
      if (key !== 'member') continue;
      const [location = '', penalty = '', name = '', state = ''] = value.split(',').map((p) => p.trim());
      put(
        `member ${section.name} ${location}`,
        `name=${name || location} penalty=${penalty || '0'} state=${state || location}`,
      );
    }
  }
}

/** Everything the given files define in an engine, and problems that need no engine to find. */
export function readMeant(files: EngineFiles): Meant {
  const objects = new Map<string, string>();
  const problems: EngineProblem[] = [];
  const put = (key: string, value: string): void => {
    const kind = kindOf(key);
    if (objects.has(key) && ONLY_ONCE.has(kind))
      problems.push({ object: key, file: FILE_OF[kind], words: 'it is listed twice' });
    else objects.set(key, value);
  };
  const cache = new Map<string, FileRead>();
  const file = (name: string): readonly Section[] => {
    let found = cache.get(name);
    if (found === undefined) {
      found = readSections(name, files);
      cache.set(name, found);
      if (found.refused !== null) problems.push({ object: null, file: name, words: found.refused });
      else if (found.empty) problems.push({ object: null, file: name, words: 'the file is empty' });
    }
    return found.sections;
  };
  for (const name of NEVER_EMPTY) file(name);
  for (const kind of SIP_KINDS)
    for (const s of file(FILE_OF[kind])) if (lastOf(s, 'type') === kind) put(`${kind} ${s.name}`, '');
  queues(file('queues.conf'), put);
  dialplan(file('extensions.conf'), put);
  for (const s of file('voicemail.conf')) {
    if (s.name === 'general' || s.name === 'zonemessages') continue;
    for (const { key } of s.options) put(`mailbox ${key}@${s.name}`, '');
  }
  for (const s of file('musiconhold.conf'))
    if (s.name !== 'general') put(`music ${s.name}`, lastOf(s, 'mode') ?? '');
  for (const s of file('res_parking.conf')) {
    if (s.name === 'general') continue;
    put(`parking ${s.name}`, `${lastOf(s, 'parkpos') ?? ''} ${lastOf(s, 'parkingtime') ?? '45'}`);
  }
  for (const s of file('confbridge.conf')) {
    const type = lastOf(s, 'type');
    if (type === 'user' || type === 'bridge' || type === 'menu') put(`conference-${type} ${s.name}`, '');
  }
  for (const s of file('features.conf'))
    if (s.name === 'applicationmap')
      for (const { key, value } of s.options) put(`feature ${key}`, value.split(',')[0]!.trim());
  const sip = file(FILE_OF.identify);
  const ofType = (type: string): readonly Section[] => sip.filter((s) => lastOf(s, 'type') === type);
  for (const s of ofType('transport'))
    put(`transport ${s.name}`, TRANSPORT_SETTINGS.map((key) => `${key}=${lastOf(s, key) ?? ''}`).join(' '));
  const identified = ofType('identify').flatMap((s) => lastOf(s, 'endpoint') ?? []);
  return { objects, problems, identified, transports: ofType('transport').map((s) => s.name) };
}
