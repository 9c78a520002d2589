/**
 * Expected conversation as measured by its phones, compared with the service's. Times are of the phones' monotonic clock
 * (`performance.now()`); ids and absolute times are not compared.
 */
import assert from 'node:assert/strict';
import type { Conversation } from '@offhook/contract/conversations.ts';
import type { CallTimes } from './phone.ts';

type Leg = Conversation['legs'][number];
type Segment = Leg['segments'][number];
type Visit = Conversation['queue_visits'][number];
/** State, end and details; it begins at the end of the previous one. */
export type ExpectedSegment = readonly [
  state: Segment['state'],
  until: number,
  more?: {
    /** Names of legs. */
    readonly with?: readonly string[];
    readonly held_by?: Segment['held_by'];
    readonly queue?: string;
    readonly service?: string;
  },
];
/** An extension, or an outside party. */
export type ExpectedParty =
  | string
  | {
      readonly number: string;
      readonly e164?: string | null;
      readonly name?: string;
      readonly trunk: string;
    };
export interface ExpectedLeg {
  readonly who: ExpectedParty;
  readonly role: Leg['role'];
  readonly dialled: string;
  readonly disposition: Leg['disposition'];
  readonly cause: number | null;
  readonly ended_by: Leg['ended_by'];
  readonly from: number;
  readonly answered?: number;
  readonly segments: readonly ExpectedSegment[];
}
export interface ExpectedTransfer {
  readonly kind: Conversation['transfers'][number]['kind'];
  readonly at: number;
  readonly by: string | null;
  readonly moved: string | null;
  readonly to: string;
  readonly to_leg: string | null;
  readonly outcome: Conversation['transfers'][number]['outcome'];
}
export interface ExpectedVisit {
  readonly queue: string;
  readonly leg: string;
  readonly from: number;
  readonly to: number;
  readonly outcome: Visit['outcome'];
  readonly agent: string | null;
  readonly agent_leg: string | null;
  readonly offers: readonly {
    readonly leg: string;
    readonly from: number;
    readonly to: number;
    readonly disposition: Visit['offers'][number]['disposition'];
  }[];
}
/** Sums are derived from the legs and visits. */
export interface ExpectedConversation {
  readonly direction: Conversation['direction'];
  readonly disposition: Conversation['disposition'];
  readonly cause: number | null;
  readonly ended_by: Conversation['ended_by'];
  readonly dialled: string;
  readonly dialled_e164?: string | null;
  readonly answered: number | null;
  /** First talk to the last moment of an external leg in a bridge. */
  readonly billable?: readonly [from: number, to: number];
  /** Number of merged calls. */
  readonly merged?: number;
  /** In order of their start, the first caller first. */
  readonly legs: Readonly<Record<string, ExpectedLeg>>;
  readonly transfers?: readonly ExpectedTransfer[];
  readonly visits?: readonly ExpectedVisit[];
  /** Dialled extensions without a device to ring. */
  readonly unreached?: readonly string[];
}

/** Tolerance between a time of the service and a phone's, also on a busy machine. */
const TOLERANCE_S = 0.75;
/** Tolerance of sums over all legs. */
const SUM_TOLERANCE_S = 1.5;
/** Shorter segments are steps of the engine and not measurable. */
const BLINK_S = 0.25;

/** Values to compare: text exactly, seconds within the tolerance. */
type Facts = Map<string, string | number>;

const nameOf = (names: ReadonlyMap<string, string>, id: string | null): string =>
  id === null ? '-' : (names.get(id) ?? `an unknown leg ${id}`);
const secondsBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000;

interface Stretch {
  readonly what: string;
  readonly seconds: number;
}
const shownSegment = (
  state: string,
  others: readonly string[],
  heldBy: string | null,
  queue: string | null,
  service: string | null,
): string =>
  [
    state,
    others.length > 0 ? `with ${[...others].sort().join('+')}` : '',
    heldBy ?? '',
    queue ?? '',
    service ?? '',
  ]
    .filter(Boolean)
    .join(' ');
/** Those under `blink_s` are merged into the next segment, so that sums stay equal. */
function measurable(stretches: readonly Stretch[], blink_s: number): readonly Stretch[] {
  const found: Stretch[] = [];
  let carried = 0;
  for (const { what, seconds } of stretches) {
    if (seconds < blink_s) {
      carried += seconds;
      continue;
    }
    const last = found.at(-1);
    if (last?.what === what) found[found.length - 1] = { what, seconds: last.seconds + seconds + carried };
    else found.push({ what, seconds: seconds + carried });
    carried = 0;
  }
  return found;
}
function addStretches(facts: Facts, at: string, stretches: readonly Stretch[], blink_s: number): void {
  const left = measurable(stretches, blink_s);
  facts.set(`${at} segments`, left.map((s) => s.what).join(' → '));
  left.forEach((s, i) => facts.set(`${at} segment ${i + 1} (${s.what}) seconds`, s.seconds));
}

