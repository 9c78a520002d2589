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
/** The agent of domain.md section 2: three stored axes and the state derived from them. */
export const Agent = z.object({
  extension: z.string(),
  name: z.string(),
  state: z.enum([
    'logged_out',
    'unreachable',
    'talking',
    'held',
    'offered',
    'busy_other',
    'not_ready',
    'available',
  ]),
  since: z.string(),
  session: z.enum(['logged_in', 'logged_out']),
  readiness: z.object({ ready: z.boolean(), reason: z.string().nullable(), since: z.string().nullable() }),
  pending: z.enum(['ready', 'not_ready', 'logged_out']).nullable(),
  engagement: z.enum(['idle', 'offered', 'talking', 'held', 'busy_other', 'unreachable']),
  stale: z.boolean(),
  queues: z.array(AgentQueue),
});
export type Agent = z.infer<typeof Agent>;

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
export const StatusKey = z.enum(['READY', 'BUSY', 'RINGING', 'PAUSED', 'OFFLINE']);
/** 200 of agent.php (wire.md section 5). */
export const AgentReply = z.object({
  success: z.literal(true),
  message: z.string(),
  agent_extension: z.string(),
  in_queue: z.boolean(),
  is_paused: z.boolean(),
  pause_reason: z.string(),
  pause_start: z.string().nullable(),
  reasons: z.array(z.string()),
  status_key: StatusKey,
  agent: Agent,
});
