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
/** State shown on a tile, in order of precedence (domain.md section 2). */
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
/** Engagement of the agent, as the engine reports it; the wrap-up is the service's own. */
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
/** State that starts at the next release point: the end of a call, or of its wrap-up. */
export const PendingState = z.enum(['ready', 'not_ready', 'logged_out']);
export type PendingState = z.infer<typeof PendingState>;
/** Source of the readiness; `system` for reasons that no person chose. */
export const ReadinessSource = z.enum(['agent', 'supervisor', 'system', 'schedule']);
export type ReadinessSource = z.infer<typeof ReadinessSource>;
/**
 * The agent without its queues, as every agent event carries it: the state right after that event. A changed name, or a changed
 * limit of a reason, appears with the agent's next event.
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
      .describe('End of the longest time of the reason; a display marks an agent past it.'),
  }),
  pending: PendingState.nullable(),
  pending_reason: z.string().nullable(),
  engagement: Engagement,
  /** The queue, call and offer of the engagement, if any. */
  queue: z.string().nullable(),
  call_id: z.string().nullable(),
  offer_id: z.string().nullable(),
  /** Time at which the offer or the wrap-up ends. */
  deadline: z.string().nullable(),
  /** Direction of a call outside the queues. */
  direction: z.enum(['in', 'out']).nullable(),
  /** True after too many unanswered offers, until the agent is ready again. */
  not_responding: z.boolean(),
});
export type AgentSummary = z.infer<typeof AgentSummary>;
/** The agent of domain.md section 2: three stored axes and the state derived from them. */
export const Agent = AgentSummary.extend({ stale: z.boolean(), queues: z.array(AgentQueue) });
export type Agent = z.infer<typeof Agent>;
export type AgentQueue = z.infer<typeof AgentQueue>;

/** Actions of agent.php; any other word gets `unknown_action`. */
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
/**
 * Body of agent.php, JSON or form. `queue` is a name or a number; `reason` an id or a name of the catalogue. A parameter that
 * is missing or null counts as not given, and so does an empty `reason`.
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
 * 200 of agent.php (wire.md section 5). `reasons` are the ids of the catalogue in order, as `pause_reason` and `reason` use
 * them; `pause_reasons` adds names for people. `is_paused` is true when paused in any queue.
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

/** Path of an agent's operations. */
export const AgentPath = z.strictObject({
  extension: z.string().regex(/^[0-9]{1,20}$/, 'must be an extension'),
});
/** Query of `GET /api/v1/agents`. */
export const AgentsQuery = z.strictObject({
  extension: AgentPath.shape.extension
    .optional()
    .describe('Only this agent; an empty list where there is none.'),
});
const known = { success: z.literal(true), as_of: z.string(), stale: z.boolean() };
/** 200 of `GET /api/v1/agents`: the agents the caller may see, sorted by extension. */
export const AgentsReply = z.object({ ...known, agents: z.array(Agent) });
export const OneAgentReply = z.object({ ...known, agent: Agent });
/** Snapshot of a topic `agents`. */
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
    .describe('Id or name in the catalogue; the first reason by default.'),
});
/** One of the two: end the wrap-up now, or extend its deadline. */
export const AgentWrapUpBody = z.union([
  z.strictObject({ finish: z.literal(true) }),
  z.strictObject({ extend_seconds: z.int().min(1).max(3_600) }),
]);

/** The catalogue of pause reasons, in order; `*22<n>` selects the n-th. */
export const PauseReason = z
  .object({
    id: z.string().describe('Value of `reason` and `pause_reason`.'),
    name: z.string(),
    paid: z.boolean(),
    longest_seconds: z.int().nullable().describe('Sets `readiness.until`; null for no limit.'),
    supervisor_only: z.boolean().describe('Agents cannot set it themselves.'),
  })
  .meta({ id: 'PauseReason' });
export const PauseReasonsReply = z.object({ success: z.literal(true), pause_reasons: z.array(PauseReason) });
