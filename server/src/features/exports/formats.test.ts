import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readXlsx } from 'hucre/xlsx';
import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import type { Cell } from '../../ports/conversations.ts';
import { csvOf } from './csv.ts';
import { xlsxOf } from './xlsx.ts';

const COLUMNS = ['id', 'caller_name', 'duration'] as const;
const rowOf = (id: string, name: string, duration: number): string => {
  const row: Cell[] = EXPORT_COLUMNS.map(() => '');
  row[EXPORT_COLUMNS.indexOf('id')] = id;
  row[EXPORT_COLUMNS.indexOf('caller_name')] = name;
  row[EXPORT_COLUMNS.indexOf('duration')] = duration;
  return JSON.stringify(row);
};
async function* groups(rows: readonly string[]) {
  for (const row of rows) yield [row];
}
async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(Buffer.from(piece));
  return Buffer.concat(all);
}
/** RFC 4180 only: throws on a quote in a bare cell, or on a line without CRLF at its end. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  let at = 0;
  while (at < text.length) {
    const cell = /"((?:[^"]|"")*)"|([^",\r\n]*)/y;
    cell.lastIndex = at;
    const m = cell.exec(text)!;
    rows.at(-1)!.push(m[1] === undefined ? m[2]! : m[1].replaceAll('""', '"'));
    at = cell.lastIndex;
    if (text.startsWith(',', at)) at += 1;
    else {
      assert.ok(
        text.startsWith('\r\n', at),
        `no end of a line at ${at}: ${JSON.stringify(text.slice(at, at + 20))}`,
      );
      at += 2;
      if (at < text.length) rows.push([]);
    }
  }
  return rows;
}
const recovered = (cell: string): string => cell.replace(/^'/, '');
const ATTACKS = [
  '=cmd|"/c calc"!A1',
  '+4930123456',
  '-2+3',
  '@SUM(1)',
  '\tx',
  '\rx',
  '\nx',
  "'=1",
  "O'Neil",
  'Müller, "Hans"\r\nzweite Zeile',
  '☎️ 👩‍💻 ＝1+1',
  'a;=1',
  '<script>alert(1)</script>',
  "'; drop table conversations; --",
  '../../etc/passwd',
  '_x003D_1+1',
  'x'.repeat(10_240),
];

test('export csv - attacks are quoted and made harmless, and without the apostrophe equal the input', async () => {
  const rows = ATTACKS.map((name, i) => rowOf(`ast1:1.${i}`, name, i));
  const bytes = await collect(csvOf([...COLUMNS], groups(rows)));
  assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
  const [head, ...readRows] = parseCsv(bytes.subarray(3).toString());
  assert.deepEqual(head, ['id', 'caller_name', 'duration']);
  for (const [i, [id, name, duration]] of readRows.entries()) {
    assert.deepEqual([id, recovered(name!), duration], [`ast1:1.${i}`, ATTACKS[i], String(i)]);
    assert.doesNotMatch(name!, /^[=+\-@\t\r\n]/);
  }
  assert.equal(readRows.length, ATTACKS.length);
});

test('export csv - all columns, which are not taken apart, are the same cells as each by its name', async () => {
  const rows = ATTACKS.map((name, i) => rowOf(`ast1:1.${i}`, name, i));
  const whole = await collect(csvOf([...EXPORT_COLUMNS], groups(rows)));
  const turned = await collect(csvOf(EXPORT_COLUMNS.toReversed(), groups(rows)));
  assert.deepEqual(
    parseCsv(whole.subarray(3).toString()),
    parseCsv(turned.subarray(3).toString()).map((row) => row.toReversed()),
  );
});

test('export csv - any text comes back, for all columns and for some', async () => {
  const at = EXPORT_COLUMNS.indexOf('caller_name');
  const text = fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(text, async (names) => {
      const rows = names.map((name) => rowOf('a', name, 1.5));
      for (const [columns, place] of [[COLUMNS, 1] as const, [EXPORT_COLUMNS, at] as const]) {
        const bytes = await collect(csvOf([...columns], groups(rows)));
        const [, ...readRows] = parseCsv(bytes.subarray(3).toString());
        assert.deepEqual(
          readRows.map((row) => recovered(row[place]!)),
          names,
        );
      }
    }),
  );
});

test('export xlsx - attacks are plain texts and never formulas; a cell holds no more than Excel takes', async () => {
  const names = [...ATTACKS, 'y'.repeat(40_000), '\u0000\u0008\uFFFE\uFFFF\uD800'];
  const rows = names.map((name, i) => rowOf(`ast1:1.${i}`, name, i + 0.5));
  const bytes = await collect(xlsxOf([...COLUMNS], groups(rows), rows.length));
  const { sheets } = await readXlsx(bytes);
  const [head, ...readRows] = sheets[0]!.rows;
  assert.deepEqual(head, ['id', 'caller_name', 'duration']);
  assert.equal(readRows.length, names.length);
  for (const [i, name] of ATTACKS.entries()) {
    assert.equal(recovered(readRows[i]![1] as string), name, JSON.stringify(name));
    assert.equal(readRows[i]![2], i + 0.5);
  }
  assert.equal((readRows.at(-2)![1] as string).length, 32_767);
  // A character that XML does not allow makes the complete sheet unreadable.
  assert.equal(readRows.at(-1)![1], "'\u0000\u0008\uFFFD\uFFFD\uFFFD");
});

test('export xlsx - rows beyond one sheet continue on the next, with its headings', async () => {
  const rows = Array.from({ length: 25 }, (_, i) => rowOf(String(i), 'n', i));
  const { sheets } = await readXlsx(await collect(xlsxOf(['duration'], groups(rows), 25, 11)));
  assert.deepEqual(
    sheets.map(({ rows: [head, ...rest] }) => [head, rest.length]),
    [
      [['duration'], 10],
      [['duration'], 10],
      [['duration'], 5],
    ],
  );
});
