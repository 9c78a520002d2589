/** Connectors: systems outside that hold customers and an entry for each conversation. */
import { z } from 'zod';
import { PAGE_FIELDS } from './paging.ts';

/** Limit of connectors per site. */
export const MAX_CONNECTORS = 20;
export const MAX_CONNECTOR_FILE_BYTES = 65_536;

const Title = z
  .string()
  .trim()
  .min(1)
  .max(80)
  .regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not contain control characters');
const SettingName = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be the name of a setting');
const Settings = z.record(SettingName, z.string().max(2_000));
const Source = z.string().min(1).max(MAX_CONNECTOR_FILE_BYTES).describe('A connector file in YAML.');

/** Body of `POST /api/v1/connectors`. */
export const NewConnector = z
  .strictObject({
    title: Title.optional().describe('The name in the file by default.'),
    file: z
      .string()
      .regex(/^(own\/|)[a-z0-9][a-z0-9-]{0,63}$/, 'must be the key of a connector file')
      .optional()
      .describe('Key of a file of `GET /api/v1/connector-files`.'),
    source: Source.optional(),
    settings: Settings.default({}),
    enabled: z.boolean().default(true),
    from: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('Conversations that began before this moment get no entry. Now by default.'),
  })
  .refine(({ file, source }) => (file === undefined) !== (source === undefined), {
    path: ['file'],
    message: 'give either file or source',
  });
export type NewConnector = z.output<typeof NewConnector>;
/** Body of `PATCH /api/v1/connectors/:id`; absent fields and settings stay unchanged. */
export const ConnectorChange = z.strictObject({
  title: Title.optional(),
  source: Source.optional().describe('Only for a connector of an uploaded file.'),
  settings: Settings.optional(),
  enabled: z.boolean().optional(),
});
export type ConnectorChange = z.output<typeof ConnectorChange>;
export const ConnectorId = z.strictObject({
  id: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a connector'),
});

export const ConnectorState = z
  .enum(['ready', 'away', 'disconnected', 'broken', 'disabled'])
  .describe(
    '`ready`: the system answers; if entries or recordings fail nevertheless, `words` gives the reason. `away`: the system does not answer, or asks to wait. `disconnected`: it does not accept the sign-in any more. `broken`: the file has an error. While it is not `ready`, entries wait and none is lost.',
  );
export type ConnectorState = z.infer<typeof ConnectorState>;
export const EntryState = z
  .enum(['waiting', 'sending', 'unknown', 'sent', 'not_wanted', 'removed', 'parked', 'uncertain'])
  .describe(
    '`unknown`: the answer was lost, and the system is asked whether the entry exists. `sent`: it stands there. `not_wanted`: the conversation needs none, see `words`. `parked`: rejected, or attempted too often. `uncertain`: whether it exists is not known and cannot be asked; it is never sent again unless a person decides so.',
  );
export type EntryState = z.infer<typeof EntryState>;
export const EntryTask = z.enum(['create', 'update', 'remove']);
export type EntryTask = z.infer<typeof EntryTask>;

