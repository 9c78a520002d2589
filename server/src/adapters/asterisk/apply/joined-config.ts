/**
 * The configuration of all engines of a site as one. The files of another engine are represented by the site as that engine has
 * it, and its node executes each step there. So an apply is written at all engines or rolled back at all.
 */
import { ServiceError, hasCode, messageOf } from '../../../core/errors.ts';
import type {
  EngineConfig,
  EngineFiles,
  EngineProblem,
  FileOnDisk,
  Preparation,
  Proof,
} from '../../../ports/engine-config.ts';
import { nodeOfFile, ofOtherEngine, otherEngineFile } from '../../../ports/engine-config.ts';
import type { OtherEngine, Site } from '../../../ports/site.ts';
import { siteAt } from '../conf/engine-trunks.ts';

/** The site as another engine has it, without values that the leading node determined for its own machine. */
export function siteOf(site: Site, node: string, leading: OtherEngine): Site {
  return {
    ...siteAt(site, node, leading),
    found_address: null,
    trunk_proxy: null,
  };
}
/** Another engine, whose node does each step. Every method rejects with `engine_unavailable` where it is away. */
export interface FarConfig {
  disk(): Promise<Disk>;
  read(backup: boolean): Promise<string | null>;
  prove(text: string, signal?: AbortSignal): Promise<readonly EngineProblem[]>;
  put(text: string): Promise<void>;
  reload(signal?: AbortSignal): Promise<void>;
  verify(depth: 'all' | 'changed', signal?: AbortSignal): Promise<readonly EngineProblem[]>;
  /** Asks the node, as soon as it can be reached, to read the applied configuration again, because the result of a step is unknown. */
  unsettle(): void;
}
export interface JoinedConfigOptions {
  readonly local: EngineConfig;
  readonly leading: OtherEngine;
  readonly far: (node: string) => FarConfig;
}
interface JoinedProof extends Proof {
  readonly local: Proof;
}
type Disk = Pick<FileOnDisk, 'hash'>;
const isAway = (error: unknown): boolean => hasCode(error, 'engine_unavailable');
/** Waits for all, then throws the first error. */
async function all(work: readonly Promise<unknown>[]): Promise<void> {
  for (const one of await Promise.allSettled(work)) if (one.status === 'rejected') throw one.reason;
}

