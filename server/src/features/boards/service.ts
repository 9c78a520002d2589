import { MAX_BOARDS, MAX_BOARDS_OF_A_PERSON } from '@offhook/contract/boards.ts';
import type { Board, BoardSummary, DisplayKey, NewBoard, NewDisplayKey } from '@offhook/contract/boards.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { covers, queuesOf, reaches } from '../../rights/rights.ts';
import type { CallersShown, Objects } from '../../rights/rights.ts';
import { writeQueue } from '../../core/queue.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { DisplayKeys } from '../../ports/display-keys.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Store } from '../../ports/store.ts';
import { createBoardStore } from './store.ts';
import type { Also, BoardRow } from './store.ts';

export interface BoardsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly directory: Pick<Directory, 'queue' | 'queuesOf'>;
  readonly audit: Required<Audit>;
  readonly keys: () => DisplayKeys;
}
/** Wallboards as they are kept. A board that may not be seen is `not_found`; every change throws `store_unavailable` too. */
export interface Boards {
  list(who: Caller): BoardSummary[];
  one(who: Caller, id: number): Board;
  /** Throws `invalid_request` for a queue that may not be seen, `forbidden`, `limit_reached`. */
  create(actor: Actor, wanted: NewBoard): Promise<Board>;
  /** Throws as `create`, and `precondition_failed` where none of `versions` is what it is now; null is any. */
  replace(actor: Actor, id: number, wanted: NewBoard, versions: readonly string[] | null): Promise<Board>;
  /** Its display keys end first. */
  remove(actor: Actor, id: number, versions: readonly string[] | null): Promise<void>;
  displayKeys(who: Caller, id: number): DisplayKey[];
  createDisplayKey(
    actor: Actor,
    id: number,
    wanted: NewDisplayKey,
  ): Promise<{ display_key: DisplayKey; key: string }>;
  revokeDisplayKey(actor: Actor, id: number, key: number): Promise<void>;
  /** What displays are shown of a board: its queues, null for all; undefined where there is no such board. */
  shows(id: number): { readonly queues: Objects; readonly callers: CallersShown } | undefined;
}
const PATIENCE_MS = 30_000;

