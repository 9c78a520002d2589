import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asyncapiBreaks, openapiBreaks } from './contract-breaks.ts';
import type { Document } from './contract-breaks.ts';
import { baselineOf, contractDocument } from './contract-documents.ts';

type Any = any; // oxlint-disable-line typescript/no-explicit-any -- the documents are broken on purpose, anywhere
const BASE: Document = {
  paths: {
    '/things/{id}': {
      get: {
        'x-level': 'user',
        parameters: [{ in: 'query', name: 'q', required: false, schema: { type: 'string', maxLength: 64 } }],
        responses: {
          '200': { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
          '404': {},
        },
      },
      post: {
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  code: { type: 'string', pattern: '^(a(b|c)|[|)]d)$' },
                  kind: { enum: ['a', 'b'], type: 'string' },
                  size: { type: 'integer', maximum: 9 },
                },
                required: ['kind'],
              },
            },
          },
        },
        responses: { '201': {} },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
          state: { type: 'string', enum: ['on', 'off'] },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
          extra: { type: 'string' },
        },
        required: ['name', 'note', 'state', 'parts'],
      },
    },
  },
};
/** Report after this change of the document. */
const after = (change: (document: Any) => unknown): string[] => {
  const document = structuredClone(BASE);
  change(document);
  return openapiBreaks(BASE, document);
};
const thing = (d: Any): Any => d.components.schemas.Thing;
const get = (d: Any): Any => d.paths['/things/{id}'].get;
const post = (d: Any): Any => d.paths['/things/{id}'].post;
const body = (d: Any): Any => post(d).requestBody.content['application/json'].schema;

test('contract breaks - everything that shrinks is named', () => {
  const cases: readonly [(d: Any) => unknown, RegExp][] = [
    [(d) => delete d.paths['/things/{id}'], /^GET \/things\/\{id\}: is gone$/],
    [(d) => delete d.paths['/things/{id}'].post, /^POST \/things\/\{id\}: is gone$/],
    [(d) => (get(d)['x-level'] = 'agent'), /needs the level agent now/],
    [(d) => (get(d).parameters = []), /query q: is gone/],
    [(d) => (get(d).parameters[0].required = true), /query q: is required now/],
    [(d) => get(d).parameters.push({ in: 'query', name: 'z', required: true }), /query z: is required now/],
    [(d) => (get(d).parameters[0].schema.maxLength = 8), /query q: maxLength is lower now/],
    [(d) => (get(d).parameters[0].schema.pattern = 'x'), /query q: has another pattern now/],
    [(d) => delete get(d).responses['200'], /answers no longer with 200/],
    [(d) => (get(d).responses['200'].content = {}), /200: application\/json is gone/],
    [(d) => delete thing(d).properties.name, /200\.name: the field is gone/],
    [(d) => delete thing(d).properties.extra, /200\.extra: the field is gone/],
    [(d) => thing(d).required.shift(), /200\.name: is not always there any more/],
    [(d) => (thing(d).properties.name.type = 'integer'), /200\.name: was string, now integer/],
    [(d) => (thing(d).properties.name.type = ['string', 'null']), /200\.name: can now be null too/],
    [(d) => thing(d).properties.note.anyOf.pop(), /200\.note: was null, now string/],
    [(d) => thing(d).properties.state.enum.pop(), /200\.state: the value "off" is gone/],
    [(d) => (thing(d).properties.parts.items = { type: 'string' }), /200\.parts\[\]: was object, now string/],
    [(d) => body(d).required.push('size'), /body\.size: is required now/],
    [(d) => delete body(d).properties.size, /body\.size: the field is gone/],
    [(d) => body(d).properties.kind.enum.pop(), /body\.kind: the value "b" is gone/],
    [(d) => (body(d).properties.size.maximum = 5), /body\.size: maximum is lower now/],
    [(d) => (body(d).properties.size.minimum = 1), /body\.size: minimum is higher now/],
    [(d) => (body(d).properties.size.enum = [1]), /body\.size: takes only \[1\] now/],
    [(d) => (body(d).properties.code.pattern = '^(a(b)|[|)]d)$'), /body\.code: has another pattern now/],
    [(d) => (body(d).properties.code.pattern = '^(a(b|c))$'), /body\.code: has another pattern now/],
    [(d) => (body(d).additionalProperties = false), /body: refuses fields it does not know now/],
    [(d) => (post(d).requestBody.required = true), /body: is required now/],
  ];
  for (const [change, says] of cases) {
    const found = after(change);
    assert.equal(found.length > 0, true, `nothing was found for ${says}`);
    assert.ok(
      found.some((line) => says.test(line)),
      `${says}: ${found.join('; ')}`,
    );
  }
});
test('contract breaks - everything that grows passes', () => {
  const changes: readonly ((d: Any) => unknown)[] = [
    () => undefined,
    (d) => (d.paths['/more'] = { get: {} }),
    (d) => (d.paths['/things/{id}'].delete = {}),
    (d) => get(d).parameters.push({ in: 'query', name: 'z', schema: { type: 'string' } }),
    (d) => (get(d).parameters[0].schema.maxLength = 128),
    (d) => (get(d)['x-level'] = 'public'),
    (d) => delete get(d).responses['404'],
    (d) => (thing(d).properties.more = { type: 'string' }),
    (d) => thing(d).required.push('extra'),
    (d) => thing(d).properties.state.enum.push('unknown'),
    (d) => (body(d).properties.more = { type: 'string' }),
    (d) => (body(d).required = []),
    (d) => (body(d).properties.size.type = ['integer', 'null']),
    (d) => (body(d).properties.size.type = 'number'),
    (d) => body(d).properties.kind.enum.push('c'),
    (d) => (body(d).properties.code.pattern = '^([|)]d|e|a(b|c))$'),
  ];
  for (const change of changes) assert.deepEqual(after(change), [], String(change));
});

