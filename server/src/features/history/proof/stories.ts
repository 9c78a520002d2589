/** Calls as the journal reports them: legs with their times, kept until they were compared with the call records. */
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';

type LegRef = EventData<'call.left'>['leg'];
type LeftReason = EventData<'call.left'>['reason'];
/** Milliseconds since 1970; `to` is null while the interval is open. */
export interface Stretch {
  readonly from: number;
  to: number | null;
}
export interface StoryLeg {
  readonly leg: LegRef;
  /** Calls of the leg, in order. */
  readonly calls: string[];
  /** True for the leg that began the call. */
  readonly first: boolean;
  readonly dialled: string;
  readonly from: number;
  rang: boolean;
  answered: number | null;
  end: { readonly at: number; readonly cause: number | null; readonly reason: LeftReason } | null;
  /** Intervals in which the leg was connected, with their call. */
  readonly met: (Stretch & { readonly call: string })[];
  /** Intervals in which another party held the leg. */
  readonly held: Stretch[];
  readonly parked: (Stretch & { readonly slot: string })[];
  readonly visits: (Stretch & { readonly queue: string; status: VisitStatus })[];
}
export type VisitStatus = 'timeout' | 'exit_key' | 'withdrawn' | 'continued' | null;
export interface StoryTransfer {
  readonly at: number;
  readonly kind: EventData<'call.transferred'>['kind'];
  readonly by: StoryLeg;
  readonly other: StoryLeg | null;
  readonly to: string;
}
export interface Story {
  readonly call: string;
  /** Seq of the first event about the call. */
  readonly seq: number;
  readonly from: number;
  /** True when part of the call was not observed live. */
  partial: boolean;
  readonly legs: Map<string, StoryLeg>;
  readonly transfers: StoryTransfer[];
  /** Calls that were merged into this one. */
  readonly merged: Story[];
  end: {
    readonly at: number;
    readonly cause: number | null;
    readonly reason: EventData<'call.ended'>['reason'];
  } | null;
}
export interface Stories {
  /** Accepts every committed event, in order. */
  take(event: DomainEvent, seq: number): void;
  /** Calls that are over, joined ones with the call they went into; oldest end first. */
  ended(): readonly Story[];
  isOpen(call: string): boolean;
  drop(story: Story): void;
  /** Seq of the oldest event that is still needed; null for none. */
  oldest(): number | null;
}

const TYPES = new Set<DomainEvent['type']>([
  'call.started',
  'call.ringing',
  'call.answered',
  'call.joined',
  'call.held',
  'call.retrieved',
  'call.transferred',
  'call.parked',
  'call.left',
  'call.ended',
  'queue.caller_joined',
  'queue.caller_left',
  'queue.caller_abandoned',
]);
export const tellsOfCalls = (type: string): boolean => TYPES.has(type as DomainEvent['type']);

/** After this time without an event the end of a call is missing in the journal too; the history closes it. */
const SILENT_MS = 12 * 3_600_000;

