/** Changes to the draft before they are stored: pure, object by object, with findings by field. */
import type { ConfigChange } from '@offhook/contract/config.ts';
import { CONFIG_KINDS, CONFIG_SECRETS, SINGLE_KINDS } from '@offhook/contract/config-objects.ts';
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
/** Generated secrets of an object. */
export interface Made extends ObjectRef {
  readonly secrets: Record<string, string>;
}
const nameOf = ({ kind, key }: ObjectRef): Said => say`${wordOf(kind)} ${JSON.stringify(key)}`;
export const notFound = (ref: ObjectRef): ServiceError =>
  new ServiceError('not_found', say`there is no ${nameOf(ref)}`);

/**
 * Fields whose default has become narrower. A replacement that omits one keeps the stored value, so that an older file
 * does not remove a right.
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
/** True for a pattern without a country prefix, which also matches international numbers: after `+`, `00` or the `011` of North America. */
const leavesCountryOpen = (pattern: unknown): boolean =>
  typeof pattern === 'string' &&
  /^(?:(?:\+|00|011)[XZN]|0?X|(?:\+|00?|011)?[.!]$)/.test(pattern) &&
  /[.!]$/.test(pattern);
/** A new route without a class that matches international numbers is international. */
function withClass(kind: ConfigKind, object: unknown): unknown {
  if (kind !== 'outbound_route' || typeof object !== 'object' || object === null) return object;
  const { patterns, class: given } = object as { patterns?: unknown; class?: unknown };
  if (given !== undefined || !Array.isArray(patterns) || !patterns.some(leavesCountryOpen)) return object;
  return { ...object, class: 'international' };
}

/** Findings of the schema, each with its field. */
function* schemaFindings(
  error: z.ZodError,
  { kind, key, object }: { kind: ConfigKind; key: string; object: unknown },
): Generator<Finding> {
  const { schema } = CONFIG_KINDS[kind];
  for (const issue of error.issues)
    for (const { path, rule } of faultsOf(issue, object, schema)) yield findingOf({ kind, key }, path, rule);
}
/** Most findings; the rest of the input is not checked then. */
export const MOST_FINDINGS = 1_000;
const MAX_PART = 64;
/** Key in the object itself; empty if it has none. */
export function ownKey(kind: ConfigKind, object: unknown): string {
  const value =
    typeof object === 'object' && object !== null ? (object as Fields)[CONFIG_KINDS[kind].key] : undefined;
  // A kind with a single object does not need its key.
  if (SINGLE_KINDS.has(kind) && value === undefined) return 'site';
  return typeof value === 'string' ? value.slice(0, MAX_PART) : '';
}

/** Collects changes of a model and their findings. `etagOf`: public etag of an object. */
export class Edit {
  readonly #before: Model;
  readonly #etagOf: (object: StoredObject) => string;
  readonly #touched = new Map<ConfigKind, Map<string, StoredObject | null>>();
  readonly #made = new Map<string, Made>();
  readonly #findings: Finding[] = [];

