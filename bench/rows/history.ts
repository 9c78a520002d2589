/** P9: pages of the history over HTTP. P10: export as CSV. P14: call records from the engine's file into the store. */
import { spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { writeRecords } from '../history/cel.ts';
import { multiply } from '../history/fill.ts';
import type { PageQuestion } from '../history/pages-subject.ts';
import {
  QUICK,
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  ask,
  atLeast,
  atMost,
  count,
  end,
  figure,
  firstLine,
  growthOf,
  interleave,
  quantile,
  ratiosOf,
  run,
  start,
  temporaryFolder,
} from '../lib.ts';
import type { Figure, Gate, Row } from '../lib.ts';
import { request } from '../http-client.ts';
import { EXPORT_COLUMNS } from '@offhook/contract/exports.ts';
import { startPostgres } from '../../server/test/support/postgres.ts';

const FROM = 1_790_000_000;
const DAY_MS = 86_400_000;
/** Number of call records of the day that a large store consists of. */
const DAY_RECORDS = 100_000;
/** Ten million take 30 GB and half an hour to make: only with `--large`. */
const LARGE = process.argv.includes('--large') ? [10_000_000] : [];
const SIZES = QUICK ? [10_000, 100_000] : [10_000, 100_000, 1_000_000, ...LARGE];
const TIMES = QUICK ? 40 : 200;
const WARM = 20;
/** Filled stores are large and slow to create: they are kept for the next run, which migrates them as a site's. */
const KEPT = path.join(os.homedir(), '.cache', 'offhook', 'bench-history');

interface Ingested {
  readonly ms: number;
  readonly cpu_ms: number;
  readonly rss: number;
  /** Flushed commits of ours. */
  readonly commits?: number;
}
export async function storeOf(conversations: number): Promise<string> {
  fs.mkdirSync(KEPT, { recursive: true });
  const file = path.join(KEPT, `${conversations}.db`);
  if (fs.existsSync(file)) return file;
  using folder = temporaryFolder();
  const records = path.join(folder.path, 'records.csv');
  const made = writeRecords(records, DAY_RECORDS, { from: FROM, perSecond: 2 });
  await run<Ingested>(
    'history/ingest-subject.ts',
    ['ours', records, made.records, folder.path],
    SUBJECT_CORE,
  );
  const filled = path.join(folder.path, 'offhook.db');
  const part = `${file}.part`;
  fs.copyFileSync(filled, part);
  multiply(part, conversations);
  fs.renameSync(part, file);
  return file;
}

/** The requests are by a supervisor whose extension is the token. */
const PERSON = '1500';
interface Page {
  readonly next_cursor: string | null;
}
/** Rows of a page, and of a page whose growth is measured: a person of the smallest store has no more calls. */
const ROWS = 50;
const ROWS_OF_GROWTH = 10;
interface Subjects {
  readonly agent: string;
  readonly from: string;
  readonly to: string;
}
/** Named lists, each a path. */
const listsOf = ({ agent, from, to }: Subjects, rows: number): Record<string, string> => {
  const own = `/api/mobile/history.php?limit=${rows}`;
  const all = `/api/v1/conversations?limit=${rows}`;
  return {
    'own calls (history.php)': own,
    'own missed calls': `${own}&filter=missed`,
    'all conversations': all,
    'of one person': `${all}&person=${PERSON}`,
    'of one agent': `${all}&agent=${agent}`,
    'of one number': `${all}&number=1777`,
    'of one queue in a month': `${all}&queue=support&from=${from}&to=${to}`,
    'of one person, missed': `${all}&person=${PERSON}&disposition=missed`,
    'text that is rare (zoë)': `${all}&q=zo%C3%AB`,
    'text that is nowhere': `${all}&q=nobody-is-called-so`,
    'a caller’s name out of 500,000': `${all}&q=caller%20314159%20`,
    'a company’s name out of 500,000': `${all}&q=company%20271`,
    'an empty answer': '/hello',
  };
};
/** The lists, and the deep pages of two of them. */
async function pagesOf(base: string, subjects: Subjects, rows: number): Promise<Record<string, string>> {
  const lists = listsOf(subjects, rows);
  return {
    ...lists,
    'all conversations, 200 pages deep': await deep(base, lists['all conversations']!, 200),
    'own calls, 200 pages deep': await deep(base, lists['own calls (history.php)']!, 200),
  };
}

interface Timed {
  readonly p50: number;
  readonly p99: number;
}
async function timed(base: string, list: string): Promise<Timed> {
  const ms: number[] = [];
  for (let i = 0; i < WARM + TIMES; i += 1) {
    const began = performance.now();
    const { status, body } = await request(base + list, { token: PERSON });
    const took = performance.now() - began;
    if (status !== 200) throw new Error(`${list}: ${status} ${body.slice(0, 300)}`);
    if (i >= WARM) ms.push(took);
  }
  return { p50: quantile(ms, 0.5), p99: quantile(ms, 0.99) };
}
const read = async (base: string, list: string): Promise<Page> =>
  JSON.parse((await request(base + list, { token: PERSON })).body) as Page;
/** Path of the page after `pages` pages of the list. */
async function deep(base: string, list: string, pages: number): Promise<string> {
  let cursor = '';
  for (let i = 0; i < pages; i += 1) {
    const { next_cursor } = await read(base, list + cursor);
    if (next_cursor === null) break;
    cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
  }
  return list + cursor;
}

const roundsOf = (base: string, lists: Readonly<Record<string, string>>) =>
  interleave(Object.keys(lists), ROUNDS, (name) => timed(base, lists[name]!));

async function withStore<T>(
  file: string,
  work: (subject: ChildProcess, base: string) => Promise<T>,
): Promise<T> {
  const subject = start('history/pages-subject.ts', [file], SUBJECT_CORE, SERVICE_FLAGS);
  try {
    const { port } = await firstLine<{ port: number }>(subject);
    return await work(subject, `http://127.0.0.1:${port}`);
  } finally {
    await end(subject);
  }
}

export async function p9(): Promise<Row> {
  const figures: Figure[] = [];
  const gates: Gate[] = [];
  const measured = new Map<string, [size: number, ms: readonly number[]][]>();
  for (const size of SIZES) {
    const file = await storeOf(size);
    await withStore(file, async (subject, base) => {
      const last = size === SIZES.at(-1);
      const { newest } = await ask<{ newest: number }>(subject, { ask: 'newest' });
      const to = new Date(newest - DAY_MS);
      const subjects: Subjects = {
        agent: await anAgent(base),
        from: new Date(newest - 31 * DAY_MS).toISOString(),
        to: to.toISOString(),
      };
      const small = await pagesOf(base, subjects, ROWS_OF_GROWTH);
      for (const [name, all] of await roundsOf(base, small))
        measured.set(name, [...(measured.get(name) ?? []), [size, all.map((t) => t.p50)]]);
      if (!last) return;
      const rounds = await roundsOf(base, await pagesOf(base, subjects, ROWS));
      for (const [name, all] of rounds) {
        const [p50, p99] = [all.map((t) => t.p50), all.map((t) => t.p99)];
        figures.push(figure(`${name}, p50`, 'ms', 'ours', p50), figure(`${name}, p99`, 'ms', 'ours', p99));
        gates.push(atMost(`${name}, p99`, 10, p99, ' ms'));
      }
      const question: PageQuestion = {
        ask: 'statement',
        sql: 'select * from history_rows where extension = ? and hidden = 0 and (started_us, id) < (?, ?) order by started_us desc, id desc limit 50',
        values: [PERSON, to.getTime() * 1_000, 1],
        times: TIMES,
      };
      const { us, rows } = await ask<{ us: number[]; rows: number }>(subject, question);
      if (rows !== 50)
        throw new Error(`the bare statement gave ${rows} rows with ${JSON.stringify(question.values)}`);
      const bare = quantile(us, 0.5) / 1_000;
      const own = rounds.get('own calls, 200 pages deep')!.map((t) => t.p50);
      const hello = rounds.get('an empty answer')!.map((t) => t.p50 + bare);
      figures.push(figure('the same rows by the bare statement', 'ms', 'limit', [bare]));
      const far = size / 2_000;
      const offset = await timed(base, `/offset/${PERSON}/${Math.floor(far)}`);
      figures.push(figure('the same page by OFFSET with a count', 'ms', 'peer', [offset.p50]));
      gates.push(
        atMost('own calls, deep: times the bare statement and an empty answer', 3, ratiosOf(own, hello), '×'),
      );
    });
  }
  const grown = [...measured].map(([name, points]) =>
    growthOf({ name: `"${name}" over conversations`, unit: 'ms', most: 0.1 }, points),
  );
  return {
    id: 'P9',
    title: `Pages of 50 out of ${count(SIZES.at(-1)!)} conversations, over HTTP, with their stats (SQLite)`,
    figures,
    gates: [...gates, ...grown.map(({ gate }) => gate)],
    growth: grown.map(({ growth }) => growth),
    notes: [
      `The growth is that of pages of ${ROWS_OF_GROWTH}: in the smallest store a person has no more calls, and a page of ${ROWS} was larger in the largest.`,
      'A few thousand conversations told from recorded calls, and the same again on other days: 1,000 extensions, so each has a thousandth of them.',
    ],
  };
}
async function anAgent(base: string): Promise<string> {
  const { body } = await request(`${base}/api/v1/conversations?queue=support&disposition=answered&limit=1`, {
    token: PERSON,
  });
  const { conversations } = JSON.parse(body) as { conversations: { agents: string[] }[] };
  return conversations[0]?.agents[0] ?? PERSON;
}

const RECORDS = QUICK ? 50_000 : 1_000_000;
export async function p14(): Promise<Row> {
  using folder = temporaryFolder();
  const file = path.join(folder.path, 'records.csv');
  const made = writeRecords(file, RECORDS, { from: FROM, perSecond: 2 });
  const few = path.join(folder.path, 'few.csv');
  const madeFew = writeRecords(few, 20_000, { from: FROM, perSecond: 2 });
  let n = 0;
  const ingest = async (way: string): Promise<Ingested & { readonly rate: number }> => {
    const place = path.join(folder.path, `${(n += 1)}`);
    fs.mkdirSync(place);
    const slow = way === 'row by row';
    const { records } = slow ? madeFew : made;
    const done = await run<Ingested>(
      'history/ingest-subject.ts',
      [way, slow ? few : file, records, place],
      SUBJECT_CORE,
      SERVICE_FLAGS,
    );
    fs.rmSync(place, { recursive: true });
    return { ...done, rate: (records / done.ms) * 1_000 };
  };
  const rounds = await interleave(['ours', 'row by row', 'packed', 'bulk'], QUICK ? 1 : 3, ingest);
  const rates = (way: string): number[] => rounds.get(way)!.map((r) => r.rate);
  const perCommit = rounds.get('ours')!.map(({ commits }) => made.records / commits!);
  return {
    id: 'P14',
    title: `${count(made.records)} call records of ${count(made.calls)} conversations from the engine's file into SQLite`,
    figures: [
      figure('Offhook: decoded, linked, told, committed', 'records/s', 'ours', rates('ours')),
      figure(
        'a row and a commit for each record, as the engine itself does it',
        'records/s',
        'peer',
        rates('row by row'),
      ),
      figure('decoded, packed, 10,000 in a commit', 'records/s', 'limit', rates('packed')),
      figure('the bare fields, 10,000 in a commit', 'records/s', 'limit', rates('bulk')),
      figure(
        'Offhook, CPU',
        'µs/record',
        'ours',
        rounds.get('ours')!.map((r) => (r.cpu_ms * 1_000) / made.records),
        'higher',
      ),
      figure(
        'Offhook, memory at the end',
        'MB',
        'ours',
        rounds.get('ours')!.map((r) => r.rss / 1e6),
      ),
    ],
    gates: [
      atLeast('records/s', 25_000, rates('ours')),
      atLeast('records for each flushed commit; row by row it is 1', 10, perCommit),
      atLeast('share of the decoded and packed bulk', 0.5, ratiosOf(rates('ours'), rates('packed'))),
    ],
    notes: [
      'Ten times the row by row is asked in commits: their speed is the disk’s, and on a disk with 11,000 flushed commits a second ten times is more than decoding alone allows. Half of the bulk is asked of one that also decodes and packs the records, because the bare fields can be stored in less than decoding takes (ADR 0042).',
    ],
  };
}

const EXPORTED = QUICK ? 100_000 : 1_000_000;
interface Exported {
  readonly ms: number;
  readonly rows: number;
  readonly growth: number;
  readonly delay_p99: number;
}
export async function p10(): Promise<Row> {
  const file = await storeOf(EXPORTED);
  using folder = temporaryFolder();
  const csv = path.join(folder.path, 'all.csv');
  const { rows } = await run<Exported>('history/export-subject.ts', ['ours', file, csv], SUBJECT_CORE);
  await using postgres = await startPostgres();
  const url = await postgres.createDatabase();
  const psql = [...postgres.psql, url, '--quiet', '-v', 'ON_ERROR_STOP=1'];
  const columns = EXPORT_COLUMNS.map((name) => `"${name}" text`).join(', ');
  const copy = (command: string): number => {
    const began = performance.now();
    const done = spawnSync(psql[0]!, [...psql.slice(1), '-c', command], { encoding: 'utf8' });
    if (done.status !== 0) throw new Error(done.stderr);
    return performance.now() - began;
  };
  copy(`create table exported (${columns})`);
  copy(`\\copy exported from '${csv}' with (format csv, header true)`);
  const ways = ['ours', 'bare', 'psql'];
  const rounds = await interleave(ways, QUICK ? 2 : ROUNDS, async (way): Promise<Exported> => {
    if (way === 'psql') {
      const ms = copy(`\\copy exported to '${csv}' with (format csv, header true)`);
      return { ms, rows, growth: 0, delay_p99: 0 };
    }
    return await run<Exported>('history/export-subject.ts', [way, file], SUBJECT_CORE, SERVICE_FLAGS);
  });
  const rates = (way: string): number[] => rounds.get(way)!.map((r) => (r.rows / r.ms) * 1_000);
  const ours = rounds.get('ours')!;
  return {
    id: 'P10',
    title: `${count(rows)} conversations as CSV, ${EXPORT_COLUMNS.length} columns (SQLite)`,
    figures: [
      figure('Offhook', 'rows/s', 'ours', rates('ours')),
      figure('psql, \\copy of the same rows into a file', 'rows/s', 'peer', rates('psql')),
      figure('one ready text of each row, read and written', 'rows/s', 'limit', rates('bare')),
      figure(
        'Offhook, growth of memory',
        'MB',
        'ours',
        ours.map((r) => r.growth / 1e6),
      ),
    ],
    gates: [
      atLeast('share of psql', 0.5, ratiosOf(rates('ours'), rates('psql'))),
      atMost(
        'growth of memory',
        80,
        ours.map((r) => r.growth / 1e6),
        ' MB',
      ),
      atMost(
        'delay of the event loop, p99',
        20,
        ours.map((r) => r.delay_p99),
        ' ms',
      ),
    ],
  };
}
