/** The way back to the files as they were before an apply, for one that failed and for one that nobody ended. */
import { ServiceError, messageOf } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import type { Log } from '../../../core/log.ts';
import type { EngineConfig, EngineFiles, EngineProblem, Proof } from '../../../ports/engine-config.ts';
import { wayBack } from './files.ts';
import { hashOf } from './hashes.ts';
import type { ApplyJournal, FileStep, KnownFile } from './journal.ts';

export interface PutBackDeps {
  readonly engine: EngineConfig;
  readonly journal: ApplyJournal;
  readonly log: Log;
  /** The files of the newest version. */
  readonly applied: () => EngineFiles;
}
const known = (name: string, hash: string): KnownFile => ({
  name,
  hash,
  pending: null,
  noticed_at: null,
  hand_written: false,
});
const keep = async ({ journal, log }: PutBackDeps, files: readonly KnownFile[]): Promise<void> => {
  if (files.length === 0) return;
  await journal.knowFiles(files).catch((error: unknown) => {
    log.warn({ error: messageOf(error) }, 'what was written is not noted: it will count as changed by hand');
  });
};

/** Writes what was there; the names that changed. Each call goes on where one before it stopped. */
export async function putBack(deps: PutBackDeps, steps: readonly FileStep[]): Promise<readonly string[]> {
  const { engine, log } = deps;
  const back = await wayBack(engine, steps, deps.applied);
  if (back.lost.length > 0)
    throw new ServiceError('internal', say`nothing is left to write for ${back.lost.join(', ')}`);
  if (back.texts.size === 0) return [];
  if (back.from === 'applied')
    log.warn(
      { files: [...back.texts.keys()] },
      'a kept file is not what it was: the applied version is written',
    );
  const written = await engine.write(back.texts);
  if (back.from === 'applied')
    await keep(
      deps,
      [...back.texts].map(([name, text]) => known(name, hashOf(text))),
    );
  return written;
}
/** Some files stay as an apply wrote them: that is nobody's change by hand. */
export async function leaveThere(deps: PutBackDeps, steps: readonly FileStep[]): Promise<void> {
  const disk = new Map((await deps.engine.onDisk(steps.map((s) => s.name))).map((f) => [f.name, f.hash]));
  await keep(
    deps,
    steps.filter((s) => disk.get(s.name) === s.after).map((s) => known(s.name, s.after)),
  );
}

/** What an engine holds that is started with the files as they are on the disk now. */
export async function proofOfDisk(engine: EngineConfig, names: Iterable<string>): Promise<Proof> {
  const texts = new Map<string, string>();
  for (const name of names) {
    const text = await engine.read(name);
    if (text !== null) texts.set(name, text);
  }
  return await engine.prove(texts);
}
export const problemsOf = (error: unknown, found: readonly EngineProblem[] = []): readonly EngineProblem[] =>
  found.length > 0 ? found : [{ object: null, file: null, words: messageOf(error) }];
