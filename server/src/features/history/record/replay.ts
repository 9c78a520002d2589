/**
 * Segments of each leg. All beginnings and ends on channels are replayed in order of their millisecond; after each, the
 * affected legs are checked, and a leg in another state begins a new segment.
 */
import type { RecordedSegment } from './record.ts';
import type { Origins } from './origins.ts';
import { isDialling, isLeg } from './timeline.ts';
import type { AppSpan, BridgeSpan, ChannelLine, Timeline } from './timeline.ts';

export type Segment = RecordedSegment;
/** Name in the record of applications that wait for a key of the caller. */
export const MENU = 'menu';
const CONFERENCE = 'conference';
/** Applications that answer a call themselves, and their names in the record. */
export const SERVICES: Readonly<Record<string, string>> = {
  voicemail: 'voicemail',
  voicemailmain: 'mailbox',
  echo: 'echo',
  musiconhold: 'music',
  background: MENU,
  waitexten: MENU,
  confbridge: CONFERENCE,
};
/** Name of what the dialplan plays to a channel that is connected to no leg. */
export const ANNOUNCEMENT = 'announcement';
/** A gap shorter than this, in ms, is a delay between two steps of the engine and no state of its own. */
export const GAP_MS = 400;
/** A moved leg passes through connected or held states shorter than this, in ms; they count as the earlier state. */
const PASSING_MS = 50;
/** Limit of legs in `with`; above it, each join and leave is recorded only for the leg itself. */
const NAMED = 32;

export const msOf = (us: number): number => Math.floor(us / 1000);

/** State of a channel at the replayed time. */
interface Now {
  readonly line: ChannelLine;
  readonly leg: boolean;
  readonly order: number;
  bridge: BridgeSpan | null;
  music: number;
  parked: number;
  answered: boolean;
  begun: boolean;
  ended: boolean;
  readonly apps: RunningApp[];
  readonly stretches: Stretch[];
}
interface RunningApp {
  readonly span: AppSpan;
  /** True once it has rung a leg. */
  rings: boolean;
  /** True once the leg was connected through it: later states are not part of its dialling. */
  met: boolean;
}
interface Stretch {
  state: Segment['state'] | 'gap';
  from: number;
  to: number;
  with: readonly string[];
  held_by: Segment['held_by'];
  queue: string | null;
  service: string | null;
}
type View = Omit<Stretch, 'from' | 'to'>;
interface Step {
  readonly at: number;
  readonly now: Now;
  readonly play: () => void;
}
const NOBODY: readonly string[] = [];
const plain = (state: View['state']): View => ({
  state,
  with: NOBODY,
  held_by: null,
  queue: null,
  service: null,
});
const INITIATED = plain('initiated');
const ALERTING = plain('alerting');
const PARKED = plain('parked');
const GAP = plain('gap');
const HELD_ALONE: View = { ...plain('held'), held_by: 'other_side' };

/** A dialling continued for a transferred party whose target still rings. */
export interface Handover {
  readonly to: ChannelLine;
  readonly dialling: AppSpan;
  readonly at_us: number;
  readonly until_us: number;
}

export type Segments = ReadonlyMap<string, readonly Segment[]>;

/** `rang`: whether a rung leg really rang, by its disposition. */
export function segmentsOf(
  line: Timeline,
  origins: Origins,
  rang: (c: ChannelLine) => boolean,
  handovers: readonly Handover[] = [],
): Segments {
  const nows = new Map<string, Now>();
  line.channels.forEach((c, order) => nows.set(c.id, nowOf(c, order)));
  const stage = createStage(nows, line.halves, rang);
  const steps = stepsOf(nows, origins, rang, handovers);
  for (let i = 0; i < steps.length;) {
    const { at } = steps[i]!;
    for (; i < steps.length && steps[i]!.at === at; i += 1) {
      const step = steps[i]!;
      stage.touch(step.now);
      step.play();
      stage.touch(step.now);
    }
    stage.look(at);
  }
  const found = new Map<string, readonly Segment[]>();
  for (const now of nows.values()) if (now.leg) found.set(now.line.id, settled(now));
  return found;
}

const nowOf = (line: ChannelLine, order: number): Now => ({
  line,
  leg: isLeg(line),
  order,
  bridge: null,
  music: 0,
  parked: 0,
  answered: false,
  begun: false,
  ended: false,
  apps: [],
  stretches: [],
});

