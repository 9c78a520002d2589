/**
 * The files of a home node's engine. An apply of the leading node writes them step by step. The home node also writes
 * them itself from the applied configuration: at its start, for a version that did not arrive by an apply, and after an
 * apply with unknown end.
 */
import { messageOf } from '../../../core/errors.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { EngineFiles, EngineProblem, FileOnDisk, Proof } from '../../../ports/engine-config.ts';
import type { Site } from '../../../ports/site.ts';
import { hashOf } from './hashes.ts';
import { proofOfDisk, tryMailboxes } from './put-back.ts';
import { TouchedFiles, findingOf, refuse } from './standby.ts';
import type { StandbyFilesDeps } from './standby.ts';

/** `read` resolves with the site in the form for this engine. */
export interface HomeFilesDeps extends Omit<StandbyFilesDeps, 'newest'> {
  readonly clock: Clock;
  /** Names the newest applied version and the leading node, on which the result of `read` depends. */
  readonly newest: () => Promise<string>;
}
/** Silence after which an apply counts as ended, in ms. */
const OPEN_MS = 600_000;

/** All steps run in sequence. */
export class HomeFiles {
  readonly #deps: HomeFilesDeps;
  #last: Promise<unknown> = Promise.resolve();
  #text: string | null = null;
  #before: string | null = null;
  /** Text of the applied configuration. */
  #settled: string | null = null;
  #newest = '';
  #version: number | null = null;
  #problem: string | null = null;
  /** Version that failed; it is not tried again before the next version, the next start or the end of a silence. */
  #refused = '';
  /** Time since which the files are those of an apply with unknown end, in ms; null for none. */
  #open: number | null = null;
  readonly #touched: TouchedFiles;
  #proven: { readonly hash: string; readonly proof: Proof } | null = null;
  constructor(deps: HomeFilesDeps) {
    this.#deps = deps;
    this.#touched = new TouchedFiles(deps.engine);
  }
  /** Version in the engine; null before the first one was written. */
  get version(): number | null {
    return this.#version;
  }
  get problem(): string | null {
    return this.#problem;
  }
  finding(): { readonly ok: boolean; readonly detail: string } {
    return findingOf(this.#version, this.#problem);
  }
  /** Call before the engine is started or adopted. Returns files that a running engine reads only at its next start. */
  write(lives: boolean): Promise<readonly string[]> {
    return this.#serially(async () => {
      const newest = await this.#deps.newest();
      const { version, site } = await this.#deps.read();
      await tryMailboxes(this.#deps, site.mailbox_owners);
      const untaken = await this.#bring(JSON.stringify(site), site, lives);
      this.#settle(newest, version);
      return untaken;
    });
  }
  /** Renders the files for another program of the engine, before its start. */
  async refit(): Promise<boolean> {
    const { engine } = this.#deps;
    if (!engine.ready || this.#text === null) return false;
    await this.#serially(() => engine.write(this.#render(this.#text!)));
    return true;
  }
  /** Applies a newer version to the running engine. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, log, mailboxes, newest, read, restart, running } = this.#deps;
    if (this.#version === null || !running()) return;
    const wanted = await newest();
    if (this.#open !== null && clock.now() - this.#open > OPEN_MS) this.unsettle();
    if (wanted === this.#newest || wanted === this.#refused) return;
    await this.#serially(async () => {
      const { version, site } = await read();
      const text = JSON.stringify(site);
      try {
        if (text !== this.#text || this.#touched.size > 0) {
          const untaken = await this.#bring(text, site, true, signal);
          if (untaken.length > 0) await restart();
          log.info({ version }, 'the engine of this node runs with the applied configuration');
        } else await mailboxes(site.mailbox_owners);
        this.#settle(wanted, version);
      } catch (error) {
        if (signal.aborted) throw error;
        this.#refused = wanted;
        // Files that the engine has not accepted, and an apply with unknown end, are tried again after the next silence.
        if (this.#open !== null || this.#touched.size > 0) this.#open = clock.now();
        this.#problem = `version ${version}: ${messageOf(error)}`;
        log.error(
          { version, error: messageOf(error) },
          'the engine of this node did not accept a configuration',
        );
      }
    });
  }
  /** Makes `follow` read the applied configuration again after an apply with unknown end. */
  unsettle(): void {
    if (this.#open === null && this.#touched.size === 0) return;
    this.#newest = '';
    this.#refused = '';
  }
  /** Hash of the site from which the files were rendered. */
  disk(): Pick<FileOnDisk, 'hash'> {
    return { hash: this.#text === null ? null : hashOf(this.#text) };
  }
  text(backup: boolean): string | null {
    return backup ? this.#before : this.#text;
  }
  prove(text: string, signal: AbortSignal): Promise<readonly EngineProblem[]> {
    return this.#serially(async () => {
      const { engine } = this.#deps;
      const files = this.#render(text);
      const { problems } = await engine.prepare(files, signal);
      if (problems.length > 0) return problems;
      const proof = await engine.prove(files, signal);
      this.#proven = { hash: hashOf(text), proof };
      return proof.problems;
    }, signal);
  }
  /** Writes the files of this site, after its mailboxes: an error of these leaves the former files. */
  put(text: string, signal: AbortSignal): Promise<void> {
    return this.#serially(async () => {
      const { clock, engine, mailboxes } = this.#deps;
      this.#open ??= clock.now();
      const site = JSON.parse(text) as Site;
      await mailboxes(site.mailbox_owners);
      await this.#put(text, engine.render(site));
    }, signal);
  }
  reload(signal: AbortSignal): Promise<void> {
    return this.#serially(async () => {
      const live = this.#touched.live();
      if (live.length > 0) await this.#deps.engine.reload(live, signal);
    }, signal);
  }
  verify(depth: 'all' | 'changed', signal: AbortSignal): Promise<readonly EngineProblem[]> {
    return this.#serially(async () => {
      const { engine, restart } = this.#deps;
      const live = this.#touched.live();
      const problems = live.length === 0 ? [] : await engine.verify(await this.#proof(), live, signal, depth);
      if (problems.length > 0) return problems;
      if (live.length < this.#touched.size) await restart();
      this.#touched.clear();
      return [];
    }, signal);
  }

  /** `signal`: ends with the request of a step. A step that waited until then would undo what another leader did since. */
  #serially<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const done = this.#last.then(() => {
      signal?.throwIfAborted();
      return work();
    });
    this.#last = done.catch(() => undefined);
    return done;
  }
  #render(text: string): EngineFiles {
    return this.#deps.engine.render(JSON.parse(text) as Site);
  }
  async #proof(): Promise<Proof> {
    const { engine } = this.#deps;
    const text = this.#text!;
    return this.#proven?.hash === hashOf(text)
      ? this.#proven.proof
      : await proofOfDisk(engine, this.#render(text).keys());
  }
  async #put(text: string, files: EngineFiles): Promise<void> {
    const { clock, engine } = this.#deps;
    await engine.certify(files);
    if (text !== this.#text) [this.#before, this.#text] = [this.#text, text];
    const back = text === this.#settled;
    this.#open = back ? null : clock.now();
    await this.#touched.write(files, back);
  }
  /** Returns files that a running engine reads only at its next start. */
  async #bring(text: string, site: Site, lives: boolean, signal?: AbortSignal): Promise<readonly string[]> {
    const { engine, mailboxes } = this.#deps;
    const files = engine.render(site);
    if (signal !== undefined) {
      refuse((await engine.prepare(files, signal)).problems);
      await mailboxes(site.mailbox_owners);
    }
    await this.#put(text, files);
    return lives ? await this.#touched.takeIn(() => this.#proof(), signal) : [];
  }
  #settle(newest: string, version: number): void {
    this.#newest = newest;
    this.#version = version;
    this.#settled = this.#text;
    this.#touched.clear();
    this.#problem = null;
    this.#refused = '';
    this.#open = null;
  }
}
