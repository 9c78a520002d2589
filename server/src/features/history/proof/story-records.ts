/** Converts a call of the journal to the form of the engine's call records, so that one set of rules builds both. */
import { hash } from 'node:crypto';
import type { BridgeId, CallId, ChannelId } from '@offhook/contract/ids.ts';
import type { CallRecord, CallRecordFacts, CallRecordType } from '../../../ports/call-records.ts';
import type { Span } from '../record/figures.ts';
import { lengthOf } from '../record/figures.ts';
import type { Story, StoryLeg } from './stories.ts';

/** Stand-in bridge of a call; the journal reports the connected legs, but not the engine's bridge. */
const bridgeOf = (call: string): BridgeId => `journal:${call}` as BridgeId;
/** Reasons for which a device ended its own ring; the cause is more exact. */
const BY_DEVICE = new Set(['busy', 'rejected', 'unreachable', 'congestion', 'failed']);

/** Records of an ended call; the same call always gives the same records and keys. */
export function recordsOfStory(story: Story): readonly CallRecord[] {
  const diallings = diallingsIn(story);
  return [
    ...[...story.legs.values()].flatMap((leg) => recordsOfLeg(leg, diallings.get(leg) ?? [], story)),
    ...story.transfers.flatMap(recordsOfTransfer),
    ...closings(story),
  ];
}
/** Milliseconds with at least two connected legs; `held`: whether a held leg counts as connected. */
export function talkOfStory(story: Story, held: 'held too' | 'not held'): number {
  const spans = new Map<string, Span[]>();
  const legs = [...story.legs.values()].map((leg) => ({ leg, talks: talksOf(leg, held) }));
  for (const { leg, talks } of legs) {
    for (const { call, from, to } of talks) {
      for (const other of legs.flatMap((one) => (one.leg === leg ? [] : one.talks))) {
        if (other.call !== call) continue;
        const [start, stop] = [Math.max(from, other.from), Math.min(to, other.to)];
        if (start >= stop) continue;
        const known = spans.get(call);
        if (known === undefined) spans.set(call, [{ from: start, to: stop }]);
        else known.push({ from: start, to: stop });
      }
    }
  }
  return lengthOf([...spans.values()].flat());
}
type Talk = Span & { readonly call: string };
function talksOf(leg: StoryLeg, held: 'held too' | 'not held'): readonly Talk[] {
  let talks: readonly Talk[] = leg.met.flatMap(({ call, from, to }) =>
    to === null ? [] : { call, from, to },
  );
  if (held === 'held too') return talks;
  for (const { from, to } of leg.held)
    talks = talks.flatMap((talk) =>
      [
        { ...talk, to: Math.min(talk.to, from) },
        { ...talk, from: Math.max(talk.from, to ?? Infinity) },
      ].filter((part) => part.from < part.to),
    );
  return talks;
}

interface Dialling extends Span {
  readonly rung: readonly StoryLeg[];
}
/** Diallings of each leg, with the legs they rang. */
function diallingsIn(story: Story): ReadonlyMap<StoryLeg, readonly Dialling[]> {
  const found = new Map<StoryLeg, Dialling[]>();
  const legs = [...story.legs.values()];
  const last = story.end?.at ?? story.from;
  for (const rung of legs) {
    if (rung.first || !rung.rang) continue;
    if (legs.some(({ visits }) => visits.some((v) => v.from <= rung.from && (v.to ?? last) >= rung.from)))
      continue;
    const moved = story.transfers.findLast((t) => t.kind === 'blind' && t.at <= rung.from)?.other;
    const first = legs.find((leg) => leg.first && leg !== rung);
    const dialler = moved ?? first ?? legs.find((leg) => leg !== rung && leg.from <= rung.from);
    if (dialler === undefined) continue;
    const own = found.get(dialler) ?? [];
    const until = rung.answered === null ? (rung.end?.at ?? last) : (dialler.end?.at ?? last);
    const before = own.at(-1);
    if (before !== undefined && rung.from <= before.to) {
      own[own.length - 1] = {
        from: before.from,
        to: Math.max(before.to, until),
        rung: [...before.rung, rung],
      };
    } else own.push({ from: rung.from, to: until, rung: [rung] });
    found.set(dialler, own);
  }
  return found;
}
const DIAL_STATUS = [
  ['ANSWER', (leg: StoryLeg) => leg.answered !== null],
  ['CANCEL', (leg: StoryLeg) => leg.end?.reason === 'canceled'],
  ['BUSY', (leg: StoryLeg) => leg.end?.reason === 'busy'],
] as const;
const statusOf = (rung: readonly StoryLeg[]): string =>
  DIAL_STATUS.find(([, is]) => rung.some(is))?.[0] ?? 'NOANSWER';

