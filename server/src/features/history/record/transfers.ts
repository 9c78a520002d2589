/** Transfers of a call: blind, attended, forward, pickup, park and conference. */
import type { KnownRecord } from './records.ts';
import type { RecordedTransfer, RecordedVisit } from './record.ts';
import { didRing, isService } from './endings.ts';
import { plainNumber } from './origins.ts';
import { msOf } from './replay.ts';
import type { Segment, Segments } from './replay.ts';
import { AT_ONCE_MS, divertedBy, isSoon, legOf, numberOf, withBefore } from './scene.ts';
import type { LegDisposition, Scene } from './scene.ts';
import { isLeg } from './timeline.ts';
import type { ChannelLine } from './timeline.ts';

export interface TransferDeps {
  readonly scene: Scene;
  readonly segments: Segments;
  readonly rung: ReadonlyMap<string, LegDisposition>;
  readonly visits: readonly RecordedVisit[];
}
type Outcome = RecordedTransfer['outcome'];

export function transfersIn(deps: TransferDeps): readonly RecordedTransfer[] {
  const { line } = deps.scene;
  const consults = consultsIn(deps);
  const completed = line.marks.flatMap((r) => tell(deps, r, consults) ?? []);
  const givenUp = consults.filter((c) => !c.completed).map((c) => abandoned(deps, c));
  return [...completed, ...givenUp].sort((a, b) => a.at - b.at);
}
function tell(deps: TransferDeps, r: KnownRecord, consults: readonly Consult[]): RecordedTransfer | null {
  switch (r.type) {
    case 'blind_transfer':
      return blind(deps, r);
    case 'attended_transfer':
      return attended(deps, r, consults);
    case 'forward':
      return forward(deps, r);
    case 'pickup':
      return pickup(deps, r);
    case 'park_start':
      return parked(deps, r);
    default:
      return null;
  }
}

const mark = (scene: Scene, type: KnownRecord['type'], test: (r: KnownRecord) => boolean) =>
  scene.line.marks.find((r) => r.type === type && test(r));

function blind({ scene, segments, ...deps }: TransferDeps, r: KnownRecord): RecordedTransfer | null {
  const { other = '' } = r.facts;
  if (mark(scene, 'park_start', (p) => p.channel === other && isSoon(p.at_us, r.at_us))) return null;
  const again = mark(scene, 'blind_transfer', (b) => b.facts.other === other && b.at_us > r.at_us);
  const moved = legOf(scene, other, r.at_us) ?? withBefore(segments, r.channel, r.at_us)[0] ?? null;
  const reached = ringsAfter(scene, other, r.at_us, again?.at_us ?? Infinity);
  return {
    kind: 'blind',
    at: msOf(r.at_us),
    by: legOf(scene, r.channel, r.at_us),
    moved,
    to: plainNumber(r.facts.target ?? ''),
    ...outcomeOf({ scene, segments, ...deps }, moved, reached, r.at_us),
  };
}
/** A channel may begin this long before the record of its cause, in microseconds. */
const STEP_US = 10_000;
/** Legs rung by the diallings of this channel in that interval. */
const ringsAfter = (scene: Scene, channel: string, from: number, to: number): readonly ChannelLine[] =>
  (scene.rungVia.get(channel) ?? []).filter((c) => c.from >= from - STEP_US && c.from <= to);

/** Outcome of a transfer for the party that was moved. */
function outcomeOf(
  { scene, segments, rung, visits }: TransferDeps,
  moved: string | null,
  reached: readonly ChannelLine[],
  at_us: number,
): Pick<RecordedTransfer, 'to_leg' | 'outcome'> {
  const met = reached.find((c) => rung.get(c.id) === 'answered');
  const to_leg = (met ?? reached[0])?.id ?? null;
  if (met) return { to_leg, outcome: 'completed' };
  const leg = moved === null ? undefined : scene.line.byId.get(moved);
  if (leg === undefined) return { to_leg, outcome: reached.length > 0 ? 'no_answer' : 'failed' };
  const after = (segments.get(leg.id) ?? []).filter((s) => s.from >= msOf(at_us));
  // Another leg may have picked up the ringing.
  const taker = after.flatMap((s) => s.with).find((id) => scene.line.takers.has(id));
  if (taker !== undefined) return { to_leg: taker, outcome: 'completed' };
  const visit = visits.find((v) => v.leg_id === leg.id && v.to >= msOf(at_us));
  const served = after.some((s) => s.state === 'service' && (s.service === 'voicemail' || isService(leg, s)));
  if (served || visit?.outcome === 'answered') return { to_leg, outcome: 'completed' };
  if (!leg.ended) return { to_leg, outcome: scene.lost ? 'failed' : 'pending' };
  const rangThen = reached.filter((c) => didRing(rung.get(c.id)!));
  const gaveUp = reached.some((c) => rung.get(c.id) === 'cancelled_by_caller');
  if (visit?.outcome === 'abandoned' || gaveUp) return { to_leg, outcome: 'abandoned' };
  const wanted = visit !== undefined || rangThen.length > 0;
  return { to_leg, outcome: wanted ? 'no_answer' : 'failed' };
}

