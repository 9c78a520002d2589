import { z } from 'zod';
import { Presence } from './extensions.ts';

const Party = z.object({ number: z.string(), name: z.string() });
const CallRef = z.object({ call_id: z.string() });
const Leg = z.object({
  leg_id: z.string(),
  /** Null for a leg that is not one of our extensions. */
  extension: z.string().nullable(),
  endpoint: z.string().nullable(),
  number: z.string(),
  name: z.string(),
});
const QueueCaller = CallRef.extend({ queue: z.string(), leg_id: z.string(), caller: Party });
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
const AgentRef = z.object({ extension: z.string() });

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
  'agent.ready': AgentRef.extend({ queue: z.string() }),
  /** `since`: when it began, which for a pause found by a resync is before the event. */
  'agent.not_ready': AgentRef.extend({ queue: z.string(), reason: z.string(), since: z.string() }),
  'agent.talking': AgentRef.extend({ queue: z.string(), call_id: z.string() }),
  'agent.unreachable': AgentRef,
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
