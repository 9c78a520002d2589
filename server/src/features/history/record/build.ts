/** Builds the conversation record from call records. */
import type { KnownRecord } from './records.ts';
import { isComplete } from './records.ts';
import type { ConversationRecord, RecordedLeg, RecordedParticipant, RecordedVisit } from './record.ts';
import { callerDisposition, didRing, endedBy, isService, rungDispositions } from './endings.ts';
import type { Origins } from './origins.ts';
import { GAP_MS, msOf, segmentsOf } from './replay.ts';
import type { Segment, Segments } from './replay.ts';
import { handoversOf, isSoon, sceneOf } from './scene.ts';
import type { LegDisposition, Scene } from './scene.ts';
import { timelineOf } from './timeline.ts';
import type { ChannelLine, Timeline } from './timeline.ts';
import { arrivals, passedOn, transfersIn } from './transfers.ts';
import { visitsIn } from './visits.ts';

/** Version of the rules that build the record and the rows of people. */
export const BUILT_BY = 1;

export interface RecordOptions {
  /** `+4930…` of a number as received or dialled; null for one that is internal or unreadable. */
  readonly e164: (number: string) => string | null;
  /** No more records will come, although not every channel has ended: the engine was lost. */
  readonly lost?: boolean;
  /** True when part of these records comes from the journal. */
  readonly journal?: boolean;
}

export interface Built {
  readonly record: ConversationRecord;
  readonly scene: Scene;
}
/**
 * Pure: order and repetition of the records do not change the result. Null for a call with a supervisor who listens: it
 * is in the audit trail and is no conversation. Near linear in the records of ordinary calls.
 */
export function buildConversation(
  records: readonly KnownRecord[],
  { e164, lost = false, journal = false }: RecordOptions,
): Built | null {
  if (records.some((r) => r.facts.listens)) return null;
  const line = timelineOf(records);
  const complete = lost || isComplete(records);
  const scene = sceneOf(line, lost);
  const rung = rungDispositions(scene);
  const rang = (c: ChannelLine): boolean => didRing(rung.get(c.id) ?? 'no_answer');
  const segments = segmentsOf(line, scene.origins, rang, handoversOf(scene));
  const visits = visitsIn(scene, segments, rung);
  const transfers = transfersIn({ scene, segments, rung, visits });
  const roles = rolesOf(scene, arrivals(transfers, scene));
  const left = passedOn(scene, transfers);
  const memo = memoized(e164);
  const legs = scene.legs.map((c) => legOn(scene, c, roles.get(c.id)!, segments, rung, left, memo));
  const caller = callerOf(scene, legs);
  const dialled = dialledBy(scene, caller);
  const agents = visits.flatMap((v) => (v.outcome === 'answered' && v.agent !== null ? v.agent : []));
  const record: ConversationRecord = {
    id: line.root,
    merged_from: line.merged,
    built_by: BUILT_BY,
    complete,
    direction: directionOf(caller, legs),
    ...endOf(scene, legs, caller, visits, complete),
    started: Math.min(msOf(line.from), ...legs.map((leg) => leg.from)),
    answered: answeredAt(legs),
    ended: Math.max(msOf(line.to), ...legs.map((leg) => leg.to)),
    ...sumsOf(legs, visits),
    billable_ms: billable(legs),
    dialled,
    dialled_e164: legs.some((leg) => leg.participant.extension === null) ? memo(dialled) : null,
    caller: caller?.participant ?? null,
    parties: partiesOf(caller, legs),
    extensions: extensionsOf(scene, caller),
    queues: [...new Set(visits.map((v) => v.queue))],
    agents: [...new Set(agents)],
    legs,
    transfers,
    visits,
    ...(journal ? { observed: 'journal' as const } : {}),
  };
  return { record, scene };
}
export const buildRecord = (
  records: readonly KnownRecord[],
  options: RecordOptions,
): ConversationRecord | null => buildConversation(records, options)?.record ?? null;

