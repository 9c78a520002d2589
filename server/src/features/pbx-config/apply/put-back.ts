/** Restores the files from before an apply that failed or was interrupted. */
import { ServiceError, messageOf } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import { ofOtherEngine } from '../../../ports/engine-config.ts';
import type { EngineConfig, EngineProblem, Proof } from '../../../ports/engine-config.ts';
import type { Site } from '../../../ports/site.ts';
import { wayBack } from './files.ts';
import { hashOf } from './hashes.ts';
import type { FileStep, KnownFile } from './journal.ts';
import type { RunDeps } from './deps.ts';

type PutBackDeps = Pick<RunDeps, 'engine' | 'journal' | 'log' | 'objects' | 'site'>;

const known = (name: string, hash: string): KnownFile => ({
  name,
  hash,
  pending: null,
  noticed_at: null,
  hand_written: false,
});
const keep = async ({ journal, log }: PutBackDeps, files: readonly KnownFile[]): Promise<void> => {
  const ours = files.filter(({ name }) => !ofOtherEngine(name));
  if (ours.length === 0) return;
  await journal.knowFiles(ours).catch((error: unknown) => {
    log.warn(
      { error: messageOf(error) },
      'the digest of written files could not be stored; they will count as changed by hand',
    );
  });
};

/** Writes the former files and returns the names of changed ones. A repeated call completes an interrupted one. */
export async function putBack(deps: PutBackDeps, steps: readonly FileStep[]): Promise<readonly string[]> {
  const { engine, log, objects, site } = deps;
  const back = await wayBack(engine, steps, () => engine.render(site(objects.applied())));
  if (back.lost.length > 0)
    throw new ServiceError('internal', say`no stored text is left for ${back.lost.join(', ')}`);
  if (back.texts.size === 0) return [];
  if (back.from === 'applied')
    log.warn(
      { files: [...back.texts.keys()] },
      'a kept file was changed: the applied version is written instead',
    );
  const written = await engine.write(back.texts, true);
  if (back.from === 'applied')
    await keep(
      deps,
      [...back.texts].map(([name, text]) => known(name, hashOf(text))),
    );
  return written;
}
/** Records the files of an apply that could not be put back, so that they do not count as changed by hand. */
export async function leaveThere(deps: PutBackDeps, steps: readonly FileStep[]): Promise<void> {
  const disk = new Map((await deps.engine.onDisk(steps.map((s) => s.name))).map((f) => [f.name, f.hash]));
  await keep(
    deps,
    steps.filter((s) => disk.get(s.name) === s.after).map((s) => known(s.name, s.after)),
  );
}

/** Moves mailboxes where an error is only logged, because the engine needs its files even so. */
export async function tryMailboxes(
  { log, mailboxes }: Pick<RunDeps, 'log' | 'mailboxes'>,
  owners: Site['mailbox_owners'],
): Promise<void> {
  await mailboxes(owners).catch((error: unknown) => {
    log.error({ error: messageOf(error) }, 'folders of mailboxes could not be moved to their owners');
  });
}

/** State of an engine started with the present files of the disk. */
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
