import { z } from 'zod';
import { CallDirection } from './directions.ts';

/** Seconds with three decimals; parts add up to the whole. */
const Seconds = z.number().min(0);
const Moment = z.string();
/** RFC 3339 UTC with milliseconds. */
const Times = {
  duration: Seconds.describe('First channel start to last channel end; of an open conversation, so far.'),
  ring_time: Seconds.describe('Sum of the legs: alerting, until connected or cleared.'),
  wait_time: Seconds.describe('Sum of the queue visits.'),
  talk_time: Seconds.describe('Sum of the legs: connected, neither held nor parked.'),
  hold_time: Seconds.describe(
    'Sum of the legs: in a bridge while either side heard music because it was held.',
  ),
  park_time: Seconds.describe('Sum of the legs: on a parking slot.'),
} as const;

export const ConversationState = z
  .enum(['open', 'final', 'amended'])
  .describe('`open` while it lasts; `final` when it ended; `amended` after later corrections.');
export const ConversationDisposition = z
  .enum([
    'answered',
    'abandoned_in_queue',
    'missed',
    'voicemail',
    'self_service',
    'failed',
    'blocked',
    'callback_requested',
  ])
  .describe(
    'Result of the whole conversation. `missed`: no person answered the ring; `self_service`: only the exchange itself answered (a feature code, the echo test); `failed`: no device could be rung.',
  );
export const LegDisposition = z.enum([
  'answered',
  'no_answer',
  'busy',
  'rejected',
  'cancelled_by_caller',
  'answered_elsewhere',
  'failed',
  'congestion',
  'unreachable',
  'blocked',
  'diverted',
]);
export type LegDisposition = z.infer<typeof LegDisposition>;
/** A participant: one of our extensions, the outside party of a trunk, or only a number. */
export const Participant = z
  .object({
    extension: z.string().nullable().describe('Null for a party that is not one of our extensions.'),
    number: z.string().describe('As received; empty where none was given.'),
    number_e164: z.string().nullable().describe('`+4930…`; null for an internal or unreadable number.'),
    name: z
      .string()
      .describe("The directory's name, else the customer's in what is read, else what the engine showed."),
    customer_id: z
      .int()
      .optional()
      .describe(
        'Its customer in the phonebook as it is now: a personal one of the reader, else the newest shared one with its number. Absent where there is none, and in events.',
      ),
    trunk: z.string().nullable().describe('The trunk it came or went over.'),
  })
  .meta({ id: 'Participant' });
/** A period of a leg; a leg's periods follow each other without a gap from its start to its end. */
export const Segment = z
  .object({
    state: z
      .enum(['initiated', 'alerting', 'queued', 'connected', 'held', 'parked', 'service'])
      .describe(
        '`initiated`: dialling, before anything rings; `service`: the exchange itself is the other side (voicemail, echo test, menu, conference, announcement).',
      ),
    started_at: Moment,
    ended_at: Moment,
    duration: Seconds,
    with: z.array(z.string()).describe('Legs on the other side, while `connected` or `held`.'),
    held_by: z
      .enum(['this_leg', 'other_side', 'both'])
      .nullable()
      .describe('Side that pressed hold, while `held`: `this_leg` put the other side on hold.'),
    queue: z.string().nullable(),
    service: z.string().nullable().describe('e.g. `voicemail`, `echo`, `menu`, `conference`.'),
  })
  .meta({ id: 'Segment' });
/** `class`: the class of the route is not permitted to the extension; others: rules of a call limit. */
export const RefusalReason = z.enum(['class', 'hours', 'country', 'calls', 'budget']);
/**
 * Result of waking an app: it registered; the push was sent, and the call was answered or given up first; it did not register
 * in time; no push service took the push; the service gave no answer, so that no push was sent.
 */
