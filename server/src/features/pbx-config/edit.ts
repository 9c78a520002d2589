/** Changes to the draft before they are kept: pure, one object after another, and what is wrong with them by field. */
import type { ConfigChange } from '@offhook/contract/config.ts';
import { CONFIG_KINDS, CONFIG_SECRETS } from '@offhook/contract/config-objects.ts';
import type { ConfigBody, ConfigKind } from '@offhook/contract/config-objects.ts';
import type { z } from 'zod';
import { faultsOf } from '../../core/check-input.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import { findingOf, wordOf } from './findings.ts';
import type { Finding } from './findings.ts';
import { mergePatch } from './merge-patch.ts';
import { storedObject } from './model.ts';
import type { Model, ObjectChange, ObjectRef, StoredObject } from './model.ts';
import { keepSecrets, movedTo, withSecrets } from './secrets.ts';

type Fields = Readonly<Record<string, unknown>>;
/** Secrets nobody gave, by the object they were made up for. */
export interface Made extends ObjectRef {
  readonly secrets: Record<string, string>;
}
export interface Edit {
  /** Throws `not_found`, `name_taken`, `precondition_failed` and, for what is no name at all, `invalid_request`. */
  apply(change: ConfigChange): void;
  /** Puts an object of a document, made or changed; the key it gives itself, empty where it has none. */
  put(kind: ConfigKind, object: unknown): string;
  wrong(finding: Finding): void;
  remove(ref: ObjectRef): void;
  /** What was wrong with single objects. */
  readonly findings: readonly Finding[];
  /** The last state of each object that was touched; an id of 0 is one that has none yet. */
  changes(): ObjectChange[];
  readonly made: readonly Made[];
}
const nameOf = ({ kind, key }: ObjectRef): Said => say`${wordOf(kind)} ${JSON.stringify(key)}`;
export const notFound = (ref: ObjectRef): ServiceError =>
  new ServiceError('not_found', say`there is no ${nameOf(ref)}`);

/**
 * Fields whose default became narrower: a replacement that omits one keeps the stored value, so that an older file does not
 * remove a right.
 */
const NARROWED: Partial<Record<ConfigKind, readonly string[]>> = {
  extension: ['call_permission'],
  trunk: ['max_calls'],
  outbound_route: ['class'],
};
function keepNarrowed(old: StoredObject, object: unknown): unknown {
  const left = (NARROWED[old.kind] ?? []).filter(
    (name) => typeof object === 'object' && object !== null && !(name in object) && name in old.body,
  );
  if (left.length === 0) return object;
  const body = old.body as Fields;
  return { ...(object as Fields), ...Object.fromEntries(left.map((name) => [name, body[name]])) };
}
/** True for a pattern without a country prefix, which also matches international numbers. */
const leavesCountryOpen = (pattern: unknown): boolean =>
  typeof pattern === 'string' &&
  /^(?:(?:\+|00)[XZN]|0?X|(?:\+|00?)?[.!]$)/.test(pattern) &&
  /[.!]$/.test(pattern);
/** A new route without a class that matches international numbers is international. */
function withClass(kind: ConfigKind, object: unknown): unknown {
  if (kind !== 'outbound_route' || typeof object !== 'object' || object === null) return object;
  const { patterns, class: given } = object as { patterns?: unknown; class?: unknown };
  if (given !== undefined || !Array.isArray(patterns) || !patterns.some(leavesCountryOpen)) return object;
  return { ...object, class: 'international' };
}

/** What the schema says, each with the field. */
function* schemaFindings(
  error: z.ZodError,
  { kind, key, object }: { kind: ConfigKind; key: string; object: unknown },
): Generator<Finding> {
  for (const issue of error.issues)
    for (const { path, rule } of faultsOf(issue, object)) yield findingOf({ kind, key }, path, rule);
}
/** Where so much is wrong, the rest is not looked at. */
export const MOST_FINDINGS = 1_000;
const MAX_PART = 64;
/** The key an object gives itself; empty where it gives none. */
export function ownKey(kind: ConfigKind, object: unknown): string {
  const value =
    typeof object === 'object' && object !== null ? (object as Fields)[CONFIG_KINDS[kind].key] : undefined;
  // There is one of them, and it need not say so.
  if (kind === 'settings' && value === undefined) return 'site';
  return typeof value === 'string' ? value.slice(0, MAX_PART) : '';
}

