/** Applies, versions and drift. One apply at a time; none before the start is complete. */
import { setImmediate } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { z } from 'zod';
import type {
  ConfigApply,
  ConfigProblem,
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
import type { Language } from '@offhook/contract/errors.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import { pageOf } from '../../../core/page.ts';
import { say } from '../../../core/said.ts';
import { textIn } from '../../../core/words.ts';
import type { Audit } from '../../../ports/audit.ts';
import type { EngineConfig, EngineProblem } from '../../../ports/engine-config.ts';
import type { Actor } from '../../../ports/operations.ts';
import type { Store } from '../../../ports/store.ts';
import { checkModel } from '../check.ts';
import type { Model } from '../model.ts';
import { fileDiff, objectChanges } from './differences.ts';
import { watchDrift } from './drift.ts';
import type { DriftWatch } from './drift.ts';
import { stepsTo } from './files.ts';
import { createApplyJournal, isOver } from './journal.ts';
import type { ApplyJournal, JournalTables } from './journal.ts';
import { PATIENCE } from './patience.ts';
import type { RunDeps } from './deps.ts';
import { beginRestored, restoredModel } from './restore.ts';
import { ApplyRun, rejecting } from './run.ts';
import { FilesAtStart, refitFiles } from './start.ts';
import { createVersions } from './versions.ts';
import type { Versions } from './versions.ts';

export interface AppliesDeps extends Pick<
  RunDeps,
  | 'objects'
  | 'engine'
  | 'house'
  | 'site'
  | 'clock'
  | 'log'
  | 'hold'
  | 'mailboxes'
  | 'disabling'
  | 'committed'
  | 'restart'
> {
  readonly store: Store;
  /** The engine of this machine alone, if the site has several, because a start must not wait for the others. */
  readonly here?: EngineConfig;
  /** Name of this node; null if the site has only one. */
  readonly node?: string | null;
  readonly audit: Required<Audit>;
  /** True if an engine runs that can reload files. */
  readonly up: () => boolean;
  readonly draftTag: () => string;
  /** Runs work that replaces the draft while nothing else writes it. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>;
  readonly publish: (events: readonly DomainEvent[]) => void;
  readonly patience?: RunDeps['patience'];
}
type PageQuery = { readonly limit?: number | undefined; readonly cursor?: string | undefined };
type Draft = {
  readonly comment: string | null;
  readonly overwrite_drift: boolean;
  readonly restart: 'no' | 'when_convenient';
};
type Restored = { readonly version: number; readonly discard_draft: boolean };
const PAGE = 50;
const authorOf = ({ caller }: Actor): string => caller.extension || caller.username;
/** Time for a running apply to end when the service stops; the next start ends a longer apply. */
const CLOSE_MS = 3_000;

export class ConfigApplies implements AsyncDisposable {
  readonly #given: AppliesDeps;
  readonly #deps: RunDeps;
  readonly #journal: ApplyJournal;
  readonly #versions: Versions;
  readonly #drift: DriftWatch;
  readonly #closing = new AbortController();
  readonly #stopDraft: () => void;
  #started = false;
  #beginning = false;
  #run: ApplyRun | null = null;

  constructor(given: AppliesDeps) {
    const { clock, engine, log, objects, publish, site, store } = given;
    this.#given = given;
    this.#journal = createApplyJournal(store, given.node);
    this.#versions = createVersions(store, objects);
    this.#deps = {
      ...given,
      patience: given.patience ?? PATIENCE,
      journal: this.#journal,
      publishApply: (apply) => this.#publishApply(apply),
    };
    this.#stopDraft = objects.onDraft((author, total) =>
      this.#publish({ type: 'config.draft_changed', data: { author, total } }),
    );
    this.#drift = watchDrift({
      engine: given.here ?? engine,
      journal: this.#journal,
      clock,
      log,
      applied: () => (given.here ?? engine).render(site(objects.applied())),
      busy: () => this.#busy(),
      publish,
    });
  }
  /**
   * Ends the unfinished apply of the previous service and writes the files of this version; no apply begins before.
   * `lives`: the engine of the previous service runs. Returns the files that this engine reads only at its next start.
   */
  async start(lives: boolean): Promise<readonly string[]> {
    const { untaken, ended } = await new FilesAtStart(this.#here(), {
      lives,
      closing: this.#closing.signal,
    }).run();
    for (const apply of ended) this.#publishApply(apply);
    this.#started = true;
    await this.#drift.check();
    return untaken;
  }
  /** Renders the files for another program while no engine runs. False during an apply. */
  async refit(): Promise<boolean> {
    if (!this.#given.engine.ready || this.#busy()) return false;
    this.#beginning = true;
    try {
      await refitFiles(this.#here());
      return true;
    } finally {
      this.#beginning = false;
    }
  }
  /** Its findings and notices are in this language where they have a translation. */
  async plan(language: Language = 'en'): Promise<z.infer<typeof PlanReply>> {
    const { objects, engine } = this.#given;
    const draft = objects.draft();
    const findings = checkModel(draft, this.#given.house).map((f) => ({
      object: `${f.kind} ${f.key}`,
      file: null,
      words: `${f.path}: ${textIn(f.said, language)}`,
    }));
    const base = {
      success: true as const,
      base_version: objects.version,
      draft: this.#given.draftTag(),
      findings: findings.slice(0, 200),
      notices: [],
      objects: objectChanges(objects.applied(), draft),
      drift: (await this.#drift.check()).map((d) => d.name),
    };
    // A draft with findings cannot be rendered.
    if (findings.length > 0) return { ...base, files: [] };
    const files = engine.render(this.#given.site(draft));
    const { problems, notices } = await engine.prepare(files, this.#closing.signal);
    const steps = await stepsTo(engine, files);
    const restart = new Set(engine.needsRestart(steps.map((s) => s.name)));
    const shown = [];
    for (const { name } of steps) {
      const before = (await engine.read(name)) ?? '';
      const [was, is] = [before, files.get(name)!].map((text) => engine.hidden(name, text));
      shown.push({ name, restart: restart.has(name), ...fileDiff(name, was!, is!) });
      await setImmediate();
    }
    const sent = (all: readonly EngineProblem[]): ConfigProblem[] =>
      all.slice(0, 200).map(({ object, file, words, said }) => ({
        object,
        file,
        words: said === undefined ? words : textIn(said, language),
      }));
    return { ...base, findings: sent(problems), notices: sent(notices), files: shown };
  }
  /** Applies the draft. Throws `apply_running`, `precondition_failed`, `config_drift`, `engine_unavailable`. */
  apply(actor: Actor, { draft, ...wanted }: NewApply): Promise<ConfigApply> {
    return this.#begin(authorOf(actor), actor.ip, wanted, null, async () => {
      const tag = this.#given.draftTag();
      if (draft !== undefined && draft !== tag)
        throw new ServiceError('precondition_failed', 'the draft was changed meanwhile', {
          body: { etag: tag },
        });
      return this.#given.objects.draft();
    });
  }
  /** Makes an earlier version the draft and applies it. Throws `draft_not_empty`, and the errors of `apply`. */
  async restore(
    actor: Actor,
    number: number,
    { discard_draft, ...wanted }: RestoreVersion,
  ): Promise<ConfigApply> {
    await this.#versionOf(number);
    const restored = { version: number, discard_draft };
    return await this.#begin(authorOf(actor), actor.ip, wanted, restored, async () => {
      const then = await this.#versions.model(number);
      if (then === null) throw new ServiceError('not_found', say`version ${number} is no longer stored`);
      return restoredModel(then, this.#given.objects.applied());
    });
  }
  /**
   * Applies the present version again after a change of other data from which its files are rendered, such as a found
   * address; resolves with the ended apply. The draft stays unchanged. Throws the errors of `apply`.
   */
  async renew(comment: string): Promise<ConfigApply> {
    const wanted = { comment, overwrite_drift: false, restart: 'no' } as const;
    const { id } = await this.#begin('service', null, wanted, null, () =>
      Promise.resolve(this.#given.objects.applied()),
    );
    await this.idle();
    return await this.one(id);
  }
  /** Throws `apply_over` once files were written or the apply ended. */
  async cancel(who: Actor, id: number): Promise<ConfigApply> {
    await this.one(id);
    const mine = this.#run?.now().id === id ? this.#run : null;
    if (mine === null || !mine.cancel())
      throw new ServiceError('apply_over', 'the apply has ended or has already written files');
    const entry = { actor: authorOf(who), object: String(id), outcome: 'ok', ip: who.ip } as const;
    await this.#given.audit.record({ action: 'config.cancel', ...entry });
    return await mine.done;
  }
  async one(id: number): Promise<ConfigApply> {
    if (this.#run?.now().id === id) return this.#run.now();
    const found = await this.#journal.one(id);
    if (found === null) throw new ServiceError('not_found', 'there is no such apply');
    return found.shown;
  }
  async page({
    limit = PAGE,
    cursor,
  }: PageQuery): Promise<{ applies: ConfigApply[]; next_cursor: string | null }> {
    const rows = await this.#journal.page(limit + 1, cursor === undefined ? null : Number(cursor));
    const current = this.#run?.now();
    const { page, next_cursor } = pageOf(rows, limit, (a) => a.id);
    return { applies: page.map((a) => (a.id === current?.id ? current : a)), next_cursor };
  }
  async versions({
    limit = PAGE,
    cursor,
  }: PageQuery): Promise<{ versions: ConfigVersion[]; next_cursor: string | null }> {
    const rows = await this.#versions.page(limit + 1, cursor === undefined ? null : Number(cursor));
    const { page, next_cursor } = pageOf(rows, limit, (v) => v.version);
    return { versions: [...page], next_cursor };
  }
  async version(number: number): Promise<z.infer<typeof VersionReply>> {
    const version = await this.#versionOf(number);
    const now = await this.#versions.model(number);
    if (now === null) throw new ServiceError('not_found', say`version ${number} is no longer stored`);
    return { success: true, version, objects: objectChanges(await this.#versions.before(number), now) };
  }
  async object(number: number, path: string, key: string): Promise<z.infer<typeof VersionObjectReply>> {
    await this.#versionOf(number);
    const kind = KINDS.find((k) => CONFIG_KINDS[k].path === path);
    const found = kind === undefined ? undefined : (await this.#versions.model(number))?.of(kind).get(key);
    if (kind === undefined || found === undefined)
      throw new ServiceError('not_found', say`version ${number} has no such object`);
    const secrets = CONFIG_SECRETS[kind];
    const object = Object.fromEntries(
      Object.entries(found.body).filter(([field]) => !secrets.includes(field)),
    );
    return { success: true, kind, key, version: number, object };
  }
  async drift(): Promise<z.infer<typeof DriftReply>> {
    await this.#drift.check();
    return { success: true, ...(await this.#drift.shown()) };
  }
  /** The snapshot of the stream's topic. */
  snapshot(): z.infer<typeof ConfigSnapshot> {
    return { version: this.#given.objects.version, apply: this.#run?.now() ?? null };
  }
  /** Resolves when no apply is in progress. */
  async idle(): Promise<void> {
    while (this.#run !== null) await this.#run.done;
  }
  async close(): Promise<void> {
    this.#stopDraft();
    this.#run?.cancel();
    const late = new AbortController();
    await Promise.race([
      this.#run?.done,
      this.#given.clock.sleep(CLOSE_MS, late.signal).catch(() => undefined),
    ]);
    late.abort();
    this.#closing.abort(new Error('the service is stopping'));
    await this.#run?.done;
    await this.#drift.close();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #publish(event: Pick<DomainEvent, 'type' | 'data'>): void {
    const whole = { subject: 'config', at: this.#given.clock.now(), observed: 'live', ...event };
    this.#given.publish([whole as DomainEvent]);
  }
  /** Publishes a state of an apply; also audits its end. */
  #publishApply(apply: ConfigApply): void {
    this.#publish({ type: 'config.progress', data: { apply } });
    const { id: apply_id, version, problems, detail, files, author } = apply;
    if (apply.state === 'applied')
      this.#publish({
        type: 'config.applied',
        data: { apply_id, version, author, objects: apply.objects.count, files, reloaded: apply.reloaded },
      });
    if (apply.state === 'rolled_back')
      this.#publish({ type: 'config.rolled_back', data: { apply_id, author, files, problems, detail } });
    if (!isOver(apply.state)) return;
    const entry = {
      action: `config.${apply.state}`,
      actor: author,
      object: String(apply_id),
      outcome: apply.state === 'applied' ? ('ok' as const) : ('failed' as const),
      ip: null,
      detail: { version, objects: apply.objects.count, files: files.length, said: detail },
    };
    this.#given.audit.record(entry).catch((error: unknown) => {
      this.#given.log.error(
        { error: messageOf(error), apply: apply_id },
        'the end of an apply is not in the audit trail',
      );
    });
  }
  #here(): RunDeps {
    return { ...this.#deps, engine: this.#given.here ?? this.#deps.engine };
  }
  #busy(): boolean {
    return !this.#started || this.#beginning || this.#run !== null;
  }
  #free(): void {
    if (!this.#given.engine.ready || !this.#given.up())
      throw new ServiceError('engine_unavailable', 'no running engine can apply a configuration', {
        retry_after_seconds: 5,
      });
    if (!this.#started)
      throw new ServiceError('apply_running', 'the service is still starting; try again shortly', {
        retry_after_seconds: 2,
      });
    if (this.#beginning || this.#run !== null)
      throw new ServiceError('apply_running', 'an apply is under way', { retry_after_seconds: 2 });
  }
  /** Begins an apply of the model that `prepare` resolves with; none if `prepare` throws, which is audited. */
  async #begin(
    author: string,
    ip: string | null,
    { comment, overwrite_drift, restart }: Draft,
    restored: Restored | null,
    prepare: () => Promise<Model>,
  ): Promise<ConfigApply> {
    const { objects, clock, audit, log } = this.#given;
    this.#free();
    const foreign = (await this.#drift.check()).filter((d) => !d.hand_written).map((d) => d.name);
    if (foreign.length > 0 && !overwrite_drift)
      throw new ServiceError('config_drift', say`changed by hand: ${foreign.join(', ')}`, {
        body: { files: foreign },
      });
    this.#free();
    this.#beginning = true;
    const restores = restored?.version ?? null;
    const action = restored === null ? 'config.apply' : 'config.restore';
    const detail = { comment, restores, overwrite_drift, restart };
    const line = { action, actor: author, object: null, ip };
    try {
      const target = await prepare();
      // A draft with findings is not rendered; the apply reports them.
      const { engine, site } = this.#given;
      if (engine.reach !== undefined && rejecting(target, this.#given).length === 0)
        await engine.reach(site(target));
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
      const begin = async <T>(trx: Transaction<T>): Promise<number> => {
        await audit.recordIn(trx, { ...line, outcome: 'ok', detail });
        return await this.#journal.beginIn(trx as unknown as Transaction<JournalTables>, shown, at);
      };
      const id =
        restored === null
          ? await this.#given.store.transaction(begin)
          : await this.#given.alone(() => beginRestored(objects, { target, author, at, begin, ...restored }));
      const begun: ConfigApply = { id, ...shown };
      this.#publishApply(begun);
      const one = new ApplyRun(
        this.#deps,
        begun,
        { target, author, comment, overwrite_drift },
        this.#closing.signal,
      );
      this.#run = one;
      void one.done.then(() => {
        this.#run = null;
        void this.#drift.check().catch(() => undefined);
      });
      return begun;
    } catch (error) {
      await audit
        .record({ ...line, outcome: 'failed', detail: { ...detail, said: messageOf(error) } })
        .catch((unrecorded: unknown) =>
          log.error({ error: messageOf(unrecorded) }, 'a failed apply is not in the audit trail'),
        );
      throw error;
    } finally {
      this.#beginning = false;
    }
  }
  async #versionOf(number: number): Promise<ConfigVersion> {
    const found = await this.#versions.one(number);
    if (found === null)
      throw new ServiceError('not_found', say`version ${number} is no longer stored, or not yet`);
    return found;
  }
}
