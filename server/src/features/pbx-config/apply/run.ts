/**
 * One apply from beginning to end. What is about to be done is in the journal before it is done; whatever goes wrong once a file
 * was written leads back to the files as they were, read again and checked. It never throws.
 */
import type { ApplyState, ConfigApply, ConfigProblem } from '@offhook/contract/config-applies.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { EngineConfig, EngineFiles, MailboxOwner, Proof } from '../../../ports/engine-config.ts';
import type { Site } from '../../../ports/site.ts';
import { checkModel } from '../check.ts';
import type { House } from '../check.ts';
import { difference, ownersBetween } from '../model.ts';
import type { Model } from '../model.ts';
import type { ObjectStore } from '../objects.ts';
import type { JournalTables } from './journal.ts';
import { summariesOf } from './differences.ts';
import { findDrift, knownNow, stepsTo } from './files.ts';
import { isOver } from './journal.ts';
import type { ApplyJournal, FileStep } from './journal.ts';
import { patiently } from './patience.ts';
import type { Patience } from './patience.ts';
import { leaveThere, proofOfDisk, putBack } from './put-back.ts';
import { pruneVersions } from './versions.ts';
import type { Transaction } from 'kysely';

/** What an apply is to bring about. */
export interface Wanted {
  readonly target: Model;
  readonly author: string;
  readonly comment: string | null;
  readonly overwrite_drift: boolean;
}
export interface RunDeps {
  readonly objects: ObjectStore;
  readonly engine: EngineConfig;
  readonly journal: ApplyJournal;
  readonly house: House;
  readonly site: (model: Model) => Site;
  readonly clock: Clock;
  readonly log: Log;
  readonly patience: Patience;
  /** Called with every state it comes to. */
  readonly told: (apply: ConfigApply) => void;
  /**
   * Called before the engine reads files again: what it forgets by that is nobody's wish. What it gives back is called when
   * engine and files agree again.
   */
  readonly hold: () => Promise<() => void>;
  /** Messages go with their owners: called before the engine reads files again, and the other way round on the way back. */
  readonly mailboxes: (owners: readonly MailboxOwner[]) => Promise<void>;
  /** A version was made: everybody is to follow it. */
  readonly committed: () => void;
  /** Asks for a new start of the engine once no call is left. */
  readonly restart: () => Promise<void>;
}
const MOST_PROBLEMS = 50;
const MOST_WORDS = 2_000;
/** Tries to put the files back, and the wait between them. */
const RESTORE_TRIES = 4;
const RESTORE_MS = 500;

/** Nothing was touched: the apply ends with this state and sentence. */
class Ends extends Error {
  readonly state: ApplyState;
  constructor(state: ApplyState, detail: string) {
    super(detail);
    this.state = state;
  }
}
/** The engine does not hold what it should; the problems say what. */
class NotAsMeant extends Error {
  readonly problems: readonly ConfigProblem[];
  constructor(detail: string, problems: readonly ConfigProblem[]) {
    super(detail);
    this.problems = problems;
  }
}
export interface Run {
  /** True until the first file is about to be written. */
  cancel(): boolean;
  /** As it is now. */
  now(): ConfigApply;
  readonly done: Promise<ConfigApply>;
}

