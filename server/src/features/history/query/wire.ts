import type { HistoryCall } from '@offhook/contract/history.ts';
import { rfc3339 } from '../../../core/clock.ts';
import type { StoredRow } from './list.ts';

/** Phones of the field know the third kind by this word. */
const DEVICE: Readonly<Record<string, HistoryCall['device_type']>> = {
  mobile: 'mobil',
  webrtc: 'webrtc',
  sip: 'sip',
};

/** `YYYY-MM-DD HH:MM:SS` in the site's zone. */
export function localTimeIn(zone: string): (us: number) => string {
  const format = new Intl.DateTimeFormat('en-CA-u-nu-latn', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  return (us) => {
    const parts = new Map(format.formatToParts(us / 1000).map((p) => [p.type, p.value]));
    const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type)!;
    return `${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}:${part('second')}`;
  };
}

const moment = (us: number): string => rfc3339(Math.floor(us / 1000));
/** One row as real clients read it (wire.md section 4). */
export const callOnWire = (
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