function recordsOfLeg(leg: StoryLeg, diallings: readonly Dialling[], story: Story): readonly CallRecord[] {
  const found: CallRecord[] = [];
  const add = (
    type: CallRecordType,
    at: number,
    facts: CallRecordFacts = {},
    more: Partial<CallRecord> = {},
  ) => found.push(record(leg, type, at, facts, more));
  add('channel_start', leg.from);
  for (const call of leg.calls.slice(1)) {
    const joined = leg.met.find((m) => m.call === call)?.from ?? leg.end?.at ?? story.end?.at ?? leg.from;
    // A leg in two calls merges them into one conversation.
    add('user_defined', joined, {}, { call: call as CallId });
  }
  for (const { from, to, rung } of diallings) {
    const app = { app: 'dial', app_data: rung.map((r) => `leg/${r.leg.endpoint ?? r.leg.leg_id}`).join('&') };
    add('app_start', from, {}, app);
    add('app_end', to, {}, app);
  }
  for (const { queue, from, to, status } of leg.visits) {
    const app = { app: 'queue', app_data: queue };
    const met = leg.met.some((m) => to !== null && Math.abs(m.from - to) < SOON_MS);
    add('app_start', from, { queue }, app);
    if (to !== null) add('app_end', met ? (leg.end?.at ?? to) : to, { queue }, app);
    if (to !== null && status !== null) add('user_defined', to, { queue_status: status });
  }
  if (leg.answered !== null) add('answer', leg.answered);
  for (const { call, from, to } of leg.met) {
    const inCall = { call: call as CallId };
    add('bridge_enter', from, { bridge: bridgeOf(call) }, inCall);
    if (to !== null) add('bridge_exit', to, { bridge: bridgeOf(call) }, inCall);
  }
  for (const { from, to } of leg.held) {
    add('music_start', from);
    if (to !== null) add('music_end', to);
  }
  for (const { from, to, slot } of leg.parked) {
    add('park_start', from, { target: slot });
    if (to !== null) add('park_end', to);
  }
  if (leg.end !== null) {
    const { at, cause, reason } = leg.end;
    const facts: CallRecordFacts = {
      ...(cause === null ? {} : { cause }),
      ...(BY_DEVICE.has(reason) && leg.answered === null ? { source: nameOf(leg) } : {}),
      ...(diallings.length > 0 ? { dial_status: statusOf(diallings.at(-1)!.rung) } : {}),
    };
    add('hangup', at, facts);
    add('channel_end', at);
  }
  return found;
}
/** The engine answers and connects in separate events. */
const SOON_MS = 500;

function recordsOfTransfer({ at, kind, by, other, to }: Story['transfers'][number]): readonly CallRecord[] {
  if (kind !== 'blind' || other === null) return [];
  return [record(by, 'blind_transfer', at, { target: to, other: other.leg.leg_id as ChannelId })];
}
function closings(story: Story): readonly CallRecord[] {
  const [leg] = story.legs.values();
  if (leg === undefined || story.end === null || story.end.reason === 'engine_lost') return [];
  return [record(leg, 'linked_end', story.end.at, {}, { call: story.call as CallId })];
}

const nameOf = ({ leg }: StoryLeg): string => `${leg.endpoint ?? 'leg'}-${leg.leg_id}`;
function record(
  leg: StoryLeg,
  type: CallRecordType,
  at: number,
  facts: CallRecordFacts,
  more: Partial<CallRecord> = {},
): CallRecord {
  const { leg: who, calls } = leg;
  const fields = {
    type,
    name: '',
    at_us: at * 1000,
    channel: who.leg_id as ChannelId,
    call: calls[0]! as CallId,
    channel_name: nameOf(leg),
    endpoint: who.endpoint,
    pair: null,
    caller_number: who.number,
    caller_name: who.name,
    dialled: leg.first ? leg.dialled : (who.extension ?? who.number),
    context: '',
    app: '',
    app_data: '',
    peer: '',
    facts,
    observed: 'journal' as const,
    ...more,
  };
  return { ...fields, key: `j${hash('sha256', JSON.stringify(fields), 'base64url').slice(0, 23)}` };
}
