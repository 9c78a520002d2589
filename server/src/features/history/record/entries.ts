/** The record as a list of events for people: `timeline` of `GET /conversations/{id}`. */
import type { z } from 'zod';
import type { TimelineEntry } from '@offhook/contract/conversations.ts';
import { rfc3339 } from '../../../core/clock.ts';
import type {
  ConversationRecord,
  RecordedLeg,
  RecordedSegment,
  RecordedTransfer,
  RecordedVisit,
} from './record.ts';

interface Moment {
  readonly at: number;
  readonly what: string;
  readonly leg_id: string | null;
  readonly text: string;
}
type Names = (leg: string | null) => string;

/** In order of time; events of the same time keep the order start, change, transfer, end. */
export function timelineEntries(record: ConversationRecord): z.infer<typeof TimelineEntry>[] {
  const names = namesOf(record);
  const moments = [
    ...record.legs.map((leg) => started(leg, names)),
    ...record.visits.flatMap((v) => visited(v, names)),
    ...record.legs.flatMap((leg) => changes(leg, names)),
    ...record.transfers.map((t) => passedOn(t, names)),
    ...record.legs.flatMap((leg) => ended(leg, names)),
  ];
  return moments.sort((a, b) => a.at - b.at).map(({ at, ...moment }) => ({ at: rfc3339(at), ...moment }));
}

function namesOf(record: ConversationRecord): Names {
  const known = new Map(
    record.legs.map(({ leg_id, participant: { extension, number, name } }) => {
      const who = extension ?? number;
      return [
        leg_id,
        name !== '' && name !== who ? `${name} (${who || 'no number'})` : who || 'an unknown number',
      ];
    }),
  );
  return (leg) => (leg === null ? 'somebody' : (known.get(leg) ?? 'somebody'));
}

const BEGINNING: Readonly<Record<RecordedLeg['role'], (who: string, dialled: string) => string>> = {
  caller: (who, dialled) => (dialled === '' ? `${who} began a call` : `${who} dialled ${dialled}`),
  called: (who) => `${who} was called`,
  offered: (who) => `${who} was offered the call`,
  consulted: (who) => `${who} was called to be spoken to first`,
  transfer_target: (who) => `The call was passed on to ${who}`,
  retriever: (who, dialled) => `${who} went to take the call${dialled === '' ? '' : ` with ${dialled}`}`,
};
const started = (leg: RecordedLeg, names: Names): Moment => ({
  at: leg.from,
  what: 'leg_started',
  leg_id: leg.leg_id,
  text: BEGINNING[leg.role](names(leg.leg_id), leg.dialled),
});

const OUTCOME: Readonly<Record<RecordedVisit['outcome'], string>> = {
  waiting: 'still waits in',
  answered: 'was answered in',
  abandoned: 'gave up waiting in',
  timeout: 'waited too long in',
  exit_key: 'left by a key from',
  empty_join: 'found nobody in',
  empty_leave: 'had nobody left to wait for in',
  full: 'found no place in',
  callback: 'asked to be called back by',
  transferred_out: 'was taken out of',
};
function visited(v: RecordedVisit, names: Names): readonly Moment[] {
  const who = names(v.leg_id);
  const joined = {
    at: v.from,
    what: 'queue_joined',
    leg_id: v.leg_id,
    text: `${who} joined queue ${v.queue}`,
  };
  if (v.outcome === 'waiting') return [joined];
  const by = v.outcome === 'answered' ? ` by ${names(v.agent_leg)}` : '';
  const text = `${who} ${OUTCOME[v.outcome]} queue ${v.queue}${by}`;
  return [joined, { at: v.to, what: 'queue_left', leg_id: v.leg_id, text }];
}

