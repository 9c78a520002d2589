/** Reads what an engine has loaded, by its own lists: kinds and keys equal those of `meant.ts`. */
import { createHash } from 'node:crypto';
import { messageOf } from '../../../core/errors.ts';
import type { AmiConnection } from '../ami/connection.ts';
import { ListVoid } from '../ami/pending.ts';
import { header } from '../ami/frame.ts';
import type { Frame } from '../ami/frame.ts';
import { QUEUE_SETTINGS, TRANSPORT_SETTINGS } from './meant.ts';
import type { Kind, Objects } from './meant.ts';

export interface Asked {
  readonly ami: AmiConnection;
  /** Text that the engine's console prints for one of the fixed commands below. */
  readonly console: (text: string) => Promise<string>;
  readonly signal?: AbortSignal;
}

/** The engine sorts a list of thousands of objects in quadratic time. */
const LIST_MS = 60_000;
/** Number of concurrent requests for single endpoints. */
const AT_ONCE = 50;
/** Attributes that change when phones register and unregister. */
const VOLATILE = new Set([
  'Event',
  'EventList',
  'ActionID',
  'Privilege',
  'ObjectType',
  'ObjectName',
  'EndpointName',
  'DeviceState',
  'ActiveChannels',
  'Contacts',
  'TotalContacts',
  'ContactsRegistered',
  'Status',
  'NextReg',
]);
const H = {
  name: header('ObjectName'),
  queue: header('Queue'),
  strategy: header('Strategy'),
  location: header('Location'),
  memberName: header('Name'),
  state: header('StateInterface'),
  membership: header('Membership'),
  penalty: header('Penalty'),
  context: header('Context'),
  extension: header('Extension'),
  priority: header('Priority'),
  application: header('Application'),
  data: header('AppData'),
  registrar: header('Registrar'),
  include: header('IncludeContext'),
  boxContext: header('VMContext'),
  box: header('VoiceMailbox'),
  lot: header('Name'),
  start: header('StartSpace'),
  stop: header('StopSpace'),
  timeout: header('Timeout'),
};
const QUEUE = QUEUE_SETTINGS.map(([, shown]) => [shown, header(shown)] as const);
const text = (frame: Frame, h: (typeof H)[keyof typeof H]): string => frame.get(h) ?? '';
/** A hash of an object's attributes: one program shows the same attributes in the same order. */
function mark(frame: Frame): string {
  const lines = frame
    .raw(1_000_000)
    .split('\r\n')
    .filter((line) => !VOLATILE.has(line.slice(0, Math.max(0, line.indexOf(':')))));
  return createHash('sha256').update(lines.join('\n')).digest('base64url');
}
const isNoList = (error: unknown): boolean => error instanceof ListVoid;
/** A module that rejected its file is not loaded, so the command that lists its objects is missing: it has none. */
const isNotThere = (error: unknown): boolean =>
  isNoList(error) && /Invalid\/unknown command/.test(messageOf(error));

type Put = (key: string, value: string) => void;
type Reader = (asked: Asked, put: Put) => Promise<unknown>;
const list = (
  { ami, signal }: Asked,
  name: string,
  row: (event: string, frame: Frame) => void,
  fields = {},
  counted?: string,
): Promise<number> =>
  ami.list(name, fields, row, {
    ms: LIST_MS,
    ...(signal ? { signal } : {}),
    ...(counted ? { counted } : {}),
  });
const REGISTRATION = 'OutboundRegistrationDetail';
/** Names in the first column of a console table. */
async function names(asked: Asked, command: string, pattern: RegExp, put: (found: RegExpExecArray) => void) {
  for (const found of (await asked.console(command)).matchAll(pattern)) put(found);
}

