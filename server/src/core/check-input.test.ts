import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FeaturesChange } from '@offhook/contract/features.ts';
import { ClientFrame } from '@offhook/contract/stream.ts';
import { z } from 'zod';
import { checkInput } from './check-input.ts';
import { ServiceError, problemOf } from './errors.ts';
import { say } from './said.ts';

const detailOf = (schema: z.ZodType, value: unknown): string => {
  try {
    checkInput(schema, value, 'body');
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, 'invalid_request');
    return error.message;
  }
  return 'taken';
};

test('check input - a refusal names the field, the rule and what would be taken', () => {
  const schema = z.strictObject({
    name: z.string().min(1).max(4).optional(),
    level: z.enum(['user', 'agent']).optional(),
    list: z.array(z.int()).min(1).max(3).optional(),
    key: z
      .string()
      .regex(/^[a-z]+$/)
      .optional(),
    either: z.union([z.string(), z.int()]).optional(),
    nested: z.strictObject({ must: z.boolean() }).optional(),
  });
  const cases: [unknown, string][] = [
    [5, 'body: expected an object, received a number'],
    [{ foo: 1 }, 'foo: unknown field'],
    [{ nested: {} }, 'nested.must: is missing'],
    [{ nested: { must: true, more: 1 } }, 'nested.more: unknown field'],
    [{ name: '' }, 'name: must not be empty'],
    [{ name: 'abcde' }, 'name: must have at most 4 characters'],
    [{ level: 'boss' }, 'level: must be one of "user", "agent"'],
    [{ list: [] }, 'list: must not be empty'],
    [{ list: ['x'] }, 'list.0: expected a number, received a string'],
    [{ list: [1, 2, 3, 4] }, 'list: must have at most 3 entries, has 4'],
    [{ key: 'A' }, 'key: must have the form /^[a-z]+$/'],
    [{ either: null }, 'either: expected a string, received null, or expected a number, received null'],
    [{ name: 5, foo: 1 }, 'name: expected a string, received a number; foo: unknown field'],
  ];
  for (const [value, detail] of cases) assert.equal(detailOf(schema, value), detail);
});
test('check input - a list that is too long is refused before any of it is looked at', () => {
  let looked = 0;
  const element = z.unknown().refine(() => (looked += 1) > 0);
  const schema = z.strictObject({ changes: z.array(element).max(25_000).default([]) });
  const changes = Array.from({ length: 1_000_000 }, () => ({}));
  assert.equal(detailOf(schema, { changes }), 'changes: must have at most 25000 entries, has 1000000');
  assert.equal(looked, 0);
});
test('check input - what is no topic is told which there are', () => {
  assert.match(
    detailOf(ClientFrame, { op: 'subscribe', id: 1, topics: ['nope'] }),
    /^topics\.0: must be a topic; topics are presence, calls, .*<queue>/,
  );
});
test('check input - an unknown field names the known one that it is like, also in a list', () => {
  const schema = z.strictObject({
    dnd: z.boolean().optional(),
    max_wait_seconds: z.int().optional(),
    rows: z.array(z.strictObject({ number: z.string().optional() })).optional(),
  });
  for (const [value, detail] of [
    [{ dnd_enabled: true }, 'dnd_enabled: unknown field; did you mean dnd?'],
    [{ maxWaitSeconds: 1 }, 'maxWaitSeconds: unknown field; did you mean max_wait_seconds?'],
    [{ rows: [{ numbr: '1' }] }, 'rows.0.numbr: unknown field; did you mean number?'],
    [{ tenant: 1 }, 'tenant: unknown field'],
    [{ x: 1 }, 'x: unknown field'],
  ] as const)
    assert.equal(detailOf(schema, value), detail);
});
test('check input - a time, a date and an address say what they look like', () => {
  const schema = z.strictObject({
    at: z.iso.datetime({ offset: true }).optional(),
    day: z.iso.date().optional(),
    net: z.union([z.cidrv4(), z.cidrv6()]).optional(),
  });
  assert.match(
    detailOf(schema, { at: '2026-01-01t00:00:00z' }),
    /^at: must be a time such as .* capital T and Z$/,
  );
  assert.equal(detailOf(schema, { day: '1.1.2026' }), 'day: must be a date such as 2026-11-21');
  assert.match(
    detailOf(schema, { net: 'x' }),
    /^net: must be an IPv4 network .*, or must be an IPv6 network/,
  );
});
test('check input - a problem has each field with its rule, in the language of the reader', () => {
  const errorsOf = (work: () => unknown): unknown => {
    try {
      return work();
    } catch (error) {
      return problemOf(error, undefined, 'de').errors;
    }
  };
  const change = { cf_noanswer_timeout: 300, phone_modes: 'fax', allowed_phone_mode: [] };
  assert.deepEqual(
    errorsOf(() => checkInput(FeaturesChange, change, 'body')),
    [
      { path: 'cf_noanswer_timeout', detail: 'darf höchstens 120 sein' },
      {
        path: 'allowed_phone_mode',
        detail: 'muss ein Gerät nennen, das klingelt; „Bitte nicht stören“ weist alle Anrufe ab',
      },
      {
        path: 'phone_modes',
        detail:
          'muss eines von "all", "both", "webrtc_only", "sip_only", "desk", "sip", "softphone", "web", "webrtc", "mobile", "mobil", "video" sein',
      },
    ],
  );
  const strict = z.strictObject({ number: z.string() });
  assert.deepEqual(
    errorsOf(() => checkInput(strict, { number: '1', Number: 1, 'a: b': 1, '2-x': 1 }, 'body')),
    ['Number', 'a: b', '2-x'].map((path) => ({
      path,
      detail: path === 'Number' ? 'unbekanntes Feld; meinten Sie number?' : 'unbekanntes Feld',
    })),
    'a name of any form',
  );
  assert.deepEqual(
    errorsOf(() => checkInput(strict, [], 'body')),
    [{ path: 'body', detail: 'erwartet ein Objekt, erhalten eine Liste' }],
  );
  const thrown = (detail: ConstructorParameters<typeof ServiceError>[1]) => () => {
    throw new ServiceError('invalid_request', detail);
  };
  assert.deepEqual(errorsOf(thrown('password: must have 8 to 1024 bytes')), [
    { path: 'password', detail: 'muss 8 bis 1024 Bytes haben' },
  ]);
  assert.deepEqual(
    errorsOf(thrown(say`settings.${'api-key'}: is needed again because the address changes`)),
    [{ path: 'settings.api-key', detail: 'wird erneut gebraucht, weil sich die Adresse ändert' }],
  );
  assert.equal(errorsOf(thrown('calls cannot be forwarded to the own extension')), undefined);
});