function stepsOf(
  nows: ReadonlyMap<string, Now>,
  origins: Origins,
  rang: (c: ChannelLine) => boolean,
  handovers: readonly Handover[],
): readonly Step[] {
  const steps: Step[] = [];
  const running = new Map<AppSpan, RunningApp>();
  for (const now of nows.values()) {
    const c = now.line;
    const add = (us: number, play: () => void): void => {
      steps.push({ at: msOf(us), now, play });
    };
    add(c.from, () => (now.begun = true));
    if (c.answered !== null) add(c.answered, () => (now.answered = true));
    for (const span of c.apps) {
      const app = { span, rings: false, met: false };
      running.set(span, app);
      add(span.from, () => now.apps.push(app));
      add(span.to, () => now.apps.splice(now.apps.indexOf(app), 1));
    }
    for (const span of c.bridged) {
      if (msOf(span.from) === msOf(span.to)) continue;
      add(span.from, () => (now.bridge = span));
      add(span.to, () => {
        if (now.bridge === span) now.bridge = null;
      });
    }
    for (const span of c.music) {
      add(span.from, () => (now.music += 1));
      add(span.to, () => (now.music -= 1));
    }
    for (const span of c.parked) {
      add(span.from, () => (now.parked += 1));
      add(span.to, () => (now.parked -= 1));
    }
    add(c.to, () => (now.ended = true));
  }
  for (const { line: c, leg } of nows.values()) {
    if (!leg || !c.rung || !rang(c)) continue;
    for (const { app, channel } of origins.of(c).chain) {
      const now = nows.get(channel.id)!;
      steps.push({ at: msOf(c.from), now, play: () => rings(running.get(app)!) });
    }
  }
  for (const { to, dialling, at_us, until_us } of handovers) {
    const now = nows.get(to.id)!;
    const app = { span: dialling, rings: true, met: false };
    steps.push({ at: msOf(at_us), now, play: () => now.apps.push(app) });
    steps.push({ at: msOf(until_us), now, play: () => now.apps.splice(now.apps.indexOf(app), 1) });
  }
  return steps.sort((a, b) => a.at - b.at);
}

/** A dialling that rings again has met no leg yet; the engine writes no second start of the application. */
function rings(app: RunningApp): void {
  app.rings = true;
  app.met = false;
}

interface Stage {
  /** Marks a channel as changed: it and the legs connected to it are checked again. */
  touch(now: Now): void;
  look(at: number): void;
}
function createStage(
  nows: ReadonlyMap<string, Now>,
  halves: ReadonlyMap<string, ChannelLine>,
  rang: (c: ChannelLine) => boolean,
): Stage {
  const inBridge = new Map<string, Set<Now>>();
  const place = new Map<Now, string>();
  const touched = new Set<Now>();
  const bridges = new Set<string>();
  const halfOf = (now: Now): Now | undefined => {
    const half = halves.get(now.line.id);
    return half === undefined ? undefined : nows.get(half.id);
  };
  const settle = (now: Now): void => {
    const was = place.get(now);
    const is = now.bridge?.bridge;
    if (was !== undefined) bridges.add(was);
    if (is !== undefined) bridges.add(is);
    if (was === is) return;
    if (was !== undefined) inBridge.get(was)!.delete(now);
    if (is === undefined) place.delete(now);
    else {
      place.set(now, is);
      const there = inBridge.get(is);
      if (there) there.add(now);
      else inBridge.set(is, new Set([now]));
    }
  };
  /** Legs that hear each other through this bridge, and halves of pairs whose other half is in no bridge. */
  const groupAt = (bridge: string): Group => {
    const legs: Now[] = [];
    const loose: Now[] = [];
    const seen = new Set([bridge]);
    for (const id of seen) {
      for (const member of inBridge.get(id) ?? []) {
        if (legs.length > 2 * NAMED) return { bridges: seen, legs, loose };
        if (member.leg) legs.push(member);
        const half = member.line.pair === null ? undefined : halfOf(member);
        if (half?.bridge) seen.add(half.bridge.bridge);
        else if (half) loose.push(half);
      }
    }
    // Above the limit, legs are named in order of joining.
    if (legs.length <= NAMED) legs.sort((a, b) => a.order - b.order);
    return { bridges: seen, legs, loose };
  };
  const tell = (now: Now, at: number, view: View): void => {
    const last = now.stretches.at(-1);
    if (last && sameView(last, view)) return;
    if (last) last.to = at;
    now.stretches.push({ ...view, from: at, to: at });
  };
  return {
    touch(now) {
      settle(now);
      touched.add(now);
      const half = now.leg ? undefined : halfOf(now);
      if (half?.bridge) bridges.add(half.bridge.bridge);
    },
    look(at) {
      for (const now of touched) {
        settle(now);
        if (now.leg && now.bridge === null && now.begun && !now.ended) tell(now, at, viewAlone(now, rang));
      }
      const done = new Set<string>();
      for (const bridge of bridges) {
        if (done.has(bridge)) continue;
        const group = groupAt(bridge);
        for (const id of group.bridges) done.add(id);
        const many = group.legs.length > NAMED;
        for (const now of many ? touched : group.legs) {
          if (!now.leg || now.ended || now.bridge === null || !group.bridges.has(now.bridge.bridge)) continue;
          tell(now, at, viewIn(group, now));
        }
      }
      touched.clear();
      bridges.clear();
    },
  };
}
interface Group {
  readonly bridges: ReadonlySet<string>;
  readonly legs: readonly Now[];
  readonly loose: readonly Now[];
}

