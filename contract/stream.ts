/** Frames of the stream and names of its topics (wire.md section 6). */
import { z } from 'zod';
import { wholeNumber } from './paging.ts';
import { Envelope } from './events.ts';
import { Problem } from './errors.ts';

/** Sub-protocol of the WebSocket. */
export const STREAM_PROTOCOL = 'offhook.v1';
/** Largest frame a client may send, in bytes. */
export const MAX_FRAME_BYTES = 65_536;
/** Limit of topics in one frame. */
export const MAX_TOPICS = 256;
/** Bad frames in a row after which the connection is closed. */
export const MAX_BAD_FRAMES = 20;

/**
 * Why the server closes a WebSocket, in addition to RFC 6455 (1002, 1007, 1008, 1009). An unauthenticated upgrade gets HTTP 401
 * instead; 4401 is for a session that expires while the connection is open.
 */
export const CLOSE_CODES = {
  bad_frame: 4400,
  not_authenticated: 4401,
  not_allowed: 4403,
  too_slow: 4408,
  session_ended: 4409,
  protocol_unknown: 4412,
  restarting: 1012,
} as const;

/** Topics by their first word, with the pattern of what follows it. */
const TOPICS = {
  presence: String.raw`(\/\d{1,20})?`,
  calls: String.raw`(\/mine)?`,
  alerts: '',
  parking: '',
  queues: String.raw`(\/[a-z0-9_-]{1,64})?`,
  agents: String.raw`(\/\d{1,20})?`,
  history: String.raw`(\/mine)?`,
  phonebook: String.raw`\/(shared|mine)`,
  trunks: '',
  config: '',
  system: '',
} as const;
export type TopicNoun = keyof typeof TOPICS;
export const TOPIC_NOUNS = Object.keys(TOPICS) as TopicNoun[];
/** `presence`, `presence/<ext>`, `calls`, `calls/mine`, `parking`, `queues`, `queues/<name>`, `agents`, `agents/<ext>`, … */
export const Topic = z
  .string()
  .regex(
    new RegExp(`^(${TOPIC_NOUNS.map((noun) => noun + TOPICS[noun]).join('|')})$`),
    'must be a topic; topics are presence, calls, alerts, parking, queues, agents, history, phonebook/shared, phonebook/mine, trunks, config and system, some with /<extension>, /<queue> or /mine',
  );
export type Topic = z.infer<typeof Topic>;

const Id = z.union([z.string().max(64), z.int()]);
const Check = z.string().regex(/^[1-9]\d{0,15}:[0-9a-f]{8}$/, 'expected <seq>:<check> of an event');
export const ClientFrame = z.discriminatedUnion('op', [
  z.strictObject({
    op: z.literal('subscribe'),
    id: Id,
    topics: z.array(Topic).min(1).max(MAX_TOPICS),
    snapshot: z.boolean().optional(),
    /** Newest seq the client has; later events are sent first. */
    cursor: z.int().min(0).optional(),
    /** Epoch of the cursor, if the client stored it; another epoch is answered with a gap. */
    epoch: z.string().max(64).optional(),
    /** `<seq>:<check>` of the newest event the client has; a journal with another event there answers with a gap. */
    check: Check.optional(),
  }),
  z.strictObject({ op: z.literal('unsubscribe'), id: Id, topics: z.array(Topic).min(1).max(MAX_TOPICS) }),
  z.strictObject({ op: z.literal('ping'), id: Id.optional() }),
  z.strictObject({ op: z.literal('pong'), id: Id.optional() }),
  z.strictObject({
    op: z.literal('command'),
    id: Id,
    action: z.string().max(64),
    data: z.record(z.string(), z.unknown()).optional(),
    /** As the header of the same name. */
    idempotency_key: z.string().max(255).optional(),
  }),
]);
export type ClientFrame = z.infer<typeof ClientFrame>;

