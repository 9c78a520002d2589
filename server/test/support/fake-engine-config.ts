/**
 * A disk and an engine that outlive the process using them, behind the port of the engine's configuration, with every
 * fault at every point.
 */
import { createHash } from 'node:crypto';
import { ServiceError } from '../../src/core/errors.ts';
import type { EngineConfig, EngineFiles, EngineProblem, Proof } from '../../src/ports/engine-config.ts';
import type { Site } from '../../src/ports/site.ts';
import type { Store } from '../../src/ports/store.ts';

/** The process is dead: its calls have no effect any more. */
export class Killed extends Error {}
/** Fault at a point; `lie` does nothing and reports success. */
export type Fault = 'disk_full' | 'lie' | 'hang' | 'dies' | 'half' | 'refuses' | 'garbles';
interface FakeProof extends Proof {
  readonly files: EngineFiles;
}
/** The file that an engine reads only at its start. */
const FIXED = 'fixed.conf';
const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
/** Rendered site with secrets, in several files, so that a part of them can be missing. */
const rendered = (site: Site): EngineFiles =>
  new Map([
    ['endpoints.conf', JSON.stringify(site.extensions.map((e) => [e.extension, e.name, e.sip_password]))],
    [FIXED, 'only a new start takes this in'],
    [
      'plan.conf',
      JSON.stringify([site.extensions.map((e) => e.extension), site.queues.map((q) => q.number)]),
    ],
    ['queues.conf', JSON.stringify(site.queues)],
  ]);

export class FakeWorld {
  readonly disk = new Map<string, string>();
  readonly backups = new Map<string, string>();
  readonly beside = new Map<string, string>();
  /** Running configuration of the engine; null while none runs. */
  live: Map<string, string> | null = null;
  /** Points passed so far, by name, in order. */
  points: string[] = [];
  /** Calls that reached the running engine. */
  touched: string[] = [];
  proofs = 0;
  /** The point, counted from 1, at which the process dies. */
  killAt = Infinity;
  /** Faults by point and occurrence, e.g. of `write endpoints.conf`. */
  faults = new Map<string, Fault[]>();
  /** Problems that a proof reports. */
  proofProblems: EngineProblem[] = [];
  /** Problems that `prepare` reports. */
  lacking: EngineProblem[] = [];
  notices: EngineProblem[] = [];
  /** Number of calls for which a dead engine stays away. */
  away = 0;
  extra: ((site: Site) => EngineFiles) | null = null;
  /** Files that were written since the engine started, without a comparison that found no difference. */
  readonly #unread = new Set<string>();
  #dead = false;
  #life = 0;

  /** A new process over the same disk and engine. */
  revive({ engineDied = false } = {}): void {
    this.#life += 1;
    this.#dead = false;
    this.killAt = Infinity;
    this.points = [];
    this.touched = [];
    this.faults.clear();
    if (engineDied) this.live = null;
  }
  get dead(): boolean {
    return this.#dead;
  }
  /** True while the asking process is the present one. */
  lives(): () => boolean {
    const life = this.#life;
    return () => life === this.#life && !this.#dead;
  }
  boot(): void {
    this.#unread.clear();
    this.live = new Map([...this.disk, ...this.beside]);
  }
  point(name: string): Fault | undefined {
    if (this.#dead) throw new Killed(name);
    this.points.push(name);
    if (this.points.length === this.killAt) {
      this.#dead = true;
      throw new Killed(name);
    }
    return this.faults.get(name)?.shift();
  }
  /** The store of a process that may die before and after each write. */
  store(store: Store): Store {
    const point = this.#pointOf();
    return {
      ...store,
      transaction: async (work) => {
        point('before a write of the store');
        const result = await store.transaction(work);
        point('after a write of the store');
        return result;
      },
    };
  }
  #pointOf(): (name: string) => Fault | undefined {
    const lives = this.lives();
    return (name) => {
      if (!lives()) throw new Killed(name);
      return this.point(name);
    };
  }
  #engine(): Map<string, string> {
    if (this.live === null && this.away > 0 && --this.away === 0) this.boot();
    if (this.live === null) throw new ServiceError('engine_unavailable', 'no engine answers');
    return this.live;
  }

  config(): EngineConfig {
    const point = this.#pointOf();
    const put = (name: string, text: string): void => {
      const fault = point(`write ${name}`);
      if (fault === 'disk_full') throw new ServiceError('storage_full', 'no space left on the device');
      if (fault === 'refuses') throw new Error(`${name}: permission denied`);
      const before = this.disk.get(name);
      if (before !== undefined) this.backups.set(name, before);
      if (this.live !== null && name !== FIXED) this.#unread.add(name);
      point(`kept ${name}`);
      this.disk.set(name, fault === 'garbles' ? `${text.slice(0, -1)}?` : text);
    };
    return {
      ready: true,
      render: (site) => new Map([...rendered(site), ...(this.extra?.(site) ?? [])]),
      onDisk: async (names) => {
        point('onDisk');
        return [...names].sort().map((name) => {
          const text = this.disk.get(name);
          return { name, hash: text === undefined ? null : hash(text) };
        });
      },
      handWritten: async () => [...this.beside].map(([name, text]) => ({ name, hash: hash(text) })),
      read: async (name, backup = false) => {
        point('read');
        return (backup ? this.backups : this.disk).get(name) ?? null;
      },
      certify: () => Promise.resolve(),
      prepare: async () => ({ problems: this.lacking, notices: this.notices }),
      prove: async (files, signal) => {
        const fault = point('prove');
        this.proofs += 1;
        if (fault === 'disk_full') throw new ServiceError('storage_full', 'no space left on the device');
        if (fault === 'hang')
          await new Promise((_, reject) =>
            signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
          );
        point('proven');
        const proof: FakeProof = {
          problems: this.proofProblems,
          files: new Map([...files, ...this.beside]),
        };
        return proof;
      },
      write: async (files) => {
        const changed: string[] = [];
        for (const [name, text] of files) {
          if (this.disk.get(name) === text) continue;
          put(name, text);
          changed.push(name);
        }
        point('written');
        return [...new Set([...changed, ...this.#unread])];
      },
      reload: async (names) => {
        const fault = point('reload');
        this.touched.push('reload');
        if (fault === 'dies') this.live = null;
        const live = this.#engine();
        if (fault === 'hang') await new Promise(() => undefined);
        if (fault === 'refuses') throw new ServiceError('engine_refused', 'the engine says no');
        if (fault !== 'lie')
          for (const [i, name] of names.entries()) {
            if (i > 0) point('reloading');
            const text = this.disk.get(name) ?? this.beside.get(name);
            if (text === undefined) live.delete(name);
            else live.set(name, text);
            if (fault === 'half') break;
          }
        point('reloaded');
      },
      verify: async (proof, names) => {
        const fault = point('verify');
        if (fault === 'dies') this.live = null;
        const live = this.#engine();
        const { files } = proof as FakeProof;
        point('verified');
        const differing = names.filter((name) => live.get(name) !== files.get(name));
        if (differing.length === 0) for (const name of names) this.#unread.delete(name);
        return differing.map((name) => ({ object: null, file: name, words: `it holds another ${name}` }));
      },
      hidden: (_, text) => text.replaceAll(/[A-Za-z0-9_-]{32}/g, '(hidden)'),
      needsRestart: (names) => names.filter((name) => name === FIXED),
    };
  }
}