/** `etagOf` gives what the outside knows an object's state by. */
export function beginEdit(before: Model, etagOf: (object: StoredObject) => string): Edit {
  const touched = new Map<ConfigKind, Map<string, StoredObject | null>>();
  const findings: Finding[] = [];
  const made = new Map<string, Made>();

  const find = ({ kind, key }: ObjectRef): StoredObject | null => {
    const own = touched.get(kind)?.get(key);
    return own === undefined ? (before.of(kind).get(key) ?? null) : own;
  };
  const set = ({ kind, key }: ObjectRef, object: StoredObject | null): void => {
    let map = touched.get(kind);
    if (map === undefined) touched.set(kind, (map = new Map()));
    map.set(key, object);
    made.delete(`${kind} ${key}`);
  };
  /** The stored form of what was given for `ref`, null where the schema refuses it. */
  function parsed(kind: ConfigKind, given: unknown, key: string | null, old: StoredObject | null) {
    const shape = CONFIG_KINDS[kind].schema as z.ZodType<ConfigBody<ConfigKind>>;
    const result = shape.safeParse(given);
    const name = key ?? ownKey(kind, given);
    if (!result.success) {
      for (const finding of schemaFindings(result.error, { kind, key: name, object: given })) {
        if (findings.length >= MOST_FINDINGS) break;
        findings.push(finding);
      }
      return null;
    }
    const full = withSecrets(kind, result.data);
    const object = storedObject(old?.id ?? 0, kind, full);
    if (key !== null && object.key !== key) {
      const field = CONFIG_KINDS[kind].key;
      const said = say`it is ${JSON.stringify(key)} and cannot be renamed: make a new one`;
      findings.push(findingOf({ kind, key }, field, said));
      return null;
    }
    return { object, given: result.data as Fields };
  }
  function keep({ object, given }: { object: StoredObject; given: Fields }): void {
    const body = object.body as Fields;
    const secrets = CONFIG_SECRETS[object.kind].flatMap((name) =>
      given[name] === undefined && typeof body[name] === 'string' ? [[name, body[name]] as const] : [],
    );
    set(object, object);
    if (secrets.length > 0)
      made.set(`${object.kind} ${object.key}`, {
        kind: object.kind,
        key: object.key,
        secrets: Object.fromEntries(secrets),
      });
  }
  function check(ref: ObjectRef, object: StoredObject, ifMatch: string | undefined): void {
    if (ifMatch === undefined || ifMatch === etagOf(object)) return;
    throw new ServiceError('precondition_failed', say`${nameOf(ref)} was changed meanwhile`, {
      body: { etag: etagOf(object) },
    });
  }
  const put = (kind: ConfigKind, object: unknown, key: string | null): void => {
    const old = find({ kind, key: key ?? ownKey(kind, object) });
    const result = parsed(
      kind,
      old === null ? withClass(kind, object) : keepSecrets(old, keepNarrowed(old, object)),
      key,
      old,
    );
    if (result === null) return;
    keep(result);
    if (old !== null) staysAt(old, result.object, object);
  };
  /** The password of a trunk must be given again with another address, because it would be sent there. */
  function staysAt(old: StoredObject, next: StoredObject, given: unknown): void {
    if (old.kind !== 'trunk') return;
    const [was, is] = [old.body, next.body] as [ConfigBody<'trunk'>, ConfigBody<'trunk'>];
    const moved = was.password === undefined || is.password === undefined ? null : movedTo(was, is);
    if (moved === null || typeof (given as Fields)['password'] === 'string') return;
    const said = say`give it again, or null: ${moved} changes, and a kept password would be used at another address`;
    findings.push(findingOf({ kind: 'trunk', key: old.key }, 'password', said));
  }

  return {
    apply(change) {
      const { kind } = change;
      if (change.op === 'create') {
        const key = ownKey(kind, change.object);
        if (find({ kind, key }) !== null)
          throw new ServiceError('name_taken', say`there is a ${nameOf({ kind, key })} already`);
        put(kind, change.object, null);
        return;
      }
      const ref = { kind, key: change.key };
      const old = find(ref);
      if (change.op === 'put' && old === null && change.if_match === undefined) {
        if (!change.create) throw notFound(ref);
        put(kind, change.object, change.key);
        return;
      }
      if (old === null) throw notFound(ref);
      check(ref, old, change.if_match);
      if (change.op === 'delete') set(ref, null);
      else if (change.op === 'patch') {
        const result = parsed(kind, mergePatch(old.body, change.patch), change.key, old);
        if (result !== null) {
          keep(result);
          staysAt(old, result.object, change.patch);
        }
      } else if (change.create)
        throw new ServiceError('precondition_failed', say`there is a ${nameOf(ref)} already`, {
          body: { etag: etagOf(old) },
        });
      else put(kind, change.object, change.key);
    },
    put(kind, object) {
      put(kind, object, null);
      return ownKey(kind, object);
    },
    wrong(finding) {
      if (findings.length < MOST_FINDINGS) findings.push(finding);
    },
    remove: (ref) => set(ref, null),
    findings,
    changes: () =>
      [...touched].flatMap(([kind, map]) =>
        [...map].flatMap(([key, object]) => {
          const old = before.of(kind).get(key) as StoredObject | undefined;
          return old?.etag === object?.etag ? [] : [{ kind, key, object }];
        }),
      ),
    get made() {
      return [...made.values()];
    },
  };
}
