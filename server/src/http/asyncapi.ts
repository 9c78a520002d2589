/** AsyncAPI 3 document of everything beside plain requests: events by topic, stream frames, webhooks. */
import type { z } from 'zod';
import { EVENT_DATA } from '@offhook/contract/events.ts';
import { CLOSE_CODES, ClientFrame, STREAM_PROTOCOL, ServerFrame } from '@offhook/contract/stream.ts';
import { WebhookTest } from '@offhook/contract/webhooks.ts';
import { topicsOfType } from '../rights/topics.ts';
import { SNAPSHOTS } from '@offhook/contract/snapshots.ts';
import type { Command } from '../ports/operations.ts';
import type { RouteTable } from './route-table.ts';
import { EVENT_TYPES, eventSchemas, received, sent } from './asyncapi-schemas.ts';
import type { Schema } from './asyncapi-schemas.ts';

interface Reference {
  readonly $ref: string;
}
interface Message {
  readonly name: string;
  readonly title?: string;
  readonly summary?: string;
  readonly contentType?: string;
  readonly headers?: Schema;
  readonly payload: Schema | Reference;
}
interface Channel {
  readonly address: string | null;
  readonly title: string;
  readonly description?: string;
  readonly messages: Readonly<Record<string, Reference>>;
  readonly parameters?: Readonly<Record<string, { readonly description: string }>>;
  readonly bindings?: object;
}
interface Operation {
  /** From the service's point of view. */
  readonly action: 'send' | 'receive';
  readonly channel: Reference;
  readonly summary: string;
  readonly description?: string;
  readonly messages: readonly Reference[];
  readonly reply?: { readonly channel: Reference; readonly messages: readonly Reference[] };
}
export interface AsyncApiDocument {
  readonly asyncapi: '3.0.0';
  readonly info: Readonly<Record<string, unknown>> & { readonly title: string; readonly version: string };
  readonly servers: Readonly<Record<string, object>>;
  readonly defaultContentType: string;
  readonly channels: Readonly<Record<string, Channel>>;
  readonly operations: Readonly<Record<string, Operation>>;
  readonly components: {
    readonly messages: Readonly<Record<string, Message>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

const to = (...path: readonly string[]): Reference => ({
  $ref: `#/${path.map((part) => part.replaceAll('/', '~1')).join('/')}`,
});
const message = (name: string): Reference => to('components', 'messages', name);
/** The key of a topic's channel in the document. */
const keyOf = (topic: string): string => topic.replaceAll(/[{}]/g, '').replaceAll('/', '-');
const frameName = (frame: z.ZodObject): string => (frame.shape.op as z.ZodLiteral<string>).value;

/** Operations that a `command` frame can name, sorted by name. */
const commandsOf = (table: RouteTable): Command[] =>
  table
    .entries()
    .flatMap((entry) => [...entry.methods.values()])
    .flatMap(({ operation }) => (operation === undefined ? [] : [operation]))
    .toSorted((a, b) => (a.action < b.action ? -1 : 1));
/** `data` of a command frame: path parameters and body in one object. */
function commandData(operation: Command): Schema {
  const body = received(operation.body as z.ZodType);
  const variants = (body.anyOf as readonly Schema[] | undefined)?.filter(({ type }) => type !== 'null') ?? [
    body,
  ];
  const params = received(operation.params as z.ZodType);
  const joined = variants.map((variant) => ({
    ...variant,
    properties: { ...(params.properties as object), ...(variant.properties as object) },
    required: [...((params.required ?? []) as string[]), ...((variant.required ?? []) as string[])],
  }));
  return joined.length === 1 ? joined[0]! : { anyOf: joined };
}

/** Parts of the document; each function below adds its own. */
interface Parts {
  readonly messages: Record<string, Message>;
  readonly channels: Record<string, Channel>;
  readonly operations: Record<string, Operation>;
}
function addEvents({ messages }: Parts): void {
  for (const type of EVENT_TYPES) {
    messages[type] = {
      name: type,
      summary: EVENT_DATA[type].description ?? type,
      payload: {
        allOf: [
          to('components', 'schemas', 'Envelope'),
          { properties: { type: { const: type }, data: to('components', 'schemas', type) } },
        ],
      },
    };
  }
}
function addTopics({ channels, operations }: Parts): void {
  const topics = new Set(
    EVENT_TYPES.flatMap((type) => topicsOfType(type).filter((t) => t !== 'every topic')),
  );
  for (const topic of topics) {
    const key = keyOf(topic);
    const types = EVENT_TYPES.filter((type) => {
      const on = topicsOfType(type);
      return on.includes(topic) || on.includes('every topic');
    });
    channels[key] = {
      address: topic,
      title: `Topic ${topic}`,
      messages: Object.fromEntries(types.map((type) => [type, message(type)])),
      ...(topic.includes('{')
        ? {
            parameters: Object.fromEntries(
              [...topic.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => [
                name!,
                { description: `One ${key.split('-')[0]} by its ${name}.` },
              ]),
            ),
          }
        : {}),
    };
    operations[`follow-${key}`] = {
      action: 'send',
      channel: to('channels', key),
      summary: `Events of the topic ${topic}.`,
      messages: types.map((type) => to('channels', key, 'messages', type)),
    };
  }
}
/** Adds the message of a frame of the stream; returns the reference to it in the stream's channel. */
type AddFrame = (name: string, payload: Schema) => Reference;
const sentBy = (name: string): Reference => to('channels', 'stream', 'messages', `server.${name}`);
function addServerFrames({ operations }: Parts, frame: AddFrame): void {
  const serverFrames = ServerFrame.options.map((option) => {
    const schema = sent(option);
    return frame(`server.${frameName(option)}`, frameName(option) === 'event' ? eventFrame(schema) : schema);
  });
  for (const [noun, schema] of Object.entries(SNAPSHOTS)) {
    const data = sent(schema);
    serverFrames.push(
      frame(`snapshot.${noun}`, { type: 'object', properties: { op: { const: 'snapshot' }, data } }),
    );
  }
  operations['send-frames'] = {
    action: 'send',
    channel: to('channels', 'stream'),
    summary: 'What the service sends on the stream.',
    messages: serverFrames,
  };
}
/** Frame with which the service answers a frame of a client. */
const ANSWERS: Readonly<Record<string, string>> = {
  subscribe: 'subscribed',
  unsubscribe: 'unsubscribed',
  ping: 'pong',
  command: 'result',
};
function addClientFrames({ operations }: Parts, frame: AddFrame): void {
  for (const option of ClientFrame.options) {
    const name = frameName(option);
    const answer = ANSWERS[name];
    operations[`receive-${name}`] = {
      action: 'receive',
      channel: to('channels', 'stream'),
      summary: `The frame ${name}.`,
      messages: [frame(`client.${name}`, received(option))],
      ...(answer === undefined
        ? {}
        : { reply: { channel: to('channels', 'stream'), messages: [sentBy(answer), sentBy('error')] } }),
    };
  }
}
function addCommands({ operations }: Parts, frame: AddFrame, table: RouteTable): void {
  for (const operation of commandsOf(table)) {
    const { action } = operation;
    const result = frame(`result.${action}`, {
      type: 'object',
      properties: { op: { const: 'result' }, ok: { const: true }, data: sent(operation.reply as z.ZodType) },
    });
    operations[`command-${action}`] = {
      action: 'receive',
      channel: to('channels', 'stream'),
      summary: operation.summary,
      description: `Level: ${operation.level}.`,
      messages: [
        frame(`command.${action}`, {
          type: 'object',
          properties: { op: { const: 'command' }, action: { const: action }, data: commandData(operation) },
          required: ['op', 'id', 'action', 'data'],
        }),
      ],
      reply: { channel: to('channels', 'stream'), messages: [result, sentBy('result'), sentBy('error')] },
    };
  }
}
function addStream(parts: Parts, table: RouteTable): void {
  const stream: Record<string, Reference> = {};
  const frame: AddFrame = (name, payload) => {
    parts.messages[name] = { name, payload };
    stream[name] = message(name);
    return to('channels', 'stream', 'messages', name);
  };
  addServerFrames(parts, frame);
  addClientFrames(parts, frame);
  addCommands(parts, frame, table);
  parts.channels.stream = {
    address: '/api/v1/stream',
    title: 'The stream',
    description: `WebSocket, sub-protocol ${STREAM_PROTOCOL}; one JSON object in each text frame. Close codes: ${Object.entries(
      CLOSE_CODES,
    )
      .map(([name, code]) => `${code} ${name}`)
      .join(', ')}.`,
    messages: stream,
    bindings: {
      ws: {
        method: 'GET',
        query: {
          type: 'object',
          properties: {
            ticket: { type: 'string', description: 'From POST /api/v1/stream/ticket; for one upgrade.' },
          },
        },
      },
    },
  };
}
function addWebhooks({ messages, channels, operations }: Parts): void {
  const events = Object.fromEntries(EVENT_TYPES.map((type) => [type, message(type)]));
  const tested = WebhookTest.shape.type.value;
  messages[tested] = { name: tested, summary: WebhookTest.description!, payload: sent(WebhookTest) };
  channels.webhooks = {
    address: null,
    title: 'Webhooks',
    description: 'The address is each subscription’s own; the events are those of its topics.',
    messages: { ...events, [tested]: message(tested) },
  };
  operations['call-webhook'] = {
    action: 'send',
    channel: to('channels', 'webhooks'),
    summary: 'An event as a request to a subscription’s own address, signed as Standard Webhooks 1.0 says.',
    description:
      'POST with the headers webhook-id, webhook-timestamp and webhook-signature; the body is the envelope.',
    messages: [...EVENT_TYPES, tested].map((type) => to('channels', 'webhooks', 'messages', type)),
  };
}

/** Deterministic: equal routes and schemas give equal bytes. The app must be ready. */
export function asyncapiDocument(table: RouteTable, version: string): AsyncApiDocument {
  const parts: Parts = { messages: {}, channels: {}, operations: {} };
  addEvents(parts);
  addTopics(parts);
  addStream(parts, table);
  addWebhooks(parts);
  const { messages, channels, operations } = parts;
  for (const operation of Object.values(operations)) {
    (operation as { description?: string }).description ??= operation.summary;
  }
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Offhook events',
      version,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
      contact: { name: 'Offhook', url: 'https://github.com/offhook/offhook' },
      tags: [{ name: 'events', description: 'What happens, as it happens' }],
      description:
        'One durable, ordered log of events; read it by WebSocket (the channel `stream`, with topics), server-sent events or long poll (in the OpenAPI document), or webhooks. Fields are only ever added.',
    },
    defaultContentType: 'application/json',
    servers: SERVERS,
    channels,
    operations,
    components: namedParts(messages),
  };
}
/** Example addresses; every site has its own host. */
const SERVERS = {
  site: { host: 'pbx.example.com', protocol: 'wss', description: 'The service behind its proxy with TLS.' },
  local: {
    host: '127.0.0.1:8080',
    protocol: 'ws',
    description: 'The service on this machine, as `npm start` runs it.',
  },
};
/** Names every payload and every nested object, because code generators name their types after them. */
function namedParts(messages: Readonly<Record<string, Message>>): AsyncApiDocument['components'] {
  const schemas: Record<string, Schema> = {};
  const byContent = new Map<string, string>();
  const put = (name: string, schema: Schema): Reference => {
    const content = JSON.stringify(schema);
    const known = byContent.get(content);
    if (known !== undefined) return to('components', 'schemas', known);
    let free = name;
    for (let n = 2; free in schemas; n += 1) free = `${name}.${n}`;
    schemas[free] = schema;
    byContent.set(content, free);
    return to('components', 'schemas', free);
  };
  const inner = (value: unknown, name: string): unknown => {
    if (Array.isArray(value)) return value.map((item, i) => part(item, `${name}.${i + 1}`));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        if (key === 'properties')
          return [
            key,
            Object.fromEntries(
              Object.entries(item as object).map(([field, schema]) => [
                field,
                part(schema, `${name}.${field}`),
              ]),
            ),
          ];
        if (['items', 'additionalProperties'].includes(key))
          return [key, part(item, `${name}.${key === 'items' ? 'item' : 'value'}`)];
        return [key, ['anyOf', 'oneOf', 'allOf'].includes(key) ? inner(item, name) : item];
      }),
    );
  };
  const part = (value: unknown, name: string): unknown => {
    const done = inner(value, name) as Schema;
    return done?.properties === undefined ? done : put(name, done);
  };
  const events = eventSchemas();
  for (const [name, schema] of Object.entries(events)) schemas[name] = inner(schema, name) as Schema;
  const named = Object.entries(messages).map(([name, one]) => {
    const key = name in events ? `${name}.event` : name;
    return [name, { ...one, payload: put(key, inner(one.payload, key) as Schema) }] as const;
  });
  return { messages: Object.fromEntries(named), schemas: usedOnly(schemas, named) };
}
/** Removes schemas that no message references. */
function usedOnly(
  schemas: Readonly<Record<string, Schema>>,
  messages: unknown,
): Readonly<Record<string, Schema>> {
  const used = new Set<string>();
  const follow = (text: string): void => {
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name === undefined || used.has(name)) continue;
      used.add(name);
      follow(JSON.stringify(schemas[name] ?? {}));
    }
  };
  follow(JSON.stringify(messages));
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)));
}
const eventFrame = (schema: Schema): Schema => ({
  ...schema,
  properties: { ...(schema.properties as object), event: to('components', 'schemas', 'Envelope') },
});