export async function createBoards({ clock, directory, audit, ...options }: BoardsOptions): Promise<Boards> {
  const store = await createBoardStore(options.store);
  const rows = new Map((await store.all()).map((row) => [row.id, row]));
  const turn = writeQueue(PATIENCE_MS);

  const shown = (row: BoardRow): Board => ({
    ...summaryOf(row),
    queues: row.queues === null ? null : [...row.queues],
    layout: row.layout,
  });
  function find(who: Caller, id: number): BoardRow {
    const row = rows.get(id);
    if (row === undefined || !sees(who, row)) throw new ServiceError('not_found', 'there is no such board');
    return row;
  }
  /** The board, where this person may change it. */
  function own(who: Caller, id: number): BoardRow {
    const row = find(who, id);
    if (row.owner_id === who.person_id || who.level === 'admin') return row;
    throw new ServiceError('forbidden', 'only its owner and administrators change a board');
  }
  function supervised(who: Caller, id: number): BoardRow {
    const row = own(who, id);
    if (includesLevel(who.level, 'supervisor')) return row;
    throw new ServiceError('forbidden', 'supervisors and administrators give a board to displays');
  }
  function check(who: Caller, wanted: NewBoard, before: BoardRow | null): void {
    const supervises = includesLevel(who.level, 'supervisor');
    if (wanted.shared && before?.shared !== true && !supervises) {
      throw new ServiceError('forbidden', 'only supervisors and administrators share a board');
    }
    const mine = directory.queuesOf(who.extension).map((queue) => queue.name);
    const seen = queuesOf(who, mine);
    const queue = wanted.queues?.find(
      (name) =>
        before?.queues?.includes(name) !== true &&
        (directory.queue(name) === undefined || !reaches(seen, name)),
    );
    if (queue !== undefined)
      throw new ServiceError('invalid_request', say`queues: there is no queue ${queue}`);
    const outside = wanted.layout.tiles.findIndex(({ queue: name }) => !reaches(wanted.queues, name));
    if (outside >= 0) {
      throw new ServiceError(
        'invalid_request',
        say`layout.tiles.${outside}.queue: it is not one of the board's queues`,
      );
    }
    // Who lost the right to see a queue must not show it on a wall by a board that has a key already.
    if (before !== null && !supervises && !covers(before.queues, wanted.queues)) {
      if (options.keys().list(before.id).length > 0) {
        throw new ServiceError('forbidden', 'displays show this board: only supervisors give it more queues');
      }
    }
  }
  const checkMatch = (row: BoardRow, versions: readonly string[] | null): void => {
    if (versions === null || versions.includes(String(row.version))) return;
    throw new ServiceError('precondition_failed', 'the board was changed meanwhile', {
      body: { etag: String(row.version) },
    });
  };
  const told =
    (actor: Actor, action: string, { name, shared }: Pick<BoardRow, 'name' | 'shared'>): Also =>
    (trx, id) =>
      audit.recordIn(trx, {
        action,
        actor: actor.caller.username,
        object: `board:${id}`,
        outcome: 'ok',
        ip: actor.ip,
        detail: { name, shared },
      });

  return {
    list: (who) => [...rows.values()].filter((row) => sees(who, row)).map((row) => summaryOf(row)),
    one: (who, id) => shown(find(who, id)),
    create: (actor, wanted) =>
      turn.run(async () => {
        const { caller } = actor;
        check(caller, wanted, null);
        const mine = [...rows.values()].filter((row) => row.owner_id === caller.person_id).length;
        if (rows.size >= MAX_BOARDS || mine >= MAX_BOARDS_OF_A_PERSON) {
          throw new ServiceError(
            'limit_reached',
            say`a site has at most ${MAX_BOARDS} boards, a person ${MAX_BOARDS_OF_A_PERSON}`,
          );
        }
        const { person_id: owner_id, extension: owner } = caller;
        const fresh = { ...wanted, owner_id, owner, updated_at: clock.now(), version: 1 };
        const row = await store.add(fresh, told(actor, 'board.created', fresh));
        rows.set(row.id, row);
        return shown(row);
      }),
    replace: (actor, id, wanted, versions) =>
      turn.run(async () => {
        const row = own(actor.caller, id);
        checkMatch(row, versions);
        check(actor.caller, wanted, row);
        const next = { ...row, ...wanted, updated_at: clock.now(), version: row.version + 1 };
        await store.replace(next, told(actor, 'board.changed', next));
        rows.set(id, next);
        options.keys().boardChanged(id);
        return shown(next);
      }),
    remove: (actor, id, versions) =>
      turn.run(async () => {
        const row = own(actor.caller, id);
        checkMatch(row, versions);
        // First, so that a failure between the two leaves a board without keys and never a key without its board.
        await options.keys().revokeAll(actor, id);
        await store.remove(id, told(actor, 'board.deleted', row));
        rows.delete(id);
      }),
    displayKeys: (who, id) => options.keys().list(supervised(who, id).id),
    createDisplayKey: (actor, id, wanted) =>
      turn.run(() => options.keys().create(actor, supervised(actor.caller, id).id, wanted)),
    revokeDisplayKey: (actor, id, key) =>
      turn.run(() => options.keys().revoke(actor, supervised(actor.caller, id).id, key)),
    shows(id) {
      const row = rows.get(id);
      if (row === undefined) return undefined;
      const { parts, caller_numbers } = row.layout;
      return { queues: row.queues, callers: parts.includes('callers') ? caller_numbers : 'none' };
    },
  };
}

const summaryOf = (row: BoardRow): BoardSummary => ({
  id: row.id,
  name: row.name,
  owner: row.owner,
  shared: row.shared,
  updated_at: rfc3339(row.updated_at),
  version: row.version,
});
/** A key sees the board it was made for; administrators see all, to tidy up after people who are gone. */
const sees = (who: Caller, row: BoardRow): boolean =>
  who.key === null
    ? row.shared || row.owner_id === who.person_id || who.level === 'admin'
    : who.key.board?.id === row.id;
