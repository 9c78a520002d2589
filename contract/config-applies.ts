import { z } from 'zod';
import { CONFIG_KINDS } from './config-objects.ts';
import type { ConfigKind } from './config-objects.ts';
import { PAGE_FIELDS } from './paging.ts';

const Kind = z.enum(Object.keys(CONFIG_KINDS) as [ConfigKind, ...ConfigKind[]]);
/** Path segment of a kind of object. */
const Path = z.enum(Object.values(CONFIG_KINDS).map(({ path }) => path) as [string, ...string[]]);
const NUMBER = /^[1-9]\d{0,14}$/;
const Comment = z
  .string()
  .max(200)
  .regex(/^[^\p{C}]*$/u, 'must be one line of at most 200 characters')
  .describe('For the list of versions.');

const DraftTag = z.string().min(1).max(200);

export const APPLY_STATES = [
  'validating',
  'planning',
  'proving',
  'writing',
  'reloading',
  'verifying',
  'committing',
  'rolling_back',
  'applied',
  'rejected',
  'cancelled',
  'rolled_back',
  'failed',
] as const;
export const ApplyState = z
  .enum(APPLY_STATES)
  .describe(
    '`applied`: the engine holds the new configuration; `rejected`, `cancelled`: nothing was changed; `rolled_back`: files were written, then files and engine were restored; `failed`: engine and files differ, `detail` describes the remedy. All other states are under way.',
  );
export type ApplyState = z.infer<typeof ApplyState>;

export const ConfigProblem = z
  .object({
    object: z.string().nullable().describe('e.g. `queue support`, `extension 1004`; null where unknown.'),
    file: z.string().nullable().describe('File of the engine; null where unknown.'),
    words: z.string().describe("The engine's own message where it gave one, else the finding."),
  })
  .meta({ id: 'ConfigProblem' });
export type ConfigProblem = z.infer<typeof ConfigProblem>;
export const ObjectSummary = z.object({
  kind: Kind,
  key: z.string(),
  change: z.enum(['added', 'changed', 'removed']),
});
export type ObjectSummary = z.infer<typeof ObjectSummary>;

/** Values of `restart` of an apply, for files that take effect only at a restart of the engine. */
export const RestartWish = z
  .enum(['no', 'when_convenient'])
  .default('no')
  .describe(
    'For files that take effect only at a restart of the engine: `when_convenient` restarts it once no call is left.',
  );
export const ConfigApply = z
  .object({
    id: z.int(),
    state: ApplyState,
    author: z.string().describe('Extension, or the name of an API key.'),
    comment: z.string().nullable(),
    base_version: z.int().describe('Version applied before.'),
    version: z
      .int()
      .nullable()
      .describe('Version it created; null where it created none, for example without changed objects.'),
    restores: z.int().nullable().describe('Earlier version it restores.'),
    objects: z.object({
      count: z.int(),
      list: z.array(ObjectSummary).describe('The first 200 of them.'),
    }),
    files: z
      .array(z.string())
      .describe('Files that differ from the disk; hand-written ones with their folder.'),
    reloaded: z.array(z.string()).describe('Files the engine reloaded; empty: none.'),
    steps: z
      .array(z.object({ step: z.string(), ms: z.int() }))
      .describe('Duration of each state, in order, without the current one.'),
    engine_touched_ms: z.int().describe('Duration of the reload in the live engine.'),
    problems: z.array(ConfigProblem).describe('The first 50 of them.'),
    detail: z.string().nullable().describe('Result and remedy, for people.'),
    restart: z.object({
      wish: z.enum(['no', 'when_convenient']),
      files: z.array(z.string()).describe('Written files that take effect at the next start of the engine.'),
      asked: z.boolean().describe('True where the engine restarts once no call is left.'),
    }),
    started_at: z.string(),
    finished_at: z.string().nullable(),
  })
  .meta({ id: 'ConfigApply' });
export type ConfigApply = z.infer<typeof ConfigApply>;

