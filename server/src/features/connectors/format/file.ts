import { z } from 'zod';

/** Text with `{{ expression }}` in it. */
const Text = z.string().min(1).max(4_000);
const Json = z.json();
const Path = Text.regex(/^\/(?!\/)/, 'must begin with a single /; it is appended to `base`');
const HeaderName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header');
const METHODS = {
  get: Path.optional(),
  post: Path.optional(),
  put: Path.optional(),
  patch: Path.optional(),
  delete: Path.optional(),
} as const;
const CALL = {
  ...METHODS,
  query: z.record(z.string().max(200), Text.or(z.number()).or(z.boolean())).optional(),
  headers: z.record(HeaderName, Text).optional(),
  body: z.record(z.string(), Json).or(z.array(Json)).optional().describe('Sent as JSON.'),
  form: z.record(z.string(), Text.or(z.number())).optional().describe('Sent as a form instead of JSON.'),
  ok: z
    .array(z.int().min(100).max(599))
    .max(10)
    .optional()
    .describe('Statuses beside 2xx that are a success, e.g. 404 of a removal.'),
} as const;
export const METHOD_NAMES = ['get', 'post', 'put', 'patch', 'delete'] as const;
const oneMethod = (request: object): boolean =>
  METHOD_NAMES.filter((name) => (request as Record<string, unknown>)[name] !== undefined).length === 1;
const ONE_METHOD = 'needs exactly one of get, post, put, patch and delete, with its path';
const request = <T extends z.ZodRawShape>(more: T) =>
  z.strictObject({ ...CALL, ...more }).refine(oneMethod, ONE_METHOD);

/** How a list goes on after its first page. */
const PAGES = {
  page: Text.optional().describe(
    'What the next page is asked with, read from the answer; without a value this page is the last.',
  ),
  pages: z
    .strictObject({ first: z.int().min(0), step: z.int().min(1), full: z.int().min(1).max(5_000) })
    .optional()
    .describe(
      'For systems that count pages or rows: `page` is `first`, then grows by `step` while a page has `full` rows.',
    ),
} as const;

const Customer = z.strictObject({
  id: Text,
  kind: Text.optional(),
  name: Text,
  company: Text.optional(),
  numbers: Text.or(z.array(Text).max(20)).optional().describe('All of its numbers.'),
  number: Text.optional().describe(
    'One of its numbers, where each row is a number of a customer instead of a customer: the others stay.',
  ),
  emails: Text.or(z.array(Text).max(20)).optional(),
  owner: Text.optional().describe('Id of their user who looks after the customer.'),
  url: Text.optional(),
  language: Text.optional().describe(
    'Language of prompts in calls of the customer, e.g. `de`, `pt_BR` or `en-GB`.',
  ),
  blocked: Text.optional(),
  vip: Text.optional(),
});
const OwnCustomer = Customer.partial().optional().describe('Fields that differ from `customer` above.');
const NumberFormat = z
  .string()
  .regex(
    /^(?:e164|national|digits|00|last:\d{1,2}|[#() +./-]{0,20}#[#() +./-]{0,20})$/,
    'must be a number format',
  );
const Password = z.strictObject({ user: Text, password: Text });
const Auth = z.union([
  z.strictObject({ basic: Password }),
  z.strictObject({ header: HeaderName, value: Text }),
  z.strictObject({ query: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/), value: Text }),
  z.strictObject({ bearer: Text }),
  z.strictObject({
    exchange: request({ token: Text, seconds: z.int().min(10).max(86_400).default(600) }),
    header: HeaderName.default('authorization'),
    value: Text.describe('Value of the header, e.g. `Bearer {{ token }}`.'),
  }),
  z.strictObject({
    oauth2: z.strictObject({
      grant: z
        .enum(['client_credentials', 'refresh', 'code'])
        .describe(
          '`refresh`: with a refresh token that is a setting; `code`: a person grants access in a browser.',
        ),
      token: Text.describe('Address of the token endpoint.'),
      authorize: Text.optional().describe('Address where a person grants access, for `grant: code`.'),
      client_id: Text,
      client_secret: Text.optional(),
      refresh_token: Text.optional().describe('For `grant: refresh`.'),
      scopes: z.array(z.string().min(1).max(200)).max(50).default([]),
      params: z
        .record(z.string().max(64), Text)
        .default({})
        .describe('Further parameters of a token request.'),
      send_client: z
        .enum(['basic', 'body', 'query'])
        .default('basic')
        .describe('How client_id and client_secret are sent; `query`: a GET with all parameters in it.'),
      send_token: z
        .strictObject({ query: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/) })
        .optional()
        .describe('Parameter that carries the access token, instead of the header `Authorization`.'),
    }),
  }),
]);
const Setting = z.strictObject({
  text: z.string().min(1).max(120).describe('What the setting is, as an administrator reads it.'),
  secret: z.boolean().default(false),
  url: z.boolean().default(false).describe('An http(s) address without a path of its own being needed.'),
  pattern: z.string().max(200).optional().describe('Letters the value may consist of: `a-z0-9-`.'),
  initial: z.string().max(500).optional(),
});
const Push = z.strictObject({
  ...METHODS,
  query: CALL.query,
  body: z.record(z.string(), Json).optional(),
  form: CALL.form,
  when: Text.optional(),
});
const Ring = Push.extend({
  id: Text.optional().describe('Id of the call there, `pushed.id` of later messages.'),
  reply: z
    .strictObject({ reject: Text.describe('True: the call is hung up where no person has answered it.') })
    .optional(),
});
const Limits = z.strictObject({
  requests: z.int().min(1).max(10_000).default(5),
  per_seconds: z.int().min(1).max(3_600).default(1),
  at_once: z.int().min(1).max(32).default(2),
  day: z.int().min(1).optional(),
});