const sameView = (a: View, b: View): boolean =>
  a.state === b.state &&
  a.held_by === b.held_by &&
  a.queue === b.queue &&
  a.service === b.service &&
  a.with.length === b.with.length &&
  a.with.every((id, i) => id === b.with[i]);

/** State in a bridge: connected, held, or alone while an internal pair leads elsewhere. */
function viewIn(group: Group, now: Now): View {
  const others: Now[] = [];
  for (const other of group.legs) {
    if (other !== now) others.push(other);
    if (others.length === NAMED) break;
  }
  if (others.length === 0) {
    const own = viewOfApps(now.apps);
    // Music of a conference with one member is not hold.
    if (own?.service === CONFERENCE) return own;
    if (now.music > 0) return HELD_ALONE;
    for (const half of group.loose) {
      const view = viewOfApps(half.apps);
      if (view) return view;
    }
    return GAP;
  }
  // An application that begins in a bridge connected nobody: the leg is about to leave this bridge for it.
  for (const app of now.apps) if (app.span.from <= now.bridge!.from) app.met = true;
  const mine = now.music > 0;
  const theirs = others.every((o) => o.music > 0);
  return {
    ...plain(mine || theirs ? 'held' : 'connected'),
    with: others.map((o) => o.line.id),
    held_by: mine && theirs ? 'both' : mine ? 'other_side' : theirs ? 'this_leg' : null,
  };
}
/** State of a leg in no bridge. */
function viewAlone(now: Now, rang: (c: ChannelLine) => boolean): View {
  if (now.parked > 0) return PARKED;
  if (
    now.line.rung &&
    !now.answered &&
    now.stretches.every((t) => t.state === 'alerting' || t.state === 'initiated')
  )
    return rang(now.line) ? ALERTING : INITIATED;
  return viewOfApps(now.apps) ?? GAP;
}
function viewOfApps(apps: readonly RunningApp[]): View | null {
  const app = apps.findLast((a) => !a.met);
  if (app === undefined) return null;
  if (app.span.queue !== null) return { ...plain('queued'), queue: app.span.queue };
  if (isDialling(app.span.app)) return app.rings ? ALERTING : INITIATED;
  const service = Object.hasOwn(SERVICES, app.span.app) ? SERVICES[app.span.app]! : null;
  return service === null ? null : { ...plain('service'), service };
}

/** No gaps from the start of the leg to its end: a delay between steps of the engine counts as the earlier state. */
function settled(now: Now): readonly Segment[] {
  const [from, to] = [msOf(now.line.from), msOf(now.line.to)];
  const { stretches } = now;
  const found: Stretch[] = [];
  stretches.forEach((given, i) => {
    const stretch = { ...given, from: i === 0 ? from : given.from, to: stretches[i + 1]?.from ?? to };
    if (stretch.to <= stretch.from) return;
    if (stretch.state === 'gap') fill(now.line, stretch, found);
    const last = found.at(-1);
    const passing = stretch.to - stretch.from < PASSING_MS && isTalk(stretch) && last && isTalk(last);
    if (last && (stretch.state === 'gap' || passing || sameView(last, stretch))) last.to = stretch.to;
    else found.push(stretch);
  });
  return found as Segment[];
}
const isTalk = ({ state }: Stretch): boolean => state === 'connected' || state === 'held';
function fill(line: ChannelLine, gap: Stretch, before: readonly Stretch[]): void {
  const short = gap.to - gap.from < GAP_MS;
  if (short && before.length > 0) return;
  const up =
    (line.answered !== null && msOf(line.answered) <= gap.from + GAP_MS) ||
    before.some((s) => s.state === 'connected' || s.state === 'held');
  if (short || !up) gap.state = 'initiated';
  else {
    gap.state = 'service';
    gap.service = /^[*#]/.test(line.dialled) ? 'feature_code' : ANNOUNCEMENT;
  }
}
