/**
 * One apply from beginning to end. Each step is stored before it begins. After an error, once a file was written, the
 * apply restores, reloads and checks the former files. `done` never rejects.
 */
import type { ApplyState, ConfigApply, ConfigProblem } from '@offhook/contract/config-applies.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { hasCode, messageOf } from '../../../core/errors.ts';
import type { EngineFiles, Proof } from '../../../ports/engine-config.ts';
import { checkModel } from '../check.ts';
import type { Finding } from '../findings.ts';
import { difference, disabledBy, mailboxOwners } from '../model.ts';
import type { Model } from '../model.ts';
import type { RunDeps } from './deps.ts';
import type { JournalTables } from './journal.ts';
import type { ObjectTables } from '../tables.ts';
import { summariesOf } from './differences.ts';
import { findDrift, knownNow, stepsTo } from './files.ts';
import { isOver } from './journal.ts';
import type { FileStep } from './journal.ts';
import { patiently } from './patience.ts';
import { leaveThere, proofOfDisk, putBack, tryMailboxes } from './put-back.ts';
import { pruneVersions } from './versions.ts';
import type { Transaction } from 'kysely';

/** The goal of an apply. */
export interface Wanted {
  readonly target: Model;
  readonly author: string;
  readonly comment: string | null;
  readonly overwrite_drift: boolean;
}
const MOST_PROBLEMS = 50;
const MOST_WORDS = 2_000;
/** Attempts to restore the files, and the wait between them. */
const RESTORE_TRIES = 4;
const RESTORE_MS = 500;
/** Interval of questions whether a version was stored, while the store is away. */
const ASK_MS = 1_000;

/**
 * Findings that reject an apply. A version that is applied again is not checked: the rules of a newer release must not keep its
 * engine at a former proxy, server or address.
 */
export const rejecting = (
  target: Model,
  { house, objects }: Pick<RunDeps, 'house' | 'objects'>,
): readonly Finding[] => (target === objects.applied() ? [] : checkModel(target, house));

/** Ends the apply with this state and sentence before anything was changed. */
class Ends extends Error {
  readonly state: ApplyState;
  constructor(state: ApplyState, detail: string) {
    super(detail);
    this.state = state;
  }
}
/** Files or engine differ from the new version; `problems` names the objects or files. */
class NotAsMeant extends Error {
  readonly problems: readonly ConfigProblem[];
  constructor(detail: string, problems: readonly ConfigProblem[]) {
    super(detail);
    this.problems = problems;
  }
}

export class ApplyRun {
  readonly #deps: RunDeps;
  readonly #wanted: Wanted;
  readonly #closing: AbortSignal;
  readonly #cancelling = new AbortController();
  #cancellable = true;
  #now: ConfigApply;
  #entered: number;
  #steps: readonly FileStep[] = [];
  /** Drift and steps at the time of the plan, as JSON. */
  #seen = '';
  #release = (): void => {};
  readonly done: Promise<ConfigApply>;

