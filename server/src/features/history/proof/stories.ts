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

const TYPES = new Set<DomainEvent['type']>([
  'call.started',
  'call.ringing',
  'call.answered',
  'call.joined',
  'call.party_changed',
  'call.held',
  'call.retrieved',
  'call.transferred',
  'call.parked',
  'parking.slot_freed',
  'call.left',
  'call.ended',
  'queue.caller_joined',
  'queue.caller_left',
  'queue.caller_abandoned',
]);
/** True if events of this type are part of a story. */
export const isStoryType = (type: string): boolean => TYPES.has(type as DomainEvent['type']);

/** A call that is open for more than twice this has no end in the journal; the history closes its conversation. */
const SILENT_MS = 12 * 3_600_000;

export class Stories {
  readonly #open = new Map<string, Story>();
  readonly #over = new Set<Story>();
  /** Calls that were merged, with the call they went into. */
  readonly #aliases = new Map<string, Story>();

  /** Accepts every committed event, in order. */
  take(event: DomainEvent, seq: number): void {
    if (!TYPES.has(event.type)) return;
    // An end observed by a resync closes the story, so it is marked first.
    if (event.observed === 'resync') this.#markPartial(event);
    if (event.type.startsWith('queue.')) this.#takeVisit(event);
    else this.#takeCall(event, seq);
    this.#dropSilent(event.at);
  }
  /** Ended calls, merged ones with the call they became part of; oldest end first. */
  ended(): readonly Story[] {
    return [...this.#over];
  }
  isOpen(call: string): boolean {
    return this.#open.has(call) || this.#aliases.get(call)?.end === null;
  }
  drop(story: Story): void {
    this.#open.delete(story.call);
    this.#over.delete(story);
    const forget = ({ call, merged }: Story): void => {
      this.#aliases.delete(call);
      merged.forEach(forget);
    };
    story.merged.forEach(forget);
  }
  /** Seq of the oldest event that is still needed; null for none. */
  oldest(): number | null {
    let least: number | null = null;
    const look = ({ seq, merged }: Story): void => {
      least = Math.min(least ?? seq, seq);
      merged.forEach(look);
    };
    for (const story of this.#open.values()) look(story);
    for (const story of this.#over) look(story);
    return least;
  }

  #knownStory(call: string): Story | undefined {
    return this.#open.get(call) ?? this.#aliases.get(call);
  }
  #storyOf(call: string, at: number, seq: number): Story {
    const known = this.#knownStory(call);
    if (known !== undefined) return known;
    const fresh = { legs: new Map(), transfers: [], merged: [], end: null };
    const story: Story = { call, seq, from: at, partial: true, ...fresh };
    this.#open.set(call, story);
    return story;
  }
  #takeCall(event: DomainEvent, seq: number): void {
    const { at } = event;
    switch (event.type) {
      case 'call.started': {
        const story = this.#storyOf(event.data.call_id, at, seq);
        if (story.legs.size === 0) story.partial = event.observed !== 'live';
        legIn(story, event.data.leg, at, true, event.data.dialled);
        return;
      }
      case 'call.ringing':
        legIn(this.#storyOf(event.data.call_id, at, seq), event.data.leg, at).rang = true;
        return;
      case 'call.answered':
      case 'call.joined': {
        const story = this.#storyOf(event.data.call_id, at, seq);
        connect(story, legIn(story, event.data.leg, at), at);
        return;
      }
      case 'call.party_changed': {
        const story = this.#storyOf(event.data.call_id, at, seq);
        const party = story.legs.get(event.data.party.leg_id);
        if (party === undefined) return;
        const both = [legIn(story, event.data.leg, at), party];
        for (const { held } of both) close(held, at);
        meet(story, both, at);
        return;
      }
      case 'call.held':
      case 'call.retrieved': {
        const story = this.#storyOf(event.data.call_id, at, seq);
        hold(story, legIn(story, event.data.leg, at), event.type === 'call.held', at);
        return;
      }
      case 'call.parked': {
        const story = this.#storyOf(event.data.call_id, at, seq);
        const leg = legIn(story, event.data.leg, at);
        close(leg.met, at);
        const [one, ...more] = present(story).filter(({ met }) => met.at(-1)?.to === null);
        // The leg that parked it hears the number of the slot alone.
        if (one !== undefined && more.length === 0) close(one.met, at);
        leg.parked.push({ from: at, to: null, slot: event.data.slot });
        return;
      }
      case 'parking.slot_freed': {
        const leg = this.#knownStory(event.data.call_id)?.legs.get(event.data.leg_id);
        if (leg !== undefined) close(leg.parked, at);
        return;
      }
      case 'call.transferred': {
        const story = this.#storyOf(event.data.call_id, at, seq);
        const legs = present(story);
        const by = legs.find((leg) => leg.leg.extension === event.data.by);
        const other = legs.find((leg) => leg !== by && leg.met.length > 0) ?? null;
        if (by) story.transfers.push({ at, kind: event.data.kind, by, other, to: event.data.to });
        return;
      }
      case 'call.left': {
        const { call_id, leg, cause, reason } = event.data;
        leave(legIn(this.#storyOf(call_id, at, seq), leg, at), { at, cause, reason });
        return;
      }
      case 'call.ended': {
        const { call_id, cause, reason, merged_into } = event.data;
        const story = this.#storyOf(call_id, at, seq);
        if (merged_into === null) this.#end(story, { at, cause, reason });
        else this.#merge(story, this.#storyOf(merged_into, at, seq), at);
        return;
      }
      default:
        return;
    }
  }
  /** A visit begins no story: its events may follow the end of the call. */
  #takeVisit(event: DomainEvent): void {
    const { at } = event;
    if (event.type === 'queue.caller_joined') {
      const { call_id, leg_id, queue } = event.data;
      const leg = this.#knownStory(call_id)?.legs.get(leg_id);
      leg?.visits.push({ queue, from: at, to: null, status: null });
    } else if (event.type === 'queue.caller_left' || event.type === 'queue.caller_abandoned') {
      const { call_id, leg_id, queue } = event.data;
      const leg = this.#knownStory(call_id)?.legs.get(leg_id);
      const visit = leg?.visits.findLast((v) => v.queue === queue && v.to === null);
      if (visit === undefined) return;
      visit.to = at;
      if (event.type === 'queue.caller_left') visit.status = STATUS[event.data.reason] ?? null;
    }
  }
  /** Marks calls with facts observed by a resync, whose time is unknown. */
  #markPartial(event: DomainEvent): void {
    const { call_id = '' } = event.data as { call_id?: string };
    const story = this.#knownStory(call_id);
    if (story !== undefined) story.partial = true;
  }
  #end(story: Story, end: NonNullable<Story['end']>): void {
    const { at, cause, reason } = end;
    story.end = end;
    for (const leg of present(story)) {
      if (reason === 'engine_lost') closeAll(leg, at);
      else leave(leg, { at, cause, reason: 'hangup' });
    }
    this.#open.delete(story.call);
    this.#over.add(story);
  }
  #merge(story: Story, into: Story, at: number): void {
    if (story === into) return;
    story.end = { at, cause: null, reason: 'merged' };
    this.#open.delete(story.call);
    this.#aliases.set(story.call, into);
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
  #dropSilent(at: number): void {
    const [oldest] = this.#open.values();
    if (oldest !== undefined && at - oldest.from > 2 * SILENT_MS) this.drop(oldest);
  }
}

