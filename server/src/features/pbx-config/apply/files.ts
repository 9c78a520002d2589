/** The engine's files as they were, are and are to be, by hash; and the way back to what they were. */
import type { EngineConfig, EngineFiles } from '../../../ports/engine-config.ts';
import { hashOf } from './hashes.ts';
import type { FileStep, KnownFile } from './journal.ts';

/** A file that is not as it was written last. `hash` is null where it is not there any more. */
export interface Drifted {
  readonly name: string;
  readonly hand_written: boolean;
  readonly hash: string | null;
  readonly known: string | null;
}
type Disk = Pick<EngineConfig, 'onDisk' | 'handWritten'>;
const hashes = async (engine: Disk, names: Iterable<string>): Promise<Map<string, string | null>> =>
  new Map((await engine.onDisk(names)).map((f) => [f.name, f.hash]));

/** Compares the disk with what is known of it; a file nothing is known of is no drift. O(bytes). */
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

/** Files whose bytes on the disk are not the given ones. */
export async function stepsTo(engine: Disk, files: EngineFiles): Promise<FileStep[]> {
  const disk = await hashes(engine, files.keys());
  return [...files].flatMap(([name, text]) => {
    const after = hashOf(text);
    const before = disk.get(name) ?? null;
    return before === after ? [] : [{ name, before, after }];
  });
}

/** What brings the files of these steps back, and where it is from. Empty where they all are as they were. */
export interface WayBack {
  readonly texts: EngineFiles;
  readonly from: 'backup' | 'applied';
  /** Files that there is nothing to write for. */
  readonly lost: readonly string[];
}
/**
 * The kept files where each is the one that was there, told by its hash; else all of them as the applied version renders
 * them, because half of the one and half of the other would be neither.
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
/** What is known after these files were written or taken in; `before` is what was known until then. */
export async function knownNow(
  engine: Disk,
  names: Iterable<string>,
  before: ReadonlyMap<string, KnownFile>,
): Promise<readonly KnownFile[]> {
  const plain = { pending: null, noticed_at: null };
  const ours = (await engine.onDisk(names)).map(({ name, hash }) => ({
    name,
    hash,
    hand_written: false,
    ...plain,
  }));
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