function forward(deps: TransferDeps, r: KnownRecord): RecordedTransfer {
  const { scene } = deps;
  const rung = scene.rungVia.get(r.channel) ?? [];
  const by = divertedBy(rung, r);
  const moved = legOf(scene, r.channel, r.at_us);
  const reached = rung.filter((c) => c.from >= r.at_us - STEP_US && c !== by);
  return {
    kind: 'forward',
    at: msOf(r.at_us),
    by: by?.id ?? null,
    ...(by === undefined && r.forwarder !== undefined ? { forwarded_by: r.forwarder } : {}),
    moved,
    to: plainNumber(r.facts.target ?? ''),
    ...outcomeOf(deps, moved, reached, r.at_us),
  };
}

function pickup({ scene }: TransferDeps, r: KnownRecord): RecordedTransfer {
  const rang = scene.line.byId.get(r.channel);
  const taker = scene.line.byId.get(r.facts.other ?? '');
  return {
    kind: 'pickup',
    at: msOf(r.at_us),
    by: taker?.id ?? null,
    moved: rang && isLeg(rang) ? rang.id : null,
    to: taker ? numberOf(taker) : '',
    to_leg: taker?.id ?? null,
    outcome:
      taker && taker.bridged.length > 0
        ? 'completed'
        : taker?.ended === false && !scene.lost
          ? 'pending'
          : 'failed',
  };
}

/** The leg that parked a call, and where. The engine itself parks a call once more that returned without an answer. */
function parkerOf(
  deps: TransferDeps,
  r: KnownRecord,
  moved: RecordedTransfer['moved'],
): Pick<RecordedTransfer, 'by' | 'to'> {
  const { scene, segments } = deps;
  const sent = mark(scene, 'blind_transfer', (b) => b.facts.other === r.channel && isSoon(b.at_us, r.at_us));
  const by = sent?.channel ?? (moved === null ? null : (withBefore(segments, moved, r.at_us)[0] ?? null));
  const before =
    by === null && mark(scene, 'park_start', (p) => p.channel === r.channel && p.at_us < r.at_us);
  return before ? parkerOf(deps, before, moved) : { by, to: sent?.facts.target ?? '' };
}

function parked(deps: TransferDeps, r: KnownRecord): RecordedTransfer | null {
  const { scene } = deps;
  const moved = legOf(scene, r.channel, r.at_us);
  const { by, to } = parkerOf(deps, r, moved);
  const over = mark(scene, 'park_end', (p) => p.channel === r.channel && p.at_us >= r.at_us);
  // The engine may park a channel in two steps and take the first one back.
  const again = over && mark(scene, 'park_start', (p) => p.channel === r.channel && p.at_us >= over.at_us);
  if (again && again.at_us - r.at_us < STEP_US) return null;
  const taker = over && scene.byName.get(over.facts.other_name ?? '');
  const slot = taker?.apps.find((a) => a.app === 'parkedcall')?.data.split(',')[1];
  return {
    kind: 'park',
    at: msOf(r.at_us),
    by,
    moved,
    to: slot ?? to,
    // Without a taker, the engine rings the leg that parked the call.
    to_leg: (taker ?? (over && ringsAfter(scene, r.channel, over.at_us, Infinity)[0]))?.id ?? null,
    outcome: taker ? 'completed' : parkOutcome(scene, r, over),
  };
}
function parkOutcome(scene: Scene, r: KnownRecord, over: KnownRecord | undefined): Outcome {
  const c = scene.line.byId.get(r.channel)!;
  if (over === undefined) return c.ended ? 'abandoned' : scene.lost ? 'failed' : 'pending';
  return c.ended && isSoon(c.to, over.at_us) ? 'abandoned' : 'no_answer';
}

