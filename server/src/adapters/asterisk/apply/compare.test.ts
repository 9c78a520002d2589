import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare } from './compare.ts';
import { ALL_KINDS } from './prover.ts';

/** Counts how often all keys are read. */
class Counted extends Map<string, string> {
  reads = 0;
  override keys() {
    this.reads += 1;
    return super.keys();
  }
}
const hint = (context: string, number: string): string => `dialplan ${context},${number},hint`;

test('apply/compare - a hint that the engine derived from a pattern is none too many, and any other is', () => {
  const wanted = new Map([
    [hint('watched', '_XXXX'), 'PJSIP/${EXTEN}'],
    [hint('parked', '701'), 'park:701@lots'],
  ]);
  const held = new Map([
    ...wanted,
    [hint('watched', '1004'), 'PJSIP/1004'],
    [hint('parked', '702'), 'park:702@lots'],
  ]);
  assert.deepEqual(
    compare(wanted, held, ALL_KINDS).map((p) => p.object),
    [hint('parked', '702')],
  );
});

test('apply/compare - the configuration is read once, however many hints the engine derived', () => {
  const wanted = new Counted([[hint('watched', '_XXXX'), 'PJSIP/${EXTEN}']]);
  const held = new Map(wanted);
  for (let i = 1_000; i < 1_200; i += 1) held.set(hint('watched', String(i)), `PJSIP/${i}`);
  assert.deepEqual(compare(wanted, held, ALL_KINDS), []);
  assert.ok(wanted.reads <= 1, `all keys were read ${wanted.reads} times`);
});