export const WakeOutcome = z.enum(['registered', 'sent', 'late', 'refused', 'away']);
export const ConversationLeg = z
  .object({
    leg_id: z.string(),
    role: z
      .enum(['caller', 'called', 'offered', 'consulted', 'transfer_target', 'retriever'])
      .describe(
        'How the leg joined: it started the conversation; was called; was offered the call by a queue; was consulted in an attended transfer; was the target of a transfer or forward; picked up or retrieved the call.',
      ),
    participant: Participant,
    endpoint: z.string().nullable(),
    device: z.enum(['sip', 'webrtc', 'mobile']).nullable(),
    dialled: z.string().describe('What it dialled, or what was dialled to reach it.'),
    started_at: Moment,
    answered_at: Moment.nullable(),
    ended_at: Moment,
    duration: Seconds,
    ring_time: Seconds,
    wait_time: Seconds,
    talk_time: Seconds,
    hold_time: Seconds,
    park_time: Seconds,
    disposition: LegDisposition,
    cause: z.int().nullable().describe('Of Q.850; null where the engine gave none.'),
    ended_by: z
      .enum(['this_leg', 'other_side', 'exchange', 'engine_lost'])
      .nullable()
      .describe('Side that hung up; null while it lasts.'),
    refused: z
      .object({
        at: Moment,
        reason: RefusalReason,
        call_limit: z.string().nullable().describe('Null for `class`.'),
        extension: z.string().describe('Extension that the call counts for.'),
      })
      .optional()
      .describe('Why a call to a number outside was not placed; absent where none was refused.'),
    pushes: z
      .array(
        z.object({
          extension: z.string().describe('Whose app was to be woken.'),
          at: Moment.describe('When the outcome was known.'),
          outcome: WakeOutcome,
          after_ms: z.int().min(0).describe('Milliseconds since the call reached the extension.'),
        }),
      )
      .optional()
      .describe(
        'Of the leg that called: apps that were to be woken by a push; absent where there were none.',
      ),
    segments: z.array(Segment),
  })
  .meta({ id: 'ConversationLeg' });
export const Transfer = z
  .object({
    kind: z.enum(['blind', 'attended', 'forward', 'pickup', 'park', 'conference']),
    at: Moment,
    by: z.string().nullable().describe('Leg that made the transfer.'),
    forwarded_by: z
      .string()
      .optional()
      .describe(
        'Of a forward without a leg in `by`: the extension whose calls go to another number before its devices ring. Absent otherwise.',
      ),
    moved: z.string().nullable().describe('Leg that was transferred, parked or picked up.'),
    to: z.string().describe('Target number or slot.'),
    to_leg: z.string().nullable().describe('The leg it reached.'),
    outcome: z
      .enum(['completed', 'no_answer', 'abandoned', 'failed', 'pending'])
      .describe('`abandoned`: the transferer went back, or the transferred party hung up first.'),
  })
  .meta({ id: 'Transfer' });
export const QueueVisit = z
  .object({
    queue: z.string(),
    queue_title: z
      .string()
      .nullable()
      .describe('Title that the queue has now. Null where the queue is gone.'),
    leg_id: z.string().describe("The caller's leg."),
    joined_at: Moment,
    left_at: Moment,
    wait_time: Seconds,
    outcome: z
      .enum([
        'waiting',
        'answered',
        'abandoned',
        'timeout',
        'exit_key',
        'empty_join',
        'empty_leave',
        'full',
        'callback',
        'transferred_out',
      ])
      .describe('`waiting` only while the conversation is open.'),
    agent: z.string().nullable().describe('Extension that answered.'),
    agent_leg: z.string().nullable(),
    offers: z.array(
      z.object({
        extension: z.string().nullable(),
        leg_id: z.string(),
        started_at: Moment,
        ring_time: Seconds,
        disposition: LegDisposition,
      }),
    ),
    wrap_up_time: Seconds.describe("The agent's wrap-up that belongs to this visit; 0 until it is over."),
  })
  .meta({ id: 'QueueVisit' });
