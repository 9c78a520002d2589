import { messageOf } from '../../../core/errors.ts';
import { header } from './frame.ts';
import type { Frame } from './frame.ts';

const ACTION_ID = header('ActionID');
const MESSAGE = header('Message');
const EVENT_LIST = header('EventList');
const LIST_ITEMS = header('ListItems');
/** The engine's texts for an empty list, sent as an error or a success; some end in a line feed of their own. */
const NONE_FOUND = /^(?:No .{1,60} found|There are no .{1,60} currently defined)\.?\n?$/;

/** A list that must not be used: incomplete, of another length, or rejected. */
export class ListVoid extends Error {
  override readonly name = 'ListVoid';
}
export interface AmiAnswer {
  readonly ok: boolean;
  readonly message: string;
  readonly frame: Frame;
}
/** An action that waits for its answer. */
export interface Pending {
  readonly name: string;
  /** Null for an action with a single frame as its answer. */
  readonly row: ((event: string, frame: Frame) => void) | null;
  readonly ms: number;
  /** The event that the list's end counts, where it does not count all of them. */
  readonly counted: string | undefined;
  /** A read changes nothing, so the result of a timed-out read does not matter. */
  readonly command: boolean;
  rows: number;
  resolve(answer: AmiAnswer): void;
  reject(error: unknown): void;
}

/** Matches answers and rows of lists with the actions that wait for them, by action id. */
export class PendingActions {
  readonly #byId = new Map<string, Pending>();
  /** Called when a command ends without an answer. */
  readonly #unanswered: () => void;
  #strays = 0;

  constructor(unanswered: () => void) {
    this.#unanswered = unanswered;
  }
  get size(): number {
    return this.#byId.size;
  }
  /** Number of answers that no action waited for, or that came too late. */
  get strays(): number {
    return this.#strays;
  }
  has(id: string): boolean {
    return this.#byId.has(id);
  }
  add(id: string, action: Pending): void {
    this.#byId.set(id, action);
  }
  /** True while an action waits that may take longer than `ms`. */
  waitsLongerThan(ms: number): boolean {
    return this.#byId.values().some((action) => action.ms > ms);
  }
  /** Rejects an action that got no answer; does nothing where it was answered. */
  giveUp(id: string, error: unknown): void {
    const action = this.#byId.get(id);
    if (action === undefined) return;
    this.#byId.delete(id);
    if (action.command) this.#unanswered();
    action.reject(error);
  }
  giveUpAll(error: unknown): void {
    for (const id of this.#byId.keys()) this.giveUp(id, error);
  }
  /** True for a frame of a list that an action waits for. */
  takeEvent(name: string, frame: Frame): boolean {
    if (this.#byId.size === 0) return false;
    const id = frame.get(ACTION_ID);
    const action = id === undefined ? undefined : this.#byId.get(id);
    if (id === undefined || action === undefined || action.row === null) return false;
    const mark = frame.get(EVENT_LIST);
    if (mark === undefined) this.#takeRow(id, action, name, frame);
    else this.#endList(id, action, mark, frame);
    return true;
  }
  takeResponse(status: string, frame: Frame): void {
    const id = frame.get(ACTION_ID);
    const action = id === undefined ? undefined : this.#byId.get(id);
    if (id === undefined || action === undefined) {
      this.#strays++;
      return;
    }
    const ok = status === 'Success';
    if (action.row === null) return this.#settle(id, action, frame, ok);
    if (ok && frame.get(EVENT_LIST) === 'start') return;
    if (NONE_FOUND.test(frame.get(MESSAGE) ?? '')) return this.#settle(id, action, frame, true);
    this.#reject(id, action, new ListVoid(`${action.name}: ${frame.get(MESSAGE) ?? 'no list came'}`));
  }

  #takeRow(id: string, action: Pending, name: string, frame: Frame): void {
    if (action.counted === undefined || action.counted === name) action.rows++;
    try {
      action.row?.(name, frame);
    } catch (error) {
      const what = `${action.name}: a row cannot be read: ${messageOf(error)}`;
      this.#reject(id, action, new ListVoid(what, { cause: error }));
    }
  }
  #endList(id: string, action: Pending, mark: string, frame: Frame): void {
    const items = frame.int(LIST_ITEMS, -1);
    if (mark === 'Complete' && items === action.rows) return this.#settle(id, action, frame, true);
    this.#reject(id, action, new ListVoid(`${action.name}: ${mark}, ${action.rows} rows came of ${items}`));
  }
  #settle(id: string, action: Pending, frame: Frame, ok: boolean): void {
    this.#byId.delete(id);
    action.resolve({ ok, message: frame.get(MESSAGE) ?? '', frame });
  }
  #reject(id: string, action: Pending, error: ListVoid): void {
    this.#byId.delete(id);
    action.reject(error);
  }
}
