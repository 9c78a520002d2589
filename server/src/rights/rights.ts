/** Rights of every principal; one place for REST, the stream and webhooks. */
import { SCOPES, WHOLE_SITE_SCOPES } from '@offhook/contract/keys.ts';
import type { Scope } from '@offhook/contract/keys.ts';
import type { TopicNoun } from '@offhook/contract/stream.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import { ServiceError } from '../core/errors.ts';

/** Limits of an API key; `null` means every queue or extension. */
export interface KeyRights {
  readonly id: number;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly queues: readonly string[] | null;
  readonly extensions: readonly string[] | null;
  /** The wallboard of a display key, and how it shows callers. */
  readonly board?: { readonly id: number; readonly callers: CallersShown };
}
/** `none`: the board shows no callers. */
export type CallersShown = 'full' | 'last_digits' | 'none';
export interface Principal {
  /** Empty for an API key. */
  readonly extension: string;
  /** `supervisor` for an API key, whose scopes and objects narrow it. */
  readonly level: PersonLevel;
  readonly key: KeyRights | null;
  /** Time when the person received the extension, ms since 1970; 0 or absent for its first holder. */
  readonly since_ms?: number;
  /** Time when the person was added to the site, ms since 1970; 0 or absent if unknown. */
  readonly known_ms?: number;
}
/** Every object of a kind (`null`) or the named ones; an empty list grants nothing. */
export type Objects = readonly string[] | null;
const NONE: Objects = [];

export const reaches = (objects: Objects, name: string): boolean =>
  objects === null || objects.includes(name);
/** Whether `objects` includes all of `some`. */
export const covers = (objects: Objects, some: Objects): boolean =>
  objects === null || (some !== null && some.every((name) => objects.includes(name)));
const byKey = (who: Principal, scope: Scope, objects: (key: KeyRights) => Objects): Objects =>
  who.key === null || !who.key.scopes.includes(scope) ? NONE : objects(who.key);
/**
 * Extensions whose calls, history and recordings a key reaches. These can be of any queue, so a key limited to some
 * queues reaches only those of the extensions that it names.
 */
const callExtensionsOf = ({ queues, extensions }: KeyRights): Objects =>
  queues !== null && extensions === null ? NONE : extensions;
const supervises = (who: Principal): boolean => who.key === null && includesLevel(who.level, 'supervisor');

/** Extensions whose presence may be seen. */
export const presenceOf = (who: Principal): Objects =>
  who.key === null ? null : byKey(who, 'directory:read', (key) => key.extensions);
/** Extensions whose calls may be seen (`read`) or steered (`control`). */
export const callsOf = (who: Principal, access: 'read' | 'control' = 'read'): Objects =>
  supervises(who)
    ? null
    : who.key === null
      ? [who.extension]
      : byKey(who, `calls:${access}`, callExtensionsOf);
/** Parked calls may be seen by every person, who may take any of them, and by keys without a limit to objects. */
const seesParking = (who: Principal): boolean => who.key === null || callsOf(who) === null;
/** Agents that may be seen or changed: oneself, or all for a supervisor. */
export const agentsOf = (who: Principal, access: 'read' | 'control' = 'read'): Objects =>
  supervises(who)
    ? null
    : who.key === null
      ? includesLevel(who.level, 'agent')
        ? [who.extension]
        : NONE
      : byKey(who, `agents:${access}`, (key) => key.extensions);
/**
 * Agents whose statistics may be seen; never by a display or a key limited to some queues, since they count all queues
 * of an agent.
 */
export const agentFiguresOf = (who: Principal): Objects =>
  who.key === null || (who.key.board === undefined && who.key.queues === null) ? agentsOf(who) : NONE;
/** Queues that may be seen or changed. `own`: queues of the person; only a supervisor changes queues. */
export const queuesOf = (
  who: Principal,
  own: readonly string[],
  access: 'read' | 'control' = 'read',
): Objects =>
  supervises(who)
    ? null
    : who.key === null
      ? access === 'read' && includesLevel(who.level, 'agent')
        ? own
        : NONE
      : byKey(who, `queues:${access}`, (key) => key.queues);
/** Extensions whose history may be seen (`read`) or added to (`write`). */
export const historyOf = (who: Principal, access: 'read' | 'write' = 'read'): Objects =>
  supervises(who)
    ? null
    : who.key === null
      ? [who.extension]
      : byKey(who, `history:${access}`, callExtensionsOf);
/**
 * Time from which a person may see events of the extension, ms since 1970; earlier ones belong to the previous holder.
 * Supervisors and keys see all of them.
 */
export const historySince = (who: Principal): number =>
  who.key !== null || supervises(who) ? 0 : (who.since_ms ?? 0);
/** Time from which a person may see events of parked calls, ms since 1970. Supervisors and keys see all of them. */
export const parkingSince = (who: Principal): number =>
  who.key !== null || supervises(who) ? 0 : (who.known_ms ?? 0);
