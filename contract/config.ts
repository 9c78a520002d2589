/** What the configuration API takes and gives beside the objects themselves (config-objects.ts). */
import { z } from 'zod';
import { CONFIG_KINDS, CONFIG_SECRETS, KINDS } from './config-objects.ts';
import type { ConfigBody, ConfigKind } from './config-objects.ts';
import { PAGE_FIELDS } from './paging.ts';
import { NewPassword } from './session.ts';

/** Objects of one kind a site can have, where it is not 1,000. */
export const MAX_EXTENSIONS = 20_000;
export const MAX_OBJECTS = 1_000;
export const maxObjects = (kind: ConfigKind): number => (kind === 'extension' ? MAX_EXTENSIONS : MAX_OBJECTS);
/** Changes one request can hold, and bytes of it and of a document. */
export const MAX_CHANGES = 25_000;
export const MAX_CONFIG_BYTES = 24 * 1024 * 1024;
/** Findings, users and differences one reply names; the number of all of them is beside it. */
export const MAX_NAMED = 200;

export const Kind = z.enum(KINDS as [ConfigKind, ...ConfigKind[]]).meta({ id: 'ConfigKind' });
/** The name of an object as an address holds it; what none can be called is not found. */
export const ConfigKeyPath = z.strictObject({ key: z.string().min(1).max(100) });
const Etag = z.string().describe('Changes with every change of it, also of its secrets.');

/** Where one object names another: `path` is the field, e.g. `choices.2.to`. */
export const ConfigUse = z
  .object({ kind: Kind, key: z.string(), path: z.string() })
  .meta({ id: 'ConfigUse' });
export type ConfigUse = z.output<typeof ConfigUse>;
/** One thing that is wrong. */
export const ConfigFinding = z
  .object({
    kind: Kind,
    key: z.string().describe('Empty where it has none yet.'),
    path: z.string().describe('Field of the object, e.g. `members.3.extension`; empty for all of it.'),
    detail: z.string(),
  })
  .meta({ id: 'ConfigFinding' });
export type ConfigFinding = z.output<typeof ConfigFinding>;

/** How an object of the draft differs from what is applied. */
export const Pending = z.enum(['added', 'changed', 'removed']).meta({ id: 'ConfigPending' });
export type Pending = z.output<typeof Pending>;
export const View = z.enum(['draft', 'applied']);

type Shape = Record<string, z.ZodType>;
/** The schemas of one kind's requests and replies. */
export interface ConfigSchemas {
  /** The object as it is shown: without its secrets. */
  readonly shown: z.ZodType;
  /** A merge patch of it: known fields of any value, which what comes of it is checked for. */
  readonly patch: z.ZodType;
  readonly object: z.ZodType;
  /** Of one that was read or changed; after a change with the secrets that were made up. */
  readonly reply: z.ZodType;
  readonly list: z.ZodType;
}
const envelope = {
  key: z.string(),
  etag: Etag,
  pending: Pending.nullable().describe('How it differs from what is applied, or from the draft.'),
  secrets_set: z.array(z.string()).describe('Names of the secrets it has.'),
};
/** Each by its name. */
const Secrets = z.record(z.string(), z.string());

/** All of it by kind. */
export const CONFIG_SCHEMAS = Object.fromEntries(
  KINDS.map((kind): [ConfigKind, ConfigSchemas] => {
    const { schema } = CONFIG_KINDS[kind];
    const { id } = schema.meta() as { id: string };
    const fields = Object.entries(schema.shape as Shape);
    const shown = z
      .object(Object.fromEntries(fields.filter(([name]) => !CONFIG_SECRETS[kind].includes(name))))
      .meta({ id: `${id}Shown` });
    const object = z.object({ ...envelope, object: shown }).meta({ id: `${id}Object` });
    return [
      kind,
      {
        shown,
        patch: z
          .strictObject(Object.fromEntries(fields.map(([name]) => [name, z.unknown().optional()])))
          .meta({
            id: `${id}Patch`,
            description: 'JSON Merge Patch: null gives a field its default back, arrays are replaced.',
          }),
        object,
        reply: object
          .safeExtend({
            success: z.literal(true),
            secrets: Secrets.optional().describe('Made up just now, each shown this once.'),
          })
          .meta({ id: `${id}Reply` }),
        list: z.object({
          success: z.literal(true),
          total: z.int().describe('All that fit, on every page.'),
          objects: z.array(object),
          next_cursor: z.string().nullable(),
        }),
      },
    ];
  }),
) as unknown as Readonly<Record<ConfigKind, ConfigSchemas>>;

export const ConfigListQuery = z.strictObject({
  limit: PAGE_FIELDS.limit,
  cursor: z.string().min(1).max(100).optional().describe('`next_cursor` of the page before.'),
  q: z.string().min(1).max(64).optional().describe('Part of a name, title, number or any other text of it.'),
  view: View.optional().describe('`applied` for what the engine runs with; else the draft.'),
});
export type ConfigListQuery = z.output<typeof ConfigListQuery>;
export const ConfigViewQuery = z.strictObject({ view: View.optional() });

export const ConfigUsesReply = z.object({
  success: z.literal(true),
  used_by: z.array(ConfigUse).describe('Who names it, and where.'),
  uses: z.array(ConfigUse).describe('What it names, and where in it.'),
});
export type ConfigUsesReply = z.output<typeof ConfigUsesReply>;

/** What differs between the draft and what is applied. */
export const ConfigDifference = z
  .object({
    kind: Kind,
    key: z.string(),
    pending: Pending,
    fields: z.array(z.string()).describe('Those that differ, secrets among them by name.'),
  })
  .meta({ id: 'ConfigDifference' });
