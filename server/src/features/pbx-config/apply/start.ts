/** What has to be done before the engine is started or taken over: an apply that nobody ended, then the files of this version. */
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { messageOf } from '../../../core/errors.ts';
import { EMPTY_MODEL, ownersBetween } from '../model.ts';
import { findDrift, knownNow, stepsTo } from './files.ts';
import type { StoredApply } from './journal.ts';
import { isOver } from './journal.ts';
import { patiently } from './patience.ts';
import { leaveThere, problemsOf, proofOfDisk, putBack } from './put-back.ts';
import type { RunDeps } from './run.ts';

export interface Started {
  /** Files the living engine did not take in: it is to be started anew once no call is left. */
  readonly untaken: readonly string[];
  /** Applies that were ended here. */
  readonly ended: readonly ConfigApply[];
}

/** `lives`: an engine of before runs and has its own idea of the configuration. Never throws for what a disk refuses. */
export async function startFiles(
  deps: RunDeps,
  how: { readonly lives: boolean; readonly closing: AbortSignal },
): Promise<Started> {
  const { engine, journal, objects, clock, log } = deps;
  const { lives, closing } = how;
  const applied = () => engine.render(deps.site(objects.applied()));
  const back = { engine, journal, log, applied };
  // Nobody starts an engine that dies now.
  const short = { clock, patience: { ...deps.patience, back_ms: 0 } };
  const ended: ConfigApply[] = [];

  const end = async (apply: StoredApply, change: Partial<ConfigApply>, open = false): Promise<void> => {
    const shown = { ...apply.shown, ...change, finished_at: rfc3339(clock.now()) };
    await journal.save(shown, { open });
    ended.push(shown);
    log.warn(
      { apply: shown.id, state: shown.state },
      'an apply that the service did not end before was ended',
    );
  };
  /** The living engine reads these files again; what it then does not hold as meant. */
  const bringLive = async (names: readonly string[], all: readonly string[]) => {
    const release = await deps.hold();
    try {
      await patiently(short, deps.patience.reload_ms, closing, (signal) => engine.reload(names, signal));
      const proof = await proofOfDisk(engine, all);
      return await patiently(short, deps.patience.verify_ms, closing, (signal) =>
        engine.verify(proof, names, signal),
      );
    } finally {
      release();
    }
  };
  const recover = async (apply: StoredApply, untaken: Set<string>): Promise<void> => {
    const { state } = apply.shown;
    if (!apply.open) {
      if (!isOver(state))
        await end(apply, {
          state: 'rejected',
          detail: `The service ended while it was ${state}; nothing was touched.`,
        });
      return;
    }
    const why = isOver(state) ? '' : `The service ended while it was ${state}. `;
    const names = apply.files.map((f) => f.name);
    try {
      await putBack(back, apply.files);
    } catch (error) {
      await leaveThere(back, apply.files);
      const detail = `${why}The files could not be put back: ${messageOf(error)}. Make room on the disk and start the service anew.`;
      await end(apply, { state: 'failed', problems: [...problemsOf(error)], detail }, true);
      return;
    }
    const live = names.filter((name) => !engine.needsRestart([name]).includes(name));
    if (!lives || live.length === 0) {
      await end(apply, {
        state: 'rolled_back',
        detail: `${why}The files are as they were before, and the engine starts with them.`,
      });
      return;
    }
    try {
      const problems = await bringLive(live, [...applied().keys()]);
      if (problems.length === 0) {
        await end(apply, {
          state: 'rolled_back',
          detail: `${why}Files and engine are as they were before.`,
        });
        return;
      }
      throw Object.assign(new Error('it does not hold what the files say'), { problems });
    } catch (error) {
      const { problems = [] } = error as { problems?: never[] };
      for (const name of live) untaken.add(name);
      await end(apply, {
        state: 'failed',
        problems: [...problemsOf(error, problems)],
        detail: `${why}The files are as they were before; the engine is started anew once no call is left, because ${messageOf(error)}.`,
      });
    }
  };
  /** The files of this version of the program, where nobody changed them by hand. */
  const writeOwn = async (): Promise<readonly string[]> => {
    const known = await journal.files();
    const files = applied();
    const steps = await stepsTo(engine, files);
    const drift = (await findDrift(engine, known)).filter((d) => !d.hand_written && d.hash !== null);
    const wanted = drift.length === 0 ? steps : steps.filter((s) => s.before === null);
    if (drift.length > 0)
      log.warn(
        { files: drift.map((d) => d.name) },
        'files of the engine were changed by hand: it runs with what is there, see GET /api/v1/config/drift',
      );
    if (wanted.length > 0) {
      await journal.knowFiles(
        wanted.map(({ name, after }) => ({
          name,
          hash: known.get(name)?.hash ?? null,
          pending: after,
          noticed_at: null,
          hand_written: false,
        })),
      );
      await engine.write(new Map([...files].filter(([name]) => wanted.some((s) => s.name === name))));
    }
    const drifted = new Set(drift.map((d) => d.name));
    const now = (await knownNow(engine, files.keys(), known)).filter(
      (f) => !drifted.has(f.name) && (!f.hand_written || !lives || known.size === 0),
    );
    await journal.knowFiles(now);
    return wanted.map((s) => s.name);
  };

  const untaken = new Set<string>();
  for (const apply of await journal.unfinished()) await recover(apply, untaken);
  await deps.mailboxes(ownersBetween(EMPTY_MODEL, objects.applied())).catch((error: unknown) => {
    log.error({ error: messageOf(error) }, 'folders of mailboxes could not be moved');
  });
  let written: readonly string[] = [];
  try {
    written = await writeOwn();
  } catch (error) {
    if (closing.aborted || (await journal.files()).size === 0) throw error;
    // An engine with the files of before is better than none.
    log.error({ error: messageOf(error) }, 'the files of the engine could not be written');
  }
  if (lives && written.length > 0) {
    const live = written.filter((name) => !engine.needsRestart([name]).includes(name));
    for (const name of engine.needsRestart(written)) untaken.add(name);
    try {
      const problems = live.length === 0 ? [] : await bringLive(live, [...applied().keys()]);
      if (problems.length > 0) throw new Error(problems.map((p) => p.words).join('; '));
    } catch (error) {
      if (closing.aborted) throw error;
      log.warn({ error: messageOf(error) }, 'the living engine did not take its new files in');
      for (const name of live) untaken.add(name);
    }
  }
  return { untaken: [...untaken], ended };
}

/** Renders the engine's files for another program before its start; manual changes stay. No apply may be under way. */
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