const party = (p: ExpectedParty): string => {
  if (typeof p === 'string') return `${p} ${p} - "Person ${p}" -`;
  return `- ${p.number} ${p.e164 ?? '-'} "${p.name ?? ''}" ${p.trunk}`;
};
const partyText = (p: Conversation['parties'][number]): string =>
  `${p.extension ?? '-'} ${p.number} ${p.number_e164 ?? '-'} "${p.name}" ${p.trunk ?? '-'}`;
const sumOf = (stretches: readonly Stretch[], state: string): number =>
  stretches.reduce((sum, s) => (s.what.split(' ')[0] === state ? sum + s.seconds : sum), 0);

const SUMS = { ring: 'alerting', wait: 'queued', talk: 'connected', hold: 'held', park: 'parked' } as const;
const SUMMED = new Set(Object.keys(SUMS).map((sum) => `${sum} time`));

function expectedFacts(e: ExpectedConversation, blink_s: number): Facts {
  const facts: Facts = new Map();
  const legs = Object.entries(e.legs);
  const started = Math.min(...legs.map(([, l]) => l.from));
  const since = (moment: number): number => (moment - started) / 1000;
  const ended = Math.max(...legs.map(([, l]) => l.segments.at(-1)![1]));
  const { visits = [], transfers = [] } = e;
  facts.set('direction', e.direction);
  facts.set('disposition', e.disposition);
  facts.set('cause', String(e.cause));
  facts.set('ended by', String(e.ended_by));
  facts.set('dialled', `${e.dialled} ${e.dialled_e164 ?? '-'}`);
  facts.set('merged calls', String(e.merged ?? 0));
  facts.set('answered', e.answered === null ? 'never' : since(e.answered));
  facts.set('duration', since(ended));
  facts.set('billable', e.billable ? (e.billable[1] - e.billable[0]) / 1000 : 0);
  facts.set('caller', party(legs[0]![1].who));
  facts.set('parties', [...new Set(legs.map(([, l]) => party(l.who)))].sort().join(' | '));
  const own = legs.flatMap(([, l]) => (typeof l.who === 'string' ? [l.who] : []));
  facts.set('extensions', [...new Set([...own, ...(e.unreached ?? [])])].sort().join(' '));
  facts.set('queues', [...new Set(visits.map((v) => v.queue))].join(' '));
  facts.set('agents', [...new Set(visits.flatMap((v) => v.agent ?? []))].join(' '));
  facts.set(
    'legs',
    legs
      .map(([name]) => name)
      .sort()
      .join(' '),
  );
  const totals = { ring: 0, wait: 0, talk: 0, hold: 0, park: 0 };
  for (const [name, leg] of legs) {
    const at = `leg ${name}`;
    facts.set(at, `${party(leg.who)} ${leg.role} dialled ${leg.dialled}`);
    facts.set(`${at} outcome`, `${leg.disposition} cause ${leg.cause} ended by ${leg.ended_by}`);
    facts.set(`${at} starts`, since(leg.from));
    facts.set(`${at} answered`, leg.answered === undefined ? 'never' : since(leg.answered));
    let from = leg.from;
    const stretches = leg.segments.map(([state, until, more = {}]) => {
      const what = shownSegment(
        state,
        more.with ?? [],
        more.held_by ?? null,
        more.queue ?? null,
        more.service ?? null,
      );
      const stretch = { what, seconds: (until - from) / 1000 };
      from = until;
      return stretch;
    });
    facts.set(`${at} duration`, since(from) - since(leg.from));
    addStretches(facts, at, stretches, blink_s);
    for (const [sum, state] of Object.entries(SUMS)) {
      const seconds = sumOf(stretches, state);
      facts.set(`${at} ${sum} time`, seconds);
      totals[sum as keyof typeof totals] += seconds;
    }
  }
  totals.wait = visits.reduce((sum, v) => sum + (v.to - v.from) / 1000, 0);
  for (const [sum, seconds] of Object.entries(totals)) facts.set(`${sum} time`, seconds);
  transfers.forEach((t, i) => {
    const at = `transfer ${i + 1}`;
    facts.set(
      at,
      `${t.kind} by ${t.by ?? '-'} of ${t.moved ?? '-'} to ${t.to} (${t.to_leg ?? '-'}): ${t.outcome}`,
    );
    facts.set(`${at} at`, since(t.at));
  });
  facts.set('transfers', String(transfers.length));
  facts.set('visits', String(visits.length));
  visits.forEach((v, i) => {
    const at = `visit ${i + 1}`;
    facts.set(at, `${v.queue} by ${v.leg}: ${v.outcome}, agent ${v.agent ?? '-'} (${v.agent_leg ?? '-'})`);
    facts.set(`${at} joined`, since(v.from));
    facts.set(`${at} wait`, (v.to - v.from) / 1000);
    facts.set(
      `${at} offers`,
      v.offers
        .map((o) => `${o.leg} ${o.disposition}`)
        .sort()
        .join(', '),
    );
    for (const o of v.offers) facts.set(`${at} offer ${o.leg} ring`, (o.to - o.from) / 1000);
  });
  facts.set('state', 'final revision 1');
  return facts;
}

