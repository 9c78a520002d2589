import { z } from 'zod';
import { KeyName } from './keys.ts';
import { QueueName } from './queues.ts';

/** Limit of boards per site, and per person. */
export const MAX_BOARDS = 500;
export const MAX_BOARDS_OF_A_PERSON = 50;
/** Queues on one board. */
export const MAX_QUEUES_OF_A_BOARD = 500;

/** Figures a tile can show for its queue: counts, seconds, or rates from 0 to 1, as in `queue.stats`. */
export const BOARD_METRICS = [
  'waiting',
  'longest_wait_seconds',
  'service_level',
  'abandon_rate',
  'answer_rate',
  'offered',
  'answered',
  'abandoned',
  'average_speed_of_answer_seconds',
  'average_handling_seconds',
  'expected_wait_seconds',
  'occupancy',
  'agents_available',
  'agents_logged_in',
] as const;
export const BoardMetric = z.enum(BOARD_METRICS);
export type BoardMetric = z.infer<typeof BoardMetric>;

const unique = (list: readonly string[]): boolean => new Set(list).size === list.length;
const Metrics = z
  .array(BoardMetric)
  .min(1)
  .max(BOARD_METRICS.length)
  .refine(unique, 'must name each figure once');
const Level = z.number().min(0).max(1_000_000).nullable();
/** Level at which a figure is coloured. The display decides how far the figure must return to lose the colour. */
export const BoardThreshold = z
  .strictObject({
    metric: BoardMetric,
    direction: z
      .enum(['above', 'below'])
      .describe('Side of the level that is bad; the level itself counts as bad.'),
    warn: Level,
    alert: Level,
  })
  .refine(
    ({ warn, alert, direction }) =>
      warn === null || alert === null || (direction === 'above' ? warn <= alert : warn >= alert),
    { message: 'alert is before warn', path: ['alert'] },
  )
  .meta({ id: 'BoardThreshold' });
export type BoardThreshold = z.infer<typeof BoardThreshold>;
export const BoardLayout = z
  .strictObject({
    figures: Metrics.describe('For tiles without their own; the first figure is the largest.'),
    tiles: z
      .array(z.strictObject({ queue: QueueName, figures: Metrics.nullable() }))
      .max(MAX_QUEUES_OF_A_BOARD)
      .refine((tiles) => unique(tiles.map((tile) => tile.queue)), 'must have one tile for each queue')
      .describe('In order; queues of the board without a tile follow by their titles.'),
    parts: z
      .array(z.enum(['queues', 'callers', 'agents', 'chart']))
      .min(1)
      .max(4)
      .refine(unique, 'must name each part once')
      .describe('What is shown, in order.'),
    thresholds: z
      .array(BoardThreshold)
      .max(BOARD_METRICS.length)
      .refine((rows) => unique(rows.map((row) => row.metric)), 'must have one threshold for each figure'),
    columns: z.int().min(1).max(12).nullable().describe('Tiles side by side; null for as many as fit.'),
    density: z.enum(['comfortable', 'compact']),
    caller_numbers: z
      .enum(['full', 'last_digits'])
      .describe('How much of a caller’s number a display receives; signed-in people see the whole number.'),
  })
  .meta({ id: 'BoardLayout' });
export type BoardLayout = z.infer<typeof BoardLayout>;

const Name = z
  .string()
  .trim()
  .min(1)
  .max(80)
  .regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not contain control characters');
const Queues = z
  .array(QueueName)
  .min(1)
  .max(MAX_QUEUES_OF_A_BOARD)
  .refine(unique, 'must name each queue once')
  .nullable()
  .describe('Null: every queue the viewer may see.');
/** Body of `POST /api/v1/boards` and `PUT /api/v1/boards/{id}`. */
export const NewBoard = z
  .strictObject({
    name: Name,
    queues: Queues,
    layout: BoardLayout,
    shared: z.boolean().default(false).describe('Visible to every agent; only supervisors can share.'),
  })
  .meta({ id: 'NewBoard' });
export type NewBoard = z.output<typeof NewBoard>;
/** A stored wallboard. */
export const Board = z
  .object({
    id: z.int(),
    name: z.string(),
    queues: z.array(z.string()).nullable(),
    layout: BoardLayout,
    owner: z.string().describe('Extension of its creator.'),
    shared: z.boolean(),
    updated_at: z.string(),
    version: z.int().describe('Grows with every change; it is the `ETag` too.'),
  })
  .meta({ id: 'Board' });
export type Board = z.infer<typeof Board>;
/** A board in a list. */
export const BoardSummary = Board.omit({ queues: true, layout: true }).meta({ id: 'BoardSummary' });
export type BoardSummary = z.infer<typeof BoardSummary>;
const Id = z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a board');
export const BoardPath = z.strictObject({ id: Id });
export const BoardReply = z.object({ success: z.literal(true), board: Board });
export const BoardsReply = z.object({ success: z.literal(true), boards: z.array(BoardSummary) });

/** Body of `POST /api/v1/boards/{id}/display-keys`. */
export const NewDisplayKey = z
  .strictObject({
    name: KeyName.describe('Location of the display; unique among the API keys of the site.'),
    expires_at: z.iso.datetime({ offset: true }).nullable().default(null),
  })
  .meta({ id: 'NewDisplayKey' });
export type NewDisplayKey = z.output<typeof NewDisplayKey>;
/** A key for a display on a wall; it gives access only to its board. */
export const DisplayKey = z
  .object({
    id: z.int(),
    name: z.string(),
    created_at: z.string(),
    created_by: z.string().describe('Extension of its creator.'),
    expires_at: z.string().nullable(),
    last_used_at: z.string().nullable().describe('Accurate to about a minute.'),
  })
  .meta({ id: 'DisplayKey' });
export type DisplayKey = z.infer<typeof DisplayKey>;
export const DisplayKeyPath = z.strictObject({
  id: Id,
  key: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a display key'),
});
export const DisplayKeysReply = z.object({ success: z.literal(true), display_keys: z.array(DisplayKey) });
/** The only reply that contains the key itself. */
export const DisplayKeyCreated = z.object({
  success: z.literal(true),
  display_key: DisplayKey,
  key: z.string(),
});