function memoized(e164: RecordOptions['e164']): RecordOptions['e164'] {
  const known = new Map<string, string | null>();
  return (number) => {
    if (number === '') return null;
    let found = known.get(number);
    if (found === undefined) known.set(number, (found = e164(number)));
    return found;
  };
}

type Role = RecordedLeg['role'];
function rolesOf(
  { line, origins, legs }: Scene,
  arrived: ReadonlyMap<string, 'consulted' | 'transfer_target'>,
): ReadonlyMap<string, Role> {
  const roleOf = (c: ChannelLine): Role => {
    if (line.takers.has(c.id)) return 'retriever';
    if (!c.rung || c.first) return 'caller';
    const { placed, top } = origins.of(c);
    if (placed) return 'caller';
    return top?.app.queue != null ? 'offered' : (arrived.get(c.id) ?? 'called');
  };
  return new Map(legs.map((c) => [c.id, roleOf(c)]));
}

const isTalk = (s: Segment): boolean => s.with.length > 0 && (s.state === 'connected' || s.state === 'held');
function legOn(
  scene: Scene,
  c: ChannelLine,
  role: Role,
  all: Segments,
  rung: ReadonlyMap<string, LegDisposition>,
  left: ReadonlySet<string>,
  e164: RecordOptions['e164'],
): RecordedLeg {
  const segments = all.get(c.id) ?? [];
  const [from, to] = [msOf(c.from), msOf(c.to)];
  // A dialling leg is answered when another side is connected, a rung leg when it answers.
  const dials = role === 'caller' || role === 'retriever';
  const through = segments.find((s) => isTalk(s) || isService(c, s))?.from ?? metAt(scene, c);
  const taken = c.answered === null ? through : firstTaken(msOf(c.answered), through);
  const answered = dials ? through : taken;
  const vain = rung.get(c.id);
  const disposition: LegDisposition =
    answered !== null
      ? 'answered'
      : vain !== undefined && vain !== 'answered'
        ? vain
        : left.has(c.id)
          ? 'diverted'
          : callerDisposition(scene, c, rung);
  return {
    leg_id: c.id,
    role,
    participant: participantOf(c, e164),
    endpoint: c.endpoint,
    device: c.device,
    dialled: dialledOn(c),
    from,
    answered: answered === null ? null : Math.min(Math.max(answered, from), to),
    to,
    ended_by: endedBy(scene, c, disposition, segments.findLast(isTalk), left),
    disposition,
    cause: causeOf(c, disposition),
    ...refusedOn(scene, c),
    ...pushesOn(scene, c),
    segments,
  };
}
/** The last refusal on this leg. */
function refusedOn({ line }: Scene, c: ChannelLine): Pick<RecordedLeg, 'refused'> {
  const mark = line.marks.findLast((r) => r.channel === c.id && r.facts.refused !== undefined);
  if (mark === undefined) return {};
  const { reason, call_limit, extension } = mark.facts.refused!;
  return { refused: { at: msOf(mark.at_us), reason, call_limit, extension } };
}
/** The last outcome of a push for each channel that waited for an app; reported on the leg that began the call. */
function pushesOn({ line }: Scene, c: ChannelLine): Pick<RecordedLeg, 'pushes'> {
  const last = new Map<string, NonNullable<RecordedLeg['pushes']>[number]>();
  for (const { at_us, call, channel, facts } of line.marks)
    if (facts.push !== undefined && (call as string) === c.id)
      last.set(channel, { at: msOf(at_us), ...facts.push });
  return last.size === 0 ? {} : { pushes: [...last.values()] };
}
const SENT_ON = 23;
/** Depending on timing, the engine writes or omits the cause of a device that forwarded its call. */
const causeOf = (c: ChannelLine, disposition: LegDisposition): number | null =>
  c.cause === null || c.cause === 0 ? (disposition === 'diverted' && c.rung ? SENT_ON : null) : c.cause;
