/** The files of a standby's engine: renders and writes each applied version, and checks the engine after its reload. */
import { messageOf } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { EngineConfig, EngineFiles, EngineProblem, Proof } from '../../../ports/engine-config.ts';
import type { Site } from '../../../ports/site.ts';
import type { RunDeps } from './deps.ts';
import { proofOfDisk, tryMailboxes } from './put-back.ts';

export interface StandbyFilesDeps extends Pick<RunDeps, 'mailboxes'> {
  readonly engine: EngineConfig;
  readonly log: Log;
  /** The applied configuration, read from the site's store. */
  readonly read: () => Promise<{ readonly version: number; readonly site: Site }>;
  /** The newest applied version. */
  readonly newest: () => Promise<number>;
  /** Requests a restart of the engine when no call is left. */
  readonly restart: () => Promise<void>;
  readonly running: () => boolean;
}

/** Finding of the health check `configuration` about files of a standby or home node. */
export const findingOf = (version: number | null, problem: string | null) => {
  const ok = version !== null && problem === null;
  return { ok, detail: problem ?? (ok ? `version ${version}` : 'not written yet') };
};
/** Throws if there are problems. */
export function refuse(problems: readonly EngineProblem[]): void {
  if (problems.length > 0) throw new Error(problems.map((one) => one.words).join('; '));
}

/** Files that were written since the engine was last compared with them, also after a failed reload. */
export class TouchedFiles {
  readonly #engine: EngineConfig;
  readonly #names = new Set<string>();
  constructor(engine: EngineConfig) {
    this.#engine = engine;
  }
  get size(): number {
    return this.#names.size;
  }
  /** `back`: see `EngineConfig.write`. */
  async write(files: EngineFiles, back = false): Promise<void> {
    for (const name of await this.#engine.write(files, back)) this.#names.add(name);
  }
  /** Files that a running engine can reload. */
  live(): readonly string[] {
    const untaken = this.#engine.needsRestart([...this.#names]);
    return [...this.#names].filter((name) => !untaken.includes(name));
  }
  /** Reloads the files and compares the engine with a temporary one. Returns files that need a restart. */
  async takeIn(proof: () => Promise<Proof>, signal?: AbortSignal): Promise<readonly string[]> {
    const live = this.live();
    const untaken = [...this.#names].filter((name) => !live.includes(name));
    if (live.length > 0) {
      await this.#engine.reload(live, signal);
      refuse(await this.#engine.verify(await proof(), live, signal));
    }
    return untaken;
  }
  clear(): void {
    this.#names.clear();
  }
}

export class StandbyFiles {
  readonly #deps: StandbyFilesDeps;
  readonly #touched: TouchedFiles;
  #version: number | null = null;
  #problem: string | null = null;
  /** Version that failed; it is not tried again before the next version or the next start. */
  #refused: number | null = null;
  constructor(deps: StandbyFilesDeps) {
    this.#deps = deps;
    this.#touched = new TouchedFiles(deps.engine);
  }
  /** Version in the engine; null before the first one was written. */
  get version(): number | null {
    return this.#version;
  }
  /** Reason why the engine does not have the newest version; null if it has. */
  get problem(): string | null {
    return this.#problem;
  }
  finding(): { readonly ok: boolean; readonly detail: string } {
    return findingOf(this.#version, this.#problem);
  }
  /** Call before the engine is started or adopted. Returns files that a running engine reads only at its next start. */
  async write(lives: boolean): Promise<readonly string[]> {
    const { engine, read } = this.#deps;
    const { version, site } = await read();
    await tryMailboxes(this.#deps, site.mailbox_owners);
    const files = engine.render(site);
    await engine.certify(files);
    await this.#touched.write(files);
    const untaken = lives ? await this.#takeIn(files) : [];
    this.#touched.clear();
    this.#version = version;
    this.#problem = null;
    return untaken;
  }
  /** Renders the files for another program of the engine, before its start. */
  async refit(): Promise<boolean> {
    const { engine, read } = this.#deps;
    if (!engine.ready) return false;
    await engine.write(engine.render((await read()).site));
    return true;
  }
  /** Applies a newer version to the running engine. */
  async follow(signal: AbortSignal): Promise<void> {
    const { engine, log, mailboxes, newest, read, running } = this.#deps;
    if (this.#version === null || !running()) return;
    const wanted = await newest();
    if (wanted === this.#version || wanted === this.#refused) return;
    const { version, site } = await read();
    try {
      const files = engine.render(site);
      refuse((await engine.prepare(files, signal)).problems);
      await engine.certify(files);
      await mailboxes(site.mailbox_owners);
      await this.#touched.write(files);
      const untaken = await this.#takeIn(files, signal);
      if (untaken.length > 0) await this.#deps.restart();
      this.#touched.clear();
      this.#version = version;
      this.#problem = null;
      this.#refused = null;
      log.info({ version }, 'the engine of this standby runs with the new configuration');
    } catch (error) {
      if (signal.aborted) throw error;
      this.#refused = version;
      this.#problem = `version ${version}: ${messageOf(error)}`;
      log.error(
        { version, error: messageOf(error) },
        'the engine of this standby did not accept a configuration',
      );
    }
  }
  #takeIn(files: EngineFiles, signal?: AbortSignal): Promise<readonly string[]> {
    return this.#touched.takeIn(() => proofOfDisk(this.#deps.engine, files.keys()), signal);
  }
}
