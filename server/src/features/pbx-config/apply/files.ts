/** Compares former, present and wanted files of the engine by hash, and finds the texts to restore the former ones. */
import { ofOtherEngine } from '../../../ports/engine-config.ts';
import type { EngineConfig, EngineFiles } from '../../../ports/engine-config.ts';
import { hashOf } from './hashes.ts';
import type { FileStep, KnownFile } from './journal.ts';

/** A file that differs from its last written state. `hash` is null if it is missing. */
export interface Drifted {
  readonly name: string;
  readonly hand_written: boolean;
  readonly hash: string | null;
  readonly known: string | null;
}
type Disk = Pick<EngineConfig, 'onDisk' | 'handWritten'>;
const hashes = async (engine: Disk, names: Iterable<string>): Promise<Map<string, string | null>> =>
  new Map((await engine.onDisk(names)).map((f) => [f.name, f.hash]));

/** Compares the disk with the known hashes; unknown files are no drift. O(bytes). */
export async function findDrift(
  engine: Disk,
  known: ReadonlyMap<string, KnownFile>,
): Promise<readonly Drifted[]> {
  const beside = new Map((await engine.handWritten()).map((f) => [f.name, f.hash]));
  const ours = [...known.values()].filter((f) => !f.hand_written);
  const disk = await hashes(
    engine,
    ours.map((f) => f.name),
  );
  const drifted = ours.flatMap(({ name, hash, pending }): Drifted[] => {
    const now = disk.get(name) ?? null;
    return now === hash || (pending !== null && now === pending)
      ? []
      : [{ name, hand_written: false, hash: now, known: hash }];
  });
  for (const name of new Set([
    ...beside.keys(),
    ...[...known.values()].filter((f) => f.hand_written).map((f) => f.name),
  ])) {
    const now = beside.get(name) ?? null;
    const then = known.get(name)?.hash ?? null;
    if (now !== then) drifted.push({ name, hand_written: true, hash: now, known: then });
  }
  return drifted.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Files whose bytes on the disk differ from the given ones. */
export async function stepsTo(engine: Disk, files: EngineFiles): Promise<FileStep[]> {
  const disk = await hashes(engine, files.keys());
  return [...files].flatMap(([name, text]) => {
    const after = hashOf(text);
    const before = disk.get(name) ?? null;
    return before === after ? [] : [{ name, before, after }];
  });
}

/** Texts that restore the files of these steps, and their source. Empty if nothing changed. */
export interface WayBack {
  readonly texts: EngineFiles;
  readonly from: 'backup' | 'applied';
  /** Files without a text to restore. */
  readonly lost: readonly string[];
}
/**
 * Uses the backups if each matches its former hash; else renders all files from the applied version, because a mixture
 * of both would not fit together.
 */
export async function wayBack(
  engine: Pick<EngineConfig, 'onDisk' | 'handWritten' | 'read'>,
  steps: readonly FileStep[],
  applied: () => EngineFiles,
): Promise<WayBack> {
  const disk = await hashes(
    engine,
    steps.map((s) => s.name),
  );
  const changed = steps.filter(({ name, before }) => (disk.get(name) ?? null) !== before);
  const kept = new Map<string, string>();
  for (const { name, before } of changed) {
    const text = before === null ? null : await engine.read(name, true);
    if (text === null || hashOf(text) !== before) break;
    kept.set(name, text);
  }
  if (kept.size === changed.length) return { texts: kept, from: 'backup', lost: [] };
  const rendered = applied();
  const texts = new Map<string, string>();
  for (const { name } of steps) {
    const text = rendered.get(name);
    if (text !== undefined) texts.set(name, text);
  }
  return {
    texts,
    from: 'applied',
    lost: steps.map((s) => s.name).filter((name) => !texts.has(name)),
  };
}
/** Known hashes after these files were written or accepted. `before`: known files until now. */
export async function knownNow(
  engine: Disk,
  names: Iterable<string>,
  before: ReadonlyMap<string, KnownFile>,
): Promise<readonly KnownFile[]> {
  const plain = { pending: null, noticed_at: null };
  const ours = (await engine.onDisk([...names].filter((name) => !ofOtherEngine(name)))).map(
    ({ name, hash }) => ({
      name,
      hash,
      hand_written: false,
      ...plain,
    }),
  );
  const beside = (await engine.handWritten()).map(({ name, hash }) => ({
    name,
    hash,
    hand_written: true,
    ...plain,
  }));
  const there = new Set(beside.map((f) => f.name));
  const gone = [...before.values()]
    .filter((f) => f.hand_written && !there.has(f.name))
    .map(({ name }) => ({ name, hash: null, hand_written: true, ...plain }));
  return [...ours, ...beside, ...gone];
}
