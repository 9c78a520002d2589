import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { messagesOf, topicsOf } from './events.ts';
import type { AsyncApi } from './events.ts';
import { addressOf, curlOf, filledFirst, found, operationsOf } from './operations.ts';
import type { OpenApi, Operation } from './operations.ts';
import { contractDocument } from '../../../tools/contract-documents.ts';

const document = await contractDocument<OpenApi>('openapi');
const operations = operationsOf(document);
const schemas = document.components.schemas ?? {};
const by = (id: string): Operation => {
  const one = operations.find((each) => each.id === id);
  assert.ok(one, id);
  return one;
};

test('api page - every operation of the document is listed, with its level, body and errors', () => {
  const paths = Object.values(document.paths);
  assert.equal(operations.length, paths.flatMap((methods) => Object.keys(methods)).length);
  for (const { id, errors, summary, replies } of operations) {
    assert.ok(summary !== '' && replies.length > 0, id);
    assert.ok(
      errors.some(({ code }) => code === 'internal'),
      id,
    );
  }
  const call = by('post-/api/v1/calls');
  assert.deepEqual([call.level, call.scope, call.changes], ['user', 'calls:control', true]);
  assert.deepEqual(
    call.errors.filter(({ status }) => status === '404'),
    [
      { status: '404', code: 'no_route', title: 'No route leads to this number' },
      { status: '404', code: 'not_found', title: 'Not found' },
    ],
  );
  assert.equal(by('get-/api/v1/stream').upgrade, true);
  assert.equal(by('post-/api/v1/config/sounds').body?.file, true);
});
test('api page - the initial body fits its schema', () => {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    inlineRefs: false,
  });
  ajv.addSchema({ $id: 'doc', components: { schemas } });
  const wrong = operations.flatMap((operation) => {
    if (operation.body === null || operation.body.file) return [];
    const schema = JSON.parse(
      JSON.stringify(operation.body.schema).replaceAll('"#/components', '"doc#/components'),
    ) as object;
    const body: unknown = JSON.parse(filledFirst(operation, schemas).body);
    return ajv.validate(schema, body) ? [] : [`${operation.id} ${JSON.stringify(body)} ${ajv.errorsText()}`];
  });
  assert.deepEqual(wrong, []);
});
test('api page - form values stay within their part of the address', () => {
  const one = by('get-/api/v1/agents/{extension}');
  assert.equal(addressOf(one, { extension: '../x?a=b#c' }), '/api/v1/agents/..%2Fx%3Fa%3Db%23c');
  const many = by('get-/api/v1/conversations');
  assert.equal(addressOf(many, { q: 'a&b=c', number: '' }), '/api/v1/conversations?q=a%26b%3Dc');
});
test('api page - the curl line is one command, for any body', () => {
  const note = by('post-/api/v1/conversations/{id}/notes');
  const body = JSON.stringify({ text: `it's "$(touch x)" \`y\` \n;` });
  const line = curlOf(note, { values: { id: '7' }, body }, 'http://127.0.0.1:8080');
  const { stdout } = spawnSync('sh', ['-c', line.replace('curl', String.raw`printf '%s\0'`)], {
    encoding: 'utf8',
    env: { ...process.env, TOKEN: 'secret' },
  });
  assert.deepEqual(stdout.split('\0').slice(0, -1), [
    'http://127.0.0.1:8080/api/v1/conversations/7/notes',
    '-X',
    'POST',
    '-H',
    'Authorization: Bearer secret',
    '-H',
    'Content-Type: application/json',
    '-d',
    body,
  ]);
});
test('api page - a search matches words in any order, without accents', () => {
  const ids = found(operations, 'calls TRANSFER').map(({ id }) => id);
  assert.ok(ids.includes('post-/api/v1/calls/{id}/transfer'));
  assert.ok(!ids.includes('get-/api/v1/calls'));
  assert.equal(found(operations, '  ').length, operations.length);
});
test('api page - events have their topics and the fields of their data', async () => {
  const events = await contractDocument<AsyncApi>('asyncapi');
  const topics = topicsOf(events).map(({ address }) => address);
  assert.ok(topics.includes('queues/{name}') && !topics.some((topic) => topic.startsWith('/')));
  const started = messagesOf(events).find(({ name }) => name === 'call.started');
  assert.deepEqual(started?.topics, ['calls', 'calls/mine']);
  assert.ok(JSON.stringify(started?.schema).includes('call.started'));
});
