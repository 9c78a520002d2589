import type {
  History as HistoryReply,
  HistoryAction,
  HistoryActionReply,
  HistoryQuery,
  HistoryCall,
} from '@offhook/contract/history.ts';
import { ServiceError } from '../../../core/errors.ts';
import { historyOf, reaches } from '../../../rights/rights.ts';
import type { Principal } from '../../../rights/rights.ts';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import type { Directory } from '../../../ports/directory.ts';
import type { Store } from '../../../ports/store.ts';
import { readCursor, writeCursor, invalid, readRange, sinceHeld } from './paging.ts';
import { fold } from '@offhook/contract/search.ts';
import { rootsWithRecording, titleOf } from './annotations.ts';
import { clearCalls, hideCalls } from './hide.ts';
import { identityOf, readPage, readStats } from './list.ts';
import type { ListQuery, StoredRow } from './list.ts';
import { findRows, readFound, statsOfFound } from './list.ts';
import type { Tables } from '../store/tables.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { zoneOffset } from '../../../core/zone.ts';

export type Reader = Principal;
export interface HistoryService {
  /** Throws `invalid_request` (range, cursor) and `forbidden` (another extension's calls). */
  list(reader: Reader, query: HistoryQuery): Promise<HistoryReply>;
  /** Hides or clears calls in the reader's own view. Throws `invalid_request` and `unknown_action`. */
  act(reader: Reader, action: HistoryAction): Promise<HistoryActionReply>;
}

export function createHistoryService(deps: {
  readonly store: Store;
  readonly zone: string;
  /** Signs cursors. */
  readonly cursor_key: () => Promise<Buffer>;
  readonly recordings: Pick<RecordingIndex, 'withRecording'>;
  readonly directory: Pick<Directory, 'queue'>;
}): HistoryService {
  const { store, cursor_key } = deps;
  const localTime = localTimeIn(deps.zone);

  function listOf(reader: Reader, query: HistoryQuery): ListQuery {
    const extension = query.extension ?? reader.extension;
    if (extension === '') throw invalid('extension: an API key has no calls of its own; name an extension');
    const own = extension === reader.extension;
    if (!reaches(historyOf(reader), extension)) {
      const detail =
        reader.key === null
          ? "another extension's calls need the level supervisor"
          : "another extension's calls need a key that has this extension";
      throw new ServiceError('forbidden', detail);
    }
    const { from_ms, to_ms } = sinceHeld(reader, readRange(query));
    const us = (ms: number | null): number | null => (ms === null ? null : ms * 1000);
    const q = fold(query.q ?? '');
    return { extension, own, filter: query.filter, q, from_us: us(from_ms), to_us: us(to_ms) };
  }
  return {
    async list(reader, query) {
      const list = listOf(reader, query);
      const { limit, offset, cursor, filter } = query;
      const after = cursor === undefined ? null : readCursor(await cursor_key(), cursor, identityOf(list));
      if (cursor !== undefined && after === null) throw invalid('cursor: must be a cursor of this list');
      if (after && offset > 0) throw invalid('offset: cannot be used with cursor');
      const db = store.db<Tables>();
      const found = list.q === '' ? null : await findRows(db, list);
      const cut = { limit: limit + 1, offset, after };
      const rows = found === null ? await readPage(db, list, cut) : await readFound(db, found, cut);
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const recorded = await rootsWithRecording(
        db,
        deps.recordings,
        page.map((row) => row.root),
      );
      return {
        success: true,
        extension: list.extension,
        filter,
        total_returned: page.length,
        next_cursor:
          last && rows.length > limit
            ? writeCursor(await cursor_key(), { at: last.started_us, id: last.id }, identityOf(list))
            : null,
        stats: found === null ? await readStats(db, list) : statsOfFound(found),
        calls: page.map((row) =>
          callOnWire(row, localTime, {
            queue_title: titleOf(deps.directory, row.queue),
            has_recording: recorded.has(row.root),
          }),
        ),
      };
    },
    async act({ extension }, { action, call_keys }) {
      switch (action) {
        case 'hide': {
          const keys = typeof call_keys === 'string' ? call_keys.split(',') : call_keys;
          if (keys === undefined) throw invalid('call_keys: hide needs the call_key of each call');
          if (keys.length > 500) throw invalid('call_keys: must have at most 500 entries');
          return { success: true, hidden: await hideCalls(store, extension, [...new Set(keys)]) };
        }
        case 'clear':
          await clearCalls(store, extension);
          return { success: true, cleared: true };
        default:
          throw new ServiceError('unknown_action', 'there is no such action; there are: hide, clear');
      }
    },
  };
}

/** Existing phones expect `mobil` for `mobile`. */
const DEVICE: Readonly<Record<string, HistoryCall['device_type']>> = {
  mobile: 'mobil',
  webrtc: 'webrtc',
  sip: 'sip',
};

/** `YYYY-MM-DD HH:MM:SS` in the site's zone. */
export function localTimeIn(zone: string): (us: number) => string {
  const offsetAt = zoneOffset(zone);
  return (us) => {
    const ms = Math.floor(us / 1000);
    const text = rfc3339(ms + offsetAt(ms));
    return `${text.slice(0, 10)} ${text.slice(11, 19)}`;
  };
}

const moment = (us: number): string => rfc3339(Math.floor(us / 1000));
/** One row in the format of existing phones (wire.md section 4). */
const callOnWire = (
  row: StoredRow,
  localTime: (us: number) => string,
  more: Pick<HistoryCall, 'queue_title' | 'has_recording'>,
): HistoryCall => ({
  id: row.id,
  call_key: row.root,
  calldate: localTime(row.started_us),
  started_at: moment(row.started_us),
  answered_at: row.answered_us === null ? null : moment(row.answered_us),
  ended_at: moment(row.ended_us),
  direction: row.direction,
  party: row.party,
  party_name: row.party_name,
  duration: row.duration,
  billsec: row.talk_seconds,
  ring_sec: row.ring_sec,
  wait_seconds: row.wait_seconds,
  talk_seconds: row.talk_seconds,
  hold_seconds: row.hold_seconds,
  disposition: row.disposition as HistoryCall['disposition'],
  channel: row.channel,
  dstchannel: row.dstchannel,
  device_type: row.device === null ? '' : (DEVICE[row.device] ?? ''),
  queue: row.queue,
  ...more,
});