export const ConversationRecording = z
  .object({
    id: z.string(),
    leg_id: z.string().nullable(),
    started_at: Moment,
    ended_at: Moment.nullable(),
    duration: Seconds,
    paused: z
      .array(z.object({ from: Moment, to: Moment.nullable() }))
      .describe('Periods in which nothing was recorded.'),
    by: z.enum(['extension', 'queue', 'ring_group', 'on_demand']),
    state: z.enum(['running', 'stored', 'erased', 'expired', 'missing']),
    bytes: z.int().nullable(),
  })
  .meta({ id: 'ConversationRecording' });
export const ConversationNote = z
  .object({
    id: z.int(),
    at: Moment,
    by: z.string().describe('Extension, or `key:<name>` of an API key.'),
    text: z.string(),
  })
  .meta({ id: 'ConversationNote' });
/** Null for a figure that was not measured. */
export const QUALITY_FIGURES = {
  codec: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9./_-]{0,31}$/, 'must be the name of a codec')
    .describe('e.g. `opus`.'),
  mos: z.number().min(1).max(5).describe('Estimated mean opinion score of the whole call, 1 to 5.'),
  worst_mos: z.number().min(1).max(5).nullable().describe('Score of its worst few seconds.'),
  loss: z.number().min(0).max(1).describe('Share of packets to the phone that were lost.'),
  jitter_ms: z.number().min(0).max(60_000).nullable().describe('Mean of the call.'),
  round_trip_ms: z.number().min(0).max(60_000).nullable().describe('Mean of the call.'),
  packets_received: z.int().min(0).max(1_000_000_000),
  packets_lost: z.int().min(0).max(1_000_000_000),
  duration_seconds: z.int().min(0).max(604_800).describe('How long it was measured.'),
} as const;
/** Audio quality as measured by the phone of one participant, for what it received. */
export const ConversationQuality = z
  .object({
    at: Moment.describe('When it was reported last.'),
    extension: z.string().describe('Whose phone measured.'),
    call_id: z.string(),
    leg_id: z.string().nullable(),
    device: z.string().describe('Browser and system as the phone names them; empty where it does not.'),
    ...QUALITY_FIGURES,
  })
  .meta({ id: 'ConversationQuality' });
export const ConversationOutcome = z
  .object({ code: z.string(), text: z.string(), at: Moment, by: z.string() })
  .meta({ id: 'ConversationOutcome' });

/** One row of a list of conversations, and `conversation` of the `conversation.*` events. */
export const ConversationSummary = z
  .object({
    id: z.string().describe('Id of its first call; what `call.*` events call `call_id`.'),
    merged_from: z.array(z.string()).describe('Ids of the other calls it consists of; each leads here.'),
    state: ConversationState,
    revision: z.int().describe('0 while open, 1 when final, one more with each amendment.'),
    change: z
      .int()
      .describe('Its newest position in the feed of changes; grows with every change of the record.'),
    built_by: z.int().describe('Version of the rules it was built by.'),
    observed: z
      .enum(['call_records', 'journal'])
      .describe(
        '`journal`: call records of the engine are missing and parts come from the journal; the side that hung up may be unknown. Becomes `call_records` if the records arrive later.',
      ),
    direction: CallDirection,
    disposition: ConversationDisposition,
    cause: z.int().nullable(),
    ended_by: z.enum(['caller', 'called', 'exchange', 'engine_lost']).nullable(),
    started_at: Moment,
    answered_at: Moment.nullable(),
    ended_at: Moment.nullable(),
    ...Times,
    talk_seconds: Seconds.describe(
      'Time in which at least two parties talked, neither held nor parked, counted once; `talk_time` counts it for each of them.',
    ),
    wrap_up_time: Seconds,
    billable: Seconds.describe(
      'First talk to the last moment of the external leg in a bridge; 0 without one.',
    ),
    dialled: z.string().describe('What the caller dialled, as received.'),
    dialled_e164: z.string().nullable(),
    caller: Participant.nullable(),
    parties: z.array(Participant).describe('Each once, the calling one first.'),
    answered_by: Participant.nullable().describe(
      'First party that talked with the caller; for a queue, the agent. Null without one.',
    ),
    customer: Participant.nullable().describe(
      'The outside party, calling or called. Null for an internal call.',
    ),
    customer_disposition: LegDisposition.nullable().describe(
      'How the customer’s leg of an outgoing call ended, as `customer_disposition` of `call.ended`; of several legs the one that got furthest. Null for other directions, while undecided, and where the engine was lost before.',
    ),
    extensions: z.array(z.string()).describe('All our extensions that took part or were called, sorted.'),
    queues: z.array(z.string()).describe('Every queue it waited in, in order of the first visit.'),
    queue_titles: z
      .array(z.string().nullable())
      .describe(
        'Titles of `queues`, in the same order, as they are when it is read; of an event, when it was published. Null where the queue is gone.',
      ),
    agents: z.array(z.string()).describe('Extensions that answered it from a queue.'),
    has_recording: z.boolean(),
    notes: z.int().describe('How many.'),
    outcome: ConversationOutcome.nullable().describe('Result set by people.'),
    erased: z.boolean().describe('Personal data in it was erased on request.'),
  })
  .meta({ id: 'ConversationSummary' });