  constructor(before: Model, etagOf: (object: StoredObject) => string) {
    this.#before = before;
    this.#etagOf = etagOf;
  }
  get findings(): readonly Finding[] {
    return this.#findings;
  }
  /** Throws `not_found`, `name_taken`, `precondition_failed`, and `invalid_request` for an invalid name. */
  apply(change: ConfigChange): void {
    const { kind } = change;
    if (change.op === 'create') {
      const key = ownKey(kind, change.object);
      if (this.#find({ kind, key }) !== null)
        throw new ServiceError('name_taken', say`there is a ${nameOf({ kind, key })} already`);
      this.#put(kind, change.object, null);
      return;
    }
    const ref = { kind, key: change.key };
    const old = this.#find(ref);
    if (change.op === 'put' && old === null && change.if_match === undefined) {
      if (!change.create) throw notFound(ref);
      this.#put(kind, change.object, change.key);
      return;
    }
    if (old === null) throw notFound(ref);
    this.#check(ref, old, change.if_match);
    if (change.op === 'delete') this.#set(ref, null);
    else if (change.op === 'patch') {
      const result = this.#parsed(kind, mergePatch(old.body, change.patch), change.key, old);
      if (result !== null) {
        this.#keep(result);
        this.#staysAt(old, result.object, change.patch);
      }
    } else if (change.create)
      throw new ServiceError('precondition_failed', say`there is a ${nameOf(ref)} already`, {
        body: { etag: this.#etagOf(old) },
      });
    else this.#put(kind, change.object, change.key);
  }
  /** Puts a new or changed object of a document; returns its own key, empty if it has none. */
  put(kind: ConfigKind, object: unknown): string {
    this.#put(kind, object, null);
    return ownKey(kind, object);
  }
  wrong(finding: Finding): void {
    if (this.#findings.length < MOST_FINDINGS) this.#findings.push(finding);
  }
  remove(ref: ObjectRef): void {
    this.#set(ref, null);
  }
  /** The last state of each changed object; a new one has the id 0. */
  changes(): ObjectChange[] {
    return [...this.#touched].flatMap(([kind, map]) =>
      [...map].flatMap(([key, object]) => {
        const old = this.#before.of(kind).get(key) as StoredObject | undefined;
        return old?.etag === object?.etag ? [] : [{ kind, key, object }];
      }),
    );
  }
  /** Secrets that the service made for objects without them. */
  get made(): readonly Made[] {
    return [...this.#made.values()];
  }

  #find({ kind, key }: ObjectRef): StoredObject | null {
    const own = this.#touched.get(kind)?.get(key);
    return own === undefined ? (this.#before.of(kind).get(key) ?? null) : own;
  }
  #set({ kind, key }: ObjectRef, object: StoredObject | null): void {
    let map = this.#touched.get(kind);
    if (map === undefined) this.#touched.set(kind, (map = new Map()));
    map.set(key, object);
    this.#made.delete(`${kind} ${key}`);
  }
  /** The stored form of a given object; null after a finding about it. */
  #parsed(kind: ConfigKind, given: unknown, key: string | null, old: StoredObject | null) {
    const shape = CONFIG_KINDS[kind].schema as z.ZodType<ConfigBody<ConfigKind>>;
    const result = shape.safeParse(given);
    const name = key ?? ownKey(kind, given);
    if (!result.success) {
      for (const finding of schemaFindings(result.error, { kind, key: name, object: given })) {
        if (this.#findings.length >= MOST_FINDINGS) break;
        this.#findings.push(finding);
      }
      return null;
    }
    const { token } = result.data as { readonly token?: string };
    // The address with this token serves SIP passwords: only a hand-over shows the token, and no request may choose it.
    if (
      kind === 'phone' &&
      token !== undefined &&
      token !== (old?.body as ConfigBody<'phone'> | undefined)?.token
    ) {
      this.wrong(findingOf({ kind, key: name }, 'token', 'is generated; send null for a new one'));
      return null;
    }
    const full = withSecrets(kind, result.data);
    const object = storedObject(old?.id ?? 0, kind, full);
    if (key !== null && object.key !== key) {
      const field = CONFIG_KINDS[kind].key;
      const said = say`is ${JSON.stringify(key)} and cannot be renamed; create a new object`;
      this.#findings.push(findingOf({ kind, key }, field, said));
      return null;
    }
    return { object, given: result.data as Fields };
  }
  #check(ref: ObjectRef, object: StoredObject, ifMatch: string | undefined): void {
    if (ifMatch === undefined || ifMatch === this.#etagOf(object)) return;
    throw new ServiceError('precondition_failed', say`${nameOf(ref)} was changed meanwhile`, {
      body: { etag: this.#etagOf(object) },
    });
  }
  #keep({ object, given }: { object: StoredObject; given: Fields }): void {
    const body = object.body as Fields;
    const secrets = CONFIG_SECRETS[object.kind].flatMap((name) =>
      given[name] === undefined && typeof body[name] === 'string' ? [[name, body[name]] as const] : [],
    );
    this.#set(object, object);
    if (secrets.length > 0 && object.kind !== 'phone')
      this.#made.set(`${object.kind} ${object.key}`, {
        kind: object.kind,
        key: object.key,
        secrets: Object.fromEntries(secrets),
      });
  }
  #put(kind: ConfigKind, object: unknown, key: string | null): void {
    const old = this.#find({ kind, key: key ?? ownKey(kind, object) });
    const result = this.#parsed(
      kind,
      old === null ? withClass(kind, object) : keepSecrets(old, keepNarrowed(old, object)),
      key,
      old,
    );
    if (result === null) return;
    this.#keep(result);
    if (old !== null) this.#staysAt(old, result.object, object);
  }
  /** A trunk with another address needs its password again, because the stored one would be sent there. */
  #staysAt(old: StoredObject, next: StoredObject, given: unknown): void {
    if (old.kind !== 'trunk') return;
    const [was, is] = [old.body, next.body] as [ConfigBody<'trunk'>, ConfigBody<'trunk'>];
    const moved = was.password === undefined || is.password === undefined ? null : movedTo(was, is);
    if (moved === null || typeof (given as Fields)['password'] === 'string') return;
    const said = say`is needed again, or null, because ${moved} changes: the kept password would be used at another address`;
    this.#findings.push(findingOf({ kind: 'trunk', key: old.key }, 'password', said));
  }
}