export function createStories(): Stories {
  const open = new Map<string, Story>();
  const over = new Set<Story>();
  const aliases = new Map<string, Story>();

  const storyOf = (call: string, at: number, seq: number): Story => {
    const known = open.get(call) ?? aliases.get(call);
    if (known !== undefined) return known;
    const story: Story = {
      call,
      seq,
      from: at,
      partial: true,
      legs: new Map(),
      transfers: [],
      merged: [],
      end: null,
    };
    open.set(call, story);
    return story;
  };
  const legIn = (story: Story, leg: LegRef, at: number, first = false, dialled = ''): StoryLeg => {
    const known = story.legs.get(leg.leg_id);
    if (known !== undefined) return known;
    const fresh: StoryLeg = {
      leg,
      calls: [story.call],
      first,
      dialled,
      from: at,
      rang: false,
      answered: null,
      end: null,
      met: [],
      held: [],
      parked: [],
      visits: [],
    };
    story.legs.set(leg.leg_id, fresh);
    return fresh;
  };
  function take(event: DomainEvent, seq: number): void {
    const { at } = event;
    switch (event.type) {
      case 'call.started': {
        const story = storyOf(event.data.call_id, at, seq);
        if (story.legs.size === 0) story.partial = event.observed !== 'live';
        legIn(story, event.data.leg, at, true, event.data.dialled);
        break;
      }
      case 'call.ringing':
        legIn(storyOf(event.data.call_id, at, seq), event.data.leg, at).rang = true;
        break;
      case 'call.answered':
      case 'call.joined': {
        const story = storyOf(event.data.call_id, at, seq);
        connect(story, legIn(story, event.data.leg, at), at);
        break;
      }
      case 'call.held':
      case 'call.retrieved': {
        const story = storyOf(event.data.call_id, at, seq);
        const by = legIn(story, event.data.leg, at);
        const others = present(story).filter((leg) => leg !== by && leg.met.length > 0);
        for (const { held } of others) {
          if (event.type === 'call.retrieved') close(held, at);
          else if (held.at(-1)?.to !== null) held.push({ from: at, to: null });
        }
        break;
      }
      case 'call.parked': {
        const story = storyOf(event.data.call_id, at, seq);
        const leg = legIn(story, event.data.leg, at);
        close(leg.met, at);
        leg.parked.push({ from: at, to: null, slot: event.data.slot });
        break;
      }
      case 'call.transferred': {
        const story = storyOf(event.data.call_id, at, seq);
        const legs = present(story);
        const by = legs.find((leg) => leg.leg.extension === event.data.by);
        const other = legs.find((leg) => leg !== by && leg.met.length > 0) ?? null;
        if (by) story.transfers.push({ at, kind: event.data.kind, by, other, to: event.data.to });
        break;
      }
      case 'call.left': {
        const { call_id, leg, cause, reason } = event.data;
        const story = storyOf(call_id, at, seq);
        leave(legIn(story, leg, at), { at, cause, reason });
        break;
      }
      case 'call.ended': {
        const { call_id, cause, reason, merged_into } = event.data;
        const story = storyOf(call_id, at, seq);
        if (merged_into === null) end(story, at, cause, reason);
        else merge(story, storyOf(merged_into, at, seq), at);
        break;
      }
      case 'queue.caller_joined': {
        const { call_id, leg_id, queue } = event.data;
        const leg = open.get(call_id)?.legs.get(leg_id);
        leg?.visits.push({ queue, from: at, to: null, status: null });
        break;
      }
      case 'queue.caller_left':
      case 'queue.caller_abandoned': {
        const { call_id, leg_id, queue } = event.data;
        const visit = storyOf(call_id, at, seq)
          .legs.get(leg_id)
          ?.visits.findLast((v) => v.queue === queue && v.to === null);
        if (visit === undefined) break;
        visit.to = at;
        if (event.type === 'queue.caller_left') visit.status = STATUS[event.data.reason] ?? null;
        break;
      }
      default:
        return;
    }
    if (event.observed === 'resync') noted(event);
    forgetSilent(at);
  }
  /** Marks calls with facts observed by a resync, whose time is unknown. */
  function noted(event: DomainEvent): void {
    const { call_id } = event.data as { call_id?: string };
    const story = open.get(call_id ?? '') ?? aliases.get(call_id ?? '');
    if (story !== undefined) story.partial = true;
  }
  function end(
    story: Story,
    at: number,
    cause: number | null,
    reason: NonNullable<Story['end']>['reason'],
  ): void {
    story.end = { at, cause, reason };
    for (const leg of present(story)) {
      const lost = reason === 'engine_lost';
      if (lost) closeAll(leg, at);
      else leave(leg, { at, cause, reason: 'hangup' });
    }
    open.delete(story.call);
    over.add(story);
  }
  function merge(story: Story, into: Story, at: number): void {
    if (story === into) return;
    story.end = { at, cause: null, reason: 'merged' };
    open.delete(story.call);
    aliases.set(story.call, into);
    into.merged.push(story);
    into.transfers.push(...story.transfers);
    into.partial ||= story.partial;
    for (const leg of present(story)) {
      if (into.legs.has(leg.leg.leg_id)) continue;
      leg.calls.push(into.call);
      const talks = leg.met.at(-1)?.to === null;
      close(leg.met, at);
      into.legs.set(leg.leg.leg_id, leg);
      if (talks) leg.met.push({ call: into.call, from: at, to: null });
    }
  }
  function forgetSilent(at: number): void {
    const [oldest] = open.values();
    if (oldest !== undefined && at - oldest.from > 2 * SILENT_MS) drop(oldest);
  }
  function drop(story: Story): void {
    open.delete(story.call);
    over.delete(story);
    const forget = ({ call, merged }: Story): void => {
      aliases.delete(call);
      merged.forEach(forget);
    };
    story.merged.forEach(forget);
  }
  return {
    take,
    ended: () => [...over],
    isOpen: (call) => open.has(call) || aliases.get(call)?.end === null,
    drop,
    oldest() {
      let least: number | null = null;
      const look = ({ seq, merged }: Story): void => {
        least = Math.min(least ?? seq, seq);
        merged.forEach(look);
      };
      for (const story of open.values()) look(story);
      for (const story of over) look(story);
      return least;
    },
  };
}
const STATUS: Readonly<Partial<Record<EventData<'queue.caller_left'>['reason'], VisitStatus>>> = {
  timeout: 'timeout',
  key: 'exit_key',
  withdrawn: 'withdrawn',
  other: 'continued',
};
const present = (story: Story): readonly StoryLeg[] =>
  [...story.legs.values()].filter((leg) => leg.end === null);
function close(stretches: Stretch[], at: number): void {
  const last = stretches.at(-1);
  if (last?.to === null) last.to = Math.max(last.from, at);
}
function closeAll({ met, held, parked, visits }: StoryLeg, at: number): void {
  for (const stretches of [met, held, parked, visits]) close(stretches, at);
}
function leave(leg: StoryLeg, end: NonNullable<StoryLeg['end']>): void {
  leg.end = end;
  closeAll(leg, end.at);
}
/** An answered leg is connected to the other legs of the call, or to the engine where there are none. */
function connect(story: Story, leg: StoryLeg, at: number): void {
  leg.answered ??= at;
  close(leg.parked, at);
  const others = present(story).filter((other) => other !== leg && (other.answered !== null || other.first));
  if (others.length === 0) return;
  const waits = others.filter((other) => !other.rang || other.answered !== null);
  for (const one of waits.length > 0 ? [leg, ...waits] : []) {
    close(one.parked, at);
    if (one.met.at(-1)?.to !== null) one.met.push({ call: story.call, from: at, to: null });
  }
}
