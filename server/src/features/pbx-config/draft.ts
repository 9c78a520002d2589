/** The draft of the configuration: every write is checked and stored as a whole. */
import { changedFields } from './audit-detail.ts';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { MAX_NAMED, maxObjects } from '@offhook/contract/config.ts';
import type { ConfigChange, ConfigDocument } from '@offhook/contract/config.ts';
import { KINDS } from '@offhook/contract/config-objects.ts';
import { ServiceError } from '../../core/errors.ts';
import { asSaid, say } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import { writeQueue } from '../../core/queue.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import { checkModel } from './check.ts';
import { findingOf, sentFinding, wordOf } from './findings.ts';
import type { Finding } from './findings.ts';
import type { House } from './check.ts';
import { countDifferences } from './differences.ts';
import { objectsOf } from './document.ts';
import { Edit, MOST_FINDINGS, notFound } from './edit.ts';
import type { Made } from './edit.ts';
import { createEtags } from './etags.ts';
import type { Etags } from './etags.ts';
import { allObjects, difference, referencesTo, withObjects } from './model.ts';
import type { Model, ObjectChange, ObjectRef, StoredObject } from './model.ts';
import type { ObjectStore } from './objects.ts';

export interface DraftDeps {
  readonly objects: ObjectStore;
  readonly audit: Required<Audit>;
  readonly clock: Clock;
  readonly house: House;
}
export interface Written {
  readonly differs: ReturnType<typeof countDifferences>;
  readonly made: readonly Made[];
}
export interface Taking {
  readonly mode: 'replace' | 'merge';
  /** The etag of the draft. */
  readonly ifMatch?: string | undefined;
  /** True to check the document only. */
  readonly dry: boolean;
}
const PATIENCE_MS = 20_000;
/** Objects checked before other work runs; one takes about 50 µs. */
const AT_ONCE = 100;
/** Most objects of one write that the audit trail names. */
const AUDIT_NAMES = 20;

/** Name of a change's author in the draft and in versions. */
export const authorOf = (caller: Caller): string =>
  caller.key === null ? caller.extension : caller.username;
function refuse(findings: readonly Finding[], code: 'invalid_request' | 'invalid_configuration'): void {
  if (findings.length === 0) return;
  const [{ kind, key, path, said }] = findings as [Finding];
  const where = [kind, key, path].filter(Boolean).join(' ');
  const rule = asSaid(said);
  const more = findings.length - 1;
  const detail = more === 0 ? say`${where}: ${rule}` : say`${where}: ${rule} (and ${more} more)`;
  throw new ServiceError(code, detail, {
    bodyIn: (language) => ({
      findings: findings.slice(0, MAX_NAMED).map((finding) => sentFinding(finding, language)),
      findings_total: findings.length,
    }),
  });
}

/** The model after an edit; throws if an edit must not result in this model. */
function next(actor: Actor, before: Model, edit: Edit): Model {
  refuse(edit.findings, 'invalid_request');
  const changes = edit.changes();
  const after = withObjects(before, changes);
  checkAdministrators(actor, before, changes);
  for (const kind of KINDS)
    if (after.of(kind).size > Math.max(maxObjects(kind), before.of(kind).size))
      throw new ServiceError('limit_reached', say`a site has at most ${maxObjects(kind)} of ${kind}`);
  checkUse(after, changes);
  return after;
}

export class Draft {
  readonly #deps: DraftDeps;
  readonly objects: ObjectStore;
  readonly etags: Etags = createEtags();
  readonly #writes = writeQueue(PATIENCE_MS);
  readonly #known = new WeakMap<Model, readonly Finding[]>();