const When = { when: Text.optional() } as const;
const InboxOn = z.discriminatedUnion('do', [
  z.strictObject({
    ...When,
    do: z.literal('call'),
    person: Text.optional().describe('Extension or e-mail of our person.'),
    user: Text.optional().describe('Id of their user, instead of `person`; found by `users`.'),
    number: Text,
  }),
  z.strictObject({
    ...When,
    do: z.literal('customer.changed'),
    row: Text.describe('The customer in the message, read by the fields of `customer`.'),
    customer: OwnCustomer,
  }),
  z.strictObject({ ...When, do: z.literal('customer.gone'), id: Text }),
  z.strictObject({ ...When, do: z.literal('sync') }),
  z.strictObject({
    ...When,
    do: z.literal('note'),
    call: Text.describe('Id of the conversation, as `call.id` of an entry.'),
    text: Text,
  }),
]);
const Inbox = z.strictObject({
  verify: z.union([
    z.strictObject({
      hmac: z.strictObject({
        header: HeaderName,
        secret: Text,
        prefix: z.string().max(20).default('').describe('Of the value, e.g. `sha256=`.'),
        encoding: z.enum(['hex', 'base64']).default('hex'),
      }),
    }),
    z.strictObject({ basic: Password }),
    z.strictObject({ header: HeaderName, value: Text }),
    z.strictObject({ body: Text.describe('A token in the message.'), value: Text }),
  ]),
  id: Text.optional().describe('Id of the message there; without one its bytes are compared.'),
  on: z.array(InboxOn).min(1).max(20),
});

const Pop = z
  .strictObject({
    url: Text.optional().describe('Address that a browser opens.'),
    at: z
      .enum(['ringing', 'answered'])
      .default('ringing')
      .describe('When `show` is sent: for each person who rings, or for who answers.'),
    show: request({}).optional().describe('Makes the system show the call to `user`.'),
    hide: request({}).optional().describe('Takes it away where `user` does not ring or talk any more.'),
  })
  .refine((pop) => pop.url !== undefined || pop.show !== undefined, 'needs `url` or `show`')
  .refine((pop) => pop.hide === undefined || pop.show !== undefined, '`hide` needs `show`');
const Attach = request({
  when: Text.optional().describe('Of which recordings; all without it.'),
  once: z
    .enum(['own_id', 'find', 'ledger'])
    .describe(
      'How a second copy is prevented after an answer was lost: sent again, it replaces the first; a search; or not at all, so that it is parked as uncertain.',
    ),
  file: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the name of a form field')
    .optional()
    .describe('Field of a multipart form that holds the audio, beside the fields of `form`.'),
  max_mb: z.int().min(1).max(500).default(50).describe('Longer recordings are not attached.'),
  id: Text.optional().describe('Id of the copy there; that of the recording without it.'),
  find: request({ id: Text }).optional(),
  remove: request({}).optional().describe('Deletes the copy; without it, it is taken to go with its entry.'),
})
  .refine((attach) => attach.get === undefined, '`attach` cannot use `get`')
  .refine(
    (attach) => attach.file === undefined || attach.body === undefined,
    'needs either `file` or `body`, not both',
  )
  .refine(
    (attach) => (attach.once === 'find') === (attach.find !== undefined),
    '`once: find` needs `find`, and `find` needs `once: find`',
  );

