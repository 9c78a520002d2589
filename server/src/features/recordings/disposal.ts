import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { repeating } from '../../core/retry.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Conversations } from '../../ports/conversations.ts';
import type { Common } from '../../ports/common.ts';
import type { Store } from '../../ports/store.ts';
import { recordingFiles } from './files.ts';
import type { RecordingFiles } from './files.ts';
import { isFileName } from './ids.ts';
import { openRecordingStore } from './store.ts';
import type { RecordingStore, Scope } from './store.ts';
import type { RecordingRow } from './tables.ts';

export interface DisposalDeps extends Common<'audit' | 'clock' | 'log'> {
  readonly store: RecordingStore;
  readonly files: RecordingFiles;
  readonly node: string;
  /** True if the folder holds the files of all nodes, false if only those of this node. */
  readonly shared: boolean;
  /**
   * False for a recording whose file is on the machine of another node. The folder of this node may then hold another recording with
   * the same file name: names by rule of earlier versions lack the node.
   */
  readonly isHere: (row: RecordingRow) => boolean;
  /** Names of the home nodes. */
  readonly homes: () => readonly string[];
  readonly conversations: Pick<Conversations, 'touch'>;
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
  /** Deletes recordings that are too old, stores missing ones whose file appeared later, and counts files without a recording. */
  tidy(signal: AbortSignal): Promise<void>;
  /** Number of files older than a day without a recording, as of the last `tidy`. */
  orphans(): number;
}

/** Interval of `tidy`. */
export const TIDY_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Recordings, or file names, per database query. */
const STEP = 200;
/** Number of orphans named in the log. */
const SHOWN = 5;

/** Recordings in the folder of this node, and those at home nodes, which then delete the files (`followDeletions`). */
const scopesOf = ({ shared, node, homes }: DisposalDeps): readonly Scope[] =>
  shared
    ? [{ node: null, states: ['stored'] }]
    : [
        { node, states: ['stored'] },
        ...homes().map((home): Scope => ({ node: home, states: ['stored', 'missing'] })),
      ];
/** Deleted recordings whose files were in the folder of `node`; null: of all nodes. */
const deletedOf = (node: string | null): Scope => ({ node, states: ['expired', 'erased'] });
/** Stores a missing recording whose file appeared later, e.g. because its folder was mounted again. */
async function storeFound({ store, files, conversations }: DisposalDeps, row: RecordingRow): Promise<void> {
  const found = await files.look(row.file);
  if (found === null) return;
  if (!found.closed) await files.mend(row.file);
  await store.settle(row.id, 'stored', found.bytes, await files.hash(row.file), 'missing');
  await conversations.touch([row.call]);
}

export function createDisposal(deps: DisposalDeps): Disposal {
  const { store, files, conversations, audit, clock, isHere } = deps;
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
        const freed = isHere(row) ? await files.remove(row.file) : null;
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
  async function expire(scope: Scope, signal: AbortSignal): Promise<void> {
    const before = clock.now() - deps.days * DAY_MS;
    let failed = 0;
    let reason: unknown = null;
    while (!signal.aborted) {
      // Files that cannot be deleted stay the oldest ones.
      const rows = await store.before(scope, before, STEP, failed);
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
  /**
   * Stores missing recordings whose file appeared later, and counts files without a recording. The latter are never deleted, because
   * each may be the only trace of a call.
   */
  async function readFiles(signal: AbortSignal): Promise<void> {
    const before = clock.now() - DAY_MS;
    const shown: string[] = [];
    let count = 0;
    const look = async (names: readonly string[]): Promise<void> => {
      const valid = names.filter(isFileName);
      const known = await store.known(valid);
      for (const row of await store.missing(valid)) if (isHere(row)) await storeFound(deps, row);
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
        const { failed, reason } = await removeDeleted(
          deps,
          deletedOf(deps.shared ? null : deps.node),
          signal,
        );
        if (failed > 0) warn(failed, reason);
        if (deps.days > 0) for (const scope of scopesOf(deps)) await expire(scope, signal);
        await readFiles(signal);
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'old recordings could not be deleted; trying again in an hour');
      }
    },
    orphans: () => orphans,
  };
}
/**
 * Deletes the files of recordings that the leading node marked as deleted, at once and then every hour. For a node that does not lead
 * and has a folder of its own.
 */
export function followDeletions(deps: {
  readonly store: Pick<Store, 'db' | 'transaction'>;
  readonly node: string;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}): AsyncDisposable {
  const { clock, folder } = deps;
  const log = deps.log.child({ part: 'recordings' });
  const parts = { store: openRecordingStore(deps.store), files: recordingFiles(folder, clock) };
  const remove = async (signal: AbortSignal): Promise<void> => {
    const { failed, reason } = await removeDeleted(parts, deletedOf(deps.node), signal);
    if (failed > 0) throw reason;
  };
  const failure = 'files of deleted recordings could not be deleted; trying again in an hour';
  return repeating(remove, { every_ms: TIDY_MS, failure, clock, log });
}
/** Deletes files of recordings that another node marked as deleted. Returns the number of files that stay. */
async function removeDeleted(
  { store, files }: Pick<DisposalDeps, 'store' | 'files'>,
  deleted: Scope,
  signal: AbortSignal,
): Promise<{ readonly failed: number; readonly reason: unknown }> {
  let failed = 0;
  let reason: unknown = null;
  const remove = async (names: readonly string[]): Promise<void> => {
    for (const name of await store.known(names.filter(isFileName), deleted))
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
