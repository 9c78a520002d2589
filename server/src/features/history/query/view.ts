/** A stored conversation with its annotations, as REST and events show it. */
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Conversation, ConversationSummary, QUALITY_FIGURES } from '@offhook/contract/conversations.ts';
import { rfc3339, rfc3339OrNull } from '../../../core/clock.ts';
import type { RecordingView } from '../../../ports/conversations.ts';
import type { ConversationRecord, RecordedLeg, RecordedSegment, RecordedVisit } from '../record/record.ts';
import {
  answeredBy,
  customerDispositionOf,
  customerOf,
  talkClockMs,
  secondsOf,
  timesOf,
} from '../record/figures.ts';
import type { ConversationIndexRow, Tables } from '../store/tables.ts';

/** Columns of the row that the record does not have. */
export type ShownRow = Pick<
  Selectable<ConversationIndexRow>,
  'root' | 'change' | 'revision' | 'state' | 'erased'
>;
type WrapUp = Selectable<Tables['conversation_wrap_ups']>;
type Note = Selectable<Tables['conversation_notes']>;
type Quality = Selectable<Tables['conversation_quality']>;
type Outcome = Selectable<Tables['conversation_outcomes']>;
type QualityFigures = { [F in keyof typeof QUALITY_FIGURES]: z.output<(typeof QUALITY_FIGURES)[F]> };
/** Data outside the record, because a rebuild must give the same bytes (annotations.ts reads it). */
export interface Annotations {
  readonly wrap_ups: readonly WrapUp[];
  /** Number of notes. */
  readonly notes: number;
  readonly outcome: Outcome | null;
  /** True if a recording can be played. */
  readonly has_recording: boolean;
  /** Titles of its queues by name; null or missing for a deleted queue. */
  readonly queue_titles: ReadonlyMap<string, string | null>;
}
/** Data shown only with a single conversation. */
export interface Details {
  readonly notes: readonly Note[];
  readonly quality: readonly Quality[];
  readonly recordings: readonly RecordingView[];
  readonly timeline: Conversation['timeline'];
}
export const NOTHING_ADDED: Annotations = {
  wrap_ups: [],
  notes: 0,
  outcome: null,
  has_recording: false,
  queue_titles: new Map(),
};

const lengthOf = (w: WrapUp): number => Math.max(0, Number(w.to_ms) - Number(w.from_ms));
const sum = (values: readonly number[]): number => values.reduce((total, n) => total + n, 0);
/** Ids of all its calls. */
export const callsOfRecord = (record: ConversationRecord): readonly string[] => [
  record.id,
  ...record.merged_from,
];

export function summaryOf(
  row: ShownRow,
  record: ConversationRecord,
  added: Annotations = NOTHING_ADDED,
): ConversationSummary {
  const { started, ended } = record;
  return {
    id: row.root,
    merged_from: [...record.merged_from],
    state: row.state,
    revision: row.revision,
    change: Number(row.change),
    built_by: record.built_by,
    observed: record.observed ?? 'call_records',
    direction: record.direction,
    disposition: record.disposition,
    cause: record.cause,
    ended_by: record.ended_by,
    started_at: rfc3339(started),
    answered_at: rfc3339OrNull(record.answered),
    ended_at: row.state === 'open' ? null : rfc3339(ended),
    ...timesOf(record),
    talk_seconds: secondsOf(talkClockMs(record)),
    wrap_up_time: secondsOf(sum(added.wrap_ups.map(lengthOf))),
    dialled: record.dialled,
    dialled_e164: record.dialled_e164,
    caller: record.caller,
    parties: [...record.parties],
    answered_by: answeredBy(record),
    customer: customerOf(record),
    customer_disposition: customerDispositionOf(record),
    extensions: [...record.extensions],
    queues: [...record.queues],
    queue_titles: record.queues.map((queue) => added.queue_titles.get(queue) ?? null),
    agents: [...record.agents],
    has_recording: added.has_recording,
    notes: added.notes,
    outcome: added.outcome && outcomeOnWire(added.outcome),
    erased: row.erased !== 0,
  };
}

