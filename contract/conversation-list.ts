/** Queries for conversations, and their notes, outcomes and quality reports. */
import { z } from 'zod';
import { pageLimit, wholeNumber } from './paging.ts';
import {
  CONVERSATION_FILTERS,
  Conversation,
  ConversationNote,
  ConversationOutcome,
  ConversationQuality,
  ConversationState,
  ConversationSummary,
  QUALITY_FIGURES,
} from './conversations.ts';

const DIGITS = /^(0|[1-9]\d{0,15})$/;
const Code = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be a code: lower-case letters, digits, "_" and "-", 64 at most');
const Id = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,32}:[A-Za-z0-9_.@-]{1,160}$/, 'must be the id of a conversation')
  .describe('Id of the conversation, or of any call of it.');
/** Text typed by persons: line breaks are allowed, other control characters are not. */
const text = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .regex(/^[\P{Cc}\n\t]*$/u, 'must not contain control characters');

/** Query of `GET /api/v1/conversations`; filters combine. `limit` is 50 by default. */
export const ConversationsQuery = z.strictObject({
  ...CONVERSATION_FILTERS,
  state: ConversationState.optional(),
  outcome: Code.describe('Code set as its result.').optional(),
  has_recording: z
    .enum(['true', 'false'])
    .describe('Whether one of its recordings can be played.')
    .optional(),
  own: z
    .literal('true')
    .describe('Only conversations the caller took part in and has not hidden.')
    .optional(),
  limit: pageLimit(200, '50', DIGITS),
  cursor: z.string().max(256).describe('`next_cursor` of the page before, with the same filters.').optional(),
});
export type ConversationsQuery = z.output<typeof ConversationsQuery>;
export const ConversationsReply = z.object({
  success: z.literal(true),
  conversations: z.array(ConversationSummary).describe('Newest first.'),
  next_cursor: z
    .string()
    .nullable()
    .describe(
      'Null at the end. A page can be shorter than `limit`, or empty, and still have one: with few matches each request searches a limited number and the next one continues.',
    ),
  total: z
    .object({
      count: z.int(),
      exact: z.boolean().describe('False where the total is an estimate because counting stopped.'),
    })
    .nullable()
    .describe('Number of matches; only on the first page.'),
});
export const ConversationId = z.strictObject({ id: Id });
export const ConversationReply = z.object({ success: z.literal(true), conversation: Conversation });

/** Query of `GET /api/v1/conversations/changes`. */
export const ConversationChangesQuery = z.strictObject({
  cursor: text(3, 96)
    .describe('`cursor` of the previous reply; all conversations without it. Not with `since` or `epoch`.')
    .optional(),
  since: wholeNumber(0, Number.MAX_SAFE_INTEGER, DIGITS)
    .optional()
    .meta({ deprecated: true, description: 'Use `cursor`. `since` of the reply before.' }),
  epoch: text(1, 64).optional().meta({
    deprecated: true,
    description:
      'Use `cursor`. `epoch` of the reply that `since` is from; another one is refused with `position_unknown`.',
  }),
  limit: pageLimit(500, '200', DIGITS),
  detail: z.enum(['true', 'false']).describe('`true`: whole conversations.').optional(),
});
export type ConversationChangesQuery = z.output<typeof ConversationChangesQuery>;
/** A conversation in its newest state, or an id that was merged into another one. */
export const ConversationChange = z
  .object({
    change: z.int(),
    id: z.string(),
    merged_into: z.string().nullable().describe('`id` was merged into this conversation; forget it.'),
    conversation: z
      .union([Conversation, ConversationSummary])
      .nullable()
      .describe('Null for one that was merged.'),
  })
  .meta({ id: 'ConversationChange' });
export type ConversationChange = z.infer<typeof ConversationChange>;
export const ConversationChangesReply = z.object({
  success: z.literal(true),
  changes: z
    .array(ConversationChange)
    .describe('Oldest change first; each conversation once, with its newest.'),
  cursor: z.string().describe('For the next request; store it together with the data. Never null.'),
  since: z.int().meta({ deprecated: true, description: 'Use `cursor`, which contains it.' }),
  epoch: z
    .string()
    .meta({ deprecated: true, description: 'Use `cursor`, which contains it. Changes after a restore.' }),
  more: z.boolean().describe('Whether to request again at once; also possible in an empty reply.'),
});

export const NewNote = z.strictObject({
  text: text(1, 2_000).refine((note) => note.trim() !== '', 'must have a text'),
});
export const NoteReply = z.object({ success: z.literal(true), note: ConversationNote });
export const NotePath = ConversationId.extend({
  note: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a note'),
});
/** `code` is a word of the site, e.g. `sold`. */
export const NewOutcome = z.strictObject({ code: Code, text: text(0, 2_000).default('') });
export const OutcomeReply = z.object({ success: z.literal(true), outcome: ConversationOutcome });

/** Body of `POST /api/v1/calls/{id}/quality`: replaces an earlier report for the same call, extension and leg. */
export const NewQuality = z.strictObject({
  leg_id: Id.describe('The caller’s own leg, where the phone knows it.').optional(),
  ...QUALITY_FIGURES,
  worst_mos: QUALITY_FIGURES.worst_mos.default(null),
  jitter_ms: QUALITY_FIGURES.jitter_ms.default(null),
  round_trip_ms: QUALITY_FIGURES.round_trip_ms.default(null),
  device: text(0, 120).default('').describe('Browser and system, e.g. `Firefox 145, Windows`.'),
});
export type NewQuality = z.output<typeof NewQuality>;
export const QualityReply = z.object({ success: z.literal(true), quality: ConversationQuality });
