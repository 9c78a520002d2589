import { z } from 'zod';
import { AgentSummary, PendingState } from './agents.ts';
import { Call } from './calls.ts';
import { ConfigApply, ConfigProblem, DriftFile } from './config-applies.ts';
import { ConversationEvent, LegDisposition } from './conversations.ts';
import { CallDirection, Placed } from './directions.ts';
import { Presence } from './extensions.ts';
import { ParkedCall, SlotFreed } from './parking.ts';
import { QueueStats } from './wallboard.ts';

const Party = z.object({ number: z.string(), name: z.string() });
const CallRef = z.object({
  call_id: z.string(),
  direction: CallDirection,
  extensions: z
    .array(z.string())
    .describe('Every extension of ours that has or had a leg in the call, sorted: it is theirs to hear of.'),
});
const Leg = z.object({
  leg_id: z.string(),
  extension: z.string().nullable().describe('Null for a leg that is not one of our extensions.'),
  endpoint: z.string().nullable(),
  number: z.string(),
  name: z.string(),
});
const LegLeftReason = z
  .enum([
    'hangup',
    'answered_elsewhere',
    'busy',
    'rejected',
    'no_answer',
    'unreachable',
    'congestion',
    'failed',
    'diverted',
    'transferred',
    'canceled',
    'engine_lost',
  ])
  .describe(
    'How a ring ended that this leg did not answer, as `disposition` of the leg in the history: `answered_elsewhere`: another device took what rang here; `busy`; `rejected`: declined; `no_answer`: the ring time was over; `unreachable`, `congestion`, `failed`: the device, or the network to it, could not take the call; `diverted`: the device sent it on; `canceled` (`cancelled_by_caller` in the history): the caller gave up, or was taken away. Else: `transferred`: it passed the call on; `engine_lost`: the engine lost it, or it went while nobody listened; `hangup`: every other end.',
  );
const FirstParty = Party.describe("Who is on the call's first leg.");
const QueueCaller = z.object({ call_id: z.string(), queue: z.string(), leg_id: z.string(), caller: Party });
const Waited = {
  waited_seconds: z.int(),
  waited_ms: z
    .int()
    .min(0)
    .optional()
    .describe(
      'The same wait in milliseconds, so that sums of waits lose nothing. Not in events of earlier versions.',
    ),
};
const LeftReason = z
  .enum(['answered', 'timeout', 'key', 'moved', 'withdrawn', 'other', 'engine_lost'])
  .describe(
    "`timeout`: the queue's longest wait was over; `key`: the caller chose to leave by a digit; `moved` to another queue, and `withdrawn`, by a supervisor; `other`: the queue sent it on for a reason the engine does not tell; `engine_lost`: the engine lost the call, or it ended while nobody listened.",
  );
const Offer = z.object({
  offer_id: z.string().describe('`<queue>:<caller leg>:<agent channel>`.'),
  queue: z.string(),
  extension: z.string().nullable().describe('Null for a queue member that is not one of our extensions.'),
  member: z.string().describe("The member's name in the queue."),
  call_id: z.string(),
});
const AgentRef = z.object({
  extension: z.string(),
  queue: z.string().nullable().describe('Null where the event is not about one queue.'),
  agent: AgentSummary.describe('The state right after the event.'),
});

/**
 * `data` of every domain event, by type (wire.md section 6). Times inside `data` are RFC 3339 UTC. A description says when
 * the event is: docs/events.md and the AsyncAPI document show it.
 */