export const ConnectorSync = z.object({
  running: z.boolean(),
  last_at: z.string().nullable().describe('Beginning of the last sync that reached its end.'),
  customers: z.int().describe('Number of customers that the last one read.'),
  words: z.string().nullable().describe('Why the newest one did not reach its end.'),
  next_at: z.string().nullable(),
});
export const CustomerSync = ConnectorSync.extend({
  whole_words: z
    .string()
    .nullable()
    .describe(
      'Why the last sync that read all customers failed; null after one that succeeded. Until then the phonebook keeps customers that the system deleted or merged.',
    ),
});
export const ConnectorPush = z.object({
  waiting: z.int().describe('Number of messages that wait or are on their way.'),
  sent: z.int().describe('Number of messages that arrived since the connector was opened.'),
  dropped: z
    .int()
    .describe('Number of messages since then that were refused, lost, too old, or too many at once.'),
  last_dropped_at: z.string().nullable(),
  words: z.string().nullable().describe('Why the last one was dropped.'),
});
export type ConnectorPush = z.infer<typeof ConnectorPush>;
export type ConnectorSync = z.infer<typeof ConnectorSync>;
export type CustomerSync = z.infer<typeof CustomerSync>;
export const Connector = z
  .object({
    id: z.int(),
    title: z.string(),
    file: z.string().nullable().describe('Null for an uploaded file.'),
    system: z.string().describe('Name in the file; the key of the file where it cannot be read.'),
    settings: z.record(z.string(), z.string()).describe('Without secrets.'),
    secrets: z
      .array(z.string())
      .describe('Names of the secrets that are set; their values are never returned.'),
    verbs: z.array(z.string()).describe('What the file can do, e.g. `lookup`, `entry`.'),
    enabled: z.boolean(),
    state: ConnectorState,
    words: z.string().nullable().describe('Why it is not ready, or why its due entries fail although it is.'),
    since: z.string().nullable().describe('Since when it is not ready.'),
    next_attempt_at: z.string().nullable(),
    from: z.string().describe('Conversations that began before this moment get no entry.'),
    entries: z
      .record(EntryState, z.int())
      .describe('Number of entries and attached recordings by their state.'),
    sync: CustomerSync.nullable().describe('Null where it is disabled or its file lists no customers.'),
    push: ConnectorPush.nullable().describe('Null where it is disabled or its file pushes no live events.'),
    created_at: z.string(),
    created_by: z.string(),
  })
  .meta({ id: 'Connector' });
export type Connector = z.infer<typeof Connector>;
export const ConnectorReply = z.object({ success: z.literal(true), connector: Connector });
export const Connectors = z.object({ success: z.literal(true), connectors: z.array(Connector) });

/** A connector file, from which connectors are created. */
export const ConnectorFileInfo = z
  .object({
    key: z.string().describe('`own/…` for a file of the site.'),
    name: z.string(),
    about: z.string().nullable(),
    tried: z.boolean().describe('Whether it was tried against the real system.'),
    verbs: z.array(z.string()),
    settings: z.array(
      z.object({
        name: z.string(),
        text: z.string(),
        secret: z.boolean(),
        url: z.boolean(),
        initial: z.string().nullable(),
      }),
    ),
    findings: z
      .array(z.object({ path: z.string(), line: z.int().nullable(), reason: z.string() }))
      .describe('What is wrong with the file; empty for one that can be used.'),
  })
  .meta({ id: 'ConnectorFileInfo' });
export type ConnectorFileInfo = z.infer<typeof ConnectorFileInfo>;
export const ConnectorFiles = z.object({ success: z.literal(true), files: z.array(ConnectorFileInfo) });

export const ConnectorTested = z.object({
  success: z.literal(true),
  works: z.boolean(),
  status: z.int().nullable(),
  words: z.string().nullable().describe("The system's words where it does not work."),
});
export type ConnectorTested = z.infer<typeof ConnectorTested>;

/** One conversation, or one recording of it, in the ledger of a connector. */
export const ConnectorEntry = z
  .object({
    id: z.int(),
    conversation_id: z.string(),
    recording_id: z
      .string()
      .nullable()
      .describe('Recording that is attached to the entry; null for the entry itself.'),
    state: EntryState,
    task: EntryTask.nullable().describe('What waits to be done, or is being done.'),
    entry_id: z
      .string()
      .nullable()
      .describe('Id of the entry, or of the attached recording, in that system.'),
    customer_id: z.string().nullable().describe('Id of the customer in that system.'),
    attempts: z.int().describe('Attempts of the task so far, or of the last one where none is left.'),
    status: z.int().nullable().describe('Status of the newest answer that was no success.'),
    words: z.string().nullable().describe('Why it is not sent.'),
    first_attempt_at: z.string().nullable(),
    last_attempt_at: z.string().nullable(),
    next_attempt_at: z.string().nullable(),
  })
  .meta({ id: 'ConnectorEntry' });