/** A connector file as it is written (docs/connectors.md). */
export const ConnectorDocument = z.strictObject({
  connector: z.literal(1),
  name: z.string().trim().min(1).max(80),
  about: z
    .string()
    .max(2_000)
    .optional()
    .describe('What the file covers, and whether it was tried against the real system.'),
  tried: z
    .enum(['real system', 'documentation'])
    .default('documentation')
    .describe('`documentation`: written after it, never tried against the system itself.'),
  settings: z
    .record(z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be the name of a setting'), Setting)
    .default({}),
  base: Text,
  headers: z.record(HeaderName, Text).optional().describe('Sent with every request.'),
  auth: Auth.optional(),
  limits: Limits.prefault({}),
  fails: Text.optional().describe('Reason for which an answer of 200 failed; without a value it did not.'),
  zone: request({ name: Text })
    .optional()
    .describe(
      'Asks for the time zone of the system, which is then `zone` in `entry.create` and `entry.update`; for systems that store times without a zone.',
    ),
  check: request({ holds: Text.optional() }),
  users: request({
    rows: Text,
    when: Text.optional(),
    id: Text,
    email: Text.optional(),
    name: Text.optional(),
    ...PAGES,
  }).optional(),
  customer: Customer.optional(),
  lookup: z
    .strictObject({
      number: request({
        formats: z.array(NumberFormat).min(1).max(6),
        compare: z.int().min(5).max(15).optional(),
        rows: Text,
        when: Text.optional(),
        customer: OwnCustomer,
      }).optional(),
      text: request({ rows: Text, when: Text.optional(), customer: OwnCustomer }).optional(),
    })
    .optional(),
  create: request({ row: Text, customer: OwnCustomer }).optional(),
  entry: z
    .strictObject({
      when: Text.optional(),
      once: z
        .enum(['own_id', 'header', 'find', 'ledger'])
        .describe(
          'How a second entry is prevented after an answer was lost: their key is ours; a header of theirs; a search; or not at all, so that it is parked as uncertain.',
        ),
      matches: z
        .enum(['first', 'company', 'none'])
        .default('first')
        .describe(
          'Customer of the entry where several have the number: the first of the answer; the first company, else the first; or no entry.',
        ),
      handled_by: z
        .enum(['last', 'longest', 'first'])
        .default('last')
        .describe('Person of the entry: who talked last, longest or first.'),
      settle_seconds: z.int().min(0).max(600).default(0).describe('How late their search may be.'),
      create: request({ id: Text.optional(), exists: Text.optional() }),
      update: request({ id: Text.optional() }).optional(),
      remove: request({}).optional(),
      find: request({ id: Text }).optional(),
      attach: Attach.optional().describe('Sends each stored recording of the conversation.'),
    })
    .refine(
      (entry) => (entry.once === 'find') === (entry.find !== undefined),
      '`once: find` needs `find`, and `find` needs `once: find`',
    )
    .optional(),
  pop: Text.or(Pop)
    .optional()
    .describe('What a live call of a customer opens: the `url` of the customer by default.'),
  push: z
    .strictObject({
      ...METHODS,
      query: CALL.query,
      headers: CALL.headers,
      body: z.record(z.string(), Json).optional(),
      form: CALL.form,
      ringing: Ring.optional(),
      answered: Push.optional(),
      ended: Push.optional(),
      transferred: Push.optional(),
    })
    .optional(),
  sync: request({
    rows: Text,
    customer: OwnCustomer,
    gone: Text.optional(),
    ...PAGES,
    cursor: Text.optional().describe('Of a row: what the next sync is asked with.'),
  }).optional(),
  inbox: Inbox.optional(),
});
export type ConnectorDocument = z.output<typeof ConnectorDocument>;