export function conversationOf(
  row: ShownRow,
  record: ConversationRecord,
  added: Annotations,
  details: Details,
): Conversation {
  return {
    ...summaryOf(row, record, added),
    legs: record.legs.map(legOnWire),
    transfers: record.transfers.map((t) => ({ ...t, at: rfc3339(t.at) })),
    queue_visits: visitsOnWire(record.visits, added),
    recordings: [...details.recordings],
    notes: details.notes.map(noteOnWire),
    quality: details.quality.map(qualityOnWire),
    timeline: [...details.timeline],
  };
}

export const noteOnWire = ({ id, at_ms, by, text }: Note) => ({ id, at: rfc3339(Number(at_ms)), by, text });
export const qualityOnWire = ({ call, leg_id, at_ms, extension, device, figures }: Quality) => ({
  at: rfc3339(Number(at_ms)),
  extension,
  call_id: call,
  leg_id: leg_id === '' ? null : leg_id,
  device,
  ...(JSON.parse(figures) as QualityFigures),
});
export const outcomeOnWire = ({ code, text, at_ms, by }: Outcome) => ({
  code,
  text,
  at: rfc3339(Number(at_ms)),
  by,
});

function legOnWire({
  from,
  to,
  answered,
  segments,
  refused,
  pushes,
  ...leg
}: RecordedLeg): Conversation['legs'][number] {
  const time = (state: RecordedSegment['state']): number =>
    secondsOf(sum(segments.filter((s) => s.state === state).map((s) => s.to - s.from)));
  return {
    ...leg,
    started_at: rfc3339(from),
    answered_at: rfc3339OrNull(answered),
    ended_at: rfc3339(to),
    duration: secondsOf(to - from),
    ring_time: time('alerting'),
    wait_time: time('queued'),
    talk_time: time('connected'),
    hold_time: time('held'),
    park_time: time('parked'),
    ...(refused === undefined ? {} : { refused: { ...refused, at: rfc3339(refused.at) } }),
    ...(pushes === undefined ? {} : { pushes: pushes.map((one) => ({ ...one, at: rfc3339(one.at) })) }),
    segments: segments.map((s) => ({
      state: s.state,
      started_at: rfc3339(s.from),
      ended_at: rfc3339(s.to),
      duration: secondsOf(s.to - s.from),
      with: [...s.with],
      held_by: s.held_by,
      queue: s.queue,
      service: s.service,
    })),
  };
}

function visitsOnWire(
  visits: readonly RecordedVisit[],
  { wrap_ups, queue_titles }: Annotations,
): Conversation['queue_visits'] {
  const total = new Map<RecordedVisit, number>();
  for (const wrapUp of wrap_ups) {
    const visit = visitOf(visits, wrapUp);
    if (visit) total.set(visit, (total.get(visit) ?? 0) + lengthOf(wrapUp));
  }
  return visits.map((visit) => ({
    queue: visit.queue,
    queue_title: queue_titles.get(visit.queue) ?? null,
    leg_id: visit.leg_id,
    joined_at: rfc3339(visit.from),
    left_at: rfc3339(visit.to),
    wait_time: secondsOf(visit.to - visit.from),
    outcome: visit.outcome,
    agent: visit.agent,
    agent_leg: visit.agent_leg,
    offers: visit.offers.map(({ from, ring_ms, ...offer }) => ({
      ...offer,
      started_at: rfc3339(from),
      ring_time: secondsOf(ring_ms),
    })),
    wrap_up_time: secondsOf(total.get(visit) ?? 0),
  }));
}
/** The visit whose call the agent wrapped up: that agent's last one in the queue before it. */
const visitOf = (visits: readonly RecordedVisit[], wrapUp: WrapUp): RecordedVisit | undefined => {
  const own = visits.filter((v) => v.agent === wrapUp.extension && v.queue === wrapUp.queue);
  return own.findLast((v) => v.to <= Number(wrapUp.from_ms)) ?? own[0];
};