export class JoinedConfig implements EngineConfig {
  readonly #options: JoinedConfigOptions;
  readonly #local: EngineConfig;
  /** Last known files of each other engine. */
  readonly #known = new Map<string, Disk>();
  /** Files of each other engine before this apply was written there. */
  readonly #before = new Map<string, Disk>();
  /** Engines that were lost during this apply. It is rolled back without them; their nodes roll it back themselves. */
  readonly #lost = new Set<string>();
  constructor(options: JoinedConfigOptions) {
    this.#options = options;
    this.#local = options.local;
  }
  get ready(): boolean {
    return this.#local.ready;
  }
  render(site: Site): EngineFiles {
    const { leading } = this.#options;
    return new Map([
      ...this.#local.render(site),
      ...this.#others(site).map(
        ({ node }) => [otherEngineFile(node), JSON.stringify(siteOf(site, node, leading))] as const,
      ),
    ]);
  }
  async reach(site: Site): Promise<void> {
    this.#lost.clear();
    this.#before.clear();
    await all(this.#others(site).map(({ node }) => this.#diskAt(node)));
  }
  async onDisk(names: Iterable<string>): Promise<readonly FileOnDisk[]> {
    const { here, there } = parted(names);
    const far = there.map(async (name) => ({ name, ...(await this.#lastDisk(nodeOfFile(name))) }));
    const found = [...(await this.#local.onDisk(here)), ...(await Promise.all(far))];
    return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }
  async read(name: string, backup = false): Promise<string | null> {
    if (!ofOtherEngine(name)) return await this.#local.read(name, backup);
    return this.#lost.has(nodeOfFile(name)) ? null : await this.#far(name).read(backup);
  }
  certify(files: EngineFiles): Promise<void> {
    return this.#local.certify(partedFiles(files).here);
  }
  prepare(files: EngineFiles, signal?: AbortSignal): Promise<Preparation> {
    return this.#local.prepare(partedFiles(files).here, signal);
  }
  async prove(files: EngineFiles, signal?: AbortSignal): Promise<JoinedProof> {
    const { here, there } = partedFiles(files);
    let local: Proof | undefined;
    const problems: EngineProblem[] = [];
    await all([
      this.#local.prove(here, signal).then((proof) => {
        local = proof;
        problems.push(...proof.problems);
      }),
      ...there.map(async ([name, text]) => {
        problems.push(...named(name, (await this.#step(name, (far) => far.prove(text, signal))) ?? []));
      }),
    ]);
    return { local: local!, problems };
  }
  async write(files: EngineFiles, back = false): Promise<readonly string[]> {
    const { here, there } = partedFiles(files);
    const written: string[] = [];
    await all([
      this.#local.write(here, back).then((names) => written.push(...names)),
      ...there.map(async ([name, text]) => {
        const node = nodeOfFile(name);
        const before = this.#known.get(node);
        if (before !== undefined && !this.#before.has(node)) this.#before.set(node, before);
        const done = await this.#step(name, (far) => far.put(text).then(() => true));
        if (done !== null) written.push(name);
      }),
    ]);
    return written;
  }
  async reload(names: readonly string[], signal?: AbortSignal): Promise<void> {
    const { here, there } = parted(names);
    await all([
      here.length === 0 ? Promise.resolve() : this.#local.reload(here, signal),
      ...there.map((name) => this.#step(name, (far) => far.reload(signal))),
    ]);
  }
  async verify(
    proof: Proof,
    names: readonly string[],
    signal?: AbortSignal,
    depth: 'all' | 'changed' = 'all',
  ): Promise<readonly EngineProblem[]> {
    const { here, there } = parted(names);
    const problems: EngineProblem[] = [];
    const local = (proof as Partial<JoinedProof>).local ?? proof;
    await all([
      here.length === 0
        ? Promise.resolve()
        : this.#local.verify(local, here, signal, depth).then((some) => problems.push(...some)),
      ...there.map(async (name) => {
        problems.push(...named(name, (await this.#step(name, (far) => far.verify(depth, signal))) ?? []));
      }),
    ]);
    return problems;
  }
  handWritten(): Promise<readonly FileOnDisk[]> {
    return this.#local.handWritten();
  }
  /** Shows nothing of the site of another engine, because secrets are everywhere in it. */
  hidden(name: string, text: string): string {
    return ofOtherEngine(name)
      ? `The site as this engine has it: ${text.length} bytes, in files that its own node writes.\n`
      : this.#local.hidden(name, text);
  }
  needsRestart(names: readonly string[]): readonly string[] {
    return this.#local.needsRestart(names.filter((name) => !ofOtherEngine(name)));
  }

  #others({ engines = [] }: Site): readonly OtherEngine[] {
    return engines.filter(({ node }) => node !== this.#options.leading.node);
  }
  #far(name: string): FarConfig {
    return this.#options.far(nodeOfFile(name));
  }
  /** Null where the engine was lost before. */
  async #step<T>(name: string, work: (far: FarConfig) => Promise<T>): Promise<T | null> {
    const node = nodeOfFile(name);
    if (this.#lost.has(node)) return null;
    const far = this.#far(name);
    try {
      return await work(far);
    } catch (error) {
      far.unsettle();
      if (!isAway(error)) throw error;
      this.#lost.add(node);
      // Not `engine_unavailable`, for which the apply would wait: the engine may have any files by then.
      throw new Error(messageOf(error), { cause: error });
    }
  }
  async #lastDisk(node: string): Promise<Disk> {
    const lost = this.#before.get(node) ?? this.#known.get(node);
    if (this.#lost.has(node) && lost !== undefined) return lost;
    try {
      return await this.#diskAt(node);
    } catch (error) {
      if (lost === undefined || !isAway(error)) throw error;
      if (this.#before.has(node)) {
        this.#lost.add(node);
        this.#options.far(node).unsettle();
      }
      return lost;
    }
  }
  async #diskAt(node: string): Promise<Disk> {
    const disk = await this.#options.far(node).disk();
    this.#known.set(node, disk);
    return disk;
  }
}
function parted(names: Iterable<string>): { readonly here: string[]; readonly there: string[] } {
  const all = [...names];
  return { here: all.filter((name) => !ofOtherEngine(name)), there: all.filter(ofOtherEngine) };
}
function partedFiles(files: EngineFiles): {
  readonly here: EngineFiles;
  readonly there: readonly (readonly [string, string])[];
} {
  const all = [...files];
  return {
    here: new Map(all.filter(([name]) => !ofOtherEngine(name))),
    there: all.filter(([name]) => ofOtherEngine(name)),
  };
}
const named = (name: string, problems: readonly EngineProblem[]): readonly EngineProblem[] =>
  problems.map(({ object, file, words }) => ({
    object,
    file,
    words: `engine ${nodeOfFile(name)}: ${words}`,
  }));
export const awayError = (node: string, why: unknown): ServiceError =>
  new ServiceError('engine_unavailable', `the engine ${node} is away: ${messageOf(why)}`, {
    body: { node },
    retry_after_seconds: 5,
  });
