/** Pure transitions of a row in the ledger. A row is stored before each request that it allows (ADR 0026). */
import type { EntryTask } from '@offhook/contract/connectors.ts';
import type { Selectable } from 'kysely';
import { retryDelay } from '../../outbound/schedule.ts';
import type { EntriesTable } from './tables.ts';

export type Entry = Readonly<Selectable<EntriesTable>>;
export type NewEntry = Omit<Entry, 'id'>;
/** Means by which the connected system prevents a second entry of a conversation. */
export type Once = 'own_id' | 'header' | 'find' | 'ledger';
/** Verbs of the connector's file, for entries or for recordings. */
export interface Abilities {
  readonly once: Once;
  readonly update: boolean;
  readonly remove: boolean;
  /** Delay after which a search in the system finds a new entry. */
  readonly settle_seconds: number;
}
/** A change in the feed. `none`: the conversation was merged, or erased and the system can remove entries. */
export interface Change {
  readonly connector: number;
  readonly conversation: string;
  /** Empty for the entry itself. */
  readonly recording: string;
  readonly change: number;
  readonly wants: 'entry' | 'none';
  readonly words: string | null;
  /** True if an entry may exist that the ledger does not contain. */
  readonly doubtful: boolean;
}
/** Result of a request. */
export type Outcome =
  | {
      readonly kind: 'done';
      readonly id: string | null;
      /** True if the system had the entry of a create already. */
      readonly existed?: boolean;
    }
  | {
      readonly kind: 'refused' | 'unsent' | 'unknown' | 'disconnected';
      readonly status: number | null;
      readonly words: string;
      readonly retry_after_seconds: number | null;
    };

/** Seconds between the attempts of one entry; after the last it is parked. */
export const ENTRY_RETRY_SECONDS = [5, 30, 120, 600, 3_600, 21_600, 86_400] as const;
/** Seconds between the tries of a connector while its system is away or rejects everything; the last one repeats. */
export const AWAY_SECONDS = [5, 30, 120, 600] as const;
/** Statuses of refusals that a repetition of the request would get again; null: refused without a status. */
const PARK_ON: ReadonlySet<number | null> = new Set([null, 400, 404, 409, 410, 413, 422]);
/** Time for which systems at least remember a header that prevents duplicates. */
const HEADER_MS = 2 * 3_600_000;
const FOREVER = Number.MAX_SAFE_INTEGER;

const resting = { task: null, next_at: FOREVER } as const;
/** Task that makes the entry as wanted; null if there is no task. */
const taskOf = ({ wanted, remote_id }: Pick<Entry, 'wanted' | 'remote_id'>): EntryTask | null =>
  wanted === 1 ? (remote_id === null ? 'create' : 'update') : remote_id === null ? null : 'remove';

const waiting = (row: Entry, now: number): Entry => {
  const task = taskOf(row);
  return task === null
    ? { ...row, ...resting, state: 'not_wanted' }
    : { ...row, state: 'waiting', task, next_at: now, attempts: task === row.task ? row.attempts : 0 };
};
export const parked = (row: Entry, words: string): Entry => ({
  ...row,
  task: row.task,
  state: 'parked',
  next_at: FOREVER,
  words,
});

/** First row of a conversation; null if it needs no entry. */
export function opened(change: Change, now: number): NewEntry | null {
  if (change.wants === 'none') return null;
  return {
    connector: change.connector,
    conversation: change.conversation,
    recording: change.recording,
    state: change.doubtful ? 'unknown' : 'waiting',
    task: 'create',
    wanted: 1,
    remote_id: null,
    customer_id: null,
    wanted_change: change.change,
    sent_change: 0,
    sent_hash: null,
    attempts: 0,
    first_at: null,
    last_at: null,
    next_at: now,
    status: null,
    words: null,
  };
}

