/** Values derived from a record: durations, the parties that talked, and the cells of an export. */
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import type { ExportColumn } from '@offhook/contract/exports.ts';
import { weightiest } from '@offhook/contract/ring-ends.ts';
import { rfc3339 } from '../../../core/clock.ts';
import type { Cell } from '../../../ports/conversations.ts';
import type { ConversationRecord, RecordedLeg, RecordedParticipant, RecordedSegment } from './record.ts';

export const secondsOf = (ms: number): number => ms / 1000;
/** Durations of a conversation in seconds, as its summary and an export name them. */
export const timesOf = (record: ConversationRecord) => ({
  duration: secondsOf(record.ended - record.started),
  ring_time: secondsOf(record.ring_ms),
  wait_time: secondsOf(record.wait_ms),
  talk_time: secondsOf(record.talk_ms),
  hold_time: secondsOf(record.hold_ms),
  park_time: secondsOf(record.park_ms),
  billable: secondsOf(record.billable_ms),
});

/** An interval; `to` is never before `from`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The same intervals without overlaps, in order. */
function union(spans: readonly Span[]): readonly Span[] {
  const merged: { from: number; to: number }[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from || a.to - b.to)) {
    const last = merged.at(-1);
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ ...span });
  }
  return merged;
}
export const lengthOf = (spans: readonly Span[]): number =>
  union(spans).reduce((sum, s) => sum + s.to - s.from, 0);

const within = (record: ConversationRecord, counts: (s: RecordedSegment) => boolean): number =>
  lengthOf(record.legs.flatMap((leg) => leg.segments.filter(counts)));

/** Milliseconds with at least two connected legs, neither held nor parked. */
export const talkClockMs = (record: ConversationRecord): number =>
  within(record, (s) => s.state === 'connected' && s.with.length > 0);
/** Milliseconds with at least two connected legs, held time included. */
export const spokenMs = (record: ConversationRecord): number =>
  within(record, (s) => (s.state === 'connected' || s.state === 'held') && s.with.length > 0);

/**
 * Whether a leg talked. In an open conversation the newest segment may have no length yet, so there an answered leg counts
 * as well, unless an application is its other side.
 */
const didTalk = ({ complete }: ConversationRecord, { answered, segments }: RecordedLeg): boolean =>
  segments.some(({ state }) => state === 'connected' || state === 'held') ||
  (!complete && answered !== null && segments.at(-1)?.state !== 'service');
/** Extensions that talked, sorted; an extension that was only called is not one of them. */
export const talkersOf = (record: ConversationRecord): readonly string[] =>
  [
    ...new Set(record.legs.flatMap((leg) => (didTalk(record, leg) ? (leg.participant.extension ?? []) : []))),
  ].sort();

/** The first called party who talked. */
export function answeredBy({ legs, caller }: ConversationRecord): RecordedParticipant | null {
  const talked = legs.flatMap((leg) => {
    const first = leg.segments.find((s) => s.state === 'connected' && s.with.length > 0);
    const began = leg.role === 'caller' || (caller !== null && leg.participant === caller);
    return first === undefined || began ? [] : [{ at: first.from, who: leg.participant }];
  });
  return talked.sort((a, b) => a.at - b.at)[0]?.who ?? null;
}
/** The external party; of two, the caller. */
export const customerOf = ({ parties }: ConversationRecord): RecordedParticipant | null =>
  parties.find((p) => p.extension === null) ?? null;
/** Disposition of the external party of an outgoing call, from its legs that ended or were answered. */
export const customerDispositionOf = ({ direction, legs }: ConversationRecord): LegDisposition | null => {
  if (direction !== 'out') return null;
  const called = legs.filter(
    (leg) =>
      leg.participant.extension === null &&
      (leg.disposition === 'answered' || (leg.ended_by !== null && leg.ended_by !== 'engine_lost')),
  );
  return weightiest(called.map((leg) => leg.disposition));
};

/** Columns of the row that the record does not have. */
type RowColumn = 'id' | 'state' | 'revision' | 'erased';
/** Number of those columns; they come first. */
export const ROW_COLUMNS = 4;
const STORED = EXPORT_COLUMNS.slice(ROW_COLUMNS) as readonly Exclude<ExportColumn, RowColumn>[];
const NOBODY: RecordedParticipant = { extension: null, number: '', number_e164: null, name: '', trunk: null };
const moment = (ms: number | null): string => (ms === null ? '' : rfc3339(ms));

/** The called party: the first leg that answered, else the first called leg. */
function calledOf({ legs }: ConversationRecord): RecordedParticipant {
  const others = legs.filter((leg) => leg.role !== 'caller');
  return (others.find((leg) => leg.answered !== null) ?? others[0])?.participant ?? NOBODY;
}

/**
 * Cells of an export after the row's own columns; stored as JSON in `conversations.cells`. A missing value is an empty
 * text, so that the JSON is nearly a line of CSV.
 */
export function cellsOf(record: ConversationRecord): readonly Cell[] {
  const { started, answered, ended, caller, legs, queues, agents, transfers } = record;
  const called = calledOf(record);
  const trunks = new Set(legs.flatMap((leg) => leg.participant.trunk ?? []));
  const cells: Record<Exclude<ExportColumn, RowColumn>, Cell> = {
    direction: record.direction,
    disposition: record.disposition,
    started_at: moment(started),
    answered_at: moment(answered),
    ended_at: moment(record.complete ? ended : null),
    ...timesOf(record),
    caller_number: caller?.number ?? '',
    caller_number_e164: caller?.number_e164 ?? '',
    caller_name: caller?.name ?? '',
    dialled: record.dialled,
    dialled_e164: record.dialled_e164 ?? '',
    called_number: called.number,
    called_number_e164: called.number_e164 ?? '',
    called_name: called.name,
    trunks: [...trunks].join(' '),
    extensions: record.extensions.join(' '),
    queues: queues.join(' '),
    agents: agents.join(' '),
    transfers: transfers.length,
    cause: record.cause ?? '',
    ended_by: record.ended_by ?? '',
  };
  return STORED.map((column) => cells[column]);
}
