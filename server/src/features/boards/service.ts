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
import type { Directory } from '../../ports/directory.ts';
import type { DisplayKeys } from '../../ports/display-keys.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import { createBoardStore } from './store.ts';
import type { Also, BoardRow, BoardStore } from './store.ts';

export interface BoardsOptions extends Common<'clock' | 'store'> {
  readonly directory: Pick<Directory, 'queue' | 'queuesOf'>;
  readonly audit: Required<Audit>;
  readonly keys: () => DisplayKeys;
}
const PATIENCE_MS = 30_000;

function shown(row: BoardRow): Board {
  return {
    ...summaryOf(row),
    queues: row.queues === null ? null : [...row.queues],
    layout: row.layout,
  };
}
function checkMatch(row: BoardRow, versions: readonly string[] | null): void {
  if (versions === null || versions.includes(String(row.version))) return;
  throw new ServiceError('precondition_failed', 'the board was changed meanwhile', {
    body: { etag: String(row.version) },
  });
}

export class Boards {
  readonly #options: BoardsOptions;
  readonly #store: BoardStore;
  readonly #rows: Map<number, BoardRow>;
  readonly #writes = writeQueue(PATIENCE_MS);

  /** Runs the migrations and reads the boards. */
  static async open(options: BoardsOptions): Promise<Boards> {
    const store = await createBoardStore(options.store);
    return new Boards(options, store, await store.all());
  }
  private constructor(options: BoardsOptions, store: BoardStore, rows: readonly BoardRow[]) {
    this.#options = options;
    this.#store = store;
    this.#rows = new Map(rows.map((row) => [row.id, row]));
  }
  list(who: Caller): BoardSummary[] {
    return [...this.#rows.values()].filter((row) => sees(who, row)).map((row) => summaryOf(row));
  }
  one(who: Caller, id: number): Board {
    return shown(this.#find(who, id));
  }
  /** Throws `invalid_request` for a queue that the caller may not see, `forbidden`, `limit_reached`. */
  create(actor: Actor, wanted: NewBoard): Promise<Board> {
    return this.#writes.run(async () => {
      const { caller } = actor;
      this.#check(caller, wanted, null);
      const mine = [...this.#rows.values()].filter((row) => row.owner_id === caller.person_id).length;
      if (this.#rows.size >= MAX_BOARDS || mine >= MAX_BOARDS_OF_A_PERSON) {
        throw new ServiceError(
          'limit_reached',
          say`a site has at most ${MAX_BOARDS} boards, a person ${MAX_BOARDS_OF_A_PERSON}`,
        );
      }
      const { person_id: owner_id, extension: owner } = caller;
      const fresh = { ...wanted, owner_id, owner, updated_at: this.#options.clock.now(), version: 1 };
      const row = await this.#store.add(fresh, this.#entry(actor, 'board.created', fresh));
      this.#rows.set(row.id, row);
      return shown(row);
    });
  }
  /** Throws as `create`, and `precondition_failed` if `versions` lacks the current one; null accepts any. */
  replace(actor: Actor, id: number, wanted: NewBoard, versions: readonly string[] | null): Promise<Board> {
    return this.#writes.run(async () => {
      const row = this.#own(actor.caller, id);
      checkMatch(row, versions);
      this.#check(actor.caller, wanted, row);
      const next = { ...row, ...wanted, updated_at: this.#options.clock.now(), version: row.version + 1 };
      await this.#store.replace(next, this.#entry(actor, 'board.changed', next));
      this.#rows.set(id, next);
      this.#options.keys().boardChanged(id);
      return shown(next);
    });
  }
  /** Revokes its display keys first. */
  remove(actor: Actor, id: number, versions: readonly string[] | null): Promise<void> {
    return this.#writes.run(async () => {
      const row = this.#own(actor.caller, id);
      checkMatch(row, versions);
      // First, so that a failure between the two leaves a board without keys and never a key without its board.
      await this.#options.keys().revokeAll(actor, id);
      await this.#store.remove(id, this.#entry(actor, 'board.deleted', row));
      this.#rows.delete(id);
    });
  }
  displayKeys(who: Caller, id: number): DisplayKey[] {
    return this.#options.keys().list(this.#supervised(who, id).id);
  }
  createDisplayKey(
    actor: Actor,
    id: number,
    wanted: NewDisplayKey,
  ): Promise<{ display_key: DisplayKey; key: string }> {
    return this.#writes.run(() =>
      this.#options.keys().create(actor, this.#supervised(actor.caller, id).id, wanted),
    );
  }
  revokeDisplayKey(actor: Actor, id: number, key: number): Promise<void> {
    return this.#writes.run(() =>
      this.#options.keys().revoke(actor, this.#supervised(actor.caller, id).id, key),
    );
  }
  /** Queues and callers that displays show; null is all queues, undefined an unknown id. */
  shows(id: number): { readonly queues: Objects; readonly callers: CallersShown } | undefined {
    const row = this.#rows.get(id);
    if (row === undefined) return undefined;
    return { queues: row.queues, callers: callersOf(row) };
  }

  /** The change's audit entry, written in its transaction. */
  #entry(actor: Actor, action: string, { name, shared }: Pick<BoardRow, 'name' | 'shared'>): Also {
    return (trx, id) =>
      this.#options.audit.recordIn(trx, {
        action,
        actor: actor.caller.username,
        object: `board:${id}`,
        outcome: 'ok',
        ip: actor.ip,
        detail: { name, shared },
      });
  }
  #check(who: Caller, wanted: NewBoard, before: BoardRow | null): void {
    const { directory } = this.#options;
    const supervises = includesLevel(who.level, 'supervisor');
    if (wanted.shared && before?.shared !== true && !supervises) {
      throw new ServiceError('forbidden', 'shared: sharing a board needs the level supervisor');
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
        say`layout.tiles.${outside}.queue: must be one of the board's queues`,
      );
    }
    // A display shows its board to passers-by, so only supervisors let it show more.
    if (before === null || supervises || this.#options.keys().list(before.id).length === 0) return;
    if (!covers(before.queues, wanted.queues)) {
      throw new ServiceError(
        'forbidden',
        'queues: adding queues to a board with display keys needs the level supervisor',
      );
    }
    if (CALLERS.indexOf(callersOf(wanted)) > CALLERS.indexOf(callersOf(before))) {
      throw new ServiceError(
        'forbidden',
        'layout: showing more of the callers on a board with display keys needs the level supervisor',
      );
    }
  }
  #find(who: Caller, id: number): BoardRow {
    const row = this.#rows.get(id);
    if (row === undefined || !sees(who, row)) throw new ServiceError('not_found', 'there is no such board');
    return row;
  }
  /** The board, if this person may change it. */
  #own(who: Caller, id: number): BoardRow {
    const row = this.#find(who, id);
    if (row.owner_id === who.person_id || who.level === 'admin') return row;
    throw new ServiceError('forbidden', 'changing this board needs its owner or the level admin');
  }
  #supervised(who: Caller, id: number): BoardRow {
    const row = this.#own(who, id);
    if (includesLevel(who.level, 'supervisor')) return row;
    throw new ServiceError('forbidden', 'managing the display keys of a board needs the level supervisor');
  }
}

/** What displays show of callers, in ascending order. */
const CALLERS: readonly CallersShown[] = ['none', 'last_digits', 'full'];
const callersOf = ({ layout: { parts, caller_numbers } }: Pick<BoardRow, 'layout'>): CallersShown =>
  parts.includes('callers') ? caller_numbers : 'none';
const summaryOf = (row: BoardRow): BoardSummary => ({
  id: row.id,
  name: row.name,
  owner: row.owner,
  shared: row.shared,
  updated_at: rfc3339(row.updated_at),
  version: row.version,
});
/** A display key sees its own board; administrators see all, so that they can delete boards of former people. */
const sees = (who: Caller, row: BoardRow): boolean =>
  who.key === null
    ? row.shared || row.owner_id === who.person_id || who.level === 'admin'
    : who.key.board?.id === row.id;
