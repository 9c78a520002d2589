/** Converts events of live calls to messages for connected systems: one ring, answer and end of each external call. */
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import type { LegDisposition } from '@offhook/contract/conversations.ts';
import { rfc3339 } from '../../core/clock.ts';
import type { PushKind } from './format/compile.ts';
import type { CallView } from './format/session.ts';
import { NO_CALL } from './call-of.ts';

/** `rings`, `talks`, `left`: state of one person in the call, for systems that show the call to that person. */
export type LiveKind = PushKind | 'rings' | 'talks' | 'left';
/** A message about a call, for all connectors that push. */
export interface LiveMessage {
  readonly kind: LiveKind;
  readonly at: number;
  readonly call: CallView;
  /** Extension that rings, answers, or receives the call by a transfer. */
  readonly extension: string | null;
}
type CallEvent = Extract<DomainEvent, { readonly type: `call.${string}` }>;
interface Followed {
  /** Id of the call in the systems; a merged call keeps the id that the systems know. */
  readonly id: string;
  direction: EventData<'call.started'>['direction'];
  from: string;
  to: string;
  readonly started_at: number;
  answered_at: number | null;
  queue: string;
  extension: string | null;
  /** True once `ringing` was sent to the systems. */
  announced: boolean;
  readonly ringing: Set<string>;
  /** Internal extensions that ring or talk, by leg. */
  readonly legs: Map<string, string>;
  refusal: LegDisposition | null;
}

/** Limit of followed calls; further calls are not pushed. */
const MAX_FOLLOWED = 10_000;
export const DIRECTION_WORDS = {
  in: 'inbound',
  out: 'outbound',
  internal: 'internal',
  transit: 'transit',
} as const;
/** Ends of a ring that become the ending of the call if no other ring follows. */
const REFUSALS: Readonly<Record<string, LegDisposition>> = {
  busy: 'busy',
  rejected: 'rejected',
  no_answer: 'no_answer',
  unreachable: 'unreachable',
  congestion: 'congestion',
  failed: 'failed',
  diverted: 'diverted',
};

/** Reads the events of live calls, which must arrive in order. */
export class LiveCalls {
  readonly #calls = new Map<string, Followed>();
  readonly #written: (number: string) => string;
  readonly #publicUrl: string;
  /** `written`: converts a number to E.164 if it has that form, else returns it unchanged. */
  constructor(written: (number: string) => string, publicUrl: string) {
    this.#written = written;
    this.#publicUrl = publicUrl;
  }

