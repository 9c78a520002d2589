/** Detects and reports files of the engine that were changed by hand; never overwrites them. */
import type { DriftFile } from '@offhook/contract/config-applies.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { messageOf } from '../../../core/errors.ts';
import type { EngineConfig, EngineFiles } from '../../../ports/engine-config.ts';
import type { Common } from '../../../ports/common.ts';
import { fileDiff } from './differences.ts';
import { findDrift } from './files.ts';
import type { Drifted } from './files.ts';
import { hashOf } from './hashes.ts';
import type { ApplyJournal } from './journal.ts';

const EVERY_MS = 60_000;

export interface DriftDeps extends Common<'clock' | 'log' | 'publish'> {
  readonly engine: EngineConfig;
  readonly journal: ApplyJournal;
  /** The files of the newest version. */
  readonly applied: () => EngineFiles;
  /** True while the service itself changes files. */
  readonly busy: () => boolean;
}
export interface DriftWatch {
  /** Compares now; skipped while files are being written. */
  check(): Promise<readonly Drifted[]>;
  /** Result of the last check. */
  shown(): Promise<{ readonly checked_at: string | null; readonly files: DriftFile[] }>;
  close(): Promise<void>;
}

/** Checks every minute after the first `check`. */
export function watchDrift(deps: DriftDeps): DriftWatch {
  const { engine, journal, clock, log } = deps;
  const stop = new AbortController();
  let found: readonly (Drifted & { readonly since: number })[] = [];
  let checkedAt: number | null = null;
  let watching: Promise<void> | undefined;

  const look = async (): Promise<readonly Drifted[]> => {
    if (!engine.ready || deps.busy()) return found;
    const known = await journal.files();
    const drift = await findDrift(engine, known);
    if (deps.busy()) return found;
    const at = clock.now();
    checkedAt = at;
    const before = new Map(found.map((f) => [f.name, f]));
    const next = drift.map((d) => ({ ...d, since: known.get(d.name)?.noticed_at ?? at }));
    const differs = next.length !== found.length || next.some((d) => before.get(d.name)?.hash !== d.hash);
    found = next;
    if (!differs) return found;
    const rows = next.map(({ name, known: hash, since, hand_written }) => ({
      name,
      hash,
      pending: null,
      noticed_at: since,
      hand_written,
    }));
    const gone = [...before.values()]
      .filter(({ name }) => !next.some((d) => d.name === name) && known.has(name))
      .map(({ name }) => ({ ...known.get(name)!, noticed_at: null }));
    await journal.knowFiles([...rows, ...gone]);
    if (next.length === 0) log.info({}, 'no file of the engine differs from the written one any more');
    else log.warn({ files: next.map((d) => d.name) }, 'files of the engine were changed by hand');
    deps.publish([
      {
        type: 'config.drift',
        subject: 'config',
        at,
        observed: 'live',
        data: {
          files: next.map(({ name, hand_written, hash, since }) => ({
            name,
            hand_written,
            missing: hash === null,
            since: rfc3339(since),
          })),
        },
      },
    ]);
    return found;
  };
  let looking: Promise<readonly Drifted[]> | undefined;
  const check = (): Promise<readonly Drifted[]> => {
    watching ??= watch();
    return (looking ??= look().finally(() => {
      looking = undefined;
    }));
  };
  async function watch(): Promise<void> {
    for (;;) {
      try {
        await clock.sleep(EVERY_MS, stop.signal);
      } catch {
        return;
      }
      await check().catch((error: unknown) =>
        log.warn({ error: messageOf(error) }, 'the files of the engine could not be compared'),
      );
    }
  }
  /** The last written text, if it is available. */
  const written = async (name: string, hash: string | null, files: EngineFiles): Promise<string | null> => {
    if (hash === null) return null;
    const rendered = files.get(name);
    if (rendered !== undefined && hashOf(rendered) === hash) return rendered;
    const backup = await engine.read(name, true);
    return backup !== null && hashOf(backup) === hash ? backup : null;
  };
  return {
    check,
    async shown() {
      const files = found.length === 0 ? new Map<string, string>() : deps.applied();
      const list = found.map(async ({ name, hand_written, known, hash, since }): Promise<DriftFile> => {
        const before = hand_written ? null : await written(name, known, files);
        const now = hash === null ? '' : await engine.read(name);
        return {
          name,
          hand_written,
          missing: hash === null,
          since: rfc3339(since),
          diff:
            before === null || now === null
              ? null
              : fileDiff(name, engine.hidden(name, before), engine.hidden(name, now)).diff,
        };
      });
      return {
        checked_at: checkedAt === null ? null : rfc3339(checkedAt),
        files: await Promise.all(list),
      };
    },
    async close() {
      stop.abort(new Error('closed'));
      await Promise.all([watching, looking?.catch(() => undefined)]);
    },
  };
}
