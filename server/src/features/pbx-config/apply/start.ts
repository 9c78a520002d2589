/** Runs before the engine is started or adopted: ends an unfinished apply, then writes the files of this version. */
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { messageOf } from '../../../core/errors.ts';
import { mailboxOwners } from '../model.ts';
import { findDrift, knownNow, stepsTo } from './files.ts';
import type { StoredApply } from './journal.ts';
import { isOver } from './journal.ts';
import { hashOf } from './hashes.ts';
import { patiently } from './patience.ts';
import { leaveThere, problemsOf, proofOfDisk, putBack, tryMailboxes } from './put-back.ts';
import { ofOtherEngine } from '../../../ports/engine-config.ts';
import type { EngineFiles, EngineProblem } from '../../../ports/engine-config.ts';
import type { RunDeps } from './deps.ts';

export interface Started {
  /** Files that the running engine did not accept, which need its restart. */
  readonly untaken: readonly string[];
  /** Applies that were ended here. */
  readonly ended: readonly ConfigApply[];
}

/** `lives`: the engine of the previous service still runs. A disk error is only logged if former files exist. */
export class FilesAtStart {
  readonly #deps: RunDeps;
  readonly #lives: boolean;
  readonly #closing: AbortSignal;
  readonly #ended: ConfigApply[] = [];
  readonly #untaken = new Set<string>();