/** A call back from parking dials the endpoint, not a number; a leg cut off by the loss of the engine may have none. */
const dialledOn = (c: ChannelLine): string =>
  (c.endpoint !== null && c.dialled.endsWith(`_${c.endpoint}`)) || (c.rung && c.dialled === '')
    ? (c.extension ?? '')
    : c.dialled;
/** Answer of a leg that was connected for less than a millisecond, which gives no segment. */
const metAt = ({ met }: Scene, c: ChannelLine): number | null =>
  met.has(c.id) && c.bridged[0] ? msOf(c.bridged[0].from) : null;
/** The engine answers and connects in two steps; close together, they count as one. */
const firstTaken = (answered: number, through: number | null): number =>
  through === null || through - answered > GAP_MS ? answered : through;
function participantOf(c: ChannelLine, e164: RecordOptions['e164']): RecordedParticipant {
  const number = c.number !== '' ? c.number : (c.extension ?? '');
  return {
    extension: c.extension,
    number,
    number_e164: c.extension === null ? e164(number) : null,
    // For a rung number outside, the engine reports the name of its caller's previous party.
    name: c.person_name ?? (c.rung ? '' : c.caller_name),
    trunk: c.trunk,
  };
}

/** Leg of the first caller: the first leg of the first call, else the first that dialled. */
function callerOf({ line }: Scene, legs: readonly RecordedLeg[]): RecordedLeg | null {
  return (
    legs.find((leg) => leg.leg_id === line.root) ??
    legs.find((leg) => leg.role === 'caller') ??
    legs[0] ??
    null
  );
}
/** The number of a placed call is on the internal pair that began it. */
function dialledBy({ line, origins }: Scene, caller: RecordedLeg | null): string {
  const pair = placedBy(line, origins, caller);
  const placed = pair?.last_dialled ?? '';
  return placed !== '' && placed !== caller?.participant.extension ? placed : (caller?.dialled ?? '');
}
function placedBy(line: Timeline, origins: Origins, caller: RecordedLeg | null): ChannelLine | undefined {
  const leg = caller === null ? undefined : line.byId.get(caller.leg_id);
  const { placed, top } = leg ? origins.of(leg) : { placed: false, top: null };
  if (!placed || top === null) return undefined;
  return [top.channel, line.halves.get(top.channel.id)].find((half) => half?.first);
}

/** By the parties of the call: extensions or trunks. `direction` of `call.*` events follows the same rule. */
function directionOf(
  caller: RecordedLeg | null,
  legs: readonly RecordedLeg[],
): ConversationRecord['direction'] {
  const isOurs = (leg: RecordedLeg): boolean => leg.participant.extension !== null;
  if (caller === null) return 'internal';
  const others = legs.filter((leg) => leg !== caller);
  if (isOurs(caller)) return others.every(isOurs) ? 'internal' : 'out';
  return others.length > 0 && !others.some(isOurs) ? 'transit' : 'in';
}

type Ending = Pick<ConversationRecord, 'disposition' | 'cause' | 'ended_by'>;
function endOf(
  scene: Scene,
  legs: readonly RecordedLeg[],
  caller: RecordedLeg | null,
  visits: readonly RecordedVisit[],
  complete: boolean,
): Ending {
  const disposition = dispositionOf(scene, legs, caller, visits);
  if (!complete) return { disposition, cause: null, ended_by: null };
  const last = legs.toSorted((a, b) => b.to - a.to)[0];
  if (legs.some((leg) => leg.ended_by === 'engine_lost'))
    return { disposition, cause: null, ended_by: 'engine_lost' };
  const hung = legs
    .filter((leg) => {
      const c = scene.line.byId.get(leg.leg_id)!;
      return c.hung_up_itself && leg.disposition !== 'diverted' && isSoon(c.to, last!.to * 1000);
    })
    .sort((a, b) => a.to - b.to);
  const by = hung.find((leg) => leg === caller) ?? hung[0];
  const cause = by === undefined ? (caller?.cause ?? last?.cause ?? null) : by.cause;
  return {
    disposition,
    cause,
    ended_by: by === undefined ? 'exchange' : by === caller ? 'caller' : 'called',
  };
}