export type ConfigDifference = z.output<typeof ConfigDifference>;
export const DraftRow = ConfigDifference.safeExtend({
  author: z.string().describe('Extension of who changed it last, or `key:` and the name of an API key.'),
  at: z.string(),
}).meta({ id: 'ConfigDraftRow' });
export const DraftQuery = z.strictObject(PAGE_FIELDS);
export const DraftReply = z.object({
  success: z.literal(true),
  version: z.int().describe('The version that it differs from.'),
  etag: z.string(),
  total: z.int(),
  changes: z.array(DraftRow),
  next_cursor: z.string().nullable(),
});
export type DraftReply = z.output<typeof DraftReply>;

const Differences = z.object({
  added: z.int(),
  changed: z.int(),
  removed: z.int(),
  named: z.array(ConfigDifference).describe(`At most ${MAX_NAMED} of them.`),
});
/** The secrets that were made up for one object. */
export const MadeSecrets = z
  .object({ kind: Kind, key: z.string(), secrets: Secrets })
  .meta({ id: 'ConfigMadeSecrets' });

const fields = z.record(z.string(), z.unknown());
const ifMatch = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe('Its etag: refused when it changed meanwhile.');
const key = z.string().min(1).max(100);
/** One step of several; as the requests of the same names. */
export const ConfigChange = z
  .discriminatedUnion('op', [
    z.strictObject({ op: z.literal('create'), kind: Kind, object: fields }),
    z.strictObject({
      op: z.literal('put'),
      kind: Kind,
      key,
      object: fields,
      if_match: ifMatch,
      create: z.boolean().default(false).describe('Made where there is none; else that is refused.'),
    }),
    z.strictObject({ op: z.literal('patch'), kind: Kind, key, patch: fields, if_match: ifMatch }),
    z.strictObject({ op: z.literal('delete'), kind: Kind, key, if_match: ifMatch }),
  ])
  .meta({ id: 'ConfigChange' });
export type ConfigChange = z.output<typeof ConfigChange>;
export const ConfigChanges = z.strictObject({
  changes: z.array(ConfigChange).min(1).max(MAX_CHANGES),
  if_match: ifMatch.describe('The etag of the draft: refused when anybody changed it meanwhile.'),
});
export const ConfigChangesReply = z.object({
  success: z.literal(true),
  etag: z.string().describe('Of the draft.'),
  differs: Differences.describe(
    'What these changes changed; of a document, how the draft differs from what is applied.',
  ),
  secrets: z.array(MadeSecrets).describe('Made up for new objects; shown this once.'),
});
export type ConfigChangesReply = z.output<typeof ConfigChangesReply>;
export const ConfigValidate = z.strictObject({
  changes: z.array(ConfigChange).max(MAX_CHANGES).default([]).describe('Tried on the draft, not kept.'),
});
export const ConfigValidateReply = z.object({
  success: z.literal(true),
  valid: z.boolean(),
  findings: z.array(ConfigFinding).describe(`At most ${MAX_NAMED} of them.`),
  findings_total: z.int(),
});
export type ConfigValidateReply = z.output<typeof ConfigValidateReply>;
export const DraftDiscarded = z.object({
  success: z.literal(true),
  etag: z.string(),
  discarded: z.int().describe('Objects that are again as they are applied.'),
});
export const DraftObjectPath = z.strictObject({ kind: Kind, key });

export const ExtensionPath = z.strictObject({
  extension: z.string().regex(/^[1-9][0-9]{1,9}$/, 'not 2 to 10 digits, the first not 0'),
});
export const NewCredentials = z
  .strictObject({
    password: NewPassword.nullable()
      .optional()
      .describe('For signing in; made up where it is missing, null to leave it as it is.'),
    renew_sip_password: z
      .boolean()
      .default(false)
      .describe('A new one in the draft: its phones sign in anew once it is applied.'),
  })
  .nullable();
export const CredentialsReply = z.object({
  success: z.literal(true),
  extension: z.string(),
  username: z.string(),
  etag: Etag,
  pending: Pending.nullable(),
  secrets: Secrets.describe('`password` and `sip_password` that were made up; shown this once.'),
});
export type CredentialsReply = z.output<typeof CredentialsReply>;

/** The list of each kind in a document, e.g. `ring_groups`. */
export const documentField = (kind: ConfigKind): string => CONFIG_KINDS[kind].path.replaceAll('-', '_');
/** The whole configuration as one document, without secrets. */
export const ConfigDocument = z
  .strictObject({
    offhook: z.literal(1).describe('Version of this form.'),
    ...Object.fromEntries(
      KINDS.map((kind) => [documentField(kind), z.array(CONFIG_KINDS[kind].schema as z.ZodType).optional()]),
    ),
  })
  .meta({ id: 'ConfigDocument' });
export type ConfigDocument = { readonly offhook: 1 } & Readonly<
  Record<string, readonly Readonly<Record<string, unknown>>[] | 1 | undefined>
>;
export const ImportQuery = z.strictObject({
  mode: z
    .enum(['replace', 'merge'])
    .optional()
    .describe('`merge` only adds and changes; else what is not in the document is removed.'),
  if_match: ifMatch.describe('The etag of the draft: refused when anybody changed it meanwhile.'),
  dry_run: z.literal('true').optional().describe('Only tells what would differ; nothing is kept.'),
});

/** An object of one kind as the API shows it. */
export interface ConfigObject<K extends ConfigKind> {
  readonly key: string;
  readonly etag: string;
  readonly pending: Pending | null;
  readonly secrets_set: readonly string[];
  readonly object: ConfigBody<K>;
}