  constructor(deps: RunDeps, how: { readonly lives: boolean; readonly closing: AbortSignal }) {
    this.#deps = deps;
    this.#lives = how.lives;
    this.#closing = how.closing;
  }
  async run(): Promise<Started> {
    const { engine, journal, log, objects } = this.#deps;
    await tryMailboxes(this.#deps, mailboxOwners(objects.applied()));
    // Other engines notice the new term by themselves, so only files of this engine are recovered.
    for (const { files, ...apply } of await journal.unfinished())
      await this.#recover({ ...apply, files: files.filter(({ name }) => !ofOtherEngine(name)) });
    let written: readonly string[] = [];
    try {
      written = await this.#writeOwn();
    } catch (error) {
      if (this.#closing.aborted || (await journal.files()).size === 0) throw error;
      // The engine can still start with its former files.
      log.error({ error: messageOf(error) }, 'the files of the engine could not be written');
    }
    if (this.#lives && written.length > 0) {
      const restart = engine.needsRestart(written);
      for (const name of restart) this.#untaken.add(name);
      await this.#takeIn(written.filter((name) => !restart.includes(name)));
    }
    return { untaken: [...this.#untaken], ended: this.#ended };
  }

  #applied(): EngineFiles {
    return this.#deps.engine.render(this.#deps.site(this.#deps.objects.applied()));
  }
  async #end(apply: StoredApply, change: Partial<ConfigApply>, open = false): Promise<void> {
    const { journal, clock, log } = this.#deps;
    const shown = { ...apply.shown, ...change, finished_at: rfc3339(clock.now()) };
    await journal.save(shown, { open });
    this.#ended.push(shown);
    log.warn(
      { apply: shown.id, state: shown.state },
      'finished an apply that the previous run of the service left unfinished',
    );
  }
  /** Reloads these files in the running engine; returns the objects that differ from the configuration. */
  async #bringLive(names: readonly string[]): Promise<readonly EngineProblem[]> {
    const { clock, engine } = this.#deps;
    // During the start of the service, no process restarts an engine that has ended.
    const short = { clock, patience: { ...this.#deps.patience, back_ms: 0 } };
    const release = await this.#deps.hold();
    try {
      await patiently(short, this.#deps.patience.reload_ms, this.#closing, (signal) =>
        engine.reload(names, signal),
      );
      const proof = await proofOfDisk(engine, this.#applied().keys());
      return await patiently(short, this.#deps.patience.verify_ms, this.#closing, (signal) =>
        engine.verify(proof, names, signal),
      );
    } finally {
      release();
    }
  }
  /** Reloads new files in the running engine; files that it rejects need its restart. */
  async #takeIn(live: readonly string[]): Promise<void> {
    try {
      const problems = live.length === 0 ? [] : await this.#bringLive(live);
      if (problems.length > 0) throw new Error(problems.map((p) => p.words).join('; '));
    } catch (error) {
      if (this.#closing.aborted) throw error;
      this.#deps.log.warn({ error: messageOf(error) }, 'the running engine did not load its new files');
      for (const name of live) this.#untaken.add(name);
    }
  }
  async #recover(apply: StoredApply): Promise<void> {
    const { state } = apply.shown;
    if (!apply.open) {
      if (!isOver(state))
        await this.#end(apply, {
          state: 'rejected',
          detail: `The service ended while it was ${state}; nothing was touched.`,
        });
      return;
    }
    const why = isOver(state) ? '' : `The service ended while it was ${state}. `;
    const names = apply.files.map((f) => f.name);
    try {
      await putBack(this.#deps, apply.files);
    } catch (error) {
      await leaveThere(this.#deps, apply.files);
      const detail = `${why}The files could not be put back: ${messageOf(error)}. Make room on the disk and start the service anew.`;
      await this.#end(apply, { state: 'failed', problems: [...problemsOf(error)], detail }, true);
      return;
    }
    const live = names.filter((name) => !this.#deps.engine.needsRestart([name]).includes(name));
    if (!this.#lives || live.length === 0) {
      await this.#end(apply, {
        state: 'rolled_back',
        detail: `${why}The files are as they were before, and the engine starts with them.`,
      });
      return;
    }
    try {
      const problems = await this.#bringLive(live);
      if (problems.length === 0) {
        await this.#end(apply, {
          state: 'rolled_back',
          detail: `${why}Files and engine are as they were before.`,
        });
        return;
      }
      throw Object.assign(new Error('its objects differ from the files'), { problems });
    } catch (error) {
      const { problems = [] } = error as { problems?: never[] };
      for (const name of live) this.#untaken.add(name);
      await this.#end(apply, {
        state: 'failed',
        problems: [...problemsOf(error, problems)],
        detail: `${why}The files are as they were before; the engine is started anew once no call is left, because ${messageOf(error)}.`,
      });
    }
  }
  /** Writes the files of this version, except those changed by hand. Returns the files that a running engine has to load. */
  async #writeOwn(): Promise<readonly string[]> {
    const { engine, journal, log } = this.#deps;
    const known = await journal.files();
    const files = this.#applied();
    // A restored data folder may lack its certificates, without which no phone can use TLS.
    await engine.certify(files);
    const steps = await stepsTo(engine, files);
    // A file with the wanted text does not count as changed by hand: a standby, or a person, wrote the same text.
    const isOurs = (name: string, hash: string | null): boolean =>
      hash !== null && files.has(name) && hashOf(files.get(name)!) === hash;
    const drift = (await findDrift(engine, known)).filter(
      (d) => !d.hand_written && d.hash !== null && !isOurs(d.name, d.hash),
    );
    const wanted = drift.length === 0 ? steps : steps.filter((s) => s.before === null);
    if (drift.length > 0)
      log.warn(
        { files: drift.map((d) => d.name) },
        'files of the engine were changed by hand: it runs with the changed files, see GET /api/v1/config/drift',
      );
    if (wanted.length > 0)
      await journal.knowFiles(
        wanted.map(({ name, after }) => ({
          name,
          hash: known.get(name)?.hash ?? null,
          pending: after,
          noticed_at: null,
          hand_written: false,
        })),
      );
    const written = await engine.write(
      new Map([...files].filter(([name]) => wanted.some((s) => s.name === name))),
    );
    const drifted = new Set(drift.map((d) => d.name));
    const now = (await knownNow(engine, files.keys(), known)).filter(
      (f) => !drifted.has(f.name) && (!f.hand_written || !this.#lives || known.size === 0),
    );
    await journal.knowFiles(now);
    return written.filter((name) => !drifted.has(name));
  }
}

/** Renders the files for another program of the engine, before its start; changes by hand stay. No apply may run. */
export async function refitFiles({ engine, journal, objects, site }: RunDeps): Promise<void> {
  const known = await journal.files();
  const files = engine.render(site(objects.applied()));
  const drifted = new Set((await findDrift(engine, known)).map((d) => d.name));
  const steps = (await stepsTo(engine, files)).filter((s) => !drifted.has(s.name));
  if (steps.length === 0) return;
  const row = { noticed_at: null, hand_written: false };
  const before = (name: string) => known.get(name)?.hash ?? null;
  await journal.knowFiles(
    steps.map(({ name, after }) => ({ ...row, name, hash: before(name), pending: after })),
  );
  await engine.write(new Map([...files].filter(([name]) => steps.some((s) => s.name === name))));
  await journal.knowFiles(steps.map(({ name, after }) => ({ ...row, name, hash: after, pending: null })));
}
