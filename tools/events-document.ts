/** docs/events.md: every event type with its topics, cause, fields and an example, generated from the schemas. */
import { topicsOfType } from '../server/src/rights/topics.ts';
import { WebhookTest } from '@offhook/contract/webhooks.ts';
import { EVENT_TYPES, eventSchemas } from '../server/src/http/asyncapi-schemas.ts';

interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly description?: string;
}
type Schemas = Readonly<Record<string, Schema>>;

const REF = '#/components/schemas/';
const NODE = 'ast1';
const TIME = '2026-03-02T09:15:04.250Z';
/** Example values by field name; other values follow from the type. */
const VALUES: Readonly<Record<string, unknown>> = {
  extension: '1003',
  extensions: ['1003'],
  name: 'Eva Klein',
  member: 'Eva Klein',
  number: '0301234567',
  dialled: '1003',
  endpoint: '1003',
  queue: 'support',
  call_id: `${NODE}:1772442904.17`,
  leg_id: `${NODE}:1772442904.17`,
  merged_into: null,
  merged_call_id: null,
  offer_id: `support:${NODE}:1772442904.17:${NODE}:1772442904.19`,
  operation_id: 'op_7f3a',
  action: 'calls.originate',
  by: '1003',
  to: '1004',
  slot: '701',
  cause: 16,
  cause_text: 'Normal Clearing',
  reason: 'lunch',
  note: null,
  expires_at: null,
  summary: 'available',
  day: '2026-03-02',
  from: null,
  code: null,
  detail: null,
  node: NODE,
  boot_id: '1772430000',
  files: ['extensions.conf'],
  direction: 'in',
  pending: null,
  pending_reason: null,
  // A conversation.
  id: `${NODE}:1772442904.17`,
  merged_from: [],
  dialled_e164: null,
  number_e164: '+49301234567',
  duration: 63.4,
  ring_time: 4.15,
  talk_time: 59.25,
  billable: 59.25,
  wait_time: 0,
  hold_time: 0,
  park_time: 0,
  wrap_up_time: 0,
  queues: [],
  agents: [],
  outcome: null,
  customer_disposition: null,
  trunk: null,
};
const CUSTOMER = {
  id: 4711,
  kind: 'person',
  name: 'Anna Müller',
  company: 'Acme',
  owner: '1003',
  vip: true,
  blocked: false,
  source: 'manual',
  matches: 1,
};
/** Example values by event type, where the field name alone is ambiguous. */
const OWN_VALUES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'trunk.up': { trunk: 'north', title: 'North', state: 'registered', reason: null, round_trip_ms: 18.4 },
  'trunk.down': {
    trunk: 'north',
    title: 'North',
    state: 'unreachable',
    reason: 'no_answer',
    round_trip_ms: null,
  },
  'phone.signed_in': { phone: 'lobby' },
  'phone.signed_out': { phone: 'lobby', reason: 'code' },
  'phone.sign_in_refused': { phone: 'lobby' },
  'network.address_changed': { address: '203.0.113.9', former: '203.0.113.7' },
  'network.address_doubted': {
    address: '203.0.113.7',
    detail: 'STUN server stun.example.com:3478 gives 10.0.0.1, which is no public address',
  },
  'parking.slot_occupied': { lot: 'default', parked_by: '1003' },
  'parking.slot_freed': { lot: 'default', reason: 'picked_up' },
  'call.ringing': { customer: CUSTOMER },
  'call.answered': { customer: CUSTOMER },
  'call.customer': { customer: CUSTOMER },
  'queue.caller_joined': { customer: CUSTOMER },
  'queue.caller_changed': { customer: CUSTOMER },
  'agent.removed': { queue: null },
  'queue.changed': {
    number: '500',
    title: 'Support',
    strategy: 'ringall',
    ring_seconds: 20,
    wrap_up_seconds: 15,
    max_wait_seconds: 600,
  },
  'call.ended': { into: undefined, customer_disposition: undefined },
  'phonebook.callers_changed': { id: 12, extension: null },
  'history.gap': { from: '2026-03-02T09:02:11.000Z', to: '2026-03-02T09:04:38.000Z', channels: 4 },
  'history.settled': { from: '2026-03-02T09:02:11.000Z', to: '2026-03-02T09:04:38.000Z' },
  'history.difference': {
    conversation_id: `${NODE}:1772442904.17`,
    from: '2026-03-02T09:15:04.250Z',
    to: '2026-03-02T09:16:07.650Z',
    records_seconds: null,
    journal_seconds: 59.25,
    completed: true,
  },
  'store.events_lost': { from: '2026-03-02T09:02:11.000Z', to: '2026-03-02T09:04:38.000Z', events: 12 },
  'store.gap': { from: '2026-03-02T09:02:11.000Z', to: '2026-03-02T09:04:38.000Z', writes: 12 },
  'path_check.completed': {
    ways: ['udp', 'tcp', 'web', 'turn'],
    failed: [
      { way: 'turn', detail: 'TURN at 203.0.113.7:3478 gives no relay: no answer in 5 s', fault: 'no_relay' },
    ],
  },
  'path_check.way_failed': {
    way: 'turn',
    detail: 'TURN at 203.0.113.7:3478 gives no relay: no answer in 5 s',
    fault: 'no_relay',
  },
  'path_check.way_restored': {
    way: 'turn',
    detail: 'registered, was called and heard itself through TURN at 203.0.113.7:3478',
  },
  'certificate.renewed': { names: ['pbx.example.com'], valid_to: '2026-05-31T09:02:11.000Z' },
  'certificate.renewal_failed': {
    names: ['pbx.example.com'],
    detail: 'http-01 for pbx.example.com is invalid: no answer at port 80',
    next_try_at: '2026-03-02T09:17:11.000Z',
  },
  'config.progress': { id: 7, author: '1001', comment: 'Two more in support', object: 'queue support' },
  'config.applied': { author: '1001' },
  'config.rolled_back': {
    author: '1001',
    object: 'endpoint 1004',
    file: 'extensions.conf',
    words: 'Could not create an object of type',
    detail:
      'The objects in the engine differ from the new version. Files and engine are as they were before.',
  },
  'config.drift': {
    files: [{ name: 'extensions.conf', hand_written: false, missing: false, since: TIME }],
  },
  'engine.link_down': { reason: 'the connection was closed' },
};