  constructor(deps: RunDeps, begun: ConfigApply, wanted: Wanted, closing: AbortSignal) {
    this.#deps = deps;
    this.#wanted = wanted;
    this.#closing = closing;
    this.#now = begun;
    this.#entered = deps.clock.now();
    this.done = this.#run()
      .catch((error: unknown) => {
        // An open apply stays open for the next start, which finishes it.
        if (!closing.aborted)
          deps.log.error({ apply: this.#now.id, err: error }, 'an apply ended with an unexpected error');
        return this.#now;
      })
      .finally(() => this.#release());
  }
  /** Stops the apply; false once the first file is about to be written. */
  cancel(): boolean {
    if (!this.#cancellable) return false;
    this.#cancelling.abort(new Error('cancelled'));
    return true;
  }
  /** The current state. */
  now(): ConfigApply {
    return this.#now;
  }

  #stepped(state: ApplyState): ConfigApply {
    const at = this.#deps.clock.now();
    const done = { step: this.#now.state, ms: Math.round(at - this.#entered) };
    this.#entered = at;
    return {
      ...this.#now,
      state,
      steps: [...this.#now.steps, done],
      finished_at: isOver(state) ? rfc3339(at) : null,
    };
  }
  /** Stores and reports that the next step begins. */
  async #enter(
    state: ApplyState,
    more: { readonly files?: readonly FileStep[]; readonly open?: boolean } = {},
  ): Promise<void> {
    const next = this.#stepped(state);
    await this.#deps.journal.save(next, more);
    this.#now = next;
    this.#deps.publishApply(this.#now);
  }
  #note(change: Partial<ConfigApply>): void {
    this.#now = { ...this.#now, ...change };
  }
  #noteProblems(problems: readonly ConfigProblem[]): void {
    this.#note({
      problems: [
        ...this.#now.problems,
        ...problems
          .slice(0, MOST_PROBLEMS - this.#now.problems.length)
          .map(({ object, file, words }) => ({ object, file, words: words.slice(0, MOST_WORDS) })),
      ],
    });
  }
  /** Stores the end, with retries until it succeeds, because the next start recovers each apply without an end. */
  async #finish(state: ApplyState, detail: string, open = false): Promise<ConfigApply> {
    const { journal, clock, log } = this.#deps;
    this.#now = { ...this.#stepped(state), detail };
    for (;;) {
      try {
        await journal.save(this.#now, { open });
        break;
      } catch (error) {
        log.warn({ error: messageOf(error), apply: this.#now.id }, 'the end of an apply could not be stored');
        if (this.#closing.aborted) return this.#now;
        await clock.sleep(1_000, this.#closing).catch(() => undefined);
      }
    }
    this.#deps.publishApply(this.#now);
    return this.#now;
  }
  async #plan(): Promise<{ files: EngineFiles; names: string[] }> {
    const { engine, journal, objects } = this.#deps;
    const findings = rejecting(this.#wanted.target, this.#deps);
    if (findings.length > 0) {
      this.#noteProblems(
        findings.map((f) => ({ object: `${f.kind} ${f.key}`, file: null, words: `${f.path}: ${f.detail}` })),
      );
      throw new Ends('rejected', 'The configuration does not fit together.');
    }
    await this.#enter('planning');
    const changes = difference(objects.applied(), this.#wanted.target);
    this.#note({ objects: summariesOf(changes) });
    const files = engine.render(this.#deps.site(this.#wanted.target));
    const drift = await findDrift(engine, await journal.files());
    const foreign = drift.filter((d) => !d.hand_written);
    if (foreign.length > 0 && !this.#wanted.overwrite_drift) {
      this.#noteProblems(
        foreign.map((d) => ({ object: null, file: d.name, words: 'it was changed by hand' })),
      );
      throw new Ends('rejected', 'Files were changed by hand; with overwrite_drift they are written over.');
    }
    this.#steps = await stepsTo(engine, files);
    this.#seen = JSON.stringify([drift, this.#steps]);
    const beside = drift.filter((d) => d.hand_written).map((d) => d.name);
    const names = [...this.#steps.map((s) => s.name), ...beside];
    this.#note({ files: names });
    return { files, names };
  }
  /**
   * Checks that the disk has not changed since the plan: the proof is valid only for the planned files, and other
   * changes would be overwritten.
   */
  async #stillSo(files: EngineFiles): Promise<void> {
    const { engine, journal } = this.#deps;
    const now = [await findDrift(engine, await journal.files()), await stepsTo(engine, files)];
    if (JSON.stringify(now) !== this.#seen)
      throw new Ends('rejected', 'Files were changed by hand while it was tried.');
  }
  async #prove(files: EngineFiles): Promise<Proof> {
    const signal = AbortSignal.any([this.#cancelling.signal, this.#closing]);
    const { problems: lacking } = await this.#deps.engine.prepare(files, signal);
    if (lacking.length > 0) {
      this.#noteProblems(lacking);
      throw new Ends('rejected', 'The engine lacks what the configuration names.');
    }
    const proof = await this.#deps.engine.prove(files, signal);
    if (proof.problems.length > 0) {
      this.#noteProblems(proof.problems);
      throw new Ends(
        'rejected',
        'An engine that was started with it, only to try it, did not take it as meant.',
      );
    }
    return proof;
  }
  /** Stores the version, the end of the apply and the known files in one transaction. */
  async #commit(files: EngineFiles, changed: boolean): Promise<ConfigApply> {
    const { engine, journal, objects, clock } = this.#deps;
    await this.#enter('committing');
    const known = await knownNow(engine, files.keys(), await journal.files());
    const { author, comment, target } = this.#wanted;
    const changes = difference(objects.applied(), target);
    const made = changes.length > 0;
    const said = changed
      ? this.#now.reloaded.length > 0
        ? 'The engine holds it.'
        : 'The files are written; the engine was not told to read anything again.'
      : made
        ? 'Nothing of it concerns the engine, which was left alone.'
        : 'Nothing was different: nothing was written and the engine was left alone.';
    const restart = this.#now.restart.files.length === 0 ? '' : ` ${this.#restartWords()}`;
    const last = (version: number | null): ConfigApply => ({
      ...this.#stepped('applied'),
      version,
      detail: said + restart,
    });
    let over: ConfigApply | undefined;
    if (made) {
      const also = async (trx: Transaction<ObjectTables>, version: number): Promise<void> => {
        const own = trx as unknown as Transaction<JournalTables>;
        over = last(version);
        await this.#deps.disabling(trx, disabledBy(changes));
        await journal.saveIn(own, over);
        await journal.knowFilesIn(own, known);
        await pruneVersions(trx, version);
      };
      // An engine that was rolled back from a stored version would differ from it.
      const pause = (): Promise<void> => clock.sleep(ASK_MS, this.#closing);
      await objects.commit(target, { author, comment, at: clock.now() }, also, pause);
    } else {
      over = last(null);
      await journal.finish(over, known);
    }
    this.#now = over!;
    return this.#now;
  }
  #restartWords(): string {
    const names = this.#now.restart.files.join(', ');
    return this.#now.restart.wish === 'when_convenient'
      ? `${names}: taken in when the engine starts anew, which it does once no call is left.`
      : `${names}: taken in when the engine starts next; ask for it with restart "when_convenient".`;
  }
  async #touch(names: readonly string[]): Promise<void> {
    const began = performance.now();
    try {
      await patiently(this.#deps, this.#deps.patience.reload_ms, this.#closing, (signal) =>
        this.#deps.engine.reload(names, signal),
      );
    } finally {
      const ms = Math.round(performance.now() - began);
      this.#note({ engine_touched_ms: this.#now.engine_touched_ms + ms });
    }
  }
  async #check(proof: Proof, names: readonly string[], depth: 'all' | 'changed'): Promise<void> {
    const problems = await patiently(this.#deps, this.#deps.patience.verify_ms, this.#closing, (signal) =>
      this.#deps.engine.verify(proof, names, signal, depth),
    );
    if (problems.length > 0)
      throw new NotAsMeant('The objects in the engine differ from the new version.', problems);
  }
  async #forward(files: EngineFiles, names: readonly string[], proof: Proof): Promise<void> {
    const { engine } = this.#deps;
    const live = names.filter((name) => !this.#now.restart.files.includes(name));
    // First, so that the PIN that a former owner chose by phone stays in the mailbox that is moved, also for a rollback.
    await this.#deps.mailboxes(mailboxOwners(this.#wanted.target));
    await engine.write(new Map([...files].filter(([name]) => this.#steps.some((s) => s.name === name))));
    const left = await stepsTo(engine, files);
    if (left.length > 0)
      throw new NotAsMeant(
        'A file on the disk is not what was written.',
        left.map((s) => ({ object: null, file: s.name, words: 'it is not what was written' })),
      );
    if (live.length === 0) return;
    await this.#enter('reloading');
    this.#release = await this.#deps.hold();
    this.#note({ reloaded: live });
    await this.#touch(live);
    await this.#enter('verifying');
    await this.#check(proof, live, this.#wanted.overwrite_drift ? 'all' : 'changed');
  }
  #wordsOf(error: unknown): string {
    if (error instanceof NotAsMeant) this.#noteProblems(error.problems);
    else this.#noteProblems([{ object: null, file: null, words: messageOf(error) }]);
    return error instanceof NotAsMeant ? error.message : `${messageOf(error)}.`;
  }
  async #restore(): Promise<readonly string[]> {
    for (let n = 1; ; n += 1) {
      try {
        return await putBack(this.#deps, this.#steps);
      } catch (error) {
        if (n === RESTORE_TRIES || this.#closing.aborted) throw error;
        await this.#deps.clock.sleep(RESTORE_MS, this.#closing).catch(() => undefined);
      }
    }
  }
  /** Reloads the named files and compares the engine with a throw-away engine that has the same files. */
  async #backInEngine(files: EngineFiles, names: readonly string[]): Promise<void> {
    await this.#touch(names);
    const proof = await proofOfDisk(this.#deps.engine, files.keys());
    // Checks all objects, because the state of the engine after a refused reload is unknown.
    await this.#check(proof, names, 'all');
  }
  async #rollBack(cause: unknown, files: EngineFiles): Promise<ConfigApply> {
    const { engine, log } = this.#deps;
    const why = this.#wordsOf(cause);
    log.warn({ apply: this.#now.id, error: messageOf(cause) }, 'an apply is rolled back');
    await this.#enter('rolling_back').catch(() => void (this.#now = this.#stepped('rolling_back')));
    let written: readonly string[];
    try {
      written = await this.#restore();
    } catch (error) {
      if (this.#closing.aborted) throw error;
      this.#wordsOf(error);
      await leaveThere(this.#deps, this.#steps).catch(() => undefined);
      return await this.#finish(
        'failed',
        `${why} The files could not be put back: ${messageOf(error)}. Make room on the disk, then apply again or start the service anew.`,
        true,
      );
    }
    const names = [...new Set([...written, ...this.#now.reloaded])].filter(
      (name) => !engine.needsRestart([name]).includes(name),
    );
    await tryMailboxes(this.#deps, mailboxOwners(this.#deps.objects.applied()));
    try {
      if (names.length > 0) {
        if (this.#now.reloaded.length === 0) this.#release = await this.#deps.hold();
        await this.#backInEngine(files, names);
      }
    } catch (error) {
      if (this.#closing.aborted) throw error;
      this.#wordsOf(error);
      const down = hasCode(error, 'engine_unavailable');
      return await this.#finish(
        down ? 'rolled_back' : 'failed',
        down
          ? `${why} The files are as they were; the engine does not run, and starts with them.`
          : `${why} The files are as they were, but the engine could not be brought back to them: ${messageOf(error)}. Start the engine anew: it then holds what the files say.`,
      );
    }
    return await this.#finish('rolled_back', `${why} Files and engine are as they were before.`);
  }
  async #run(): Promise<ConfigApply> {
    const { engine, journal, log } = this.#deps;
    let files: EngineFiles;
    let names: readonly string[];
    let proof: Proof | null = null;
    try {
      ({ files, names } = await this.#plan());
      this.#cancelling.signal.throwIfAborted();
      if (names.length > 0) {
        await this.#enter('proving');
        proof = await this.#prove(files);
        await this.#stillSo(files);
      }
      this.#cancelling.signal.throwIfAborted();
      this.#cancellable = false;
      const restart = engine.needsRestart(this.#steps.map((s) => s.name));
      this.#note({ restart: { ...this.#now.restart, files: [...restart] } });
      if (proof !== null) await this.#enter('writing', { files: this.#steps, open: true });
    } catch (error) {
      this.#cancellable = false;
      if (this.#closing.aborted) throw error;
      if (this.#cancelling.signal.aborted)
        return await this.#finish('cancelled', 'It was cancelled; nothing was touched.');
      if (error instanceof Ends)
        return await this.#finish(error.state, `${error.message} Nothing was touched.`);
      return await this.#finish('rejected', `${this.#wordsOf(error)} Nothing was touched.`);
    }
    try {
      if (proof !== null) await this.#forward(files, names, proof);
      // A number can have another owner with equal files.
      else await this.#deps.mailboxes(mailboxOwners(this.#wanted.target));
      const over = await this.#commit(files, proof !== null);
      this.#deps.committed();
      this.#deps.publishApply(over);
    } catch (error) {
      if (this.#closing.aborted) throw error;
      if (proof === null) {
        const why = this.#wordsOf(error);
        await tryMailboxes(this.#deps, mailboxOwners(this.#deps.objects.applied()));
        return await this.#finish('rejected', `${why} Nothing was touched.`);
      }
      if (isOver(this.#now.state)) throw error;
      return await this.#rollBack(error, files);
    }
    if (this.#now.restart.files.length > 0 && this.#now.restart.wish === 'when_convenient') {
      try {
        await this.#deps.restart();
        this.#note({ restart: { ...this.#now.restart, asked: true } });
        await journal.save(this.#now);
      } catch (error) {
        log.error(
          { apply: this.#now.id, error: messageOf(error) },
          'the engine could not be asked to restart',
        );
      }
    }
    return this.#now;
  }
}