/** The row after a change of its conversation. */
export function changed(before: Entry, change: Change, now: number): Entry {
  const row: Entry = { ...before, wanted_change: change.change, wanted: change.wants === 'entry' ? 1 : 0 };
  switch (row.state) {
    // A request in progress or in doubt ends first; then `settled` reads `wanted`.
    case 'sending':
    case 'unknown':
    case 'uncertain':
      return row;
    case 'removed':
      return row.wanted === 1 ? waiting({ ...row, remote_id: null }, now) : row;
    case 'parked':
      return waiting({ ...row, task: null, words: change.words }, now);
    case 'waiting':
    case 'not_wanted':
    case 'sent':
      return { ...waiting(row, now), words: change.words };
  }
}

/** The row to store before the request of its task. */
export const claimed = (row: Entry, now: number): Entry => ({
  ...row,
  state: 'sending',
  attempts: row.attempts + 1,
  first_at: row.first_at ?? now,
  last_at: now,
});

/** The row after a start, if the result of its request was not stored before the service ended. */
export function interrupted(row: Entry, { once }: Abilities, now: number): Entry {
  if (row.task === 'create') return inDoubt(row, once, 'the service ended before the answer was stored', now);
  return { ...row, state: 'waiting', next_at: now };
}
/** The row of a create with an unknown result. */
function inDoubt(row: Entry, once: Once, words: string, next_at: number): Entry {
  if (once === 'ledger')
    return {
      ...row,
      state: 'uncertain',
      next_at: FOREVER,
      words: `${words}; look there before you send it again`,
    };
  return { ...row, state: 'unknown', next_at, words };
}

export interface Timing {
  readonly now: number;
  readonly chance: number;
}
/** What was sent: the change and digest of the content. `doubtful`: an earlier create may have made the entry already. */
export interface Sent {
  readonly change: number;
  readonly hash: string;
  readonly doubtful: boolean;
}
/** The row after the request of its task. */
export function settled(
  row: Entry,
  outcome: Outcome,
  sent: Sent,
  abilities: Abilities,
  { now, chance }: Timing,
): Entry {
  const { task } = row;
  if (outcome.kind === 'done') {
    const after: Entry = { ...row, status: null, words: null };
    if (task === 'remove') return afterRemoval(after, now);
    const stands: Entry = {
      ...after,
      remote_id: outcome.id ?? row.remote_id,
      sent_change: sent.change,
      sent_hash: sent.hash,
    };
    if (stands.remote_id === null)
      return parked(stands, 'the system took the entry and named no id: check `entry.create.id` of the file');
    // The entry is perhaps that of an earlier attempt, with the content of then, so an update follows.
    if (task === 'create' && abilities.update && (outcome.existed === true || sent.doubtful))
      return waiting({ ...stands, sent_hash: null, task: null }, now);
    const more = stands.wanted === 0 || stands.wanted_change > sent.change;
    return more ? waiting({ ...stands, task: null }, now) : { ...stands, ...resting, state: 'sent' };
  }
  const state = sent.doubtful ? 'unknown' : 'waiting';
  const answered: Entry = { ...row, state, status: outcome.status, words: outcome.words };
  if (outcome.kind === 'refused') {
    if (task === 'remove' && (outcome.status === 404 || outcome.status === 410))
      return afterRemoval(answered, now);
    if (PARK_ON.has(outcome.status)) return ended(answered, outcome.words);
    return later(answered, outcome.retry_after_seconds, { now, chance });
  }
  // The system did nothing and the whole connector waits, so this attempt does not count, and the row keeps its order.
  if (outcome.kind === 'disconnected') return { ...answered, attempts: row.attempts - 1 };
  if (outcome.kind === 'unsent') return later(answered, outcome.retry_after_seconds, { now, chance });
  if (task !== 'create') return later(answered, null, { now, chance });
  const { once, settle_seconds } = abilities;
  const settle = Math.max(settle_seconds, ENTRY_RETRY_SECONDS[0]) * 1_000;
  if (once === 'find') return inDoubt(answered, once, outcome.words, now + settle);
  const delay = retryDelay(ENTRY_RETRY_SECONDS, row.attempts, null, chance);
  return inDoubt(
    answered,
    delay === null ? 'ledger' : once,
    outcome.words,
    now + Math.max(settle, delay ?? 0),
  );
}
const afterRemoval = (row: Entry, now: number): Entry =>
  row.wanted === 1
    ? waiting({ ...row, remote_id: null, task: null }, now)
    : { ...row, ...resting, state: 'removed', sent_hash: null };