/** A consultation before an attended transfer, over an internal pair that began on the transferer's leg. */
interface Consult {
  readonly by: ChannelLine;
  readonly at: number;
  readonly near: ChannelLine;
  readonly far: ChannelLine;
  completed: boolean;
}
function consultsIn({ scene }: TransferDeps): readonly Consult[] {
  const found: Consult[] = [];
  for (const near of scene.line.channels) {
    const far = scene.line.halves.get(near.id);
    if (far === undefined || near.first || far.first || near.bridged.length === 0) continue;
    if (far.apps.length === 0 || scene.origins.isRung(near)) continue;
    const by = scene.origins.metBy(near);
    if (by !== null) found.push({ by, at: near.from, near, far, completed: false });
  }
  return found;
}
function attended(
  { scene, segments, ...deps }: TransferDeps,
  r: KnownRecord,
  consults: readonly Consult[],
): RecordedTransfer {
  const at = msOf(r.at_us);
  const by = legOf(scene, r.channel, r.at_us);
  const moved = legOf(scene, r.facts.other ?? '', r.at_us);
  const consult = consults.findLast((c) => c.by.id === r.channel && c.at <= r.at_us);
  if (consult) consult.completed = true;
  const stays = by !== null && scene.line.byId.get(by)!.to > r.at_us + AT_ONCE_MS * 1000;
  const second = scene.line.byId.get(r.facts.replaces ?? '');
  const kept = second && scene.line.byId.get(r.facts.other ?? '')?.apps.find((a) => a.replaces === second.id);
  const rung = consult
    ? (scene.rungVia.get(consult.far.id) ?? [])
    : kept
      ? (scene.rungBy.get(kept) ?? [])
      : ownRings(scene, by, r.at_us).filter((c) => c.id !== moved && c.to >= r.at_us);
  const beside = moved === null ? [] : besideAfter(segments.get(moved) ?? [], at);
  const met = beside.find((id) => id !== by) ?? null;
  const target = met ?? rung[0]?.id ?? null;
  const line = target === null ? undefined : scene.line.byId.get(target);
  const outcome = met
    ? ({ to_leg: met, outcome: 'completed' } as const)
    : outcomeOf({ scene, segments, ...deps }, moved, rung, r.at_us);
  return {
    kind: stays && by !== null && beside.includes(by) ? 'conference' : 'attended',
    at,
    by,
    moved,
    to: consult?.near.dialled ?? second?.dialled ?? (line ? numberOf(line) : ''),
    ...outcome,
  };
}
/** Legs connected to this one after the transfer settled. */
function besideAfter(own: readonly Segment[], at: number): readonly string[] {
  const after = own.filter((s) => s.to > at && s.from <= at + AT_ONCE_MS && s.with.length > 0);
  return after.at(-1)?.with ?? [];
}
/** Legs rung by other channels of the same endpoint. */
function ownRings(scene: Scene, by: string | null, at_us: number): readonly ChannelLine[] {
  const leg = by === null ? undefined : scene.line.byId.get(by);
  if (leg === undefined) return [];
  return scene.legs
    .filter((c) => c.endpoint === leg.endpoint && c.from <= at_us && c.to >= at_us)
    .flatMap((c) => scene.rungVia.get(c.id) ?? []);
}
function abandoned({ scene, segments, rung }: TransferDeps, consult: Consult): RecordedTransfer {
  const { by, near, far } = consult;
  const reached = scene.rungVia.get(far.id) ?? [];
  const met = reached.find((c) => rung.get(c.id) === 'answered');
  const open = !near.ended && !by.ended && !scene.lost;
  const tried = reached.filter((c) => didRing(rung.get(c.id)!));
  const left = met !== undefined || far.dial_status === 'CANCEL';
  return {
    kind: 'attended',
    at: msOf(consult.at),
    by: by.id,
    moved: withBefore(segments, by.id, consult.at)[0] ?? null,
    to: near.dialled,
    to_leg: (met ?? reached[0])?.id ?? null,
    outcome: open ? 'pending' : left ? 'abandoned' : tried.length > 0 ? 'no_answer' : 'failed',
  };
}

/** Legs that ended because they transferred their call. */
export function passedOn(scene: Scene, transfers: readonly RecordedTransfer[]): ReadonlySet<string> {
  const found = new Set(transfers.flatMap((t) => (t.kind === 'park' ? (t.by ?? []) : [])));
  for (const r of scene.line.marks) {
    if (r.type !== 'blind_transfer' && r.type !== 'attended_transfer') continue;
    const by = scene.line.byId.get(r.channel);
    if (by === undefined) continue;
    found.add(by.id);
    if (r.type === 'blind_transfer') continue;
    for (const c of scene.legs)
      if (c.endpoint === by.endpoint && c.ended && isSoon(c.to, r.at_us)) found.add(c.id);
  }
  return found;
}
/** Roles of legs in the call: consulted first, or target of a transfer or forward. */
export function arrivals(
  transfers: readonly RecordedTransfer[],
  { line, origins, legs }: Scene,
): ReadonlyMap<string, 'consulted' | 'transfer_target'> {
  const found = new Map<string, 'consulted' | 'transfer_target'>();
  for (const t of transfers) {
    const to = t.to_leg === null ? undefined : line.byId.get(t.to_leg);
    if (to === undefined || found.has(to.id)) continue;
    const spoke = t.kind === 'attended' || t.kind === 'conference';
    const never = to.bridged[0] === undefined || msOf(to.bridged[0].from) > t.at;
    found.set(to.id, spoke && !(never && t.outcome === 'completed') ? 'consulted' : 'transfer_target');
  }
  for (const c of legs) {
    if (c.rung && !found.has(c.id) && origins.of(c).consult !== null) found.set(c.id, 'consulted');
  }
  return found;
}
