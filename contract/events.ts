import { z } from 'zod';
import { AgentSummary, PendingState } from './agents.ts';
import { BlockedNetwork } from './blocked-networks.ts';
import { CallerRule, RuleAction } from './caller-rules.ts';
import { Call } from './calls.ts';
import { ConfigApply, ConfigProblem, DriftFile } from './config-applies.ts';
import { RouteClass } from './config-fields.ts';
import { NetworkConfig } from './config-network.ts';
import { ConversationEvent, LegDisposition, RefusalReason } from './conversations.ts';
import { CallDirection, Placed } from './directions.ts';
import { Presence } from './extensions.ts';
import { ParkedCall, SlotFreed } from './parking.ts';
import { CallbackChange } from './callbacks.ts';
import { CallCustomer, PhonebookChange } from './phonebook.ts';
import { NightSwitchChange } from './night-switches.ts';
import { PathFault, PathWay } from './path-check.ts';
import { Queue } from './queues.ts';
import { TrunkChange } from './trunks.ts';
import { QueueStats } from './wallboard.ts';

const FailedWay = z.object({
  way: PathWay,
  detail: z.string().describe('One sentence, in English.'),
  fault: PathFault,
});
const Party = z.object({ number: z.string(), name: z.string() });
const CallRef = z.object({
  call_id: z.string(),
  direction: CallDirection,
  extensions: z
    .array(z.string())
    .describe('All our extensions that have or had a leg in the call, sorted; they may receive the event.'),
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
    'How a ring ended that this leg did not answer, as `disposition` of the leg in the history: `answered_elsewhere`: another device took what rang here; `busy`; `rejected`: declined; `no_answer`: the ring time was over; `unreachable`, `congestion`, `failed`: the device, or the network to it, could not take the call; `diverted`: the device sent it on; `canceled` (`cancelled_by_caller` in the history): the caller hung up or was moved. Other ends: `transferred`: it transferred the call; `engine_lost`: the engine lost it, or it ended while the service was not connected; `hangup`: every other end.',
  );
const FirstParty = Party.describe("Party of the call's first leg.");
const KnownCustomer = CallCustomer.optional().describe(
  'Customer of the outside party, as in the live call. Absent while none is known.',
);
const QueueCaller = z.object({ call_id: z.string(), queue: z.string(), leg_id: z.string(), caller: Party });
const Waited = {
  waited_seconds: z.int(),
  waited_ms: z
    .int()
    .min(0)
    .optional()
    .describe('The same wait in milliseconds, for exact sums. Absent in events of earlier versions.'),
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
 * `data` of every domain event, by type (wire.md section 6). Times inside `data` are RFC 3339 UTC. Each description defines
 * when the event is published; docs/events.md and the AsyncAPI document show it.
 */
export const EVENT_DATA = {
  'presence.changed': Presence.extend({ extension: z.string() }).describe(
    'Reachability, activity or status of an extension changed; carries the whole presence.',
  ),
  'presence.removed': z
    .object({ extension: z.string() })
    .describe(
      'An extension is in the directory no longer: it was deleted, or its person is not active any more.',
    ),
  'call.started': CallRef.extend({ leg: Leg, dialled: z.string(), placed: Placed.optional() }).describe(
    'The first leg of a call was created.',
  ),
  'call.ringing': CallRef.extend({
    leg: Leg,
    caller: FirstParty,
    placed: Placed.optional(),
    customer: KnownCustomer,
  }).describe('A leg rings.'),
  'call.answered': CallRef.extend({
    leg: Leg,
    caller: FirstParty,
    placed: Placed.optional(),
    customer: KnownCustomer,
  }).describe('A leg was answered.'),
  'call.customer': CallRef.extend({
    customer: CallCustomer.nullable().describe('Null: none is known any more.'),
  }).describe(
    "The customer of a live call became known, changed in the phonebook, or is not known any more. Shared customers only. An extension that begins to hear the call later receives it in `call.ringing` or in the call's state.",
  ),
  'call.joined': CallRef.extend({ leg: Leg }).describe(
    'A further leg of a live call was answered: the consulted party of a transfer, or its target.',
  ),
  'call.party_changed': CallRef.extend({ leg: Leg, party: Leg }).describe(
    'The peer of a leg changed: `party` is the new one, after a transfer, a pickup or a parked call. `call.answered` and `call.joined` report the first peer; conferences report none.',
  ),
  'call.held': CallRef.extend({ leg: Leg }).describe('A leg has put the other side on hold.'),
  'call.retrieved': CallRef.extend({ leg: Leg }).describe('A leg has taken the other side back from hold.'),
  'call.recording_started': CallRef.extend({ leg: Leg }).describe(
    'The recording of this leg started, in both directions.',
  ),
  'call.recording_stopped': CallRef.extend({ leg: Leg }).describe('The recording of this leg stopped.'),
  'call.recording_paused': CallRef.extend({ leg: Leg }).describe(
    'The recording of this leg was paused and contains silence meanwhile.',
  ),
  'call.recording_resumed': CallRef.extend({ leg: Leg }).describe('The recording of this leg was resumed.'),
  'call.transferred': CallRef.extend({
    kind: z.enum(['blind', 'attended', 'pickup']),
    by: z.string().nullable(),
    to: z.string(),
    merged_call_id: z
      .string()
      .nullable()
      .describe('The call that was joined into this one by an attended transfer.'),
  }).describe('The call was transferred to another party.'),
  'call.parked': CallRef.extend({ leg: Leg, slot: z.string() }).describe(
    'A leg was parked on a numbered slot where anybody can take it.',
  ),
  'call.refused': CallRef.omit({ direction: true })
    .extend({
      extension: z.string().describe('Extension that the call counts for.'),
      number: z.string().describe('Number outside that was not called.'),
      class: RouteClass,
      reason: RefusalReason,
      call_limit: z.string().nullable().describe('Null for the reason `class`.'),
      refused_at: z.iso.datetime().describe('Earlier than the event where the service was down.'),
    })
    .describe(
      'The engine did not place a call to a number outside: `class`: not permitted to the extension; `hours`, `country`, `calls` (at the same time), `budget` (calls or minutes): a rule of a call limit. Read from the call records, so that it follows after the service was down; an event can come twice.',
    ),
  'call.blocked': CallRef.omit({ direction: true })
    .extend({
      number: z.string().describe('Number of the caller as it arrived; empty for a hidden one.'),
      by: z.enum(['rule', 'customer']),
      blocked_at: z.iso.datetime().describe('Earlier than the event where the service was down.'),
    })
    .describe(
      'The engine rejected the call of a caller that a rule or its customer blocks. Read from the call records, as `call.refused`.',
    ),
  'call.emergency': CallRef.omit({ direction: true })
    .extend({
      extension: z.string().nullable().describe('Null where no extension is responsible for the call.'),
      name: z.string().nullable().describe('Of the person with the extension.'),
      number: z.string(),
      location: z.string().nullable().describe('Of the network of the phone, else of the extension.'),
      address: z.string().nullable().describe('Address that the phone signals from.'),
      callback_number: z.string().nullable().describe('Number shown to who is called.'),
      notified: z
        .array(z.string())
        .describe('`emergency_contacts` of the network, whose pages show it at once.'),
      called_at: z.iso.datetime().describe('Earlier than the event where the service was down.'),
    })
    .describe(
      'The engine sends a call to an emergency number over a trunk. People of `notified` hear it on the topic `alerts`, too. Read from the call records, as `call.refused`.',
    ),
  'call.left': CallRef.extend({
    leg: Leg,
    cause: z.int().nullable().describe('Of Q.850, as the engine gives it; null where it gives none.'),
    reason: LegLeftReason,
  }).describe(
    'A published leg ended and its call continues. Legs that stay until the end have only `call.ended`; when two calls are joined, their legs move to the remaining call and none leaves.',
  ),
  'call.ended': CallRef.extend({
    cause: z.int().nullable(),
    cause_text: z.string(),
    reason: z.enum(['hangup', 'engine_lost', 'merged']),
    merged_into: z
      .string()
      .nullable()
      .describe('Call that took over the legs, where the reason is `merged`.'),
    into: Call.optional().describe(
      'Complete state of that call right after, for clients that do not know it yet. Absent for every other reason.',
    ),
    customer_disposition: LegDisposition.optional().describe(
      'How the customer’s leg of an outgoing call ended, with the values of a leg’s `disposition` in the history: `answered`, `no_answer`, `busy`, `rejected`, `cancelled_by_caller`, `failed` (no such number, for example), `unreachable`, `congestion` …; of several numbers or trunks tried, the one that came furthest. Left out where nobody outside was called, where the reason is `merged`, and where it is not known.',
    ),
  }).describe('The last leg ended; no more events of this call follow.'),
  'parking.slot_occupied': z
    .object(ParkedCall.shape)
    .describe(
      'A call was parked on a slot. If another call had the slot, its `parking.slot_freed` comes first.',
    ),
  'parking.slot_freed': SlotFreed.describe('A parked call left its slot.'),
  'conversation.opened': ConversationEvent.describe(
    'The record of a conversation was begun: its first call is known to the history. One that was over before it was read, because the service was away, has only its `conversation.finalised`.',
  ),
  'conversation.updated': ConversationEvent.describe(
    'The record of a live conversation grew, or a note, a result or a recording was added to a finished one.',
  ),
  'conversation.finalised': ConversationEvent.describe(
    'The record is complete, with revision 1; or it was amended, with a higher one.',
  ),
  'history.gap': z
    .object({
      finding_id: z.int(),
      node: z.string().optional().describe('Node of the engine; absent in events of earlier versions.'),
      from: z.string(),
      to: z.string(),
      channels: z
        .int()
        .describe(
          'How many SIP channels the engine numbered then of which nothing is known; a call has one for each phone or trunk.',
        ),
    })
    .describe(
      'Calls in this interval are lost: the engine created channels missing from both its call records and the journal.',
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
    .object({
      finding_id: z.int(),
      node: z.string().optional().describe('Node of the engine; absent in events of earlier versions.'),
      from: z.string(),
      to: z.string(),
    })
    .describe(
      'The call records of a time in which the service heard nothing of the engine are read: each wait that ended in it was told by `queue.caller_settled`.',
    ),
  'queue.caller_joined': QueueCaller.extend({
    position: z.int(),
    joined_at: z.string(),
    customer: KnownCustomer,
  }).describe('A caller joined a queue.'),
  'queue.caller_left': QueueCaller.extend({
    ...Waited,
    reason: LeftReason,
  }).describe('A caller left a queue without giving up: it was answered, or the queue sent it elsewhere.'),
  'queue.caller_changed': QueueCaller.extend({
    position: z.int(),
    priority: z.int().nullable(),
    customer: KnownCustomer,
  }).describe(
    'A caller got another priority, or another place than those before it who left make for it, or its customer became known or changed. Also when a transfer was completed while its second call waited in the queue: `caller` is then the transferred party, which goes on waiting under the same `leg_id`.',
  ),
  'queue.caller_abandoned': QueueCaller.extend({ ...Waited, position: z.int() }).describe(
    'A caller hung up before an agent answered.',
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
      'Result of a wait that ended while the service was not connected to the engine, found later in its call records. Figures that counted it as `lost`, or not at all, include it from now on.',
    ),
  'offer.created': Offer.describe('An agent rings for a queue call.'),
  'offer.accepted': Offer.extend({
    waited_seconds: z
      .int()
      .describe(
        'Wait of the caller, as in the `queue.caller_left` of this answer; by the count of the engine if its join was not observed, and then there is no such event.',
      ),
    ring_seconds: z.int(),
  }).describe('The agent answered the offer.'),
  'offer.timeout': Offer.extend({ ring_seconds: z.int() }).describe('The agent did not answer in time.'),
  'offer.rejected': Offer.describe(
    "The agent's device said busy, or ended the ringing before the queue's ring time was over.",
  ),
  'offer.canceled': Offer.describe(
    'The caller gave up, or the call was answered elsewhere: another agent accepted it, or another person picked up this ring.',
  ),
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
    'A device of the agent rings for a queue call.',
  ),
  'agent.talking': AgentRef.extend({ queue: z.string(), call_id: z.string() }).describe(
    'The agent is connected in a queue call: it accepted an offer, or it is a member of the queue and picked up the ring of another one, which gives no `offer.accepted`.',
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
    'No device of the agent was reachable for longer than the grace period.',
  ),
  'agent.not_responding': AgentRef.extend({ missed: z.int() }).describe(
    'The agent missed too many offers in a row and was taken out by the system.',
  ),
  'agent.removed': AgentRef.describe(
    'The extension is not an agent any more: it is a member of no queue, and may work in none. It follows the last `agent.logged_out`.',
  ),
  'queue.changed': Queue.pick({
    number: true,
    title: true,
    strategy: true,
    ring_seconds: true,
    wrap_up_seconds: true,
    max_wait_seconds: true,
  })
    .extend({ queue: z.string() })
    .describe('A queue was created, or its settings changed; carries all of these settings.'),
  'queue.removed': z
    .object({ queue: z.string() })
    .describe(
      'A queue was deleted. Callers that still wait in it leave it by their own events, which can follow.',
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
    .describe('Result of a command; events it caused carry its id as `caused_by`.'),
  'callback.changed': CallbackChange.describe(
    'Callbacks of a person or a queue were opened, taken, released or closed.',
  ),
  'phonebook.changed': PhonebookChange.describe(
    'Customers were stored or deleted. One that a person shares is `deleted` for that person and `created` for everyone.',
  ),
  'phonebook.callers_changed': z
    .object({
      change: z.enum(['created', 'deleted']),
      id: z.int(),
      action: RuleAction,
      match: CallerRule.shape.match,
      extension: z.null().describe('Rules are for the whole site.'),
    })
    .describe('A rule that blocks or allows callers was created or deleted.'),
  'config.draft_changed': z
    .object({
      author: z.string().describe('Extension, or the name of an API key.'),
      total: z.int().describe('Objects of the draft that now differ from the applied configuration.'),
    })
    .describe(
      'The draft was changed, imported or discarded. An apply, which may also change the draft, publishes its own events.',
    ),
  'config.progress': z
    .object({ apply: ConfigApply })
    .describe('An apply changed its state; carries the whole apply.'),
  'config.applied': z
    .object({
      apply_id: z.int(),
      version: z.int().nullable().describe('Null where no object was different.'),
      author: z.string(),
      objects: z.int().describe('How many were changed.'),
      files: z.array(z.string()),
      reloaded: z.array(z.string()).describe('Files the engine read again.'),
    })
    .describe('The configuration was applied to the engine.'),
  'config.rolled_back': z
    .object({
      apply_id: z.int(),
      author: z.string(),
      files: z.array(z.string()),
      problems: z.array(ConfigProblem),
      detail: z.string().nullable(),
    })
    .describe('An apply failed after files were written; files and engine were restored.'),
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
  'store.events_lost': z
    .object({
      from: z.string().describe('The first event that is lost.'),
      to: z.string().describe('The last event that is lost.'),
      events: z.int().describe('Number of lost events.'),
    })
    .describe(
      'Events were not written to the log of events, because it rejected writes for too long or until the service stopped. Read again what you keep; a client of the stream whose cursor is older gets a `gap` and its snapshots.',
    ),
  'trunk.up': TrunkChange.describe(
    'Calls can leave over this trunk: its far side answers, and accepted the registration where one is configured.',
  ),
  'trunk.down': TrunkChange.describe(
    'No call can leave over this trunk, for `reason`. Published again where the reason changes; with `observed: resync` where it happened while the service or the engine was away.',
  ),
  'phone.signed_in': z
    .object({
      phone: z.string(),
      extension: z.string(),
      name: z.string().describe('Of the person with the extension.'),
      since: z.iso.datetime(),
    })
    .describe('A person signed in at a shared phone; it is a device of the extension from now on.'),
  'phone.signed_out': z
    .object({
      phone: z.string(),
      extension: z.string(),
      name: z.string(),
      reason: z
        .enum(['code', 'timeout', 'administrator', 'taken_over', 'elsewhere', 'unknown'])
        .describe(
          '`taken_over`: another person signed in there; `elsewhere`: the person signed in at another phone; `unknown`: it happened while the service was away, or the phone or extension is gone.',
        ),
    })
    .describe('A person is not signed in at a shared phone any more.'),
  'phone.sign_in_refused': z
    .object({ phone: z.string(), extension: z.string().nullable() })
    .describe('A wrong PIN, or no such extension, at a shared phone.'),
  'night_switch.changed': NightSwitchChange.describe(
    'A time condition was switched away from its hours, or back to them.',
  ),
  'network.blocked': z
    .object({
      network: z.string(),
      reason: BlockedNetwork.shape.reason,
      requests: z.int(),
      until: z.iso.datetime(),
    })
    .describe('A network is blocked because of refused SIP requests: the engine rejects all that it sends.'),
  'network.released': z
    .object({
      network: z.string(),
      why: z
        .enum(['released', 'over'])
        .describe('`released`: by a person or for another network; `over`: its time.'),
    })
    .describe('A network is not blocked any more.'),
  'network.address_changed': z
    .object({
      address: z.string(),
      former: z.string().nullable(),
      source: NetworkConfig.shape.external_address_source.unwrap().exclude(['fixed']),
    })
    .describe(
      'The engine shows another external address to phones and trunks outside; calls that are up keep the one they began with.',
    ),
  'network.address_doubted': z
    .object({
      address: z.string().nullable().describe('Address that stays in use; null for none.'),
      detail: z.string().describe('One line; the health check `external_address` has the current one.'),
    })
    .describe(
      'The external address cannot be found, or what was found is not believed. The one in use stays.',
    ),
  'certificate.renewed': z
    .object({ names: z.array(z.string()), valid_to: z.iso.datetime() })
    .describe('The ACME server issued a certificate; HTTPS, SIP and TURN show it within a minute.'),
  'certificate.renewal_failed': z
    .object({
      names: z.array(z.string()),
      detail: z.string().describe('One line, also of the ACME server.'),
      next_try_at: z.iso.datetime(),
    })
    .describe('The ACME server issued no certificate; the one in use stays.'),
  'path_check.completed': z
    .object({
      ways: z.array(PathWay).describe('Ways that were tried.'),
      failed: z.array(FailedWay).describe('Those of them that do not work; empty: all work.'),
    })
    .describe('The ways of phones and browsers to the engine were checked.'),
  'path_check.way_failed': FailedWay.describe(
    'A way that worked, or was not tried before, does not work. Published once until it works again.',
  ),
  'path_check.way_restored': z
    .object({ way: PathWay, detail: z.string() })
    .describe('A way that had failed works again.'),
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

/** An event before it is committed. `at` is milliseconds since 1970; `observed` is its origin. */
export type DomainEvent = {
  [T in EventType]: {
    readonly type: T;
    readonly subject: string;
    readonly at: number;
    readonly observed: 'live' | 'resync';
    /** ActionID of the causing command, if known. */
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
      'Check of this event and all before it in its epoch. Sent with a cursor as `<seq>:<check>` it proves that the journal is still the one the client read.',
    ),
});
export type Envelope = z.infer<typeof Envelope>;