/**
 * Persons and queues whose callbacks may be seen (`read`) or handled (`write`): a person's own and its
 * queues', every queue's for a supervisor. `since_ms`: older ones of the person belong to the previous holder
 * of the extension.
 */
export const callbacksOf = (who: Principal, own: readonly string[], access: 'read' | 'write') => ({
  extensions: who.key === null ? [who.extension] : historyOf(who, access),
  queues: who.key === null ? queuesOf(who, own) : byKey(who, `history:${access}`, (key) => key.queues),
  since_ms: who.key === null ? (who.since_ms ?? 0) : 0,
});
/** Extensions whose recordings may be played; `own`: whether the site lets persons play their own. */
export const recordingsOf = (who: Principal, own: boolean): Objects =>
  supervises(who)
    ? null
    : who.key === null
      ? own
        ? [who.extension]
        : NONE
      : byKey(who, 'recordings:read', callExtensionsOf);
/** Shared customers may be seen by every person, and by keys for the whole site. */
const seesPhonebook = ({ key }: Principal): boolean => key === null || grants(key, 'phonebook:read');
/** The configuration may be seen by administrators, and by keys for the whole site. */
const seesConfig = ({ key, level }: Principal): boolean =>
  key === null ? includesLevel(level, 'admin') : grants(key, 'config:read');
/** Whether the engine's state may be seen. */
const seesSystem = ({ key, level }: Principal): boolean =>
  key === null ? includesLevel(level, 'admin') : key.scopes.includes('system:read');

/** False for a key that is limited to some queues or extensions. */
const isWholeSite = ({ queues, extensions }: KeyRights): boolean => queues === null && extensions === null;
/** True for a key that has the scope, and is not limited if the scope covers the whole site. */
export const grants = (key: KeyRights, scope: Scope): boolean =>
  key.scopes.includes(scope) && (!WHOLE_SITE_SCOPES.has(scope) || isWholeSite(key));
export const limitedKey = (): ServiceError =>
  new ServiceError('forbidden', 'this API key is limited to some queues or extensions');
/** Throws `forbidden` for a key limited to some queues or extensions. */
export function checkWholeSite({ key }: Pick<Principal, 'key'>): void {
  if (key !== null && !isWholeSite(key)) throw limitedKey();
}
/** Throws `forbidden` for a key that may not see the parked calls. */
export function checkParking(who: Principal): void {
  if (!seesParking(who)) throw limitedKey();
}

/**
 * Names in a row's `topics` that match a topic; null without access. A wide topic is narrowed to the visible
 * objects; a person below supervisor names `calls/mine` and `history/mine`. `own`: queues of the person.
 * Checked again at delivery, because rights change.
 */
export function heardAs(who: Principal, topic: string, own: readonly string[]): readonly string[] | null {
  const [first = '', ...rest] = topic.split('/');
  const noun = first as TopicNoun;
  const name = rest.length === 0 ? null : rest.join('/');
  switch (noun) {
    case 'presence':
      return named('presence', name, presenceOf(who));
    case 'agents':
      return named('agents', name, agentsOf(who));
    case 'queues':
      return named('queues', name, queuesOf(who, own));
    case 'calls':
    case 'history': {
      const objects = noun === 'calls' ? callsOf(who) : historyOf(who);
      if (name === 'mine') return who.extension === '' ? null : [`${noun}/mine/${who.extension}`];
      if (name !== null || (who.key === null && objects !== null)) return null;
      if (objects === null) return [noun];
      return objects.length === 0 ? null : objects.map((extension) => `${noun}/mine/${extension}`);
    }
    case 'alerts':
      if (name !== null) return null;
      if (callsOf(who) === null) return ['alerts'];
      return who.key === null && who.extension !== '' ? [`alerts/mine/${who.extension}`] : null;
    case 'parking':
      return name === null && seesParking(who) ? ['parking'] : null;
    case 'phonebook':
      if (name === 'mine') return who.extension === '' ? null : [`phonebook/mine/${who.extension}`];
      return name === 'shared' && seesPhonebook(who) ? ['phonebook/shared'] : null;
    case 'trunks':
      return name === null && (supervises(who) || who.key?.scopes.includes('system:read') === true)
        ? ['trunks']
        : null;
    case 'config':
      return name === null && seesConfig(who) ? ['config'] : null;
    case 'system':
      return name === null && seesSystem(who) ? ['system'] : null;
    default:
      noun satisfies never;
      return null;
  }
}
/** The scope that lets an API key receive a topic; undefined if none does. */
export function scopeOf(topic: string): Scope | undefined {
  const all = { id: 0, name: '', queues: null, extensions: null };
  return SCOPES.find(
    (scope) =>
      heardAs({ extension: '', level: 'supervisor', key: { ...all, scopes: [scope] } }, topic, []) !== null,
  );
}
function named(noun: string, name: string | null, objects: Objects): readonly string[] | null {
  if (name !== null) return reaches(objects, name) ? [`${noun}/${name}`] : null;
  if (objects === null) return [noun];
  return objects.length === 0 ? null : objects.map((object) => `${noun}/${object}`);
}
