import { z } from 'zod';

/** One queue of an agent, as the engine last confirmed it. */
export const AgentQueue = z.object({
  queue: z.string(),
  member: z.boolean(),
  membership: z.enum(['static', 'dynamic', 'realtime']).nullable(),
  paused: z.boolean(),
  pause_reason: z.string().nullable(),
  paused_since: z.string().nullable(),
  in_call: z.boolean(),
  last_call_at: z.string().nullable(),
});
/** The one word of a tile, in order of precedence (domain.md section 2). */
export const AgentState = z.enum([
  'logged_out',
  'unreachable',
  'talking',
  'held',
  'offered',
  'wrap_up',
  'busy_other',
  'not_responding',
  'not_ready',
  'available',
]);
export type AgentState = z.infer<typeof AgentState>;
/** What the agent does, a fact of the engine; wrap-up is ours. */
export const Engagement = z.enum([
  'idle',
  'offered',
  'talking',
  'held',
  'wrap_up',
  'busy_other',
  'unreachable',
]);
export type Engagement = z.infer<typeof Engagement>;
/** What waits for the next release point: the end of a call, or of the wrap-up after it. */
export const PendingState = z.enum(['ready', 'not_ready', 'logged_out']);
export type PendingState = z.infer<typeof PendingState>;
/** Who made an agent ready or not; `system` is for reasons that are nobody's choice. */
export const ReadinessSource = z.enum(['agent', 'supervisor', 'system', 'schedule']);
export type ReadinessSource = z.infer<typeof ReadinessSource>;
/**
 * The agent without its queues, as every agent event carries it: the state right after that event. A new name, or another
 * longest time of a reason, shows with the agent's next event.
 */
export const AgentSummary = z.object({
  extension: z.string(),
  name: z.string(),
  state: AgentState,
  since: z.string(),
  session: z.enum(['logged_in', 'logged_out']),
  readiness: z.object({
    ready: z.boolean(),
    reason: z.string().nullable(),
    since: z.string().nullable(),
    source: ReadinessSource.nullable(),
    until: z
      .string()
      .nullable()
      .describe('When the longest time of the reason is over; a display marks who is past it.'),
  }),
  pending: PendingState.nullable(),
  pending_reason: z.string().nullable(),
  engagement: Engagement,
  /** The queue, call and offer of the engagement, where it has one. */
  queue: z.string().nullable(),
  call_id: z.string().nullable(),
  offer_id: z.string().nullable(),
  /** When the offer or the wrap-up runs out. */
  deadline: z.string().nullable(),
  /** Of a call that is no queue's. */
  direction: z.enum(['in', 'out']).nullable(),
  /** True after too many unanswered offers, until the agent is ready again. */
  not_responding: z.boolean(),
});
export type AgentSummary = z.infer<typeof AgentSummary>;
/** The agent of domain.md section 2: three stored axes and the state derived from them. */
export const Agent = AgentSummary.extend({ stale: z.boolean(), queues: z.array(AgentQueue) });
export type Agent = z.infer<typeof Agent>;
export type AgentQueue = z.infer<typeof AgentQueue>;

/** The actions of agent.php; the service answers `unknown_action` for any other word. */
export const AGENT_ACTIONS = [
  'pause',
  'unpause',
  'login',
  'logout',
  'toggle_queue',
  'status',
  'get_status',
  'get_queues',
] as const;
export type AgentAction = (typeof AGENT_ACTIONS)[number];
/**
 * Body of agent.php, JSON or form. `queue` is a name or a number; `reason` an id or a name of the catalogue.
 * A missing or null parameter is not given; an empty `reason` is not given either.
 */
export const AgentRequest = z.object({
  action: z.string().max(64),
  queue: z.string().max(64).nullish(),
  reason: z.string().max(128).nullish(),
  /** 1 or 0, as a number or as a form's text. */
  login: z.union([z.literal(1), z.literal(0), z.literal('1'), z.literal('0')]).nullish(),
});
export type AgentRequest = z.infer<typeof AgentRequest>;
/**
 * OFFLINE: in no queue, or not paused and no device can be reached. BUSY: talking, on hold or in another call.
 * RINGING: a device rings. PAUSED: paused in at least one queue. READY: none of
 * these, also in wrap-up.
 */
export const StatusKey = z.enum(['READY', 'BUSY', 'RINGING', 'PAUSED', 'OFFLINE']);
/**
 * 200 of agent.php (wire.md section 5). `reasons` are the ids of the catalogue in order: the words `pause_reason` shows, `reason`
 * takes and the engine keeps; `pause_reasons` adds their names for people. `is_paused` is true when paused in any queue.
 */
export const AgentReply = z.object({
  success: z.literal(true),
  message: z.string(),
  agent_extension: z.string(),
  in_queue: z.boolean(),
  is_paused: z.boolean(),
  pause_reason: z.string(),
  pause_start: z.string().nullable(),
  reasons: z.array(z.string()),
  pause_reasons: z.array(z.object({ id: z.string(), name: z.string() })),
  status_key: StatusKey,
  agent: Agent,
});
export type AgentReply = z.infer<typeof AgentReply>;

/** Path of everything about one agent. */
export const AgentPath = z.strictObject({
  extension: z.string().regex(/^[0-9]{1,20}$/, 'not an extension'),
});
/** Query of `GET /api/v1/agents`. */
export const AgentsQuery = z.strictObject({
  extension: AgentPath.shape.extension
    .optional()
    .describe('Only this agent; an empty list where there is none.'),
});
const known = { success: z.literal(true), as_of: z.string(), stale: z.boolean() };
/** 200 of `GET /api/v1/agents`: the agents the caller may see, in order of extension. */
export const AgentsReply = z.object({ ...known, agents: z.array(Agent) });
export const OneAgentReply = z.object({ ...known, agent: Agent });
/** What a topic `agents` leads on from. */
export const AgentsSnapshot = AgentsReply.omit({ success: true });
export type AgentsSnapshot = z.infer<typeof AgentsSnapshot>;
/** 200 of every change of an agent: its state once the engine has confirmed. `message` is one sentence for people. */
export const AgentChangeReply = z.object({ success: z.literal(true), message: z.string(), agent: Agent });

const Queue = z
  .string()
  .max(64)
  .optional()
  .describe('Name or number of one queue; without it all of the agent.');
export const AgentQueueBody = z.strictObject({ queue: Queue });
export const AgentPauseBody = z.strictObject({
  queue: Queue,
  reason: z
    .string()
    .max(128)
    .optional()
    .describe('Id or name of the catalogue; the first where none is given.'),
});
/** One of the two: the wrap-up is over now, or its deadline is so much later. */
export const AgentWrapUpBody = z.union([
  z.strictObject({ finish: z.literal(true) }),
  z.strictObject({ extend_seconds: z.int().min(1).max(3_600) }),
]);

/** The catalogue of pause reasons, in order; `*22<n>` takes the n-th. */
export const PauseReason = z
  .object({
    id: z.string().describe('What `reason` takes and `pause_reason` shows.'),
    name: z.string(),
    paid: z.boolean(),
    longest_seconds: z.int().nullable().describe('After that `readiness.until` is past; null for no limit.'),
    supervisor_only: z.boolean().describe('An agent cannot give it to itself.'),
  })
  .meta({ id: 'PauseReason' });
export const PauseReasonsReply = z.object({ success: z.literal(true), pause_reasons: z.array(PauseReason) });
