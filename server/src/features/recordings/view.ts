import type { Recording } from '@offhook/contract/recordings.ts';
import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import type { RecordingView } from '../../ports/conversations.ts';
import type { RecordingRow } from './tables.ts';

/** Pause window, ms since 1970; `to` is null while it is open. */
export type Window = readonly [from: number, to: number | null];
export const windowsOf = (row: Pick<RecordingRow, 'paused'>): readonly Window[] =>
  JSON.parse(row.paused) as Window[];

export function viewOf(row: RecordingRow, now: number): RecordingView {
  const ended = row.ended_ms;
  return {
    id: row.id,
    leg_id: row.channel,
    started_at: rfc3339(row.started_ms),
    ended_at: rfc3339OrNull(ended),
    duration: Math.max(0, (ended ?? now) - row.started_ms) / 1000,
    paused: windowsOf(row).map(([from, to]) => ({
      from: rfc3339(from),
      to: rfc3339OrNull(to),
    })),
    by: row.by,
    state: row.state,
    bytes: row.state === 'stored' ? row.bytes : null,
  };
}
export const recordingOf = (row: RecordingRow, now: number): Recording => ({
  ...viewOf(row, now),
  call_id: row.call,
  extension: row.extension,
  queue: row.queue,
  sha256: row.sha256,
});
