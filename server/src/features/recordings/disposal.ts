import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Conversations } from '../../ports/conversations.ts';
import type { RecordingFiles } from './files.ts';
import { isFileName } from './ids.ts';
import type { RecordingStore } from './store.ts';
import type { RecordingRow } from './tables.ts';

export interface DisposalDeps {
  readonly store: RecordingStore;
  readonly files: RecordingFiles;
  readonly node: string;
  /** True if the folder holds the files of all nodes, false if only those of this node. */
  readonly shared: boolean;
  readonly conversations: Pick<Conversations, 'touch'>;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
  /** Days for which recordings are kept; 0: without a limit. */
  readonly days: number;
}
export interface Erased {
  readonly erased: number;
  readonly bytes: number;
}
/** Deletes recordings, by the site's rule or on request. */
export interface Disposal {
  /** Deletes each file, then updates its row; a repetition completes an erasure cut short by a crash. */
  erase(rows: readonly RecordingRow[]): Promise<Erased>;
  /** Deletes recordings that are too old, and counts files without a recording. */
  tidy(signal: AbortSignal): Promise<void>;
  /** Number of files older than a day without a recording, as of the last `tidy`. */
  orphans(): number;
}

const DAY_MS = 86_400_000;
/** Recordings, or file names, per database query. */
const STEP = 200;
/** Number of orphans named in the log. */
const SHOWN = 5;

export function createDisposal(deps: DisposalDeps): Disposal {
  const { store, files, conversations, audit, clock } = deps;
  const log = deps.log.child({ part: 'recordings' });
  let orphans = 0;

  const warn = (count: number, reason: unknown): void =>
    log.warn(
      { files: count, error: messageOf(reason) },
      'recordings could not be deleted; trying again in an hour',
    );
  async function giveUp(
    rows: readonly RecordingRow[],
    state: 'expired' | 'erased',
  ): Promise<Erased & { failures: unknown[] }> {
    let [erased, bytes] = [0, 0];
    const calls = new Set<string>();
    const failures: unknown[] = [];
    for (const row of rows) {
      try {
        const freed = await files.remove(row.file);
        bytes += freed ?? 0;
        if (row.state === state && freed === null) continue;
        await store.leave(row.id, state);
        calls.add(row.call);
        erased += 1;
      } catch (error) {
        // A file that cannot be deleted must not block the others.
        failures.push(error);
      }
    }
    if (calls.size > 0) await conversations.touch([...calls]);
    return { erased, bytes, failures };
  }
  async function expire(signal: AbortSignal): Promise<void> {
    const before = clock.now() - deps.days * DAY_MS;
    let failed = 0;
    let reason: unknown = null;
    while (!signal.aborted) {
      // Files that cannot be deleted stay the oldest ones.
      const rows = await store.storedBefore(deps.shared ? null : deps.node, before, STEP, failed);
      if (rows.length === 0) break;
      const { erased, bytes, failures } = await giveUp(rows, 'expired');
      failed += failures.length;
      reason ??= failures[0];
      if (erased === 0) continue;
      log.info(
        { recordings: erased, bytes, days: deps.days },
        'recordings were deleted at the end of their retention time',
      );
      await audit.record({
        action: 'recordings.expire',
        actor: null,
        object: null,
        outcome: 'ok',
        ip: null,
        detail: { recordings: erased, bytes, days: deps.days },
      });
    }
    if (failed > 0) warn(failed, reason);
  }
  /** Counts files without a recording. They are never deleted, because each may be the only trace of a call. */
  async function countOrphans(signal: AbortSignal): Promise<void> {
    const before = clock.now() - DAY_MS;
    const shown: string[] = [];
    let count = 0;
    const look = async (names: readonly string[]): Promise<void> => {
      const known = await store.known(names.filter(isFileName));
      for (const name of names) {
        if (known.has(name)) continue;
        count += 1;
        if (shown.length < SHOWN) shown.push(name);
      }
    };
    let names: string[] = [];
    for await (const { file, written_ms } of files.list()) {
      if (signal.aborted) return;
      if (written_ms >= before) continue;
      names.push(file);
      if (names.length < STEP) continue;
      await look(names);
      names = [];
    }
    await look(names);
    if (count > 0 && count !== orphans) {
      log.warn({ files: count, some: shown }, 'the folder of recordings has files without a recording');
    }
    orphans = count;
  }
  return {
    async erase(rows) {
      const { erased, bytes, failures } = await giveUp(rows, 'erased');
      if (failures.length > 0) throw failures[0];
      return { erased, bytes };
    },
    async tidy(signal) {
      try {
        const { failed, reason } = await removeDeleted(deps, signal);
        if (failed > 0) warn(failed, reason);
        if (deps.days > 0) await expire(signal);
        await countOrphans(signal);
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'old recordings could not be deleted; trying again in an hour');
      }
    },
    orphans: () => orphans,
  };
}
/** Deletes files of recordings that were deleted while another node led the site. Returns the number of files that stay. */
async function removeDeleted(
  { store, files }: Pick<DisposalDeps, 'store' | 'files'>,
  signal: AbortSignal,
): Promise<{ readonly failed: number; readonly reason: unknown }> {
  let failed = 0;
  let reason: unknown = null;
  const remove = async (names: readonly string[]): Promise<void> => {
    for (const name of await store.known(names.filter(isFileName), ['expired', 'erased']))
      await files.remove(name).catch((error: unknown) => {
        failed += 1;
        reason ??= error;
      });
  };
  let names: string[] = [];
  for await (const { file } of files.list()) {
    if (signal.aborted) break;
    names.push(file);
    if (names.length < STEP) continue;
    await remove(names);
    names = [];
  }
  if (!signal.aborted) await remove(names);
  return { failed, reason };
}
