/** Sources of the phonebook: address books on other servers whose entries become shared customers. */
import { z } from 'zod';
import { ConnectorSync } from './connectors.ts';

/** Limit of sources per site. */
export const MAX_PHONEBOOK_SOURCES = 20;

const Attribute = z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be an LDAP attribute');
/** Place of the entries in an LDAP server, and the attributes that are read. */
export const LdapSettings = z.strictObject({
  base: z.string().min(1).max(500).describe('Entry below which the customers are.'),
  filter: z
    .string()
    .min(1)
    .max(1_000)
    .default('(&(objectClass=person)(|(telephoneNumber=*)(mobile=*)(homePhone=*)))'),
  attributes: z
    .strictObject({
      name: Attribute.default('cn'),
      company: Attribute.default('o'),
      email: Attribute.default('mail'),
      language: Attribute.default('preferredLanguage').describe(
        'Language of prompts in calls of the customer.',
      ),
      numbers: z
        .record(Attribute, z.string().trim().min(1).max(40).nullable())
        .refine((numbers) => Object.keys(numbers).length <= 10, 'must have at most 10 attributes')
        .default({ telephoneNumber: 'work', mobile: 'mobile', homePhone: 'home' })
        .describe('Label of the numbers of each attribute.'),
    })
    .prefault({}),
  ca: z
    .string()
    .max(20_000)
    .nullable()
    .default(null)
    .describe('Certificates in PEM that the server is trusted by. Null: those that the system trusts.'),
});
export type LdapSettings = z.output<typeof LdapSettings>;

const FIELDS = {
  title: z
    .string()
    .trim()
    .min(1)
    .max(80)
    .regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not contain control characters'),
  address: z
    .string()
    .min(1)
    .max(500)
    .describe(
      'The address book itself, such as `https://dav.example.com/anna/contacts/`, or the server, such as `ldaps://ldap.example.com`.',
    ),
  username: z
    .string()
    .max(200)
    .regex(/^[^\p{Cc}:]*$/u, 'must not contain a colon or control characters')
    .describe('Empty for a server without sign-in; the distinguished name for LDAP.'),
  password: z.string().max(500),
  enabled: z.boolean(),
};
/** Body of `POST /api/v1/phonebook/sources`. */
export const NewPhonebookSource = z
  .strictObject({
    ...FIELDS,
    kind: z.enum(['carddav', 'ldap']),
    ldap: LdapSettings.nullable().default(null).describe('Only, and always, for the kind `ldap`.'),
    username: FIELDS.username.default(''),
    password: FIELDS.password.default(''),
    enabled: FIELDS.enabled.default(true),
  })
  .refine(({ kind, ldap }) => (kind === 'ldap') === (ldap !== null), {
    path: ['ldap'],
    message: 'is allowed with the kind ldap only',
  });
export type NewPhonebookSource = z.output<typeof NewPhonebookSource>;
/** Body of `PATCH /api/v1/phonebook/sources/{id}`; absent fields are kept. */
export const PhonebookSourceChange = z.strictObject({ ...FIELDS, ldap: LdapSettings }).partial();
export type PhonebookSourceChange = z.output<typeof PhonebookSourceChange>;
export const PhonebookSourceId = z.strictObject({
  id: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a source'),
});

export const PhonebookSource = z
  .object({
    id: z.int(),
    title: z.string(),
    kind: NewPhonebookSource.shape.kind,
    address: z.string(),
    ldap: LdapSettings.nullable(),
    username: z.string(),
    has_password: z.boolean().describe('The password itself is never returned.'),
    enabled: z.boolean(),
    sync: ConnectorSync.nullable().describe('Null where it is disabled.'),
    created_at: z.string(),
    created_by: z.string(),
  })
  .meta({ id: 'PhonebookSource' });
export type PhonebookSource = z.infer<typeof PhonebookSource>;
export const PhonebookSourceReply = z.object({ success: z.literal(true), source: PhonebookSource });
export const PhonebookSources = z.object({ success: z.literal(true), sources: z.array(PhonebookSource) });