const conferences: Reader = async (asked, put) => {
  const profiles = [
    ['conference-user', 'confbridge show profile users'],
    ['conference-bridge', 'confbridge show profile bridges'],
    ['conference-menu', 'confbridge show menus'],
  ] as const;
  for (const [kind, command] of profiles)
    await names(asked, command, /^(?!-)(\S+) *$/gm, ([, name]) => put(`${kind} ${name}`, ''));
};
const transports: Reader = async (asked, put) => {
  const found: string[] = [];
  await names(
    asked,
    'pjsip show transports',
    /^Transport:\s+(\S+)\s+(?:udp|tcp|tls|wss?|flow)\s/gm,
    ([, name]) => found.push(name!),
  );
  for (const name of found) {
    const shown = await asked.console(`pjsip show transport ${name}`);
    const settings = new Map(
      [...shown.matchAll(/^ (\w+) +: (\S*) *$/gm)].map(([, key, value]) => [key, value]),
    );
    put(`transport ${name}`, TRANSPORT_SETTINGS.map((key) => `${key}=${settings.get(key) ?? ''}`).join(' '));
  }
};
/** The lists behind each file; a file is read back by all readers of its kinds. */
const READERS: readonly { readonly kinds: readonly Kind[]; readonly read: Reader }[] = [
  {
    kinds: ['auth'],
    read: (a, put) => list(a, 'PJSIPShowAuths', (_, f) => put(`auth ${text(f, H.name)}`, mark(f))),
  },
  {
    kinds: ['aor'],
    read: (a, put) => list(a, 'PJSIPShowAors', (_, f) => put(`aor ${text(f, H.name)}`, mark(f))),
  },
  {
    kinds: ['endpoint'],
    read: (a, put) => list(a, 'PJSIPShowEndpoints', (_, f) => put(`endpoint ${text(f, H.name)}`, '')),
  },
  {
    kinds: ['registration'],
    read: (a, put) =>
      list(
        a,
        'PJSIPShowRegistrationsOutbound',
        (event, f) => {
          if (event === REGISTRATION) put(`registration ${text(f, H.name)}`, mark(f));
        },
        {},
        REGISTRATION,
      ),
  },
  { kinds: ['transport'], read: transports },
  {
    kinds: ['queue', 'member'],
    read: (a, put) =>
      list(a, 'QueueStatus', (event, f) => {
        const queue = text(f, H.queue);
        if (event === 'QueueParams') {
          const settings = QUEUE.map(([shown, h]) => `${shown}=${f.get(h) ?? ''}`);
          put(`queue ${queue}`, [`strategy=${text(f, H.strategy)}`, ...settings].join(' '));
        } else if (event === 'QueueMember' && text(f, H.membership) === 'static') {
          const name = text(f, H.memberName);
          const location = text(f, H.location);
          const state = text(f, H.state);
          put(`member ${queue} ${location}`, `name=${name} penalty=${text(f, H.penalty)} state=${state}`);
        }
      }),
  },
  {
    kinds: ['dialplan'],
    read: (a, put) =>
      list(a, 'ShowDialPlan', (_, f) => {
        if (text(f, H.registrar) !== 'pbx_config') return;
        const context = text(f, H.context);
        const include = f.get(H.include);
        if (include !== undefined) return put(`dialplan ${context} include ${include}`, '');
        const priority = f.get(H.priority);
        if (priority === undefined) return;
        const app = text(f, H.application);
        const at = `dialplan ${context},${text(f, H.extension)},${priority}`;
        put(at, priority === 'hint' ? app : `${app}(${text(f, H.data)})`);
      }),
  },
  {
    kinds: ['mailbox'],
    read: (a, put) =>
      list(a, 'VoicemailUsersList', (_, f) => put(`mailbox ${text(f, H.box)}@${text(f, H.boxContext)}`, '')),
  },
  {
    kinds: ['parking'],
    read: (a, put) =>
      list(a, 'Parkinglots', (_, f) => {
        const slots = `${text(f, H.start)}-${text(f, H.stop)}`;
        put(`parking ${text(f, H.lot)}`, `${slots} ${text(f, H.timeout)}`);
      }),
  },
  {
    kinds: ['music'],
    read: (a, put) =>
      names(a, 'moh show classes', /^Class: (\S+)\n\s*Mode: (\S+)/gm, ([, name, mode]) =>
        put(`music ${name}`, mode!),
      ),
  },
  { kinds: ['conference-user', 'conference-bridge', 'conference-menu'], read: conferences },
  {
    kinds: ['feature'],
    read: (a, put) =>
      names(a, 'features show', /^(\S+) +no def +(?:(\S+) *)?$/gm, ([, name, keys]) =>
        put(`feature ${name}`, keys ?? ''),
      ),
  },
];

/**
 * One endpoint with its credentials and addresses, as far as no list had them; nothing where the engine has none of that name.
 */
async function readEndpoint(asked: Asked, name: string, objects: Map<string, string>): Promise<void> {
  const missing = (key: string, frame: Frame): void => {
    if (!objects.has(key)) objects.set(key, mark(frame));
  };
  const row = (event: string, f: Frame): void => {
    if (event === 'EndpointDetail') objects.set(`endpoint ${name}`, mark(f));
    else if (event === 'AuthDetail') missing(`auth ${text(f, H.name)}`, f);
    else if (event === 'AorDetail') missing(`aor ${text(f, H.name)}`, f);
    else if (event === 'IdentifyDetail') missing(`identify ${text(f, H.name)}`, f);
  };
  await list(asked, 'PJSIPShowEndpoint', row, { Endpoint: name }).catch((error: unknown) => {
    if (!isNoList(error)) throw error;
  });
}

export interface Reading {
  readonly kinds: ReadonlySet<Kind>;
  /** Endpoints whose attributes are needed; of others only their existence. */
  readonly endpoints: readonly string[];
}
/**
 * All objects of these kinds in the engine, by kind and name. The engine needs quadratic time for a list of endpoints: where
 * there are many, `endpoints` must name them all, and only those are read.
 */
export async function readBack(asked: Asked, { kinds, endpoints }: Reading, many: boolean): Promise<Objects> {
  const objects = new Map<string, string>();
  const put: Put = (key, value) => void objects.set(key, value);
  const phones: readonly Kind[] = ['endpoint', 'auth', 'aor'];
  const wanted = READERS.filter(
    ({ kinds: own }) => own.some((kind) => kinds.has(kind)) && !(many && phones.includes(own[0]!)),
  );
  // All at once: the engine builds the next list while the previous one is read.
  await Promise.all(
    wanted.map(({ read }) =>
      read(asked, put).catch((error: unknown) => {
        if (!isNotThere(error)) throw error;
      }),
    ),
  );
  for (let i = 0; i < endpoints.length; i += AT_ONCE)
    await Promise.all(endpoints.slice(i, i + AT_ONCE).map((name) => readEndpoint(asked, name, objects)));
  return objects;
}

/** The applications the engine knows, in lower case. */
export async function readApplications(asked: Asked): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  await names(asked, 'core show applications', /^ *(\w+): /gm, ([, name]) => found.add(name!.toLowerCase()));
  return found;
}