export const ServerFrame = z.discriminatedUnion('op', [
  z.object({
    op: z.literal('hello'),
    protocol: z.literal(STREAM_PROTOCOL),
    epoch: z.string(),
    head: z.int(),
    heartbeat_seconds: z.int(),
    level: z.string(),
  }),
  z.object({
    op: z.literal('subscribed'),
    id: Id,
    topics: z.array(z.string()),
    cursor: z.int(),
    /**
     * Differs when the rights to the topics differ, e.g. the queues of an agent: a client whose rights changed before it
     * resumed needs a snapshot.
     */
    access: z.string().optional(),
  }),
  z.object({ op: z.literal('unsubscribed'), id: Id, topics: z.array(z.string()) }),
  z.object({ op: z.literal('snapshot'), topic: z.string(), cursor: z.int(), data: z.unknown() }),
  z.object({ op: z.literal('event'), event: Envelope, prev: z.int() }),
  z.object({ op: z.literal('heartbeat'), scanned: z.int(), time: z.string() }),
  z.object({ op: z.literal('reconnect'), after_ms: z.int() }),
  z.object({ op: z.literal('resumed'), cursor: z.int() }),
  z.object({
    op: z.literal('gap'),
    from: z.int(),
    to: z.int(),
    reason: z.enum(['cursor_outdated', 'epoch', 'cursor_ahead']),
  }),
  z.object({ op: z.literal('ping'), id: Id.optional() }),
  z.object({ op: z.literal('pong'), id: Id.optional() }),
  z.object({ op: z.literal('error'), id: Id.optional(), code: z.string(), detail: z.string() }),
  z.object({
    op: z.literal('result'),
    id: Id,
    ok: z.boolean(),
    data: z.unknown().optional(),
    error: Problem.optional(),
  }),
]);
export type ServerFrame = z.infer<typeof ServerFrame>;

/** Reply of `POST /api/v1/stream/ticket`: one upgrade within 30 s. */
export const Ticket = z.object({ success: z.literal(true), ticket: z.string(), expires_at: z.string() });

const DIGITS = /^(0|[1-9]\d{0,15})$/;
const Topics = z
  .string()
  .max(16_384)
  .transform((text) => text.split(','))
  .pipe(z.array(Topic).min(1).max(MAX_TOPICS))
  .describe('Topics, separated by commas.');
const Cursor = wholeNumber(0, Number.MAX_SAFE_INTEGER, DIGITS);
/** Query of `GET /api/v1/events`. The header `Last-Event-ID` takes precedence over `cursor`. */
export const EventsQuery = z.strictObject({
  topics: Topics,
  cursor: Cursor.optional().describe('Newest seq the client has.'),
  epoch: z.string().max(64).optional().describe('The epoch the cursor belongs to.'),
  check: Check.optional().describe(
    '`<seq>:<check>` of the newest event the client has; a journal with another event there answers with a gap.',
  ),
  snapshot: z.enum(['true', 'false']).optional().describe('`true`: the state first, as `event: snapshot`.'),
});
/** Query of `GET /api/v1/events/poll`. */
export const PollQuery = EventsQuery.extend({
  wait: wholeNumber(0, 60, DIGITS)
    .optional()
    .describe('Longest wait for an event in seconds, from 0 to 60; 25 by default.'),
});
const Gap = z.object({
  from: z.int(),
  to: z.int(),
  reason: z.enum(['cursor_outdated', 'epoch', 'cursor_ahead']),
});
/** 200 of `GET /api/v1/events/poll`: events after the cursor, at most 500 at once. */
export const PollReply = z.object({
  success: z.literal(true),
  epoch: z.string(),
  events: z.array(Envelope),
  cursor: z.int().describe('Cursor for the next request.'),
  access: z
    .string()
    .optional()
    .describe(
      'Differs when the rights to the topics differ: take a snapshot where it is not the previous one.',
    ),
  gap: Gap.nullable().describe('The events in between are no longer kept: take a snapshot.'),
  snapshot: z
    .array(z.object({ topic: z.string(), cursor: z.int(), data: z.unknown() }))
    .optional()
    .describe('The state as of `cursor`, if requested and the cursor could not be resumed.'),
});