/** The row without a further attempt: parked, or uncertain if its create is in doubt. */
const ended = (row: Entry, words: string): Entry =>
  row.state === 'unknown' ? inDoubt(row, 'ledger', words, FOREVER) : parked(row, words);
/** The row that waits for its next attempt, or has ended after the last attempt. */
function later(row: Entry, retryAfter: number | null, { now, chance }: Timing): Entry {
  const delay = retryDelay(ENTRY_RETRY_SECONDS, row.attempts, retryAfter, chance);
  if (delay === null) return ended(row, row.words ?? 'it failed too often');
  // A request that was refused or not sent leaves open whether an earlier create made the entry.
  return { ...row, state: row.state === 'unknown' ? 'unknown' : 'waiting', next_at: now + delay };
}

/** The row of a recording's copy that the system deleted with its entry. */
export const removed = (row: Entry, now: number): Entry => afterRemoval({ ...row, words: null }, now);
/** Next step for a create in doubt: search for the entry, or repeat the request if the system detects repetitions. */
export function doubtOf(row: Entry, { once }: Abilities, now: number): 'find' | 'again' | 'uncertain' {
  if (once === 'find') return 'find';
  if (once === 'own_id') return 'again';
  return once === 'header' && row.first_at !== null && now - row.first_at < HEADER_MS ? 'again' : 'uncertain';
}
export const uncertain = (row: Entry, words: string): Entry => inDoubt(row, 'ledger', words, FOREVER);
/** The row after a search: with the found entry, or waiting for its creation. */
export function found(row: Entry, remote_id: string | null, now: number): Entry {
  if (remote_id !== null)
    return waiting({ ...row, remote_id, task: null, sent_hash: null, words: null }, now);
  if (row.wanted === 0) return { ...row, ...resting, state: 'not_wanted' };
  const again: Entry = { ...row, state: 'waiting', task: 'create', next_at: now };
  return row.attempts > ENTRY_RETRY_SECONDS.length
    ? parked(again, row.words ?? 'it failed too often')
    : again;
}
/** The row if no request is needed. */
export function unneeded(
  row: Entry,
  change: number,
  state: 'sent' | 'not_wanted',
  words: string | null,
): Entry {
  // Sent before with an unknown result: the system may have the entry, which then is not wanted there.
  if (row.state === 'unknown' && row.first_at !== null)
    return inDoubt(row, 'ledger', words ?? 'it needs no entry', FOREVER);
  return { ...row, ...resting, state, sent_change: change, words };
}
/** The row of a conversation that has an entry but does not need it any more. */
export const unwanted = (row: Entry, words: string, now: number): Entry => ({
  ...waiting({ ...row, wanted: 0 }, now),
  words,
});
/** The row if a preparation of its request was refused, e.g. the search for the customer. */
export const unprepared = (
  row: Entry,
  { status, words, retry_after_seconds }: Extract<Outcome, { readonly status: number | null }>,
  timing: Timing,
): Entry => later({ ...row, attempts: row.attempts + 1, status, words }, retry_after_seconds, timing);
/** The row after a person's decision: to be sent again, or with the entry `remote_id` that the person found there. */
export function retried(row: Entry, remote_id: string | null, now: number): Entry {
  const known: Entry = remote_id === null ? row : { ...row, remote_id, sent_hash: null };
  return waiting({ ...known, task: null, words: null }, now);
}
