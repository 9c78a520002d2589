import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reasonFixture } from '../../../test/support/directory-fixture.ts';
import { company } from '../../adapters/asterisk/conf/test-company.ts';
import type { Site } from '../../ports/site.ts';
import { FEATURE_CODES, featureCodesTable } from './feature-codes.ts';

const site = (reasons: number): Site =>
  company({
    extensions: [],
    queues: [],
    services: [],
    parking_lots: [],
    pause_reasons: Array.from({ length: reasons }, (_, i) =>
      reasonFixture(`reason${i + 1}`, `Reason ${i + 1}`),
    ),
    feature_codes: FEATURE_CODES,
  });

test('feature-codes - no id, pattern or title stands twice', () => {
  for (const list of [
    FEATURE_CODES.map((c) => c.id),
    FEATURE_CODES.flatMap((c) => c.patterns),
    FEATURE_CODES.map((c) => c.title),
  ]) {
    assert.deepEqual(list, [...new Set(list)]);
  }
});

test('feature-codes - every jump leads to a step, and the last step ends the call', () => {
  for (const code of FEATURE_CODES) {
    for (const reasons of [0, 1, 99]) {
      const steps = code.dialplan(site(reasons));
      const labels = steps.flatMap((s) => s.label ?? []);
      assert.deepEqual(labels, [...new Set(labels)], code.id);
      for (const { app, data = '' } of steps) {
        const targets =
          app === 'Goto' ? [data] : app === 'GotoIf' ? data.slice(data.lastIndexOf('?') + 1).split(':') : [];
        for (const target of targets.filter(Boolean)) {
          assert.ok(labels.includes(target), `${code.id}: ${app}(${data}) leads to no step`);
        }
      }
      assert.equal(steps.at(-1)?.app, 'Hangup', code.id);
    }
  }
});

test('feature-codes - every code that acts for an agent looks at the caller first', () => {
  for (const code of FEATURE_CODES.filter((c) => c.id.startsWith('agent.'))) {
    const [first] = code.dialplan(site(2));
    assert.match(
      `${first?.app} ${first?.data}`,
      /^GotoIf .*OFFHOOK_EXTENSION.*BLINDTRANSFER.*refused$/,
      code.id,
    );
  }
});

test('feature-codes - the table has one row for each code, with what people dial', () => {
  const rows = featureCodesTable().trim().split('\n');
  assert.deepEqual(rows.slice(0, 2), ['| Dial | Name | What it does | Id |', '|---|---|---|---|']);
  assert.equal(rows.length - 2, FEATURE_CODES.length);
  for (const start of [
    '| `*22`, `*22…` | Pause |',
    '| `*23` | Ready |',
    '| `*81`, `*81…` |',
    '| `*80`, `*80…` |',
    '| `*8` |',
    '| `**…` |',
  ]) {
    assert.ok(
      rows.some((row) => row.startsWith(start)),
      start,
    );
  }
  for (const row of rows) assert.equal(row.split('|').length, 6, row);
});