  constructor(deps: DraftDeps) {
    this.#deps = deps;
    this.objects = deps.objects;
  }
  /** The current etag of the draft. */
  etag(): string {
    return this.etags.ofDraft(this.objects.applied(), this.objects.draft());
  }
  /**
   * Throws `invalid_request` and `invalid_configuration` with `findings`, `in_use` with `used_by`, `not_found`,
   * `name_taken`, `forbidden`, `precondition_failed`, `limit_reached` and `store_unavailable`. `ifMatch`: draft's etag.
   */
  change(actor: Actor, changes: readonly ConfigChange[], ifMatch?: string): Promise<Written> {
    return this.#writes.run(async () => {
      this.#checkMatch(ifMatch);
      const before = this.objects.draft();
      return this.#write(actor, 'config.changed', before, await this.#applied(changes, before));
    });
  }
  /** Runs work that replaces the draft while no other write of the draft runs, because each begins with what it has read. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#writes.run(work);
  }
  /** Findings of the draft after these changes, which are not stored. Throws the errors of `change`. */
  async findings(actor: Actor, changes: readonly ConfigChange[]): Promise<readonly Finding[]> {
    const before = this.objects.draft();
    const edit = await this.#applied(changes, before);
    return edit.findings.length > 0 ? edit.findings : this.#check(next(actor, before, edit));
  }
  /**
   * Puts every object of a document; `replace` removes objects that the document lacks. `differs` compares with the
   * applied model. Throws the errors of `change`.
   */
  take(actor: Actor, document: ConfigDocument, { mode, ifMatch, dry }: Taking): Promise<Written> {
    const { objects } = this;
    return this.#writes.run(async () => {
      this.#checkMatch(ifMatch);
      const before = objects.draft();
      const edit = new Edit(before, this.etags.of);
      const there = new Set<string>();
      let i = 0;
      for (const [kind, object] of objectsOf(document)) {
        if (++i % AT_ONCE === 0) await turnOfOthers();
        if (edit.findings.length >= MOST_FINDINGS) break;
        const ref = edit.put(kind, object);
        if (there.has(`${kind} ${ref}`))
          edit.wrong(findingOf({ kind, key: ref }, '', 'must not occur twice'));
        there.add(`${kind} ${ref}`);
      }
      if (mode === 'replace')
        for (const { kind, key } of allObjects(before))
          if (!there.has(`${kind} ${key}`)) edit.remove({ kind, key });
      if (dry) {
        const after = next(actor, before, edit);
        refuse(this.#fresh(before, after), 'invalid_configuration');
        return { differs: countDifferences(objects.applied(), after), made: [] };
      }
      const { made } = await this.#write(actor, 'config.imported', before, edit);
      return { differs: countDifferences(objects.applied(), objects.draft()), made };
    });
  }
  /** Resets the draft, or one object of it, to the applied state; resolves with the number of reset objects. */
  discard(actor: Actor, only?: ObjectRef): Promise<number> {
    const { objects } = this;
    return this.#writes.run(async () => {
      const before = objects.draft();
      const rows = difference(before, objects.applied()).filter(
        (r) => only === undefined || (r.kind === only.kind && r.key === only.key),
      );
      if (only !== undefined && rows.length === 0) throw notFound(only);
      const after = only === undefined ? objects.applied() : withObjects(before, rows);
      if (only !== undefined) {
        checkAdministrators(actor, before, rows);
        checkUse(after, rows);
        refuse(this.#fresh(before, after), 'invalid_configuration');
      }
      if (rows.length > 0) await this.#keep(actor, 'config.discarded', after, rows);
      return rows.length;
    });
  }

  #check(model: Model): readonly Finding[] {
    let findings = this.#known.get(model);
    if (findings === undefined) this.#known.set(model, (findings = checkModel(model, this.#deps.house)));
    return findings;
  }
  #checkMatch(ifMatch: string | undefined): void {
    if (ifMatch !== undefined && ifMatch !== this.etag())
      throw new ServiceError('precondition_failed', 'the draft was changed meanwhile', {
        body: { etag: this.etag() },
      });
  }
  #fresh(before: Model, after: Model): Finding[] {
    const old = new Set(this.#check(before).map((f) => JSON.stringify(f)));
    return this.#check(after).filter((f) => !old.has(JSON.stringify(f)));
  }
  async #write(actor: Actor, action: string, before: Model, edit: Edit): Promise<Written> {
    const after = next(actor, before, edit);
    refuse(this.#fresh(before, after), 'invalid_configuration');
    const changes = edit.changes();
    const added = changes.flatMap(({ object }) => (object?.id === 0 ? [object] : []));
    const named = new Map((await this.objects.identify(added)).map((o) => [`${o.kind} ${o.key}`, o]));
    const draft = withObjects(
      before,
      changes.map((c) => ({ ...c, object: named.get(`${c.kind} ${c.key}`) ?? c.object })),
    );
    if (changes.length > 0) await this.#keep(actor, action, draft, changes);
    const touched = new Set(changes.map((c) => `${c.kind} ${c.key}`));
    return {
      differs: countDifferences(before, draft),
      made: edit.made.filter((m) => touched.has(`${m.kind} ${m.key}`)),
    };
  }
  async #keep(
    { caller, ip }: Actor,
    action: string,
    draft: Model,
    changes: readonly ObjectRef[],
  ): Promise<void> {
    const { audit, clock } = this.#deps;
    const author = authorOf(caller);
    const names = changes.slice(0, AUDIT_NAMES).map(({ kind, key }) => `${kind}:${key}`);
    const entry = {
      action,
      actor: author,
      object: changes.length === 1 ? names[0]! : null,
      outcome: 'ok' as const,
      ip,
      detail:
        changes.length === 1
          ? changedFields(this.objects.draft(), draft, changes[0]!)
          : { objects: changes.length, first: names.join(' ') },
    };
    await this.objects.setDraft(draft, { author, at: clock.now() }, (trx) => audit.recordIn(trx, entry));
  }
  async #applied(changes: readonly ConfigChange[], before: Model): Promise<Edit> {
    const edit = new Edit(before, this.etags.of);
    for (const [i, change] of changes.entries()) {
      if (i % AT_ONCE === AT_ONCE - 1) await turnOfOthers();
      edit.apply(change);
      if (edit.findings.length >= MOST_FINDINGS) break;
    }
    return edit;
  }
}

