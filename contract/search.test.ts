import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matcherOf, searched } from './search.ts';

const people = [
  searched(['Şebnem Ünal', 'Müşteri Hizmetleri'], ['1001', '+90 (555) 123-45.67']),
  searched(['Iğdır Işık', null], ['1002', null]),
  searched(['Jörg Großmann', 'Lager 88'], ['1003', null]),
];
const found = (q: string): number[] => people.flatMap((one, i) => (matcherOf(q)(one) ? [i] : []));

test('search - words in any order, without case and accents, the dotted and the dotless i alike', () => {
  for (const [q, expected] of [
    ['', [0, 1, 2]],
    ['unal sebnem', [0]],
    ['hizmetleri UNAL 1001', [0]],
    ['İGDIR', [1]],
    ['ığdır', [1]],
    ['igdir isik', [1]],
    ['gross lag', [2]],
    ['unalmusteri', []],
    ['0556 123', []],
    ['555 123', [0]],
    ['(555) 1234567', [0]],
    ['+90', [0]],
    ['+', [0]],
    ['lager 2', []],
    ['(2)', [0, 1]],
    ['(8)8', [2]],
    ['(1)002', [1]],
    ['lag 1001', []],
    ['\u00b4', []],
    ['\u0301\u0308', []],
  ] as const) {
    assert.deepEqual(found(q), expected, q);
  }
});