  /** Messages that result from an event. */
  read(event: DomainEvent): LiveMessage[] {
    if (event.type === 'queue.caller_joined') return this.#queued(event);
    return event.type.startsWith('call.') ? this.#read(event as CallEvent) : [];
  }
  #read(event: CallEvent): LiveMessage[] {
    const call = this.#followed(event);
    if (call === null) return [];
    switch (event.type) {
      case 'call.ringing': {
        const { leg, caller } = event.data;
        call.ringing.add(leg.leg_id);
        if (call.from === '') call.from = caller.number;
        if (leg.extension !== null && call.direction === 'in') call.extension = leg.extension;
        return [...this.#announced(call, event.at), ...this.#joined('rings', call, leg, event.at)];
      }
      case 'call.answered': {
        const { leg } = event.data;
        call.ringing.delete(leg.leg_id);
        // Only an answer of the called side counts, because the engine itself answers the caller of a queue or menu.
        const counts = call.direction === 'out' ? leg.extension === null : leg.extension !== null;
        const talks = this.#joined('talks', call, leg, event.at);
        if (!counts || call.answered_at !== null) return talks;
        if (leg.extension !== null) call.extension = leg.extension;
        const before = this.#announced(call, event.at);
        call.answered_at = event.at;
        return [...before, ...this.#message('answered', call, event.at), ...talks];
      }
      case 'call.left': {
        const { leg, reason } = event.data;
        if (call.ringing.delete(leg.leg_id)) call.refusal = REFUSALS[reason] ?? call.refusal;
        return this.#gone(call, leg.leg_id, event.at);
      }
      case 'call.transferred': {
        call.extension = event.data.to;
        return [...this.#announced(call, event.at), ...this.#message('transferred', call, event.at)];
      }
      case 'call.ended':
        return this.#ended(call, event);
      default:
        return [];
    }
  }
  /** Message about a person who rings or talks in a call from outside. */
  #joined(
    kind: 'rings' | 'talks',
    call: Followed,
    { leg_id, extension }: { readonly leg_id: string; readonly extension: string | null },
    at: number,
  ): LiveMessage[] {
    if (extension === null || call.direction !== 'in') return [];
    call.legs.set(leg_id, extension);
    return this.#message(kind, { ...call, extension }, at);
  }
  #gone(call: Followed, leg: string, at: number): LiveMessage[] {
    const extension = call.legs.get(leg);
    call.legs.delete(leg);
    // Another device of the same person may still ring.
    if (extension === undefined || [...call.legs.values()].includes(extension)) return [];
    return this.#message('left', { ...call, extension }, at);
  }
  #queued({ data, at }: Extract<DomainEvent, { readonly type: 'queue.caller_joined' }>): LiveMessage[] {
    const call = this.#calls.get(data.call_id);
    if (call === undefined) return [];
    call.queue = data.queue;
    if (call.from === '') call.from = data.caller.number;
    return this.#announced(call, at);
  }
  #ended(call: Followed, { data, at }: Extract<CallEvent, { readonly type: 'call.ended' }>): LiveMessage[] {
    this.#calls.delete(data.call_id);
    const left = [...call.legs.keys()].flatMap((leg) => this.#gone(call, leg, at));
    if (data.merged_into !== null) {
      const into = this.#calls.get(data.merged_into);
      // If the systems know only this call, the merged call continues under its id; if they know both, this one ends.
      if (call.announced && into?.announced !== true) {
        this.#calls.set(data.merged_into, call);
        return left;
      }
      return call.announced ? [...left, ...this.#message('ended', call, at, endingOf(call, data))] : left;
    }
    return [...this.#announced(call, at), ...left, ...this.#message('ended', call, at, endingOf(call, data))];
  }
  /** The call of an event; null if it is not followed. A call without a seen start was announced before a restart. */
  #followed({ type, at, data }: CallEvent): Followed | null {
    const known = this.#calls.get(data.call_id);
    const direction = 'direction' in data ? data.direction : known?.direction;
    if (known !== undefined) {
      known.direction = direction ?? known.direction;
      return known;
    }
    if (direction === undefined || this.#calls.size >= MAX_FOLLOWED) return null;
    const begins = type === 'call.started';
    const call: Followed = {
      id: data.call_id,
      direction,
      from: begins ? data.leg.number : '',
      to: begins ? data.dialled : '',
      started_at: at,
      answered_at: null,
      queue: '',
      extension: begins ? data.leg.extension : null,
      announced: !begins,
      ringing: new Set(),
      legs: new Map(),
      refusal: null,
    };
    this.#calls.set(data.call_id, call);
    return call;
  }
  #announced(call: Followed, at: number): LiveMessage[] {
    if (call.announced || !isOutside(call)) return [];
    call.announced = true;
    return this.#message('ringing', call, at);
  }
  #message(kind: LiveKind, call: Followed, at: number, ending: LegDisposition | '' = ''): LiveMessage[] {
    return isOutside(call)
      ? [{ kind, at, call: this.#view(call, at, ending), extension: call.extension }]
      : [];
  }
  #view(call: Followed, at: number, ending: LegDisposition | ''): CallView {
    const { id, queue, started_at, answered_at } = call;
    const [from, to] = [this.#written(call.from), this.#written(call.to)];
    const seconds = (since: number): bigint => BigInt(Math.max(0, Math.round((at - since) / 1_000)));
    const over = ending !== '';
    return {
      ...NO_CALL,
      id,
      direction: DIRECTION_WORDS[call.direction],
      disposition: over ? dispositionOf(call, ending) : '',
      answered: answered_at !== null,
      from,
      to,
      number: call.direction === 'out' ? to : from,
      queue,
      url: this.#publicUrl === '' ? '' : `${this.#publicUrl}/history/${encodeURIComponent(id)}`,
      started_at: rfc3339(started_at),
      answered_at: answered_at === null ? '' : rfc3339(answered_at),
      ended_at: over ? rfc3339(at) : '',
      duration_seconds: over ? seconds(started_at) : 0n,
      talk_seconds: over && answered_at !== null ? seconds(answered_at) : 0n,
      ending,
    };
  }
}
const isOutside = ({ direction }: Followed): boolean => direction === 'in' || direction === 'out';

function endingOf(call: Followed, { customer_disposition }: EventData<'call.ended'>): LegDisposition {
  if (call.answered_at !== null) return 'answered';
  if (call.direction === 'out') return customer_disposition ?? 'cancelled_by_caller';
  // A caller that hangs up during the ring or the wait ends the call; otherwise the last refusal of a phone does.
  if (call.ringing.size > 0 || call.refusal === null) return 'cancelled_by_caller';
  return call.refusal;
}
function dispositionOf({ queue }: Followed, ending: LegDisposition): string {
  if (ending === 'answered') return 'answered';
  if (ending === 'blocked' || ending === 'failed') return ending;
  return queue === '' ? 'missed' : 'abandoned_in_queue';
}
