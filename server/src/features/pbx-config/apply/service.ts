/** Applies, versions and what was changed by hand. One apply at a time; none while the start of the service is not worked through. */
import { setImmediate } from 'node:timers/promises';
import type { z } from 'zod';
import type {
  ConfigApply,
  ConfigSnapshot,
  ConfigVersion,
  DriftReply,
  NewApply,
  PlanReply,
  RestoreVersion,
  VersionObjectReply,
  VersionReply,
} from '@offhook/contract/config-applies.ts';
import { CONFIG_KINDS, CONFIG_SECRETS, KINDS } from '@offhook/contract/config-objects.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import type { Audit } from '../../../ports/audit.ts';
import type { Actor } from '../../../ports/operations.ts';
import type { Store } from '../../../ports/store.ts';
import { checkModel } from '../check.ts';
import { allObjects, difference, storedObject, toModel } from '../model.ts';
import type { Model } from '../model.ts';
import { restoredBody } from '../secrets.ts';
import { fileDiff, objectChanges } from './differences.ts';
import { watchDrift } from './drift.ts';
import { stepsTo } from './files.ts';
import { createApplyJournal, isOver } from './journal.ts';
import { PATIENCE } from './patience.ts';
import { startRun } from './run.ts';
import type { Run, RunDeps } from './run.ts';
import { refitFiles, startFiles } from './start.ts';
import { createVersions } from './versions.ts';

export interface AppliesDeps extends Pick<
  RunDeps,
  'objects' | 'engine' | 'house' | 'site' | 'clock' | 'log' | 'hold' | 'mailboxes' | 'committed' | 'restart'
> {
  readonly store: Store;
  readonly audit: Audit;
  /** Whether an engine runs that could read files again. */
  readonly up: () => boolean;
  readonly draftTag: () => string;
  readonly publish: (events: readonly DomainEvent[]) => void;
  readonly patience?: RunDeps['patience'];
}
type Draft = {
  readonly comment: string | null;
  readonly overwrite_drift: boolean;
  readonly restart: 'no' | 'when_convenient';
};
export interface ConfigApplies extends AsyncDisposable {
  /**
   * Ends what a service of before left undone and writes the files of this version; before it is done nothing is applied.
   * `lives`: an engine of before runs. Returns the files a living engine takes in only by a new start.
   */
  start(lives: boolean): Promise<readonly string[]>;
  /** Renders the files for another program while no engine runs. False while an apply is under way. */
  refit(): Promise<boolean>;
  plan(): Promise<z.infer<typeof PlanReply>>;
  /** Begins one. Throws `apply_running`, `precondition_failed`, `config_drift`, `engine_unavailable`. */
  apply(actor: Actor, wanted: NewApply): Promise<ConfigApply>;
  /** Throws `apply_over` where files were written already, or it is over. */
  cancel(actor: Actor, id: number): Promise<ConfigApply>;
  one(id: number): Promise<ConfigApply>;
  page(query: {
    limit?: number | undefined;
    cursor?: string | undefined;
  }): Promise<{ applies: ConfigApply[]; next_cursor: string | null }>;
  versions(query: {
    limit?: number | undefined;
    cursor?: string | undefined;
  }): Promise<{ versions: ConfigVersion[]; next_cursor: string | null }>;
  version(number: number): Promise<z.infer<typeof VersionReply>>;
  object(number: number, path: string, key: string): Promise<z.infer<typeof VersionObjectReply>>;
  /** Makes an earlier version the draft and applies it. Throws `draft_not_empty`, and what `apply` throws. */
  restore(actor: Actor, version: number, wanted: RestoreVersion): Promise<ConfigApply>;
  drift(): Promise<z.infer<typeof DriftReply>>;
  /** As it is now, for the stream. */
  snapshot(): z.infer<typeof ConfigSnapshot>;
  /** Resolves when no apply is under way. */
  idle(): Promise<void>;
  close(): Promise<void>;
}
const PAGE = 50;
/** The objects of a former version with the current secrets and rights. */
const restoredModel = (then: Model, now: Model): Model =>
  toModel(
    [...allObjects(then)].map((object) => {
      const today = now.of(object.kind).get(object.key);
      // An object with the same key and another id is another object.
      const same = today?.id === object.id ? (today.body as Record<string, unknown>) : null;
      const body = restoredBody(object.kind, object.body as Record<string, unknown>, same);
      return storedObject(object.id, object.kind, body);
    }),
  );
/** How long an apply under way may take to end by itself; else the next start ends it. */
const CLOSE_MS = 3_000;

