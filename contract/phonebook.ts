import { z } from 'zod';
import { Language, Outside } from './config-fields.ts';
import { PAGE_FIELDS } from './paging.ts';

/** Limit of customers per site, personal ones included, and of the personal ones of each person. */
export const MAX_CUSTOMERS = 1_000_000;
export const MAX_CUSTOMERS_OF_A_PERSON = 5_000;
/** Prefix of the source of a connector's customers; the connector's id follows. */
export const CONNECTOR_SOURCE = 'connector:';
/** Beginning of the source of a customer of an address book that the phonebook follows; its id follows. */
export const PHONEBOOK_SOURCE = 'source:';
/** Limits of one customer. */
export const MAX_NUMBERS = 20;
export const MAX_EMAILS = 10;
/** Limit of customers in a lookup's reply. */
export const MAX_MATCHES = 50;

const line = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .regex(/^[^\p{Cc}\p{Cf}]*$/u, 'must not contain control characters');
const NewNumber = z.strictObject({
  number: Outside.describe('In any common spelling, stored without separators.'),
  label: line(40).nullable().default(null).describe('Kind of the number, e.g. `mobile`.'),
});
const FIELDS = {
  kind: z.enum(['person', 'company']).default('person'),
  name: line(120),
  company: line(120).nullable().default(null).describe('Company the person belongs to.'),
  numbers: z.array(NewNumber).max(MAX_NUMBERS).default([]),
  emails: z.array(z.email().max(200)).max(MAX_EMAILS).default([]),
  note: z
    .string()
    .trim()
    .min(1)
    .max(2_000)
    .regex(/^[\P{Cc}\n\t]*$/u, 'must not contain control characters')
    .nullable()
    .default(null),
  owner: z
    .string()
    .regex(/^\d{1,20}$/, 'must be an extension')
    .nullable()
    .default(null)
    .describe('Extension of the person who looks after this customer.'),
  language: Language.nullable()
    .default(null)
    .describe(
      'Of prompts in calls from this customer over a trunk, where it is shared, before the languages of the route and the trunk.',
    ),
  vip: z.boolean().default(false),
  blocked: z
    .boolean()
    .default(false)
    .describe(
      'Calls from this customer over a trunk are rejected, where it is shared and the newest with the number. A mark only on a personal customer.',
    ),
  shared: z
    .boolean()
    .default(false)
    .describe(
      'True: everyone at the site sees it, supervisors and administrators change it, and it stays shared. False: only the person who created it sees and changes it.',
    ),
};
/** Body of `POST /api/v1/phonebook/customers` and `PUT /api/v1/phonebook/customers/{id}`. */
export const NewCustomer = z.strictObject(FIELDS).meta({ id: 'NewCustomer' });
export type NewCustomer = z.output<typeof NewCustomer>;

/** A person or company outside, as the phonebook stores it. */
export const Customer = z
  .object({
    id: z.int(),
    kind: z.enum(['person', 'company']),
    name: z.string(),
    company: z.string().nullable(),
    numbers: z.array(
      z.object({
        number: z.string(),
        e164: z
          .string()
          .nullable()
          .describe(
            "In E.164, national numbers read as those of the site's country. Null for other numbers.",
          ),
        label: z.string().nullable(),
      }),
    ),
    emails: z.array(z.string()),
    note: z.string().nullable(),
    owner: z.string().nullable().describe('Extension of the person who looks after this customer.'),
    language: z.string().nullable().describe('Of prompts in calls from this customer.'),
    vip: z.boolean(),
    blocked: z.boolean(),
    shared: z.boolean().describe('False: only the caller sees this customer.'),
    source: z
      .string()
      .describe(
        'Origin: `manual` for one created by request, `import` for one of a file, `connector:<id>` for one of a connected system, `source:<id>` for one of an address book on another server. Of the last two, only fields that `source_fields` does not name are changed here.',
      ),
    source_fields: z
      .array(z.string())
      .describe(
        'Fields that belong to the system of `source` and are changed only there. Empty for a customer of the site itself.',
      ),
    url: z.string().nullable().describe('Page of the customer in its connected system.'),
    updated_at: z.string(),
    version: z.int().describe('Grows with every change; it is the `ETag` too.'),
  })
  .meta({ id: 'Customer' });
export type Customer = z.infer<typeof Customer>;

/** The customer of a live call, found by its outside number. Shared ones only, since all receivers of the call get it. */
export const CallCustomer = Customer.pick({
  id: true,
  kind: true,
  name: true,
  company: true,
  owner: true,
  vip: true,
  blocked: true,
  source: true,
})
  .extend({
    external_id: z
      .string()
      .optional()
      .describe('Id of the customer in its connected system. Absent for one of another source.'),
    url: z
      .string()
      .optional()
      .describe(
        'http(s) address that shows the customer of this call in its connected system: the `pop` of the connector file, else the page of the customer. Absent where there is none.',
      ),
    matches: z
      .int()
      .min(1)
      .describe(
        'Number of shared customers with this number. Of several this is the newest; `GET /api/v1/phonebook/lookup` lists them.',
      ),
  })
  .meta({ id: 'CallCustomer' });
export type CallCustomer = z.infer<typeof CallCustomer>;

export const CustomerPath = z.strictObject({
  id: z.string().regex(/^[1-9]\d{0,14}$/, 'must be the id of a customer'),
});
export const PhonebookQuery = z.strictObject({
  ...PAGE_FIELDS,
  q: z
    .string()
    .trim()
    .min(1)
    .max(64)
    .optional()
    .describe(
      'Words that are each part of name, company, e-mail or number; ignores case and accents. A number with a plus is compared with the beginnings of numbers. A page of a search may be short, or empty, and still have a `next_cursor`.',
    ),
});
export type PhonebookQuery = z.output<typeof PhonebookQuery>;
export const LookupQuery = z.strictObject({
  number: z
    .string()
    .min(1)
    .max(64)
    .describe('As it was received or dialled. One that cannot be read, such as `anonymous`, has no matches.'),
});
/** Limit of customers in one event. */
export const MAX_NAMED = 100;
/** Data of `phonebook.changed`. Names and numbers stay out of the journal, which outlives the customer. */
export const PhonebookChange = z.object({
  change: z.enum(['created', 'updated', 'deleted', 'imported']),
  extension: z
    .string()
    .nullable()
    .describe('Extension of the person whose personal customers changed; null for shared ones.'),
  ids: z
    .array(z.int())
    .nullable()
    .describe(`Ids of the customers; null for more than ${MAX_NAMED}: read the list again.`),
  count: z.int().describe('Number of customers.'),
});
export type PhonebookChange = z.infer<typeof PhonebookChange>;
export const CustomerReply = z.object({ success: z.literal(true), customer: Customer });
export const CustomersPage = z.object({
  success: z.literal(true),
  customers: z.array(Customer),
  next_cursor: z.string().nullable(),
});
export const LookupReply = z.object({
  success: z.literal(true),
  e164: z.string().nullable().describe('The number in E.164; null where it has no such form.'),
  customers: z.array(Customer).describe(`Personal customers first, then the newest; at most ${MAX_MATCHES}.`),
});