/** Names of the legs: the n-th leg of a party has the n-th expected name of that party. */
function namesOf(e: ExpectedConversation, c: Conversation): ReadonlyMap<string, string> {
  const left = [...c.legs].sort((a, b) => Date.parse(a.started_at) - Date.parse(b.started_at));
  const names = new Map<string, string>();
  const wanted = Object.entries(e.legs).sort(([, a], [, b]) => a.from - b.from);
  for (const [name, { who }] of wanted) {
    const i = left.findIndex(({ participant: p }) =>
      typeof who === 'string' ? p.extension === who : p.extension === null && p.number === who.number,
    );
    if (i >= 0) names.set(left.splice(i, 1)[0]!.leg_id, name);
  }
  left.forEach((leg) =>
    names.set(leg.leg_id, `surplus-${leg.participant.extension ?? leg.participant.number}`),
  );
  return names;
}

function recordedFacts(e: ExpectedConversation, c: Conversation, blink_s: number): Facts {
  const facts: Facts = new Map();
  const names = namesOf(e, c);
  const name = (id: string | null): string => nameOf(names, id);
  const since = (moment: string): number => secondsBetween(c.started_at, moment);
  facts.set('direction', c.direction);
  facts.set('disposition', c.disposition);
  facts.set('cause', String(c.cause));
  facts.set('ended by', String(c.ended_by));
  facts.set('dialled', `${c.dialled} ${c.dialled_e164 ?? '-'}`);
  facts.set('merged calls', String(c.merged_from.length));
  facts.set('answered', c.answered_at === null ? 'never' : since(c.answered_at));
  facts.set('duration', c.duration);
  facts.set('billable', c.billable);
  facts.set('caller', c.caller ? partyText(c.caller) : '-');
  facts.set('parties', c.parties.map(partyText).sort().join(' | '));
  facts.set('extensions', c.extensions.join(' '));
  facts.set('queues', c.queues.join(' '));
  facts.set('agents', c.agents.join(' '));
  facts.set(
    'legs',
    c.legs
      .map((l) => name(l.leg_id))
      .sort()
      .join(' '),
  );
  for (const leg of c.legs) {
    const at = `leg ${name(leg.leg_id)}`;
    facts.set(at, `${partyText(leg.participant)} ${leg.role} dialled ${leg.dialled}`);
    facts.set(`${at} outcome`, `${leg.disposition} cause ${leg.cause} ended by ${leg.ended_by}`);
    facts.set(`${at} starts`, since(leg.started_at));
    facts.set(`${at} answered`, leg.answered_at === null ? 'never' : since(leg.answered_at));
    facts.set(`${at} duration`, leg.duration);
    const stretches = leg.segments.map((s) => ({
      what: shownSegment(s.state, s.with.map(name), s.held_by, s.queue, s.service),
      seconds: s.duration,
    }));
    addStretches(facts, at, stretches, blink_s);
    for (const sum of Object.keys(SUMS))
      facts.set(`${at} ${sum} time`, leg[`${sum}_time` as `${keyof typeof SUMS}_time`]);
  }
  for (const sum of Object.keys(SUMS))
    facts.set(`${sum} time`, c[`${sum}_time` as `${keyof typeof SUMS}_time`]);
  c.transfers.forEach((t, i) => {
    const at = `transfer ${i + 1}`;
    facts.set(
      at,
      `${t.kind} by ${name(t.by)} of ${name(t.moved)} to ${t.to} (${name(t.to_leg)}): ${t.outcome}`,
    );
    facts.set(`${at} at`, since(t.at));
  });
  facts.set('transfers', String(c.transfers.length));
  facts.set('visits', String(c.queue_visits.length));
  c.queue_visits.forEach((v, i) => {
    const at = `visit ${i + 1}`;
    facts.set(
      at,
      `${v.queue} by ${name(v.leg_id)}: ${v.outcome}, agent ${v.agent ?? '-'} (${name(v.agent_leg)})`,
    );
    facts.set(`${at} joined`, since(v.joined_at));
    facts.set(`${at} wait`, v.wait_time);
    facts.set(
      `${at} offers`,
      v.offers
        .map((o) => `${name(o.leg_id)} ${o.disposition}`)
        .sort()
        .join(', '),
    );
    for (const o of v.offers) facts.set(`${at} offer ${name(o.leg_id)} ring`, o.ring_time);
  });
  facts.set('state', `${c.state} revision ${c.revision}`);
  return facts;
}