export function createApplies(given: AppliesDeps): ConfigApplies {
  const { objects, engine, store, clock, log, audit } = given;
  const journal = createApplyJournal(store);
  const versions = createVersions(store, objects);
  const closing = new AbortController();
  let started = false;
  let beginning = false;
  let run: Run | null = null;

  const tell = (event: Pick<DomainEvent, 'type' | 'data'>): void => {
    const whole = { subject: 'config', at: clock.now(), observed: 'live', ...event };
    given.publish([whole as DomainEvent]);
  };
  const told = (apply: ConfigApply): void => {
    tell({ type: 'config.progress', data: { apply } });
    const { id: apply_id, version, problems, detail, files, author } = apply;
    if (apply.state === 'applied')
      tell({
        type: 'config.applied',
        data: { apply_id, version, author, objects: apply.objects.count, files, reloaded: apply.reloaded },
      });
    if (apply.state === 'rolled_back')
      tell({ type: 'config.rolled_back', data: { apply_id, author, files, problems, detail } });
    if (!isOver(apply.state)) return;
    const entry = {
      action: `config.${apply.state}`,
      actor: author,
      object: String(apply_id),
      outcome: apply.state === 'applied' ? ('ok' as const) : ('failed' as const),
      ip: null,
      detail: { version, objects: apply.objects.count, files: files.length, said: detail },
    };
    audit.record(entry).catch((error: unknown) => {
      log.error(
        { error: messageOf(error), apply: apply_id },
        'the end of an apply is not in the audit trail',
      );
    });
  };
  const deps: RunDeps = { ...given, patience: given.patience ?? PATIENCE, journal, told };
  const applied = () => engine.render(given.site(objects.applied()));
  const busy = (): boolean => !started || beginning || run !== null;
  const drift = watchDrift({ engine, journal, clock, log, applied, busy, publish: given.publish });

  const free = (): void => {
    if (!engine.ready || !given.up())
      throw new ServiceError('engine_unavailable', 'no engine runs that could take a configuration in', {
        retry_after_seconds: 5,
      });
    if (!started)
      throw new ServiceError('apply_running', 'the start of the service is not worked through yet', {
        retry_after_seconds: 2,
      });
    if (beginning || run !== null)
      throw new ServiceError('apply_running', 'an apply is under way', { retry_after_seconds: 2 });
  };
  /** Nothing is begun where `prepare` throws; it gives what is to be applied. */
  const begin = async (
    { caller, ip }: Actor,
    { comment, overwrite_drift, restart }: Draft,
    restores: number | null,
    prepare: (author: string) => Promise<Model>,
  ): Promise<ConfigApply> => {
    free();
    const foreign = (await drift.check()).filter((d) => !d.hand_written).map((d) => d.name);
    if (foreign.length > 0 && !overwrite_drift)
      throw new ServiceError('config_drift', say`changed by hand: ${foreign.join(', ')}`, {
        body: { files: foreign },
      });
    free();
    beginning = true;
    try {
      const author = caller.extension || caller.username;
      const action = restores === null ? 'config.apply' : 'config.restore';
      const detail = { comment, restores, overwrite_drift, restart };
      await audit.record({ action, actor: author, object: null, outcome: 'ok', ip, detail });
      const target = await prepare(author);
      const at = clock.now();
      const shown: Omit<ConfigApply, 'id'> = {
        state: 'validating',
        author,
        comment,
        base_version: objects.version,
        version: null,
        restores,
        objects: { count: 0, list: [] },
        files: [],
        reloaded: [],
        steps: [],
        engine_touched_ms: 0,
        problems: [],
        detail: null,
        restart: { wish: restart, files: [], asked: false },
        started_at: rfc3339(at),
        finished_at: null,
      };
      const begun: ConfigApply = { id: await journal.begin(shown, at), ...shown };
      told(begun);
      const one = startRun(deps, begun, { target, author, comment, overwrite_drift }, closing.signal);
      run = one;
      void one.done.then(() => {
        run = null;
        void drift.check().catch(() => undefined);
      });
      return begun;
    } finally {
      beginning = false;
    }
  };
  const known = async (id: number): Promise<ConfigApply> => {
    if (run?.now().id === id) return run.now();
    const found = await journal.one(id);
    if (found === null) throw new ServiceError('not_found', 'there is no such apply');
    return found.shown;
  };
  const versionOf = async (number: number): Promise<ConfigVersion> => {
    const found = await versions.one(number);
    if (found === null)
      throw new ServiceError('not_found', say`there is no version ${number} any more, or not yet`);
    return found;
  };
  const paged = <T>(rows: readonly T[], limit: number, id: (row: T) => number) => {
    const shown = rows.slice(0, limit);
    return { shown, next_cursor: rows.length > limit ? String(id(shown.at(-1)!)) : null };
  };
  const close = async (): Promise<void> => {
    run?.cancel();
    const late = new AbortController();
    await Promise.race([run?.done, clock.sleep(CLOSE_MS, late.signal).catch(() => undefined)]);
    late.abort();
    closing.abort(new Error('the service is stopping'));
    await run?.done;
    await drift.close();
  };

  return {
    async start(lives) {
      const { untaken, ended } = await startFiles(deps, { lives, closing: closing.signal });
      for (const apply of ended) told(apply);
      started = true;
      await drift.check();
      return untaken;
    },
    async refit() {
      if (!engine.ready || busy()) return false;
      beginning = true;
      try {
        await refitFiles(deps);
        return true;
      } finally {
        beginning = false;
      }
    },
    async plan() {
      const draft = objects.draft();
      const findings = checkModel(draft, given.house).map((f) => ({
        object: `${f.kind} ${f.key}`,
        file: null,
        words: `${f.path}: ${f.detail}`,
      }));
      const base = {
        success: true as const,
        base_version: objects.version,
        draft: given.draftTag(),
        findings: findings.slice(0, 200),
        objects: objectChanges(objects.applied(), draft),
        drift: (await drift.check()).map((d) => d.name),
      };
      // What does not fit together cannot be rendered either.
      if (findings.length > 0) return { ...base, files: [] };
      const files = engine.render(given.site(draft));
      const steps = await stepsTo(engine, files);
      const restart = new Set(engine.needsRestart(steps.map((s) => s.name)));
      const shown = [];
      for (const { name } of steps) {
        const before = (await engine.read(name)) ?? '';
        const [was, is] = [before, files.get(name)!].map((text) => engine.hidden(name, text));
        shown.push({ name, restart: restart.has(name), ...fileDiff(name, was!, is!) });
        await setImmediate();
      }
      return { ...base, files: shown };
    },
    apply: (actor, { draft, ...wanted }) =>
      begin(actor, wanted, null, async () => {
        const tag = given.draftTag();
        if (draft !== undefined && draft !== tag)
          throw new ServiceError('precondition_failed', 'the draft was changed meanwhile', {
            body: { etag: tag },
          });
        return objects.draft();
      }),
    async restore(actor, number, { discard_draft, ...wanted }) {
      await versionOf(number);
      return await begin(actor, wanted, number, async (author) => {
        if (!discard_draft && difference(objects.applied(), objects.draft()).length > 0)
          throw new ServiceError(
            'draft_not_empty',
            'the draft has changes that are not applied; with discard_draft they are given up',
          );
        const then = await versions.model(number);
        if (then === null) throw new ServiceError('not_found', say`there is no version ${number} any more`);
        const target = restoredModel(then, objects.applied());
        await objects.setDraft(target, { author, at: clock.now() });
        return target;
      });
    },
    async cancel({ caller, ip }, id) {
      await known(id);
      const mine = run?.now().id === id ? run : null;
      if (mine === null || !mine.cancel())
        throw new ServiceError('apply_over', 'it is over, or files were written already');
      const actor = caller.extension || caller.username;
      await audit.record({ action: 'config.cancel', actor, object: String(id), outcome: 'ok', ip });
      return await mine.done;
    },
    one: known,
    async page({ limit = PAGE, cursor }) {
      const rows = await journal.page(limit + 1, cursor === undefined ? null : Number(cursor));
      const current = run?.now();
      const { shown, next_cursor } = paged(rows, limit, (a) => a.id);
      return { applies: shown.map((a) => (a.id === current?.id ? current : a)), next_cursor };
    },
    async versions({ limit = PAGE, cursor }) {
      const rows = await versions.page(limit + 1, cursor === undefined ? null : Number(cursor));
      const { shown, next_cursor } = paged(rows, limit, (v) => v.version);
      return { versions: shown, next_cursor };
    },
    async version(number) {
      const version = await versionOf(number);
      const now = await versions.model(number);
      if (now === null) throw new ServiceError('not_found', say`there is no version ${number} any more`);
      return { success: true, version, objects: objectChanges(await versions.before(number), now) };
    },
    async object(number, path, key) {
      await versionOf(number);
      const kind = KINDS.find((k) => CONFIG_KINDS[k].path === path);
      const found = kind === undefined ? undefined : (await versions.model(number))?.of(kind).get(key);
      if (kind === undefined || found === undefined)
        throw new ServiceError('not_found', say`version ${number} has no such object`);
      const secrets = CONFIG_SECRETS[kind];
      const object = Object.fromEntries(
        Object.entries(found.body).filter(([field]) => !secrets.includes(field)),
      );
      return { success: true, kind, key, version: number, object };
    },
    async drift() {
      await drift.check();
      return { success: true, ...(await drift.shown()) };
    },
    snapshot: () => ({ version: objects.version, apply: run?.now() ?? null }),
    async idle() {
      while (run !== null) await run.done;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
