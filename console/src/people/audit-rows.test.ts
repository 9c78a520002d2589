import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditRow } from '@offhook/contract/audit.ts';
import { MOST_ROWS, readAudit } from './audit-rows.ts';
import type { AuditFilter } from './audit-rows.ts';

const LATEST = Date.parse('2026-11-22T09:00:00.000Z');
/** A trail of this many lines, a second apart. */
function trailOf(count: number) {
  const asked: AuditFilter[] = [];
  return {
    asked,
    audit(filter: AuditFilter = {}) {
      asked.push(filter);
      const { limit = 50, cursor = '0' } = filter;
      const from = Number(cursor);
      const end = Math.min(count, from + limit);
      const entries = Array.from({ length: end - from }, (_, i) => ({
        id: count - from - i,
        at: new Date(LATEST - (from + i) * 1_000).toISOString(),
      })) as AuditRow[];
      return Promise.resolve({ success: true as const, entries, next_cursor: end < count ? `${end}` : null });
    },
  };
}

test('audit export - reads every line of a filter up to the limit of a file', async () => {
  for (const count of [0, 1, 450, MOST_ROWS]) {
    const trail = trailOf(count);
    const { rows, older } = await readAudit(trail, { q: 'x' });
    assert.equal(rows.length, count);
    assert.equal(older, null, `${count} lines are all`);
    assert.ok(trail.asked.every((filter) => filter?.q === 'x'));
  }
});

test('audit export - reports the time up to which older lines are missing, and loses none of them', async () => {
  const { rows, older } = await readAudit(trailOf(MOST_ROWS + 1), {});
  assert.equal(rows.length, MOST_ROWS);
  assert.equal(rows.at(-1)!.at, '2026-11-22T03:26:41.000Z');
  assert.equal(older, '2026-11-22T03:27:00.000Z');
});