export function startRun(deps: RunDeps, begun: ConfigApply, wanted: Wanted, closing: AbortSignal): Run {
  const { engine, journal, objects, clock, log } = deps;
  const cancelling = new AbortController();
  let cancellable = true;
  let now = begun;
  let entered = clock.now();
  let steps: readonly FileStep[] = [];
  let seen = '';
  let release = (): void => {};

  const stepped = (state: ApplyState): ConfigApply => {
    const at = clock.now();
    const done = { step: now.state, ms: Math.round(at - entered) };
    entered = at;
    return {
      ...now,
      state,
      steps: [...now.steps, done],
      finished_at: isOver(state) ? rfc3339(at) : null,
    };
  };
  /** Writes down that the next step begins, and tells. */
  const enter = async (
    state: ApplyState,
    more: { readonly files?: readonly FileStep[]; readonly open?: boolean } = {},
  ): Promise<void> => {
    const next = stepped(state);
    await journal.save(next, more);
    now = next;
    deps.told(now);
  };
  const note = (change: Partial<ConfigApply>): void => void (now = { ...now, ...change });
  const noteProblems = (problems: readonly ConfigProblem[]): void =>
    note({
      problems: [
        ...now.problems,
        ...problems
          .slice(0, MOST_PROBLEMS - now.problems.length)
          .map((p) => ({ ...p, words: p.words.slice(0, MOST_WORDS) })),
      ],
    });
  /** The end is written down however long that takes, because the next start would go on from what is there. */
  const finish = async (state: ApplyState, detail: string, open = false): Promise<ConfigApply> => {
    now = { ...stepped(state), detail };
    for (;;) {
      try {
        await journal.save(now, { open });
        break;
      } catch (error) {
        log.warn({ error: messageOf(error), apply: now.id }, 'the end of an apply could not be written down');
        if (closing.aborted) return now;
        await clock.sleep(1_000, closing).catch(() => undefined);
      }
    }
    deps.told(now);
    return now;
  };

  const plan = async (): Promise<{ files: EngineFiles; names: string[] }> => {
    const findings = checkModel(wanted.target, deps.house);
    if (findings.length > 0) {
      noteProblems(
        findings.map((f) => ({ object: `${f.kind} ${f.key}`, file: null, words: `${f.path}: ${f.detail}` })),
      );
      throw new Ends('rejected', 'The configuration does not fit together.');
    }
    await enter('planning');
    const changes = difference(objects.applied(), wanted.target);
    note({ objects: summariesOf(changes) });
    const files = engine.render(deps.site(wanted.target));
    const drift = await findDrift(engine, await journal.files());
    const foreign = drift.filter((d) => !d.hand_written);
    if (foreign.length > 0 && !wanted.overwrite_drift) {
      noteProblems(foreign.map((d) => ({ object: null, file: d.name, words: 'it was changed by hand' })));
      throw new Ends('rejected', 'Files were changed by hand; with overwrite_drift they are written over.');
    }
    steps = await stepsTo(engine, files);
    seen = JSON.stringify([drift, steps]);
    const beside = drift.filter((d) => d.hand_written).map((d) => d.name);
    const names = [...steps.map((s) => s.name), ...beside];
    note({ files: names });
    return { files, names };
  };

  /** A proof is only good for the files it was made beside; and what changed since would be written over without a word. */
  const stillSo = async (files: EngineFiles): Promise<void> => {
    const now = [await findDrift(engine, await journal.files()), await stepsTo(engine, files)];
    if (JSON.stringify(now) !== seen)
      throw new Ends('rejected', 'Files were changed by hand while it was tried.');
  };
  const prove = async (files: EngineFiles): Promise<Proof> => {
    const signal = AbortSignal.any([cancelling.signal, closing]);
    const proof = await engine.prove(files, signal);
    if (proof.problems.length > 0) {
      noteProblems(proof.problems);
      throw new Ends(
        'rejected',
        'An engine that was started with it, only to try it, did not take it as meant.',
      );
    }
    return proof;
  };

  /** Everything that is final: the version, that it is applied, and what the files are from now on. */
  const commit = async (files: EngineFiles, changed: boolean): Promise<ConfigApply> => {
    await enter('committing');
    const known = await knownNow(engine, files.keys(), await journal.files());
    const { author, comment, target } = wanted;
    const made = difference(objects.applied(), target).length > 0;
    const said = changed
      ? now.reloaded.length > 0
        ? 'The engine holds it.'
        : 'The files are written; the engine was not told to read anything again.'
      : made
        ? 'Nothing of it concerns the engine, which was left alone.'
        : 'Nothing was different: nothing was written and the engine was left alone.';
    const restart = now.restart.files.length === 0 ? '' : ` ${restartWords()}`;
    const last = (version: number | null): ConfigApply => ({
      ...stepped('applied'),
      version,
      detail: said + restart,
    });
    let over: ConfigApply | undefined;
    if (made) {
      await objects.commit(target, { author, comment, at: clock.now() }, async (trx, version) => {
        const own = trx as unknown as Transaction<JournalTables>;
        over = last(version);
        await journal.saveIn(own, over);
        await journal.knowFilesIn(own, known);
        await pruneVersions(trx, version);
      });
    } else {
      over = last(null);
      await journal.finish(over, known);
    }
    now = over!;
    return now;
  };
  const restartWords = (): string => {
    const names = now.restart.files.join(', ');
    return now.restart.wish === 'when_convenient'
      ? `${names}: taken in when the engine starts anew, which it does once no call is left.`
      : `${names}: taken in when the engine starts next; ask for it with restart "when_convenient".`;
  };

  const touch = async (names: readonly string[]): Promise<void> => {
    const began = performance.now();
    try {
      await patiently(deps, deps.patience.reload_ms, closing, (signal) => engine.reload(names, signal));
    } finally {
      const ms = Math.round(performance.now() - began);
      note({ engine_touched_ms: now.engine_touched_ms + ms });
    }
  };
  const check = async (proof: Proof, names: readonly string[]): Promise<void> => {
    const problems = await patiently(deps, deps.patience.verify_ms, closing, (signal) =>
      engine.verify(proof, names, signal),
    );
    if (problems.length > 0) throw new NotAsMeant('The engine does not hold what was meant.', problems);
  };

  const forward = async (files: EngineFiles, names: readonly string[], proof: Proof): Promise<void> => {
    const live = names.filter((name) => !now.restart.files.includes(name));
    await engine.write(new Map([...files].filter(([name]) => steps.some((s) => s.name === name))));
    const left = await stepsTo(engine, files);
    if (left.length > 0)
      throw new NotAsMeant(
        'A file on the disk is not what was written.',
        left.map((s) => ({ object: null, file: s.name, words: 'it is not what was written' })),
      );
    await deps.mailboxes(ownersBetween(objects.applied(), wanted.target));
    if (live.length === 0) return;
    await enter('reloading');
    release = await deps.hold();
    note({ reloaded: live });
    await touch(live);
    await enter('verifying');
    await check(proof, live);
  };

  const wordsOf = (error: unknown): string => {
    if (error instanceof NotAsMeant) noteProblems(error.problems);
    else noteProblems([{ object: null, file: null, words: messageOf(error) }]);
    return error instanceof NotAsMeant ? error.message : `${messageOf(error)}.`;
  };
  const back = {
    engine,
    journal,
    log,
    applied: () => engine.render(deps.site(objects.applied())),
  };
  const restore = async (): Promise<readonly string[]> => {
    for (let n = 1; ; n += 1) {
      try {
        return await putBack(back, steps);
      } catch (error) {
        if (n === RESTORE_TRIES || closing.aborted) throw error;
        await clock.sleep(RESTORE_MS, closing).catch(() => undefined);
      }
    }
  };
  /** The names that were written or read again come back, and the engine is checked against an engine with the same files. */
  const backInEngine = async (files: EngineFiles, names: readonly string[]): Promise<void> => {
    await touch(names);
    const proof = await proofOfDisk(engine, files.keys());
    await check(proof, names);
  };
  const rollBack = async (cause: unknown, files: EngineFiles): Promise<ConfigApply> => {
    const why = wordsOf(cause);
    log.warn({ apply: now.id, error: messageOf(cause) }, 'an apply is rolled back');
    await enter('rolling_back').catch(() => void (now = stepped('rolling_back')));
    let written: readonly string[];
    try {
      written = await restore();
    } catch (error) {
      if (closing.aborted) throw error;
      wordsOf(error);
      await leaveThere(back, steps).catch(() => undefined);
      return await finish(
        'failed',
        `${why} The files could not be put back: ${messageOf(error)}. Make room on the disk, then apply again or start the service anew.`,
        true,
      );
    }
    const names = [...new Set([...written, ...now.reloaded])].filter(
      (name) => !engine.needsRestart([name]).includes(name),
    );
    try {
      await deps.mailboxes(ownersBetween(wanted.target, objects.applied()));
      if (names.length > 0) {
        if (now.reloaded.length === 0) release = await deps.hold();
        await backInEngine(files, names);
      }
    } catch (error) {
      if (closing.aborted) throw error;
      wordsOf(error);
      const down = error instanceof ServiceError && error.code === 'engine_unavailable';
      return await finish(
        down ? 'rolled_back' : 'failed',
        down
          ? `${why} The files are as they were; the engine does not run, and starts with them.`
          : `${why} The files are as they were, but the engine could not be brought back to them: ${messageOf(error)}. Start the engine anew: it then holds what the files say.`,
      );
    }
    return await finish('rolled_back', `${why} Files and engine are as they were before.`);
  };

  const run = async (): Promise<ConfigApply> => {
    let files: EngineFiles;
    let names: readonly string[];
    let proof: Proof | null = null;
    try {
      ({ files, names } = await plan());
      cancelling.signal.throwIfAborted();
      if (names.length > 0) {
        await enter('proving');
        proof = await prove(files);
        await stillSo(files);
      }
      cancelling.signal.throwIfAborted();
      cancellable = false;
      const restart = engine.needsRestart(steps.map((s) => s.name));
      note({ restart: { ...now.restart, files: [...restart] } });
      if (proof !== null) await enter('writing', { files: steps, open: true });
    } catch (error) {
      cancellable = false;
      if (closing.aborted) throw error;
      if (cancelling.signal.aborted)
        return await finish('cancelled', 'It was cancelled; nothing was touched.');
      if (error instanceof Ends) return await finish(error.state, `${error.message} Nothing was touched.`);
      return await finish('rejected', `${wordsOf(error)} Nothing was touched.`);
    }
    try {
      if (proof !== null) await forward(files, names, proof);
      const over = await commit(files, proof !== null);
      deps.committed();
      deps.told(over);
    } catch (error) {
      if (closing.aborted) throw error;
      if (proof === null) return await finish('rejected', `${wordsOf(error)} Nothing was touched.`);
      if (isOver(now.state)) throw error;
      return await rollBack(error, files);
    }
    if (now.restart.files.length > 0 && now.restart.wish === 'when_convenient') {
      try {
        await deps.restart();
        note({ restart: { ...now.restart, asked: true } });
        await journal.save(now);
      } catch (error) {
        log.error({ apply: now.id, error: messageOf(error) }, 'the engine was not asked to start anew');
      }
    }
    return now;
  };
  const done = run()
    .catch((error: unknown) => {
      // What is open stays open for the next start, which finishes it.
      if (!closing.aborted) log.error({ apply: now.id, err: error }, 'an apply ended in a way it should not');
      return now;
    })
    .finally(() => release());
  return {
    cancel() {
      if (!cancellable) return false;
      cancelling.abort(new Error('cancelled'));
      return true;
    },
    now: () => now,
    done,
  };
}
