/** The draft of the configuration: every write is checked as a whole, and is kept as a whole or not at all. */
import { changedFields } from './audit-detail.ts';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { MAX_NAMED, maxObjects } from '@offhook/contract/config.ts';
import type { ConfigChange, ConfigDocument, ConfigFinding } from '@offhook/contract/config.ts';
import { KINDS } from '@offhook/contract/config-objects.ts';
import { ServiceError } from '../../core/errors.ts';
import { checkWholeSite } from '../../rights/rights.ts';
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
import { MOST_FINDINGS, beginEdit, notFound } from './edit.ts';
import type { Edit, Made } from './edit.ts';
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
  /** Nothing is kept. */
  readonly dry: boolean;
}
export interface Draft {
  readonly objects: ObjectStore;
  readonly etags: Etags;
  /** The etag of the draft as it is. */
  readonly etag: () => string;
  /**
   * Throws `invalid_request` and `invalid_configuration` with `findings`, `not_found`, `name_taken`, `precondition_failed`,
   * `in_use` with `used_by`, `limit_reached`, `forbidden`, `store_unavailable`. `ifMatch`: the etag of the draft.
   */
  change(actor: Actor, changes: readonly ConfigChange[], ifMatch?: string): Promise<Written>;
  /** What is wrong with the draft, or would be after these changes; nothing is kept. Throws as `change` does. */
  findings(actor: Actor, changes: readonly ConfigChange[]): Promise<readonly ConfigFinding[]>;
  /**
   * Puts every object of a document; with `replace` those that are not in it go. `differs` is from what is applied. Throws as
   * `change` does.
   */
  take(actor: Actor, document: ConfigDocument, how: Taking): Promise<Written>;
  /** Makes all of the draft, or one object of it, what is applied; how many that are. */
  discard(actor: Actor, only?: ObjectRef): Promise<number>;
}
const PATIENCE_MS = 20_000;
/** Objects looked at before others get their turn: one takes about 50 µs. */
const AT_ONCE = 100;
/** Objects the audit trail names of one write. */
const AUDIT_NAMES = 20;

/** Who did it, as the draft and the versions name them. */
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
    body: { findings: findings.slice(0, MAX_NAMED).map(sentFinding), findings_total: findings.length },
  });
}

