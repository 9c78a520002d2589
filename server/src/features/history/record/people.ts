/**
 * The conversation record → one row for each extension that took part, as `history.php` lists it.
 *
 *   its first leg began the call ─────────────────────────────> out
 *   a leg was answered ───────────────────────────────────────> in
 *   rung in vain ── another device answered that ringing ─────> no row
 *        └───────── else ─────────────────────────────────────> missed
 *   dialled or transferred to, with no device to ring ────────> missed, also where its calls are forwarded
 */
import type { z } from 'zod';
import type { Disposition as DispositionSchema } from '@offhook/contract/history.ts';
import { ringEndOfCause } from '@offhook/contract/ring-ends.ts';
import type { EndpointKind } from '../../../ports/directory.ts';
import type { ConversationRecord, RecordedLeg, RecordedVisit } from './record.ts';
import type { Built } from './build.ts';
import { isService } from './endings.ts';
import { msOf } from './replay.ts';
import type { Segment } from './replay.ts';
import { numberOf } from './scene.ts';
import type { Scene } from './scene.ts';
import { lengthOf } from './figures.ts';
import type { ChannelLine } from './timeline.ts';

type Disposition = z.infer<typeof DispositionSchema>;
/** One extension's part in a conversation. Times in microseconds since 1970, durations in whole seconds. */
export interface PersonRow {
  readonly extension: string;
  readonly direction: 'in' | 'out' | 'missed';
  readonly party: string;
  /** Name from the engine; the directory may have a better one. */
  readonly party_name: string;
  readonly started_us: number;
  readonly answered_us: number | null;
  readonly ended_us: number;
  readonly ring_sec: number;
  readonly wait_seconds: number;
  readonly talk_seconds: number;
  readonly hold_seconds: number;
  readonly duration: number;
  readonly disposition: Disposition;
  readonly channel: string;
  readonly dstchannel: string;
  readonly device: EndpointKind | null;
  readonly queue: string | null;
}
/** A leg of the record and its channel. */
interface Leg {
  readonly recorded: RecordedLeg;
  readonly line: ChannelLine;
}
interface View {
  readonly record: ConversationRecord;
  readonly scene: Scene;
  readonly legs: readonly Leg[];
  /** The leg that began the conversation. */
  readonly caller: Leg | undefined;
}

/** Pure. In order of extension. */
export function peopleIn({ record, scene }: Built): readonly PersonRow[] {
  const legs = record.legs.map((recorded): Leg => ({
    recorded,
    line: scene.line.byId.get(recorded.leg_id)!,
  }));
  const caller =
    legs.find((leg) => leg.recorded.leg_id === record.id) ??
    legs.find((leg) => leg.recorded.role === 'caller');
  const view: View = { record, scene, legs, caller };
  const own = Map.groupBy(
    legs.filter((leg) => leg.line.extension !== null),
    (leg) => leg.line.extension!,
  );
  const rows = [
    ...[...own].flatMap(([extension, some]) => rowOf(view, extension, some) ?? []),
    ...unreachable(view, new Set(own.keys())),
  ];
  return rows.sort((a, b) => (a.extension < b.extension ? -1 : 1));
}

/** The leg that was answered first. */
const firstAnswered = (legs: readonly Leg[]): Leg | undefined =>
  legs
    .filter((leg) => leg.recorded.answered !== null)
    .sort((a, b) => a.recorded.answered! - b.recorded.answered!)[0];

function rowOf(view: View, extension: string, legs: readonly Leg[]): PersonRow | null {
  const first = legs[0]!;
  if (first.recorded.role === 'caller' || (view.caller !== undefined && legs.includes(view.caller)))
    return outRow(view, extension, legs);
  const answering = firstAnswered(legs);
  if (answering !== undefined) return inRow(view, extension, answering, legs);
  const missed = legs.filter((leg) => !takenElsewhere(view, leg));
  return missed.length > 0 ? missedRow(view, extension, missed) : null;
}

/** The visit during which the leg was rung; none for a retriever. */
const visitOf = ({ record }: View, { recorded }: Leg): RecordedVisit | undefined =>
  recorded.role === 'retriever'
    ? undefined
    : record.visits.findLast((v) => v.from <= recorded.from && recorded.from <= v.to);
/** True if the leg missed no call: another device answered, or another agent answered the caller of the queue. */
function takenElsewhere(view: View, leg: Leg): boolean {
  const { line, rungBy, origins } = view.scene;
  const { top } = origins.of(leg.line);
  const together = top === null ? [leg.line] : (rungBy.get(top.app) ?? [leg.line]);
  const visit = visitOf(view, leg);
  // A pickup takes the ringing of every device that rang together with the named one.
  if (line.taken.has(leg.line.id) || (visit === undefined && together.some((c) => line.taken.has(c.id))))
    return true;
  return visit === undefined
    ? leg.recorded.disposition === 'answered_elsewhere'
    : visit.outcome === 'answered';
}