/** Label of an object: `the menu "Main office" (main)`. */
function titleIn({ kind, key, body }: StoredObject): Said {
  const { title, name } = body as { readonly title?: unknown; readonly name?: unknown };
  const texts = [title, name].filter((one) => typeof one === 'string');
  const shown = texts.find((one) => one !== '' && one !== key);
  const what = wordOf(kind);
  return shown === undefined ? say`the ${what} ${key}` : say`the ${what} "${String(shown)}" (${key})`;
}
/** Throws `in_use` if a removed object is still referenced. O(objects). */
function checkUse(after: Model, changes: readonly ObjectChange[]): void {
  const gone = new Set(changes.flatMap((c) => (c.object === null ? [`${c.kind} ${c.key}`] : [])));
  if (gone.size === 0) return;
  const users = [...referencesTo(after, ({ kind, key }) => gone.has(`${kind} ${key}`))];
  const [first] = users;
  if (first === undefined) return;
  const [title, path] = [titleIn(first.object), first.path];
  const more = users.length - 1;
  const detail =
    more === 0
      ? say`it is used by ${title}, in ${path}`
      : say`it is used by ${title}, in ${path} and in ${more} more places`;
  throw new ServiceError('in_use', detail, {
    body: {
      used_by: users
        .slice(0, MAX_NAMED)
        .map(({ object: { kind, key }, path: at }) => ({ kind, key, path: at })),
    },
  });
}
/** API keys may neither change nor create administrators. */
function checkAdministrators({ caller }: Actor, before: Model, changes: readonly ObjectChange[]): void {
  if (caller.key === null) return;
  const admin = (object: StoredObject | null | undefined): boolean =>
    object?.kind === 'extension' && (object as StoredObject<'extension'>).body.level === 'admin';
  for (const { kind, key, object } of changes)
    if (admin(object) || admin(before.of(kind).get(key) as StoredObject | undefined))
      throw new ServiceError(
        'forbidden',
        say`an API key cannot change an administrator such as extension ${key}`,
      );
}
