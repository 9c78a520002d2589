/** Compact text of a record for comparison in tests. */
import type {
  ConversationRecord,
  RecordedLeg,
  RecordedSegment,
} from '../../src/features/history/record/record.ts';

const seconds = (ms: number): string => (ms / 1000).toFixed(1);
/** Shorter segments, in ms, are steps of the engine and are left out. */
const SHOWN_MS = 50;

const legName = (record: ConversationRecord, id: string | null): string => {
  const leg = record.legs.find((l) => l.leg_id === id);
  return leg ? (leg.participant.extension ?? leg.participant.number) : '-';
};
function segmentLine(record: ConversationRecord, s: RecordedSegment): string {
  const detail = s.queue ?? s.service ?? (s.held_by === null ? '' : s.held_by);
  const others = s.with.map((id) => legName(record, id)).join('+');
  return `${s.state}${detail && `:${detail}`} ${seconds(s.to - s.from)}${others && ` ${others}`}`;
}
const legLine = (record: ConversationRecord, leg: RecordedLeg): string =>
  [
    `${legName(record, leg.leg_id)} ${leg.role} ${leg.disposition} by ${leg.ended_by}`,
    ...leg.segments.filter((s) => s.to - s.from >= SHOWN_MS).map((s) => segmentLine(record, s)),
  ].join(' · ');

/**
 * One line for the whole (`direction disposition by ended_by · ring/wait/talk/hold/park`), then one for each leg,
 * transfer and visit; seconds with one decimal.
 */
export function recordLines(record: ConversationRecord): readonly string[] {
  const { ring_ms, wait_ms, talk_ms, hold_ms, park_ms } = record;
  const times = [ring_ms, wait_ms, talk_ms, hold_ms, park_ms].map(seconds).join('/');
  const name = (id: string | null): string => legName(record, id);
  return [
    `${record.direction} ${record.disposition} by ${record.ended_by} · ${times}`,
    ...record.legs.map((leg) => legLine(record, leg)),
    ...record.transfers.map(
      (t) =>
        `${t.kind} at ${seconds(t.at - record.started)}: ${name(t.by)} moved ${name(t.moved)} to ${t.to} (${name(t.to_leg)}), ${t.outcome}`,
    ),
    ...record.visits.map((v) =>
      [
        `${name(v.leg_id)} in ${v.queue} ${seconds(v.to - v.from)} ${v.outcome} ${v.agent ?? '-'}`,
        ...v.offers.map((o) => `${o.extension} ${seconds(o.ring_ms)} ${o.disposition}`),
      ].join(' · '),
    ),
  ];
}