const seconds = (ms: number): number => Math.max(0, Math.floor(ms / 1000));
const us = (ms: number): number => ms * 1000;
const isTalk = (s: Segment): boolean => s.with.length > 0 && (s.state === 'connected' || s.state === 'held');
/** True while an application was the other side, e.g. a mailbox or the echo test. */
const isServed = (leg: Leg, s: Segment): boolean => leg.recorded.role === 'caller' && isService(leg.line, s);
/** Talk and hold of the legs of one extension from its answer on, in seconds; overlaps count once. */
function talkOf(legs: readonly Leg[], answered: number | null) {
  const from = answered ?? Infinity;
  const all = legs.flatMap((leg) =>
    leg.recorded.segments
      .filter((s) => s.to > from)
      .map((s) => ({ leg, s: { ...s, from: Math.max(s.from, from) } })),
  );
  const talk = all.filter(({ leg, s }) => (s.state === 'connected' && s.with.length > 0) || isServed(leg, s));
  const held = all.filter(({ s }) => s.state === 'held');
  const talked = lengthOf(talk.map(({ s }) => s));
  const connected = lengthOf([...talk, ...held].map(({ s }) => s));
  return { talk_seconds: seconds(talked), hold_seconds: seconds(connected - talked) };
}
/** Channels the legs talked with, in order. */
const peersOf = ({ scene }: View, legs: readonly Leg[]): readonly ChannelLine[] =>
  legs
    .flatMap((leg) => leg.recorded.segments.filter(isTalk))
    .sort((a, b) => a.from - b.from)
    .flatMap((s) => s.with.map((id) => scene.line.byId.get(id)!));
const partyOf = (c: ChannelLine | null | undefined) => ({
  party: c ? numberOf(c) : '',
  party_name: c?.caller_name ?? '',
});
const endOf = (legs: readonly Leg[]): number => Math.max(...legs.map((leg) => leg.recorded.to));

/** Most significant first: a device that rang to its end outweighs the others. */
const DISPOSITIONS = ['NO ANSWER', 'BUSY', 'CONGESTION', 'FAILED'] as const;
const WORD: Readonly<Record<RecordedLeg['disposition'], Disposition>> = {
  answered: 'ANSWERED',
  no_answer: 'NO ANSWER',
  cancelled_by_caller: 'NO ANSWER',
  answered_elsewhere: 'NO ANSWER',
  diverted: 'NO ANSWER',
  busy: 'BUSY',
  rejected: 'BUSY',
  blocked: 'BUSY',
  congestion: 'CONGESTION',
  unreachable: 'FAILED',
  failed: 'FAILED',
};
/** Causes of Q.850 of a device that gave no answer at all: no response, no routing, timer expired. */
const SILENT = new Set([18, 25, 102]);
const isSilent = ({ ended_by, cause }: RecordedLeg): boolean =>
  ended_by === 'engine_lost' || SILENT.has(cause ?? 0);
function dispositionOf(offers: readonly Leg[]): Disposition {
  const all = new Set(
    offers.map(({ recorded }) => (isSilent(recorded) ? 'NO ANSWER' : WORD[recorded.disposition])),
  );
  return DISPOSITIONS.find((word) => all.has(word)) ?? 'NO ANSWER';
}
/** Disposition of an unanswered outgoing call: the rung devices are more exact than the dialling leg. */
function dispositionOfDialler(main: Leg, offers: readonly Leg[], queued: boolean): Disposition {
  if (queued) return 'NO ANSWER';
  if (offers.length > 0) return dispositionOf(offers);
  return main.recorded.ended_by === 'this_leg' ? 'NO ANSWER' : WORD[main.recorded.disposition];
}

function outRow(view: View, extension: string, legs: readonly Leg[]): PersonRow {
  const { record } = view;
  const main = legs[0]!;
  const visits = record.visits.filter((v) => legs.some((leg) => leg.recorded.leg_id === v.leg_id));
  const peers = peersOf(view, legs);
  const placed = view.caller && legs.includes(view.caller) ? record.dialled : main.recorded.dialled;
  // Until it is answered, a call that the engine places for an extension has that extension's own number as dialled.
  const party = placed === extension && peers[0] ? numberOf(peers[0]) : placed;
  const answering = firstAnswered(legs);
  const answered = answering?.recorded.answered ?? null;
  const offers = view.legs.filter(
    ({ recorded, line }) =>
      !line.first && line.extension !== extension && recorded.from >= main.recorded.from,
  );
  const ended = endOf(legs);
  const rang = offers[0] && visits.length === 0 ? (answered ?? ended) - offers[0].recorded.from : 0;
  return {
    extension,
    direction: 'out',
    party,
    party_name: peers.find((c) => c.number === party)?.caller_name ?? '',
    started_us: us(main.recorded.from),
    answered_us: answered === null ? null : us(answered),
    ended_us: us(ended),
    ring_sec: seconds(rang),
    wait_seconds: seconds(lengthOf(visits)),
    ...talkOf(legs, answered),
    duration: seconds(ended - main.recorded.from),
    disposition: answered === null ? dispositionOfDialler(main, offers, visits.length > 0) : 'ANSWERED',
    channel: main.line.name,
    dstchannel: peers[0]?.name ?? offers[0]?.line.name ?? '',
    device: (answering ?? main).line.device,
    queue: visits[0]?.queue ?? null,
  };
}