const STATUS: Readonly<Partial<Record<EventData<'queue.caller_left'>['reason'], VisitStatus>>> = {
  timeout: 'timeout',
  key: 'exit_key',
  withdrawn: 'withdrawn',
  other: 'continued',
};
function legIn(story: Story, leg: LegRef, at: number, first = false, dialled = ''): StoryLeg {
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
}
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
/** A hold by one leg holds the other legs that talk. */
function hold(story: Story, by: StoryLeg, on: boolean, at: number): void {
  for (const leg of present(story)) {
    if (leg === by || leg.met.length === 0) continue;
    if (!on) close(leg.held, at);
    else if (leg.held.at(-1)?.to !== null) leg.held.push({ from: at, to: null });
  }
}
/** An answered leg is connected to the other legs of the call, or to the engine where there are none. */
function connect(story: Story, leg: StoryLeg, at: number): void {
  leg.answered ??= at;
  close(leg.parked, at);
  const others = present(story).filter((other) => other !== leg);
  const there = others.filter((other) => other.answered !== null || (other.first && !other.rang));
  // No event names the answer of a device that the engine rang first for a call that it placed.
  const placed = there.length > 0 ? there : others.filter((other) => isPlacedFor(story, other));
  for (const one of placed) one.answered ??= one.rang ? at : null;
  if (placed.length > 0) meet(story, [leg, ...placed], at);
}
/** True for a device of the person for whom the engine placed the call. */
function isPlacedFor({ legs }: Story, { leg, rang }: StoryLeg): boolean {
  const [first] = legs.values();
  return rang && first!.first && first!.rang && leg.extension === first!.leg.extension;
}
/** These legs talk to each other: none is parked any more. */
function meet({ call }: Story, legs: readonly StoryLeg[], at: number): void {
  for (const leg of legs) {
    close(leg.parked, at);
    if (leg.met.at(-1)?.to !== null) leg.met.push({ call, from: at, to: null });
  }
}