export const EVENT_DATA = {
  'presence.changed': Presence.extend({ extension: z.string() }).describe(
    'What an extension can be reached by, does or says has changed; the whole presence as it is now.',
  ),
  'call.started': CallRef.extend({ leg: Leg, dialled: z.string(), placed: Placed.optional() }).describe(
    'The first leg of a call exists.',
  ),
  'call.ringing': CallRef.extend({ leg: Leg, caller: FirstParty, placed: Placed.optional() }).describe(
    'A leg rings.',
  ),
  'call.answered': CallRef.extend({ leg: Leg, caller: FirstParty, placed: Placed.optional() }).describe(
    'A leg was answered.',
  ),
  'call.joined': CallRef.extend({ leg: Leg }).describe(
    'A further leg was answered into a call under way: whom a transfer speaks to first, or who takes the call after it.',
  ),
  'call.party_changed': CallRef.extend({ leg: Leg, party: Leg }).describe(
    'A leg talks to another one than before: `party` is who is there now, after a transfer, a pickup or a call that was parked. Whom it talks to first is told by `call.answered` and `call.joined`; in a conference it is not told.',
  ),
  'call.held': CallRef.extend({ leg: Leg }).describe('A leg has put the other side on hold.'),
  'call.retrieved': CallRef.extend({ leg: Leg }).describe('A leg has taken the other side back from hold.'),
  'call.recording_started': CallRef.extend({ leg: Leg }).describe(
    'What this leg says and hears is recorded.',
  ),
  'call.recording_stopped': CallRef.extend({ leg: Leg }).describe('It is not recorded any more.'),
  'call.recording_paused': CallRef.extend({ leg: Leg }).describe(
    'The recording of this leg goes on as silence, so that something said now is not kept.',
  ),
  'call.recording_resumed': CallRef.extend({ leg: Leg }).describe('What it says and hears is kept again.'),
  'call.transferred': CallRef.extend({
    kind: z.enum(['blind', 'attended', 'pickup']),
    by: z.string().nullable(),
    to: z.string(),
    merged_call_id: z
      .string()
      .nullable()
      .describe('The call that was joined into this one by an attended transfer.'),
  }).describe('The call goes on with somebody else.'),
  'call.parked': CallRef.extend({ leg: Leg, slot: z.string() }).describe(
    'A leg waits on a numbered slot where anybody can take it.',
  ),
  'call.left': CallRef.extend({
    leg: Leg,
    cause: z.int().nullable().describe('Of Q.850, as the engine gives it; null where it gives none.'),
    reason: LegLeftReason,
  }).describe(
    'A leg that was told of is gone and its call goes on. Who is in a call until its end is told by `call.ended` alone; where two calls become one the legs go over to the one that goes on, and none has left.',
  ),
  'call.ended': CallRef.extend({
    cause: z.int().nullable(),
    cause_text: z.string(),
    reason: z.enum(['hangup', 'engine_lost', 'merged']),
    merged_into: z
      .string()
      .nullable()
      .describe('The call that goes on with the legs of this one, where the reason is `merged`.'),
    into: Call.optional().describe(
      'That call as a whole right after, for those who have not heard of it before. Left out with every other reason.',
    ),
    customer_disposition: LegDisposition.optional().describe(
      'How the customer of an outgoing call took it, by the values of `disposition` of a leg in the history: `answered`, `no_answer`, `busy`, `rejected`, `cancelled_by_caller` (who called gave up), `failed` (no such number, for example), `unreachable`, `congestion` …; of several numbers or trunks tried, the one that came furthest. Left out where nobody outside was called, where the reason is `merged`, and where it is not known.',
    ),
  }).describe('The last leg is gone; nothing more comes of this call.'),
  'parking.slot_occupied': z
    .object(ParkedCall.shape)
    .describe('A parked call took a slot. Where another call had it, its `parking.slot_freed` comes first.'),
  'parking.slot_freed': SlotFreed.describe('The call on a slot is parked there no longer.'),
  'conversation.opened': ConversationEvent.describe(
    'The record of a conversation was begun: its first call is known to the history. One that was over before it was read, because the service was away, has only its `conversation.finalised`.',
  ),
  'conversation.updated': ConversationEvent.describe(
    'More is known of a conversation that goes on, or people added to one that is over: a note, a result, a recording.',
  ),
  'conversation.finalised': ConversationEvent.describe(
    'The record is complete, with revision 1; or it was amended, with a higher one.',
  ),
  'history.gap': z
    .object({
      finding_id: z.int(),
      from: z.string(),
      to: z.string(),
      channels: z
        .int()
        .describe(
          'How many channels the engine numbered then of which nothing is known; a call has two or more.',
        ),
    })
    .describe(
      'Calls of this time are lost: the engine made channels that neither its call records nor the journal know.',
    ),
  'history.difference': z
    .object({
      finding_id: z.int(),
      conversation_id: z.string(),
      kind: z
        .enum(['not_in_records', 'no_end_in_records', 'talk_time', 'not_in_journal'])
        .describe(
          '`not_in_records`, `no_end_in_records`: the call records lack the call or its end; `talk_time`: the two differ by more than 2 s; `not_in_journal`: the call records have a conversation of which there was no event, though the service was there.',
        ),
      from: z.string(),
      to: z.string(),
      records_seconds: z.number().nullable().describe('Time with somebody, by the call records.'),
      journal_seconds: z.number().nullable().describe('The same, by the journal.'),
      completed: z.boolean().describe('The conversation was completed from the journal.'),
    })
    .describe("The engine's call records and the journal differ about a conversation."),
  'history.settled': z
    .object({ finding_id: z.int(), from: z.string(), to: z.string() })
    .describe(
      'The call records of a time in which the service heard nothing of the engine are read: each wait that ended in it was told by `queue.caller_settled`.',
    ),
  'queue.caller_joined': QueueCaller.extend({ position: z.int(), joined_at: z.string() }).describe(
    'A caller waits in a queue.',
  ),
  'queue.caller_left': QueueCaller.extend({
    ...Waited,
    reason: LeftReason,
  }).describe('A caller waits no longer and did not give up: answered, or the queue sent it on.'),
  'queue.caller_changed': QueueCaller.extend({ position: z.int(), priority: z.int().nullable() }).describe(
    'A caller got another priority, or another place than those before it who left make for it.',
  ),
  'queue.caller_abandoned': QueueCaller.extend({ ...Waited, position: z.int() }).describe(
    'A caller gave up before anybody answered.',
  ),
  'queue.caller_settled': z
    .object({
      finding_id: z.int(),
      call_id: z.string(),
      queue: z.string(),
      leg_id: z.string(),
      joined_at: z.string(),
      ...Waited,
      outcome: z
        .enum(['answered', 'abandoned', 'flowed_out'])
        .describe('`flowed_out`: it left for elsewhere before an answer.'),
      told: z
        .boolean()
        .describe('False where the wait also began unheard, so that no other event tells of it.'),
    })
    .describe(
      'What became of a wait that ended while the service heard nothing of the engine, as its call records tell afterwards. Figures that had it as `lost`, or not at all, have it from now on.',
    ),
  'offer.created': Offer.describe('An agent rings for a queue call.'),
  'offer.accepted': Offer.extend({ waited_seconds: z.int(), ring_seconds: z.int() }).describe(
    'The agent answered the offer.',
  ),
  'offer.timeout': Offer.extend({ ring_seconds: z.int() }).describe('The agent did not answer in time.'),
  'offer.rejected': Offer.describe(
    "The agent's device said busy, or ended the ringing before the queue's ring time was over.",
  ),
  'offer.canceled': Offer.describe('The caller gave up, or another agent took the call.'),
  'agent.logged_in': AgentRef.extend({ queue: z.string() }).describe('The agent became a member of a queue.'),
  'agent.logged_out': AgentRef.extend({ queue: z.string() }).describe(
    'The agent is no longer a member of a queue.',
  ),
  'agent.ready': AgentRef.describe(
    'With a queue: the engine offers it calls again; of one change in several queues each event carries the agent as the whole change leaves it. Without: a call, a wrap-up or an absence is over and it is ready.',
  ),
  'agent.not_ready': AgentRef.extend({
    reason: z.string(),
    since: z.string().describe('When it began, which for a pause found by a resync is before the event.'),
  }).describe(
    'With a queue: the agent is paused there. Without: a call, a wrap-up or an absence is over and it is not ready.',
  ),
  'agent.pending_changed': AgentRef.extend({
    pending: PendingState.nullable(),
    reason: z.string().nullable(),
  }).describe('What waits for the next release point of the agent, or null: nothing waits any more.'),
  'agent.offered': AgentRef.extend({ queue: z.string(), call_id: z.string(), offer_id: z.string() }).describe(
    'The agent rings for a queue call.',
  ),
  'agent.talking': AgentRef.extend({ queue: z.string(), call_id: z.string() }).describe(
    'The agent is connected in a queue call.',
  ),
  'agent.held': AgentRef.describe("The agent's queue call is on hold."),
  'agent.retrieved': AgentRef.describe("The agent's queue call is off hold again."),
  'agent.wrap_up': AgentRef.extend({
    queue: z.string(),
    call_id: z.string().nullable(),
    deadline: z.string(),
    talk_seconds: z.int().describe('Seconds the agent was connected in this queue call, held time included.'),
  }).describe('The queue call is over; the next one is offered at the deadline at the earliest.'),
  'agent.wrap_up_extended': AgentRef.extend({ deadline: z.string() }).describe(
    'The wrap-up got another deadline, or goes on after an absence.',
  ),
  'agent.busy_other': AgentRef.extend({ direction: z.enum(['in', 'out']) }).describe(
    "The agent is in a call that is no queue's.",
  ),
  'agent.unreachable': AgentRef.describe(
    'For longer than the grace no device of the agent could be reached.',
  ),
  'agent.not_responding': AgentRef.extend({ missed: z.int() }).describe(
    'Too many offers in a row were not answered: the system took the agent out.',
  ),
  'queue.stats': QueueStats.describe(
    "The queue's figures of today and what is in it now; every event is the whole state.",
  ),
  'operation.completed': z
    .object({
      operation_id: z.string(),
      action: z.string(),
      state: z
        .enum(['succeeded', 'failed', 'unknown'])
        .describe('`unknown`: the engine did not confirm in time; it is never repeated.'),
      code: z.string().nullable().describe('A code of the error registry where it did not succeed.'),
      detail: z.string().nullable(),
      call_id: z.string().nullable(),
      extension: z.string().nullable(),
    })
    .describe('The outcome of a command; the events it led to carry its id as `caused_by`.'),
  'config.progress': z
    .object({ apply: ConfigApply })
    .describe('An apply came to another state; the whole apply as it is now, also at its end.'),
  'config.applied': z
    .object({
      apply_id: z.int(),
      version: z.int().nullable().describe('Null where no object was different.'),
      author: z.string(),
      objects: z.int().describe('How many were changed.'),
      files: z.array(z.string()),
      reloaded: z.array(z.string()).describe('Files the engine read again.'),
    })
    .describe('The engine runs with the configuration as it is now.'),
  'config.rolled_back': z
    .object({
      apply_id: z.int(),
      author: z.string(),
      files: z.array(z.string()),
      problems: z.array(ConfigProblem),
      detail: z.string().nullable(),
    })
    .describe('An apply failed after files were written: they and the engine are as they were before.'),
  'config.drift': z
    .object({
      files: z
        .array(DriftFile.omit({ diff: true }))
        .describe('All of them as it is now; empty: none any more.'),
    })
    .describe('Files of the engine were changed by hand, or are as they were written again.'),
  'store.gap': z
    .object({
      gap_id: z.int().describe('The same where an event is told twice.'),
      from: z.string().describe('The newest write that is left; as `to` where it is not known.'),
      to: z.string().describe('The newest write that is lost.'),
      writes: z.int().describe('How many are lost.'),
    })
    .describe(
      'The database of the site lost its newest writes: its log was cut or removed, or an older copy was put in its place. Read again what you keep of people, history and settings. Found at the start of the service.',
    ),
  'engine.link_up': z
    .object({ node: z.string(), boot_id: z.string() })
    .describe('The service is connected to the engine; what is shown is fresh after `engine.resynced`.'),
  'engine.link_down': z
    .object({ node: z.string(), reason: z.string() })
    .describe('The link to the engine is lost: everything shown is as of now until `engine.resynced`.'),
  'engine.resynced': z
    .object({
      node: z.string(),
      boot_id: z.string(),
      restarted: z.boolean(),
      differences: z.int(),
    })
    .describe('What was missed has been reported, marked `observed: resync`; what is shown is fresh again.'),
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
  check: z
    .string()
    .optional()
    .describe(
      'Stands for this event and all before it in its epoch. Shown with a cursor as `<seq>:<check>`, it proves that the log is still the one the client read.',
    ),
});
export type Envelope = z.infer<typeof Envelope>;