function inRow(view: View, extension: string, main: Leg, legs: readonly Leg[]): PersonRow {
  const answered = main.recorded.answered!;
  const peer = peersOf(view, [main])[0] ?? callerOf(view, main);
  const visit = visitOf(view, main);
  const ended = endOf(legs.filter((leg) => leg.recorded.to >= main.recorded.from));
  return {
    extension,
    direction: 'in',
    ...partyOf(peer),
    started_us: us(main.recorded.from),
    answered_us: us(answered),
    ended_us: us(ended),
    ring_sec: seconds(answered - main.recorded.from),
    wait_seconds: visit ? seconds(answered - visit.from) : 0,
    ...talkOf(legs, answered),
    duration: seconds(ended - main.recorded.from),
    disposition: 'ANSWERED',
    channel: peer?.name ?? '',
    dstchannel: main.line.name,
    device: main.line.device,
    queue: visit?.queue ?? null,
  };
}

/** The leg that rang this one: the caller in the queue, else the leg that dialled it, else the first leg. */
function callerOf(view: View, leg: Leg): ChannelLine | undefined {
  const { line, origins } = view.scene;
  const visit = visitOf(view, leg);
  const by = visit ? line.byId.get(visit.leg_id) : origins.of(leg.line).by;
  return by && numberOf(by) !== '' ? by : (view.caller?.line ?? by ?? undefined);
}

function missedRow(view: View, extension: string, offers: readonly Leg[]): PersonRow {
  const first = offers[0]!;
  const caller = callerOf(view, first);
  const ended = endOf(offers);
  const kinds = new Set(offers.map((leg) => leg.line.device));
  return {
    extension,
    direction: 'missed',
    ...partyOf(caller),
    started_us: us(first.recorded.from),
    answered_us: null,
    ended_us: us(ended),
    ring_sec: seconds(lengthOf(offers.map((leg) => leg.recorded))),
    wait_seconds: 0,
    talk_seconds: 0,
    hold_seconds: 0,
    duration: seconds(ended - first.recorded.from),
    disposition: dispositionOf(offers),
    channel: caller?.name ?? '',
    dstchannel: first.line.name,
    // With several kinds of devices, none can be named as the one that missed the call.
    device: kinds.size === 1 ? first.line.device : null,
    queue: visitOf(view, first)?.queue ?? null,
  };
}

/** Missed calls of extensions without a ringing device: those that forward their calls, and those without one to ring. */
function unreachable({ record, scene, caller: first }: View, own: ReadonlySet<string>): readonly PersonRow[] {
  const found = new Map<string, PersonRow>();
  const wanted = new Set(record.extensions);
  const add = (extension: string, at_us: number, caller: ChannelLine, disposition: Disposition): void => {
    if (own.has(extension) || found.has(extension) || !wanted.has(extension)) return;
    const at = us(msOf(at_us));
    found.set(extension, {
      extension,
      direction: 'missed',
      ...partyOf(caller),
      started_us: at,
      answered_us: null,
      ended_us: at,
      ring_sec: 0,
      wait_seconds: 0,
      talk_seconds: 0,
      hold_seconds: 0,
      duration: 0,
      disposition,
      channel: caller.name,
      dstchannel: '',
      device: null,
      queue: null,
    });
  };
  for (const { channel, forwarder, at_us } of scene.line.marks) {
    const on = scene.line.byId.get(channel)!;
    const caller = on.pair === null ? on : first?.line;
    if (forwarder !== undefined && caller) add(forwarder, at_us, caller, WORD.diverted);
  }
  for (const caller of scene.line.channels) {
    if (caller.pair !== null) continue;
    const disposition = caller.cause === null ? 'FAILED' : wordOf(caller.cause);
    for (const [extension, at_us] of caller.reaches) add(extension, at_us, caller, disposition);
  }
  return [...found.values()];
}
/** A cause that does not describe the called side means that it could not be reached. */
function wordOf(cause: number): Disposition {
  const word = WORD[ringEndOfCause(cause)];
  return word === 'NO ANSWER' ? 'FAILED' : word;
}
