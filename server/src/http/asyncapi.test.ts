import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { z } from 'zod';
import { WebhookTest } from '@offhook/contract/webhooks.ts';
import { EVENT_DATA } from '@offhook/contract/events.ts';
import { CLOSE_CODES, ClientFrame, ServerFrame, TOPIC_NOUNS, Topic } from '@offhook/contract/stream.ts';
import { hostFixture } from '../../test/support/host-fixture.ts';
import { TESTED, exampleData } from '../../../tools/events-document.ts';
import { oneOperation } from '../../test/support/one-operation.ts';
import { topicsOfType } from '../rights/topics.ts';
import { EVENT_TYPES, eventSchemas } from './asyncapi-schemas.ts';
import type { AsyncApiDocument } from './asyncapi.ts';
import type { Host } from './host.ts';
import { addOperations } from './operations.ts';

let host: Host;
let document: AsyncApiDocument;
before(async () => {
  host = await hostFixture();
  addOperations(host.app, [
    oneOperation({
      action: 'kettles.boil',
      method: 'POST',
      path: '/api/v1/kettles/:name/boil',
      level: 'agent',
      errors: [],
      summary: 'Boils.',
      tag: 'kettles',
      params: z.strictObject({ name: z.string() }),
      body: z.strictObject({ degrees: z.int().max(100).optional() }).nullable(),
      reply: z.object({ success: z.literal(true) }),
      run: () => Promise.resolve({ success: true as const }),
    }),
  ]);
  const response = await host.app.inject('/api/v1/asyncapi.json');
  assert.equal(response.statusCode, 200);
  document = response.json();
});
after(() => host.close());

/** Where a reference of the document leads; undefined for nowhere. */
const follow = (reference: string): unknown =>
  reference
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (at, part) => (at as Record<string, unknown> | undefined)?.[part.replaceAll('~1', '/')],
      document,
    );

test('asyncapi - the document is valid by the schema of AsyncAPI 3', () => {
  const require = createRequire(import.meta.url);
  const schema = require('@asyncapi/specs/schemas/3.0.0.json') as object;
  // The schema brings the meta-schema along, so Ajv must not have one too.
  const ajv = new Ajv({ strict: false, allErrors: true, meta: false, validateSchema: false });
  // The package is CommonJS: its function is a property of the import.
  (addFormats as unknown as { default: (ajv: Ajv) => void }).default(ajv);
  assert.ok(ajv.validate(schema, document), ajv.errorsText(ajv.errors?.slice(0, 5)));
  assert.ok(!ajv.validate(schema, { ...document, channels: { x: { adress: 1 } } }), 'the schema sees faults');
});
test('asyncapi - every reference leads somewhere', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((m) => m[1]!);
  assert.ok(references.length > 100);
  for (const reference of references) assert.ok(follow(reference) !== undefined, reference);
});
test('asyncapi - the data of an event may be a schema with a name that no other event uses', () => {
  const Kettle = z.object({ degrees: z.int() }).meta({ id: 'Kettle' });
  const boiled = eventSchemas({ 'kettle.boiled': Kettle.describe('Boiled.') })['kettle.boiled'];
  assert.equal(boiled?.description, 'Boiled.');
  assert.doesNotMatch(JSON.stringify(boiled), /\$ref/);
});
test('asyncapi - a client can subscribe to every topic of an event, and the refusal of another one lists them', () => {
  for (const topic of EVENT_TYPES.flatMap((type) => topicsOfType(type)).filter((t) => t !== 'every topic')) {
    const named = topic.replace('{extension}', '1003').replace('{name}', 'support');
    // A subscription names alerts as a whole, whoever is notified of them.
    if (named !== 'alerts/mine')
      assert.ok(
        Topic.safeParse(named).success,
        `${topic} is no topic: add a row to TOPICS in contract/stream.ts`,
      );
  }
  const refusal = Topic.safeParse('kettles').error?.issues[0]?.message ?? '';
  for (const noun of TOPIC_NOUNS)
    assert.ok(refusal.includes(noun), `the refusal below TOPICS in contract/stream.ts lacks ${noun}`);
});
test('asyncapi - every event is described, is on each of its topics and on the webhooks', () => {
  for (const type of EVENT_TYPES) {
    assert.ok(EVENT_DATA[type].description, `${type} does not say when it is: add .describe(…)`);
    for (const topic of topicsOfType(type).filter((t) => t !== 'every topic')) {
      const channel = Object.values(document.channels).find(({ address }) => address === topic);
      assert.ok(channel?.messages[type], `${type} on ${topic}`);
    }
    assert.ok(document.channels.webhooks?.messages[type], type);
  }
  assert.deepEqual(topicsOfType('call.ended'), ['calls', 'calls/mine']);
  assert.deepEqual(topicsOfType('queue.stats'), ['queues', 'queues/{name}']);
  assert.ok(document.channels.webhooks?.messages['webhook.test'], 'and what a test sends');
  const { messages } = document.channels['presence-extension']!;
  assert.ok('engine.link_down' in messages, 'engine events are on every topic');
});
test('asyncapi - every frame and every close code of the stream is in it', () => {
  const { messages, description } = document.channels.stream!;
  const ops = (frames: readonly { shape: { op: z.ZodLiteral<string> } }[]) =>
    frames.map((f) => f.shape.op.value);
  for (const op of ops(ServerFrame.options)) assert.ok(messages[`server.${op}`], op);
  for (const op of ops(ClientFrame.options)) assert.ok(messages[`client.${op}`], op);
  for (const code of Object.values(CLOSE_CODES)) assert.match(description ?? '', new RegExp(String(code)));
});
test('asyncapi - an operation is a command with the path’s names and the body in one object, and its result', () => {
  const { schemas } = document.components;
  assert.deepEqual(document.components.messages['command.kettles.boil']!.payload, {
    $ref: '#/components/schemas/command.kettles.boil',
  });
  assert.deepEqual(schemas['command.kettles.boil.data'], {
    type: 'object',
    properties: { name: { type: 'string' }, degrees: { type: 'integer', maximum: 100 } },
    required: ['name'],
    additionalProperties: false,
  });
  const { reply, description } = document.operations['command-kettles.boil']!;
  assert.equal(description, 'Level: agent.');
  assert.equal(reply?.messages[0]?.$ref, '#/channels/stream/messages/result.kettles.boil');
});
test('asyncapi - schemas of sent messages stay open for new fields', () => {
  const { schemas, messages } = document.components;
  const sent = Object.keys(messages).filter((name) => !/^(client|command)\./.test(name));
  const seen = new Set<string>();
  const follow = (value: unknown): void => {
    const text = JSON.stringify(value);
    assert.doesNotMatch(text, /"additionalProperties":false/);
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (seen.has(name!)) continue;
      seen.add(name!);
      follow(schemas[name!]);
    }
  };
  follow(sent.map((name) => messages[name]));
  assert.ok(seen.size > 50);
});
test('asyncapi - the example of every event fits its own schema', () => {
  for (const type of EVENT_TYPES) {
    const result = EVENT_DATA[type].safeParse(exampleData(type));
    assert.ok(result.success, `${type}: ${result.error?.message}`);
  }
  assert.ok(WebhookTest.safeParse(TESTED).success);
});
