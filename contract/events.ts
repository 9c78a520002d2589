import { z } from 'zod';
import { AgentSummary, PendingState } from './agents.ts';
import { Presence } from './extensions.ts';
import { QueueStats } from './wallboard.ts';

const Party = z.object({ number: z.string(), name: z.string() });
const CallRef = z.object({
  call_id: z.string(),
  /** Every extension of ours that has or had a leg in the call, sorted: it is theirs to hear of. */
  extensions: z.array(z.string()).optional(),
});
const Leg = z.object({
  leg_id: z.string(),
  /** Null for a leg that is not one of our extensions. */
  extension: z.string().nullable(),
  endpoint: z.string().nullable(),
  number: z.string(),
  name: z.string(),
});
const QueueCaller = z.object({ call_id: z.string(), queue: z.string(), leg_id: z.string(), caller: Party });
const Offer = z.object({
  /** `<queue>:<caller leg>:<agent channel>` (ids.ts). */
  offer_id: z.string(),
  queue: z.string(),
  /** Null for a queue member that is not one of our extensions. */
  extension: z.string().nullable(),
  /** The member's name in the queue. */
  member: z.string(),
  call_id: z.string(),
});
/** `queue` is null where the event is not about one queue; `agent` is the state right after the event. */
const AgentRef = z.object({
  extension: z.string(),
  queue: z.string().nullable().optional(),
  agent: AgentSummary.optional(),
});

/** `data` of every domain event, by type (wire.md section 6). Times inside `data` are RFC 3339 UTC. */
export const EVENT_DATA = {
  'presence.changed': Presence.extend({ extension: z.string() }),
  'call.started': CallRef.extend({ leg: Leg, dialled: z.string() }),
  'call.ringing': CallRef.extend({ leg: Leg }),
  'call.answered': CallRef.extend({ leg: Leg }),
  'call.held': CallRef.extend({ leg: Leg }),
  'call.retrieved': CallRef.extend({ leg: Leg }),
  'call.transferred': CallRef.extend({
    kind: z.enum(['blind', 'attended', 'pickup']),
    by: z.string().nullable(),
    to: z.string(),
    /** The call that was joined into this one by an attended transfer. */
    merged_call_id: z.string().nullable(),
  }),
  'call.parked': CallRef.extend({ leg: Leg, slot: z.string() }),
  'call.ended': CallRef.extend({
    cause: z.int().nullable(),
    cause_text: z.string(),
    reason: z.enum(['hangup', 'engine_lost', 'merged']),
    /** The call that goes on with the legs of this one, where the reason is `merged`. */
    merged_into: z.string().nullable(),
  }),
  'queue.caller_joined': QueueCaller.extend({ position: z.int(), joined_at: z.string() }),
  'queue.caller_left': QueueCaller.extend({
    waited_seconds: z.int(),
    reason: z.enum(['answered', 'other', 'engine_lost']),
  }),
  'queue.caller_abandoned': QueueCaller.extend({ waited_seconds: z.int(), position: z.int() }),
  'offer.created': Offer,
  'offer.accepted': Offer.extend({ waited_seconds: z.int(), ring_seconds: z.int() }),
  'offer.timeout': Offer.extend({ ring_seconds: z.int() }),
  /** The agent's device said busy. */
  'offer.rejected': Offer,
  /** The caller gave up, or another agent took the call. */
  'offer.canceled': Offer,
  'agent.logged_in': AgentRef.extend({ queue: z.string() }),
  'agent.logged_out': AgentRef.extend({ queue: z.string() }),
  /** With a queue: the engine offers it calls again. Without: a call, a wrap-up or an absence is over and it is ready. */
  'agent.ready': AgentRef,
  /** `since`: when it began, which for a pause found by a resync is before the event. */
  'agent.not_ready': AgentRef.extend({ reason: z.string(), since: z.string() }),
  'agent.pending_changed': AgentRef.extend({
    pending: PendingState.nullable(),
    reason: z.string().nullable(),
  }),
  'agent.offered': AgentRef.extend({ queue: z.string(), call_id: z.string(), offer_id: z.string() }),
  'agent.talking': AgentRef.extend({ queue: z.string(), call_id: z.string() }),
  'agent.held': AgentRef,
  'agent.retrieved': AgentRef,
  'agent.wrap_up': AgentRef.extend({
    queue: z.string(),
    call_id: z.string().nullable(),
    deadline: z.string(),
    /** Seconds the agent was connected in this queue call, held time included. */
    talk_seconds: z.int(),
  }),
  'agent.wrap_up_extended': AgentRef.extend({ deadline: z.string() }),
  'agent.busy_other': AgentRef.extend({ direction: z.enum(['in', 'out']) }),
  'agent.unreachable': AgentRef,
  /** Too many offers in a row were not answered: the system took the agent out. */
  'agent.not_responding': AgentRef.extend({ missed: z.int() }),
  'queue.stats': QueueStats,
  /** The outcome of a command; the events it led to carry its id as `caused_by`. */
  'operation.completed': z.object({
    operation_id: z.string(),
    action: z.string(),
    /** `unknown`: the engine did not confirm in time; it is never repeated. */
    state: z.enum(['succeeded', 'failed', 'unknown']),
    /** A code of the error registry where it did not succeed. */
    code: z.string().nullable(),
    detail: z.string().nullable(),
    call_id: z.string().nullable(),
    extension: z.string().nullable(),
  }),
  'config.applied': z.object({ files: z.array(z.string()) }),
  'engine.link_up': z.object({ node: z.string(), boot_id: z.string() }),
  'engine.link_down': z.object({ node: z.string(), reason: z.string() }),
  'engine.resynced': z.object({
    node: z.string(),
    boot_id: z.string(),
    restarted: z.boolean(),
    differences: z.int(),
  }),
} as const;
export type EventType = keyof typeof EVENT_DATA;
export type EventData<T extends EventType> = z.infer<(typeof EVENT_DATA)[T]>;

/** A fact before it is committed. `at` is milliseconds since 1970; `observed` says how it is known. */
export type DomainEvent = {
  [T in EventType]: {
    readonly type: T;
    readonly subject: string;
    readonly at: number;
    readonly observed: 'live' | 'resync';
    /** ActionID of the command that caused it, where known. */
    readonly caused_by?: string;
    readonly data: EventData<T>;
  };
}[EventType];

/** The CloudEvents 1.0 envelope, the same on every transport. */
export const Envelope = z.object({
  specversion: z.literal('1.0'),
  id: z.string(),
  source: z.string(),
  type: z.string(),
  subject: z.string(),
  time: z.string(),
  seq: z.int().positive(),
  observed: z.enum(['live', 'resync']),
  caused_by: z.string().optional(),
  data: z.unknown(),
});
export type Envelope = z.infer<typeof Envelope>;