/** `data` of the snapshot of topic `config`. */
export const ConfigSnapshot = z.object({
  version: z.int().describe('What is applied.'),
  apply: ConfigApply.nullable().describe('The one under way.'),
});
/** Body of `POST /api/v1/config/applies`. */
export const NewApply = z.strictObject({
  comment: Comment.nullable().default(null),
  draft: DraftTag.optional().describe('Etag of the draft; 412 where the draft has changed.'),
  overwrite_drift: z.boolean().default(false).describe('Overwrites files that were changed by hand.'),
  restart: RestartWish,
});
export type NewApply = z.output<typeof NewApply>;
/** Body of `POST /api/v1/config/versions/:version/restore`. */
export const RestoreVersion = z.strictObject({
  comment: Comment.nullable().default(null),
  discard_draft: z.boolean().default(false).describe('Discards the current draft.'),
  overwrite_drift: z.boolean().default(false),
  restart: RestartWish,
});
export type RestoreVersion = z.output<typeof RestoreVersion>;
export const ApplyId = z.strictObject({
  id: z.string().regex(NUMBER, 'must be the number of an apply'),
});
export const ApplyReply = z.object({ success: z.literal(true), apply: ConfigApply });
export const AppliesQuery = z.strictObject(PAGE_FIELDS);
export const AppliesReply = z.object({
  success: z.literal(true),
  applies: z.array(ConfigApply),
  next_cursor: z.string().nullable(),
});

export const FieldChange = z.object({
  field: z.string(),
  secret: z.boolean().describe('Its values are not shown.'),
  before: z.unknown().describe('Null where there was none, it is secret, or it is too large to show.'),
  after: z.unknown(),
});
export const ObjectChange = ObjectSummary.extend({ fields: z.array(FieldChange) }).meta({
  id: 'ConfigObjectChange',
});
export type ObjectChange = z.infer<typeof ObjectChange>;
export const FileChange = z
  .object({
    name: z.string(),
    diff: z
      .string()
      .nullable()
      .describe('Unified, secrets hidden; null where it is too large, or the text before is not known.'),
    truncated: z.boolean(),
    restart: z.boolean().describe('Takes effect only at a restart of the engine.'),
  })
  .meta({ id: 'ConfigFileChange' });
export type FileChange = z.infer<typeof FileChange>;
export const DriftFile = z
  .object({
    name: z.string(),
    hand_written: z
      .boolean()
      .describe('A file beside ours, which is never overwritten and is proven with the next apply.'),
    missing: z.boolean(),
    since: z.string().describe('When it was noticed.'),
    diff: z
      .string()
      .nullable()
      .describe(
        'Unified, from what was written to what is there, secrets hidden; null where that is not known.',
      ),
  })
  .meta({ id: 'ConfigDriftFile' });
export type DriftFile = z.infer<typeof DriftFile>;
/** Files on the disk that differ from those written. */
export const DriftReply = z.object({
  success: z.literal(true),
  checked_at: z.string().nullable(),
  files: z.array(DriftFile),
});

export const PlanReply = z.object({
  success: z.literal(true),
  base_version: z.int(),
  draft: z.string().describe('Etag of the draft, for the apply.'),
  findings: z.array(ConfigProblem).describe('Findings an apply would be rejected for.'),
  notices: z
    .array(ConfigProblem)
    .describe('What callers would notice after an apply, such as prompts that a language lacks.'),
  objects: z.object({ count: z.int(), list: z.array(ObjectChange).describe('The first 200 of them.') }),
  files: z.array(FileChange),
  drift: z.array(z.string()).describe('Files that were changed by hand.'),
});

export const VersionNumber = z.strictObject({
  version: z.string().regex(NUMBER, 'must be the number of a version'),
});
export const ConfigVersion = z
  .object({
    version: z.int(),
    author: z.string(),
    comment: z.string().nullable(),
    at: z.string(),
    objects: z.int().describe('How many objects it changed.'),
  })
  .meta({ id: 'ConfigVersion' });
export type ConfigVersion = z.infer<typeof ConfigVersion>;
export const VersionsReply = z.object({
  success: z.literal(true),
  versions: z.array(ConfigVersion),
  next_cursor: z.string().nullable(),
});
export const VersionReply = z.object({
  success: z.literal(true),
  version: ConfigVersion,
  objects: z
    .object({ count: z.int(), list: z.array(ObjectChange) })
    .describe('What it changed; the first 200 of them.'),
});
export const VersionObject = VersionNumber.extend({
  kind: Path,
  key: z.string().min(1).max(64),
});
export const VersionObjectReply = z.object({
  success: z.literal(true),
  kind: Kind,
  key: z.string(),
  version: z.int(),
  object: z.record(z.string(), z.unknown()).describe('As it was, without its secrets.'),
});