function dispositionOf(
  scene: Scene,
  legs: readonly RecordedLeg[],
  caller: RecordedLeg | null,
  visits: readonly RecordedVisit[],
): ConversationRecord['disposition'] {
  if (scene.met.size > 0 || legs.some((leg) => leg.segments.some(isTalk))) return 'answered';
  const services = legs.flatMap((leg) => {
    const c = scene.line.byId.get(leg.leg_id)!;
    return leg.segments.flatMap((s) => (isService(c, s) ? s.service! : []));
  });
  if (services.includes('voicemail')) return 'voicemail';
  if (visits.some((v) => v.outcome === 'callback')) return 'callback_requested';
  if (visits.at(-1)?.outcome === 'abandoned') return 'abandoned_in_queue';
  if (visits.length > 0) return 'missed';
  if (caller?.disposition === 'blocked') return 'blocked';
  const tried = legs.filter((leg) => leg !== caller);
  if (tried.some((leg) => didRing(leg.disposition))) return 'missed';
  if (tried.length === 0 && services.length > 0) return 'self_service';
  return caller !== null && legs.length === 1 && wantedInVain(caller) ? 'missed' : 'failed';
}
/** The device rung first for a placed call did not answer, or the caller gave up before anything rang. */
const wantedInVain = (caller: RecordedLeg): boolean =>
  caller.disposition === 'cancelled_by_caller' ||
  (caller.segments.some((s) => s.state === 'alerting') && didRing(caller.disposition));

/** The first talk of two legs, else the first answer by an application. */
function answeredAt(legs: readonly RecordedLeg[]): number | null {
  const talks = legs.flatMap((leg) => leg.segments.find(isTalk)?.from ?? []);
  const services = legs.flatMap((leg) => (leg.role === 'caller' ? (leg.answered ?? []) : []));
  const all = talks.length > 0 ? talks : services;
  return all.length > 0 ? Math.min(...all) : null;
}

const lengthOf = (segments: readonly Segment[], state: Segment['state']): number =>
  segments.reduce((sum, s) => (s.state === state ? sum + s.to - s.from : sum), 0);
function sumsOf(legs: readonly RecordedLeg[], visits: readonly RecordedVisit[]) {
  const of = (state: Segment['state']): number =>
    legs.reduce((sum, leg) => sum + lengthOf(leg.segments, state), 0);
  return {
    ring_ms: of('alerting'),
    wait_ms: visits.reduce((sum, v) => sum + v.to - v.from, 0),
    talk_ms: of('connected'),
    hold_ms: of('held'),
    park_ms: of('parked'),
  };
}
/** From the first talk of an external leg to the last. */
function billable(legs: readonly RecordedLeg[]): number {
  const talks = legs
    .filter((leg) => leg.participant.extension === null)
    .flatMap((leg) => leg.segments.filter(isTalk));
  if (talks.length === 0) return 0;
  return Math.max(...talks.map((s) => s.to)) - Math.min(...talks.map((s) => s.from));
}

function partiesOf(caller: RecordedLeg | null, legs: readonly RecordedLeg[]): readonly RecordedParticipant[] {
  const found = new Map<string, RecordedParticipant>();
  for (const { participant: p } of caller === null ? legs : [caller, ...legs]) {
    const key = p.extension ?? `${p.trunk ?? ''} ${p.number}`;
    if (!found.has(key)) found.set(key, p);
  }
  return [...found.values()];
}
function extensionsOf({ line, legs, origins }: Scene, caller: RecordedLeg | null): readonly string[] {
  const found = new Set<string>();
  for (const c of legs) {
    if (c.extension !== null) found.add(c.extension);
    // An originate that the caller's own device never answered is not an outgoing call.
    const placed = c.id === caller?.leg_id && origins.of(c).placed && c.apps.length === 0;
    if (!placed) for (const extension of c.reaches.keys()) found.add(extension);
  }
  for (const { forwarder } of line.marks) if (forwarder !== undefined) found.add(forwarder);
  return [...found].sort();
}