function resolved(schema: Schema, all: Schemas): Schema {
  if (schema.$ref !== undefined) return resolved(all[schema.$ref.slice(REF.length)] ?? {}, all);
  const [only] = schema.allOf ?? [];
  return only === undefined ? schema : { ...resolved(only, all), ...schema };
}
const nameOf = (schema: Schema): string | undefined =>
  (schema.$ref ?? schema.allOf?.[0]?.$ref)?.slice(REF.length);

/** The type for one cell, e.g. `string, null` or `in \| out`. */
function typeOf(schema: Schema): string {
  const named = nameOf(schema);
  if (named !== undefined) return `[${named}](#${named.toLowerCase().replaceAll('.', '')})`;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((word) => `\`${String(word)}\``).join(' ');
  if (schema.anyOf !== undefined) return schema.anyOf.map((one) => typeOf(one)).join(', ');
  if (schema.type === 'array') return `[${typeOf(schema.items ?? {})}]`;
  return [schema.type ?? 'any'].flat().join(', ');
}
function rows(schema: Schema, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const { description = '' } = field;
    const optional = schema.required?.includes(name) === true ? '' : '?';
    const own = `| \`${prefix}${name}\`${optional} | ${typeOf(field)} | ${description.replaceAll('|', '\\|')} |`;
    return nameOf(field) === undefined ? [own, ...rows(field, `${prefix}${name}.`)] : [own];
  });
}

/** An example that fits the schema; deterministic. */
function exampleOf(
  schema: Schema,
  all: Schemas,
  name: string,
  own: Readonly<Record<string, unknown>>,
): unknown {
  const whole = resolved(schema, all);
  if (whole.const !== undefined) return whole.const;
  if (name in own) return own[name];
  if (whole.enum !== undefined) return whole.enum.includes(VALUES[name]) ? VALUES[name] : whole.enum[0];
  if (whole.anyOf !== undefined) {
    return VALUES[name] === null ? null : exampleOf(whole.anyOf[0] ?? {}, all, name, own);
  }
  const [type] = [whole.type ?? 'null'].flat();
  if (type === 'object') {
    return Object.fromEntries(
      Object.entries(whole.properties ?? {}).map(([key, field]) => [key, exampleOf(field, all, key, own)]),
    );
  }
  if (name in VALUES) return VALUES[name];
  if (type === 'array') return [exampleOf(whole.items ?? {}, all, name, own)];
  if (type === 'boolean') return false;
  if (type === 'integer') return 1;
  if (type === 'number') return 0.8;
  return /(_at|since|until|deadline)$/.test(name) ? TIME : name;
}
/** Example of `data` for an event of this type. */
export function exampleData(type: string): unknown {
  const all = eventSchemas() as Schemas;
  return exampleOf(all[type] ?? {}, all, '', OWN_VALUES[type] ?? {});
}

/** Data of a webhook's test event. */
export const TESTED = {
  specversion: '1.0',
  id: 'test_x3f0uG2hWm7kQ9aZ',
  source: `/offhook/${NODE}`,
  type: 'webhook.test',
  subject: 'webhooks/4',
  time: TIME,
  data: { webhook_id: 4 },
};
const table = (schema: Schema): string => `| Field | Type | |\n|---|---|---|\n${rows(schema).join('\n')}\n`;

export function eventsDocument(): string {
  const all = eventSchemas() as Schemas;
  const types = new Set<string>(EVENT_TYPES);
  const sections = EVENT_TYPES.map((type) => {
    const schema = resolved(all[type] ?? {}, all);
    const topics = topicsOfType(type).map((topic) => (topic === 'every topic' ? topic : `\`${topic}\``));
    return `## ${type}

${schema.description}

Topics: ${topics.join(', ')}

${table(schema)}
\`\`\`json
${JSON.stringify(exampleData(type), null, 1)}
\`\`\`
`;
  });
  const used = new Set<string>(['Envelope']);
  const look = (schema: unknown): void => {
    for (const [, name = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      look(all[name]);
    }
  };
  for (const type of EVENT_TYPES) look(all[type]);
  const parts = Object.keys(all).filter((name) => !types.has(name) && used.has(name));
  return `# Events

Every event on every transport is the [envelope](#envelope) with \`data\` by its \`type\`. Fields and types are only ever added, so a client ignores unknown ones. A field with \`?\` may be missing. The same as AsyncAPI 3 is served at \`/api/v1/asyncapi.json\`.

${EVENT_TYPES.map((type) => `[${type}](#${type.replaceAll('.', '')})`).join(' · ')}

${sections.join('\n')}
## webhook.test

${WebhookTest.description} See [webhooks.md](webhooks.md).

\`\`\`json
${JSON.stringify(TESTED, null, 1)}
\`\`\`

${parts.map((name) => `## ${name}\n\n${table(resolved(all[name] ?? {}, all))}`).join('\n')}`;
}