type Refusal = NonNullable<RecordedLeg['refused']>;
const REFUSAL: Readonly<Record<Refusal['reason'], (extension: string) => string>> = {
  class: (extension) => `${extension} may not call numbers of this class`,
  hours: (extension) => `${extension} may not call this number at this time`,
  country: (extension) => `${extension} may not call this country`,
  calls: (extension) => `${extension} has as many calls as it may have`,
  budget: (extension) => `${extension} has spent its calls or minutes`,
};
const PUSH: Readonly<Record<NonNullable<RecordedLeg['pushes']>[number]['outcome'], string>> = {
  registered: 'was woken by a push and registered',
  sent: 'was sent a push, and the call was taken or given up first',
  late: 'was sent a push and did not register in time',
  refused: 'could not be woken: no push service took the push',
  away: 'was not woken: the service gave no answer',
};
/** Changes of a leg. Hold is reported once, by the leg that put the other on hold. */
function changes(leg: RecordedLeg, names: Names): readonly Moment[] {
  const who = names(leg.leg_id);
  const found: Moment[] = [];
  const say = (at: number, what: string, text: string): void => {
    found.push({ at, what, leg_id: leg.leg_id, text });
  };
  if (leg.answered !== null && leg.role !== 'caller') say(leg.answered, 'answered', `${who} answered`);
  if (leg.refused !== undefined) {
    const { at, reason, extension, call_limit } = leg.refused;
    say(
      at,
      'refused',
      `${REFUSAL[reason](extension)}${call_limit === null ? '' : `: call limit ${call_limit}`}`,
    );
  }
  for (const { at, extension, outcome } of leg.pushes ?? [])
    say(at, 'push', `The app of ${extension} ${PUSH[outcome]}`);
  let before: RecordedSegment | undefined;
  for (const s of leg.segments) {
    const holds = holding(s);
    if (holds && !holding(before)) say(s.from, 'held', `${who} put ${listed(s.with, names)} on hold`);
    if (!holds && holding(before) && s.state === 'connected')
      say(s.from, 'retrieved', `${who} took ${listed(s.with, names)} back from hold`);
    if (s.state === 'parked') say(s.from, 'parked', `${who} was parked`);
    if (s.state === 'service') say(s.from, 'service', `${who} reached the exchange: ${s.service}`);
    before = s;
  }
  return found;
}
const holding = (s: RecordedSegment | undefined): boolean =>
  s?.state === 'held' && (s.held_by === 'this_leg' || s.held_by === 'both');
const listed = (legs: readonly string[], names: Names): string =>
  legs.length === 0 ? 'the other side' : legs.map(names).join(', ');

const DEED: Readonly<Record<RecordedTransfer['kind'], (by: string, moved: string, to: string) => string>> = {
  blind: (by, moved, to) => `${by} passed ${moved} on to ${to} without speaking first`,
  attended: (by, moved, to) => `${by} passed ${moved} on to ${to} after speaking first`,
  forward: (by, moved, to) => `${by} sent ${moved} on to ${to}`,
  pickup: (by, moved) => `${by} picked up the call that rang ${moved}`,
  park: (by, moved, to) => `${by} parked ${moved} on ${to}`,
  conference: (by, moved, to) => `${by} brought ${moved} and ${to} together`,
};
const FAILED: Readonly<Partial<Record<RecordedTransfer['outcome'], string>>> = {
  no_answer: ': nobody answered',
  abandoned: ': given up',
  failed: ': it failed',
};
const passedOn = (t: RecordedTransfer, names: Names): Moment => ({
  at: t.at,
  what: t.kind === 'blind' || t.kind === 'attended' ? 'transferred' : t.kind,
  leg_id: t.by,
  text: DEED[t.kind](doer(t, names), names(t.moved), t.to || 'somebody') + (FAILED[t.outcome] ?? ''),
});
function doer({ kind, by, forwarded_by }: RecordedTransfer, names: Names): string {
  if (kind !== 'forward') return names(by);
  if (by !== null) return `The device of ${names(by)}`;
  return forwarded_by === undefined ? 'A forward' : `The forward of ${forwarded_by}`;
}

const END: Readonly<Record<NonNullable<RecordedLeg['ended_by']>, string>> = {
  this_leg: 'hung up',
  other_side: 'was left by the other side',
  exchange: 'was let go by the exchange',
  engine_lost: 'was lost with the engine',
};
const VAIN: Readonly<Partial<Record<RecordedLeg['disposition'], string>>> = {
  no_answer: 'did not answer',
  busy: 'was busy',
  rejected: 'rejected the call',
  answered_elsewhere: 'stopped ringing: somebody else answered',
  failed: 'could not be reached',
  congestion: 'could not be reached: no line was free',
  unreachable: 'could not be reached: the device is away',
  blocked: 'was refused by the exchange',
  diverted: 'sent the call on',
};
function ended(leg: RecordedLeg, names: Names): readonly Moment[] {
  if (leg.ended_by === null) return [];
  const dialled = leg.role === 'caller' || leg.role === 'retriever';
  const vain = dialled || leg.ended_by === 'engine_lost' ? undefined : VAIN[leg.disposition];
  const text = `${names(leg.leg_id)} ${vain ?? END[leg.ended_by]}`;
  return [{ at: leg.to, what: 'leg_ended', leg_id: leg.leg_id, text }];
}
