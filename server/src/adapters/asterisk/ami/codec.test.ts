import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../core/errors.ts';
import { encodeAction, MAX_HEADERS, MAX_LINE_BYTES } from './codec.ts';

const refused = (work: () => unknown, what: string): void => {
  assert.throws(
    work,
    (error: unknown) => error instanceof ServiceError && error.code === 'invalid_request',
    `${what} was let through`,
  );
};

test('codec - an action is its headers, each on a line, and a blank line', () => {
  assert.equal(
    encodeAction(
      'QueuePause',
      { Queue: 'support', Reason: 'Über mittag', Absent: undefined, Variable: ['a=1', 'b=2'] },
      'x-1',
    ).toString(),
    'Action: QueuePause\r\nActionID: x-1\r\nQueue: support\r\nReason: Über mittag\r\nVariable: a=1\r\nVariable: b=2\r\n\r\n',
  );
});

test('codec - every control character is refused, in values, names of headers, the action and its id', () => {
  const forbidden = [
    ...Array.from({ length: 0x20 }, (_, i) => String.fromCharCode(i)),
    ...Array.from({ length: 0x21 }, (_, i) => String.fromCharCode(0x7f + i)),
    '\u2028',
    '\u2029',
    '\ud800',
  ];
  for (const c of forbidden) {
    const name = `U+${c.charCodeAt(0).toString(16)}`;
    refused(() => encodeAction('QueuePause', { Reason: `x${c}y` }, 'x-1'), name);
    refused(() => encodeAction('QueuePause', { [`Rea${c}son`]: 'x' }, 'x-1'), name);
    refused(() => encodeAction(`Queue${c}Pause`, {}, 'x-1'), name);
    refused(() => encodeAction('QueuePause', {}, `x${c}1`), name);
  }
  refused(
    () => encodeAction('QueuePause', { Reason: 'x\r\n\r\nAction: Command\r\nCommand: core stop now' }, 'x'),
    'the classic',
  );
  assert.ok(
    encodeAction('QueuePause', { Reason: '%0d%0a' }, 'x').includes('%0d%0a'),
    'text that only looks like it is sent as it is',
  );
});

test('codec - an action id is 1 to 64 of letters, digits and dashes', () => {
  assert.ok(encodeAction('Ping', {}, 'A-z09'.padEnd(64, 'x')));
  for (const id of ['', 'a b', 'a:b', 'ä', 'x'.repeat(65)]) refused(() => encodeAction('Ping', {}, id), id);
});

test('codec - a line of 1,024 bytes is refused, one of a byte less is not', () => {
  const fits = MAX_LINE_BYTES - 'Reason: \r\n'.length;
  const line = encodeAction('QueuePause', { Reason: 'x'.repeat(fits) }, 'x')
    .toString()
    .split('\r\n')[2]!;
  assert.equal(line.length + 2, 1023);
  refused(() => encodeAction('QueuePause', { Reason: 'x'.repeat(fits + 1) }, 'x'), 'a long line');
  refused(
    () => encodeAction('QueuePause', { Reason: 'ü'.repeat(fits / 2 + 1) }, 'x'),
    'bytes are counted, not characters',
  );
});

test('codec - more than 128 headers are refused', () => {
  const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `v${i}=1`);
  assert.ok(encodeAction('Originate', { Variable: many(MAX_HEADERS - 2) }, 'x'));
  refused(() => encodeAction('Originate', { Variable: many(MAX_HEADERS - 1) }, 'x'), '129 headers');
  refused(() => encodeAction('Originate', { Variable: many(200) }, 'x'), '200 variables');
});

test('codec - whatever comes in, either nothing comes out or one action with these values', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      (a, b) => {
        let bytes: Buffer;
        try {
          bytes = encodeAction('QueuePause', { Reason: a, Queue: b }, 'x-1');
        } catch (error) {
          assert.ok(error instanceof ServiceError && error.code === 'invalid_request');
          return;
        }
        const lines = bytes.toString().split(/\r\n|\r|\n/);
        assert.deepEqual(lines, [
          'Action: QueuePause',
          'ActionID: x-1',
          `Reason: ${a}`,
          `Queue: ${b}`,
          '',
          '',
        ]);
      },
    ),
    { numRuns: 2000 },
  );
});