function compared(
  e: ExpectedConversation,
  c: Conversation,
  blink_s: number,
  late_s: number,
): readonly string[] {
  const [wanted, recorded] = [expectedFacts(e, blink_s), recordedFacts(e, c, blink_s)];
  const shown = (value: string | number | undefined): string =>
    typeof value === 'number' ? `${value.toFixed(2)} s` : (value ?? 'nothing');
  return [...new Set([...wanted.keys(), ...recorded.keys()])].flatMap((key) => {
    const [a, b] = [wanted.get(key), recorded.get(key)];
    const most = (SUMMED.has(key) ? SUM_TOLERANCE_S : TOLERANCE_S) + late_s;
    const same = typeof a === 'number' && typeof b === 'number' ? Math.abs(a - b) <= most : a === b;
    return same ? [] : [`${key}: told ${shown(b)}, the phones say ${shown(a)}`];
  });
}
/**
 * Every difference, one line each; empty if the record matches. A segment near the blink may be one to the phones and none to the
 * engine, or the other way: then those within the tolerance are merged at both.
 */
export function differences(e: ExpectedConversation, c: Conversation, late_s = 0): readonly string[] {
  const lines = compared(e, c, BLINK_S, late_s);
  return lines.length > 0 && compared(e, c, TOLERANCE_S + late_s, late_s).length === 0 ? [] : lines;
}
/** First and last time of the phones. */
export function spanOf({ legs }: ExpectedConversation): readonly [from: number, to: number] {
  const all = Object.values(legs);
  return [
    Math.min(...all.map(({ from }) => from)),
    Math.max(...all.flatMap(({ segments }) => segments.map(([, until]) => until))),
  ];
}
/** `late_s` widens each tolerance: the delay of engine and phones on this machine during the call, in seconds. */
export function assertConversation(e: ExpectedConversation, c: Conversation, late_s = 0): void {
  const lines = differences(e, c, late_s);
  const text = lines.join('\n  ');
  assert.ok(
    lines.length === 0,
    `conversation ${c.id} is not what happened (late by ${late_s} s):\n  ${text}`,
  );
}

/** A leg with the times measured by its phone. */
export const leg = (
  who: ExpectedParty,
  role: Leg['role'],
  dialled: string,
  [disposition, cause, ended_by]: readonly [Leg['disposition'], number | null, Leg['ended_by']],
  { began, answered }: CallTimes,
  segments: readonly ExpectedSegment[],
): ExpectedLeg => ({
  who,
  role,
  dialled,
  disposition,
  cause,
  ended_by,
  from: began,
  ...(Number.isNaN(answered) ? {} : { answered }),
  segments,
});
/** A visit by the leg `a`. */
export const visit = (
  queue: string,
  [from, to]: readonly [number, number],
  outcome: ExpectedVisit['outcome'],
  by: readonly [agent: string, leg: string] | null,
  offers: ExpectedVisit['offers'],
): ExpectedVisit => ({
  queue,
  leg: 'a',
  from,
  to,
  outcome,
  agent: by?.[0] ?? null,
  agent_leg: by?.[1] ?? null,
  offers,
});
export const offer = (
  name: string,
  { began }: CallTimes,
  to: number,
  disposition: ExpectedVisit['offers'][number]['disposition'],
): ExpectedVisit['offers'][number] => ({ leg: name, from: began, to, disposition });