export type ConversationSummary = z.infer<typeof ConversationSummary>;
const filterText = (about: string) =>
  z
    .string()
    .min(1)
    .max(64)
    .regex(/^\P{Cc}*$/u, 'must not contain control characters')
    .describe(about)
    .optional();
/** Filters of a list of conversations, also for the body of an export. */
export const CONVERSATION_FILTERS = {
  person: z
    .string()
    .regex(/^\d{1,20}$/, 'must be an extension')
    .describe('Extension that took part or was called.')
    .optional(),
  number: filterText('A number in it, as received or in any spelling of the same number.'),
  queue: z
    .string()
    .regex(/^[a-z0-9_-]{1,64}$/, 'must be a queue')
    .optional(),
  agent: z
    .string()
    .regex(/^\d{1,20}$/, 'must be an extension')
    .describe('Extension that answered it from a queue.')
    .optional(),
  direction: CallDirection.optional(),
  disposition: ConversationDisposition.optional(),
  from: z.iso.datetime({ offset: true }).describe('Began at this moment or later.').optional(),
  to: z.iso.datetime({ offset: true }).describe('Began before this moment.').optional(),
  q: filterText('Part of a name or number in it; no wildcards.'),
};
export const ConversationFilter = z.strictObject(CONVERSATION_FILTERS).meta({ id: 'ConversationFilter' });
export type ConversationFilter = z.infer<typeof ConversationFilter>;
/** Entries in order, derived from the rest of the record. */
export const TimelineEntry = z
  .object({
    at: Moment,
    what: z
      .string()
      .describe(
        'e.g. `leg_started`, `answered`, `held`, `retrieved`, `queue_joined`, `transferred`, `leg_ended`.',
      ),
    leg_id: z.string().nullable(),
    text: z.string().describe('For people, in English.'),
  })
  .meta({ id: 'TimelineEntry' });
export const Conversation = ConversationSummary.omit({ notes: true })
  .extend({
    legs: z.array(ConversationLeg),
    transfers: z.array(Transfer),
    queue_visits: z.array(QueueVisit),
    recordings: z.array(ConversationRecording),
    notes: z.array(ConversationNote),
    quality: z.array(ConversationQuality).describe('What softphones reported, oldest first.'),
    timeline: z.array(TimelineEntry),
  })
  .meta({ id: 'Conversation' });
export type Conversation = z.infer<typeof Conversation>;

/** `data` of `conversation.opened`, `conversation.updated` and `conversation.finalised`. */
export const ConversationEvent = z.object({
  extensions: z
    .array(z.string())
    .describe('All our extensions that took part or were called, sorted; they may receive the event.'),
  conversation: ConversationSummary,
});
