import type { Connector, ConnectorEntry, EntryState } from '@offhook/contract/connectors.ts';
import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import { verbsOf } from './files.ts';
import type { Entry } from './ledger.ts';
import type { Running } from './running.ts';

/** A connector in the form of the API, without secrets. */
export function connectorOf(
  { row, file, session, words, keeper, syncer, pusher }: Running,
  counts: Partial<Record<EntryState, number>>,
): Connector {
  const away = keeper?.away ?? null;
  return {
    id: row.id,
    title: row.title,
    file: row.file,
    system: file?.document.name ?? row.file ?? row.title,
    settings: { ...row.settings },
    secrets: Object.keys(row.secrets),
    verbs: file === null ? [] : verbsOf(file),
    enabled: row.enabled,
    state: !row.enabled
      ? 'disabled'
      : session === null
        ? 'broken'
        : away === null || away.answers
          ? 'ready'
          : away.state,
    words: words ?? away?.words ?? keeper?.trouble ?? null,
    since: rfc3339OrNull(away === null || away.answers ? null : away.since),
    next_attempt_at: rfc3339OrNull(away?.until ?? null),
    from: rfc3339(row.from_ms),
    entries: {
      waiting: 0,
      sending: 0,
      unknown: 0,
      sent: 0,
      not_wanted: 0,
      removed: 0,
      parked: 0,
      uncertain: 0,
      ...counts,
    },
    sync: syncer?.state ?? null,
    push: pusher?.state ?? null,
    created_at: rfc3339(row.created_at),
    created_by: row.created_by,
  };
}

const waits: ReadonlySet<EntryState> = new Set<EntryState>(['waiting', 'unknown']);
export const entryOf = (row: Entry): ConnectorEntry => ({
  id: row.id,
  conversation_id: row.conversation,
  recording_id: row.recording === '' ? null : row.recording,
  state: row.state,
  task: row.task,
  entry_id: row.remote_id,
  customer_id: row.customer_id,
  attempts: row.attempts,
  status: row.status,
  words: row.words,
  first_attempt_at: rfc3339OrNull(row.first_at),
  last_attempt_at: rfc3339OrNull(row.last_at),
  next_attempt_at: waits.has(row.state) ? rfc3339(row.next_at) : null,
});