export function createDraft(deps: DraftDeps): Draft {
  const { objects, audit, clock, house } = deps;
  const etags = createEtags();
  const turn = writeQueue(PATIENCE_MS);
  const known = new WeakMap<Model, readonly Finding[]>();
  function check(model: Model): readonly Finding[] {
    let findings = known.get(model);
    if (findings === undefined) known.set(model, (findings = checkModel(model, house)));
    return findings;
  }
  const etag = (): string => etags.ofDraft(objects.applied(), objects.draft());

  function checkMatch(ifMatch: string | undefined): void {
    if (ifMatch !== undefined && ifMatch !== etag())
      throw new ServiceError('precondition_failed', 'the draft was changed meanwhile', {
        body: { etag: etag() },
      });
  }
  /** What would be there; throws where it would not be whole, but for what was wrong with it before. */
  function next(actor: Actor, before: Model, edit: Edit): Model {
    refuse(edit.findings, 'invalid_request');
    const changes = edit.changes();
    const after = withObjects(before, changes);
    checkAdministrators(actor, before, changes);
    for (const kind of KINDS)
      if (after.of(kind).size > Math.max(maxObjects(kind), before.of(kind).size))
        throw new ServiceError('limit_reached', say`there can be ${maxObjects(kind)} of ${kind} at most`);
    checkUse(after, changes);
    return after;
  }
  function fresh(before: Model, after: Model): Finding[] {
    const old = new Set(check(before).map((f) => JSON.stringify(f)));
    return check(after).filter((f) => !old.has(JSON.stringify(f)));
  }
  async function write(actor: Actor, action: string, before: Model, edit: Edit): Promise<Written> {
    const after = next(actor, before, edit);
    refuse(fresh(before, after), 'invalid_configuration');
    const changes = edit.changes();
    const added = changes.flatMap(({ object }) => (object?.id === 0 ? [object] : []));
    const named = new Map((await objects.identify(added)).map((o) => [`${o.kind} ${o.key}`, o]));
    const draft = withObjects(
      before,
      changes.map((c) => ({ ...c, object: named.get(`${c.kind} ${c.key}`) ?? c.object })),
    );
    if (changes.length > 0) await keep(actor, action, draft, changes);
    const touched = new Set(changes.map((c) => `${c.kind} ${c.key}`));
    return {
      differs: countDifferences(before, draft),
      made: edit.made.filter((m) => touched.has(`${m.kind} ${m.key}`)),
    };
  }
  async function keep(
    { caller, ip }: Actor,
    action: string,
    draft: Model,
    changes: readonly ObjectRef[],
  ): Promise<void> {
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
          ? changedFields(objects.draft(), draft, changes[0]!)
          : { objects: changes.length, first: names.join(' ') },
    };
    await objects.setDraft(draft, { author, at: clock.now() }, (trx) => audit.recordIn(trx, entry));
  }
  async function applied(changes: readonly ConfigChange[], before: Model): Promise<Edit> {
    const edit = beginEdit(before, etags.of);
    for (const [i, change] of changes.entries()) {
      if (i % AT_ONCE === AT_ONCE - 1) await turnOfOthers();
      edit.apply(change);
      if (edit.findings.length >= MOST_FINDINGS) break;
    }
    return edit;
  }

  return {
    objects,
    etags,
    etag,
    change(actor, changes, ifMatch) {
      checkWholeSite(actor.caller);
      return turn.run(async () => {
        checkMatch(ifMatch);
        const before = objects.draft();
        return write(actor, 'config.changed', before, await applied(changes, before));
      });
    },
    async findings(actor, changes) {
      checkWholeSite(actor.caller);
      const before = objects.draft();
      const edit = await applied(changes, before);
      return edit.findings.length > 0 ? edit.findings : check(next(actor, before, edit));
    },
    take(actor, document, { mode, ifMatch, dry }) {
      checkWholeSite(actor.caller);
      return turn.run(async () => {
        checkMatch(ifMatch);
        const before = objects.draft();
        const edit = beginEdit(before, etags.of);
        const there = new Set<string>();
        let i = 0;
        for (const [kind, object] of objectsOf(document)) {
          if (++i % AT_ONCE === 0) await turnOfOthers();
          if (edit.findings.length >= MOST_FINDINGS) break;
          const ref = edit.put(kind, object);
          if (there.has(`${kind} ${ref}`)) edit.wrong(findingOf({ kind, key: ref }, '', 'it is there twice'));
          there.add(`${kind} ${ref}`);
        }
        if (mode === 'replace')
          for (const { kind, key } of allObjects(before))
            if (!there.has(`${kind} ${key}`)) edit.remove({ kind, key });
        if (dry) {
          const after = next(actor, before, edit);
          refuse(fresh(before, after), 'invalid_configuration');
          return { differs: countDifferences(objects.applied(), after), made: [] };
        }
        const { made } = await write(actor, 'config.imported', before, edit);
        return { differs: countDifferences(objects.applied(), objects.draft()), made };
      });
    },
    discard(actor, only) {
      checkWholeSite(actor.caller);
      return turn.run(async () => {
        const before = objects.draft();
        const rows = difference(before, objects.applied()).filter(
          (r) => only === undefined || (r.kind === only.kind && r.key === only.key),
        );
        if (only !== undefined && rows.length === 0) throw notFound(only);
        const after = only === undefined ? objects.applied() : withObjects(before, rows);
        if (only !== undefined) {
          checkAdministrators(actor, before, rows);
          checkUse(after, rows);
          refuse(fresh(before, after), 'invalid_configuration');
        }
        if (rows.length > 0) await keep(actor, 'config.discarded', after, rows);
        return rows.length;
      });
    },
  };
}

/** Label of an object: `the menu "Main office" (main)`. */
function titleIn({ kind, key, body }: StoredObject): Said {
  const { title, name } = body as { readonly title?: unknown; readonly name?: unknown };
  const texts = [title, name].filter((one) => typeof one === 'string');
  const shown = texts.find((one) => one !== '' && one !== key);
  const what = wordOf(kind);
  return shown === undefined ? say`the ${what} ${key}` : say`the ${what} "${String(shown)}" (${key})`;
}
/** Throws `in_use` where something that is taken away is still named. O(objects). */
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
/** A key that may change the configuration is no administrator, and makes none of itself. */
function checkAdministrators({ caller }: Actor, before: Model, changes: readonly ObjectChange[]): void {
  if (caller.key === null) return;
  const admin = (object: StoredObject | null | undefined): boolean =>
    object?.kind === 'extension' && (object as StoredObject<'extension'>).body.level === 'admin';
  for (const { kind, key, object } of changes)
    if (admin(object) || admin(before.of(kind).get(key) as StoredObject | undefined))
      throw new ServiceError('forbidden', say`no API key changes an administrator, as extension ${key} is`);
}