export type ConnectorEntry = z.infer<typeof ConnectorEntry>;
export const EntriesQuery = z.strictObject({
  ...PAGE_FIELDS,
  state: EntryState.optional(),
  conversation: z.string().min(1).max(200).optional().describe('Id of a conversation.'),
});
export type EntriesQuery = z.output<typeof EntriesQuery>;
export const ConnectorEntries = z.object({
  success: z.literal(true),
  entries: z.array(ConnectorEntry).describe('Newest first.'),
  next_cursor: z.string().nullable(),
});
export const EntryPath = ConnectorId.extend({
  entry: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of an entry'),
});
export const SyncRequest = z.strictObject({
  delete_missing: z
    .boolean()
    .optional()
    .describe(
      'True: reads all customers, and deletes those that the list lacks even if they are more than half of all. Refused again, without a deletion, if they are more than a tenth more than those that the refused list lacked, or if the list is empty and none was refused before.',
    ),
});
export type SyncRequest = z.infer<typeof SyncRequest>;
export const EntryRetry = z.strictObject({
  entry_id: z
    .string()
    .min(1)
    .max(300)
    .optional()
    .describe(
      'Id of the entry that a person found there: it is updated. Without it the entry is sent again.',
    ),
});
export const EntryReply = z.object({ success: z.literal(true), entry: ConnectorEntry });

/** Most bytes of one message of another system. */
export const MAX_INBOX_BYTES = 65_536;
export const INBOX_ACTIONS = ['call', 'customer.changed', 'customer.gone', 'sync', 'note'] as const;
export const InboxAction = z.enum(INBOX_ACTIONS);
export type InboxAction = z.infer<typeof InboxAction>;
export const ConnectorInbox = z.object({
  success: z.literal(true),
  repeated: z.boolean().describe('Whether the same message came before, so that nothing was done again.'),
  done: z.array(InboxAction).describe('What the file of the connector does on such a message.'),
});
export type ConnectorInbox = z.infer<typeof ConnectorInbox>;

/** A customer in a connected system. */
const SystemCustomer = z.object({
  id: z.string().describe('As that system names the customer.'),
  kind: z.enum(['person', 'company']),
  name: z.string(),
  company: z.string().nullable(),
  numbers: z.array(z.string()),
  emails: z.array(z.string()),
  url: z.string().nullable().describe('Page of the customer in that system.'),
  language: z
    .string()
    .nullable()
    .describe('Of prompts in calls of the customer, where the system names one.'),
  blocked: z.boolean(),
  vip: z.boolean(),
});
/** Body of `POST /api/v1/connectors/:id/customers`. */
export const NewConnectorCustomer = z.strictObject({
  name: z
    .string()
    .trim()
    .min(1)
    .max(120)
    .regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not contain control characters'),
  number: z.string().min(1).max(64).describe('In any common spelling.'),
});
export const ConnectorCustomerMade = z.object({
  success: z.literal(true),
  outcome: z
    .enum(['created', 'exists', 'not_created', 'unknown'])
    .describe(
      '`exists`: the system had a customer with this number, so none was created. `not_created`: the system refused it or could not be asked, see `words`. `unknown`: the answer was lost, so the system may have created it; the same request looks for it before it creates one.',
    ),
  customer: SystemCustomer.nullable().describe('Null unless it was created or exists.'),
  status: z.int().nullable().describe('Status of an answer that was no success.'),
  words: z
    .string()
    .nullable()
    .describe("The system's words where it was not created; or why the phonebook lacks it."),
});
export type ConnectorCustomerMade = z.infer<typeof ConnectorCustomerMade>;

/** Customers that one connector found for a number. */
export const ConnectorMatches = z
  .object({
    connector: z.int(),
    title: z.string(),
    customers: z.array(SystemCustomer),
    words: z.string().nullable().describe('Why it has no answer, e.g. because it took longer than 1.5 s.'),
  })
  .meta({ id: 'ConnectorMatches' });
export type ConnectorMatches = z.infer<typeof ConnectorMatches>;
export const ConnectorLookup = z.object({
  success: z.literal(true),
  e164: z
    .string()
    .nullable()
    .describe('The number in E.164; null where it has no such form, so that no system is asked.'),
  matches: z.array(ConnectorMatches).describe('One for each connector that can look up.'),
});