test('contract breaks - the baseline of a release names each loss that the whole document names', async () => {
  for (const [name, breaks] of [
    ['openapi', openapiBreaks],
    ['asyncapi', asyncapiBreaks],
  ] as const) {
    const whole = await contractDocument<Any>(name);
    const baseline = JSON.parse(baselineOf(whole));
    assert.deepEqual(breaks(baseline, whole), []);
    const emptied = JSON.parse(
      JSON.stringify(whole, (key, value: unknown) => (key === 'properties' ? {} : value)),
    );
    const lost = breaks(whole, emptied);
    assert.ok(lost.length > 100, `${name}: ${lost.length}`);
    assert.deepEqual(breaks(baseline, emptied), lost);
  }
});
test('contract breaks - of the real events, frames and topics each loss is named', async () => {
  const whole = await contractDocument<Any>('asyncapi');
  const without = (change: (document: Any) => unknown): string[] => {
    const document = structuredClone(whole);
    change(document);
    return asyncapiBreaks(whole, document);
  };
  assert.deepEqual(
    without(() => undefined),
    [],
  );
  const cases: readonly [(d: Any) => unknown, RegExp][] = [
    [(d) => delete d.channels.queues, /^channel queues: is gone$/],
    [(d) => (d.channels.stream.address = '/x'), /channel stream: is not at \/api\/v1\/stream any more/],
    [(d) => delete d.channels.queues.messages['queue.stats'], /channel queues: queue\.stats is gone/],
    [(d) => delete d.operations['call-webhook'], /operation call-webhook: is gone/],
    [
      (d) => delete d.components.schemas['call.ended'].properties.cause,
      /^call\.ended\.data\.cause: the field is gone$/,
    ],
    [
      (d) => delete d.components.schemas['AgentSummary.readiness'].properties.reason,
      /data\.agent\.readiness\.reason: the field is gone$/,
    ],
    [
      (d) => d.components.schemas['call.ended'].properties.reason.enum.pop(),
      /call\.ended\.data\.reason: the value "merged" is gone/,
    ],
    [(d) => (d.components.schemas.Envelope.properties.seq.type = 'string'), /\.seq: was integer, now string/],
    [
      (d) => delete d.components.schemas['server.hello'].properties.epoch,
      /^server\.hello\.epoch: the field is gone$/,
    ],
    [
      (d) => d.components.schemas['client.subscribe'].required.push('epoch'),
      /^client\.subscribe\.epoch: is required now$/,
    ],
  ];
  for (const [change, says] of cases) {
    const found = without(change);
    assert.ok(
      found.some((line) => says.test(line)),
      `${says}: ${found.join('; ')}`,
    );
  }
});
test('contract breaks - nothing of the real replies can be lost unseen', async () => {
  const whole = await contractDocument<Any>('openapi');
  const found: string[] = [];
  let fields = 0;
  for (const [route, methods] of Object.entries<Any>(whole.paths)) {
    const one = { ...whole, paths: { [route]: methods } };
    for (const method of Object.keys(methods)) {
      const schema = methods[method].responses['200']?.content?.['application/json']?.schema;
      for (const field of Object.keys(schema?.properties ?? {})) {
        const document = structuredClone(one);
        const content = document.paths[route][method].responses['200'].content;
        delete content['application/json'].schema.properties[field];
        fields += 1;
        found.push(...openapiBreaks(one, document));
      }
    }
  }
  assert.ok(fields > 40, String(fields));
  assert.equal(found.length, fields);
});
