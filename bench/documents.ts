/** Writes docs/performance.md and a page for each topic from the newest results of all rows. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { gatesChart, growthChart } from './chart.ts';
import { ROUNDS, digits, pinned } from './lib.ts';
import type { Gate, Row } from './lib.ts';
import { machineText } from './machine.ts';
import type { Machine } from './machine.ts';
import { askedOf, intervalOf, measuredOf, readJson, writeJson } from './report.ts';

const folder = import.meta.dirname;
const DOCS = path.join(folder, '../docs');
const PAGES = path.join(DOCS, 'performance');
const SOAK = 'soak.md';
/** Written by `npm run soak`. */
export const SOAK_PAGE = path.join(PAGES, SOAK);
/** Last results of each row with their date, so that a run of some rows keeps the others. */
const RESULTS = path.join(folder, 'results.json');
const MOST_HISTORY = 8;
const TOPICS: Readonly<Record<string, { readonly title: string; readonly rows: readonly string[] }>> = {
  engine: {
    title: 'The engine: events, state, start, configuration',
    rows: ['P1', 'P2', 'P15', 'P16', 'P20', 'START'],
  },
  stream: {
    title: 'The event stream',
    rows: ['P3', 'P4', 'P5', 'P6', 'P12', 'P13', 'P17', 'P21', 'LATENCY'],
  },
  api: { title: 'The API', rows: ['P7', 'P8', 'P11', 'P19'] },
  edge: {
    title: 'The edge: registrations, call limits, provisioning, TURN',
    rows: ['P28', 'P29', 'P30', 'P31'],
  },
  cluster: { title: 'The cluster: log, web nodes, failover', rows: ['P32', 'P33', 'P34', 'P35', 'P36'] },
  history: { title: 'The call history', rows: ['P9', 'P10', 'P14'] },
  integration: {
    title: 'Webhooks, phonebook, connectors, simulator',
    rows: ['P18', 'P23', 'P24', 'P25', 'P26', 'P27'],
  },
  console: { title: 'The console', rows: ['C1', 'C2', 'C3'] },
};

interface Past {
  readonly commit: string;
  /** Medians by what the gate asks. */
  readonly measured: Readonly<Record<string, number>>;
}
type Interval = Gate['measured'];
/** By what the gate asks. */
type Intervals = Readonly<Record<string, Interval>>;
/** A second run of a row, for comparison. */
interface Repeat {
  readonly at: string;
  readonly commit: string;
  readonly machine: string;
  readonly measured: Intervals;
  /** The published figures that it repeated, once newer ones have taken their place. */
  readonly of?: { readonly commit: string; readonly measured: Intervals };
}
interface Measured {
  readonly row: Row;
  readonly at: string;
  readonly commit: string;
  readonly machine: string;
  /** Newest last, without this one. */
  readonly history: readonly Past[];
  readonly repeat?: Repeat;
}
export const commitOf = (): string => {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
};
const intervalsOf = ({ gates }: Row): Intervals =>
  Object.fromEntries(gates.map(({ what, measured }) => [what, measured]));
/** The repeat of a row that is measured anew: it stays beside the figures that it repeated. */
const repeatOf = ({ repeat, commit, row }: Measured): Pick<Measured, 'repeat'> =>
  repeat === undefined ? {} : { repeat: { of: { commit, measured: intervalsOf(row) }, ...repeat } };
const pastOf = ({ commit, row }: Measured): Past => ({
  commit,
  measured: Object.fromEntries(row.gates.map(({ what, measured }) => [what, measured.median])),
});
function historyOf(before: Measured | undefined, commit: string): readonly Past[] {
  if (before === undefined) return [];
  const past = before.commit === commit ? before.history : [...before.history, pastOf(before)];
  return past.slice(-MOST_HISTORY);
}

/**
 * Stores the rows and rewrites every page. The figures of a repeat are stored beside the published figures of their row;
 * without published figures they become the published ones.
 */
export function writeDocuments(rows: readonly Row[], read: Machine, repeated: boolean): void {
  const results = readJson<Record<string, Measured>>(RESULTS, {});
  const [commit, at, machine] = [commitOf(), new Date().toISOString().slice(0, 10), machineText(read)];
  for (const row of rows) {
    const before = results[row.id];
    if (repeated && before !== undefined) {
      results[row.id] = { ...before, repeat: { at, commit, machine, measured: intervalsOf(row) } };
    } else {
      const repeat = before === undefined ? {} : repeatOf(before);
      results[row.id] = { row, at, commit, machine, history: historyOf(before, commit), ...repeat };
    }
  }
  const sorted = Object.entries(results).toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  writeJson(RESULTS, Object.fromEntries(sorted));
  fs.mkdirSync(PAGES, { recursive: true });
  for (const name of fs.readdirSync(PAGES)) if (name !== SOAK) fs.rmSync(path.join(PAGES, name));
  const missing = Object.keys(results).filter(
    (id) => !Object.values(TOPICS).some((topic) => topic.rows.includes(id)),
  );
  if (missing.length > 0) throw new Error(`no topic has the rows ${missing.join(', ')}`);
  const topics = Object.entries(TOPICS).flatMap(([name, topic]) => {
    const all = topic.rows.flatMap((id) => results[id] ?? []);
    return all.length === 0 ? [] : [{ name, title: topic.title, all }];
  });
  for (const topic of topics) writeTopic(topic);
  fs.writeFileSync(path.join(DOCS, 'performance.md'), indexOf(topics));
}
interface Topic {
  readonly name: string;
  readonly title: string;
  readonly all: readonly Measured[];
}
const verdictText = { held: 'held', broken: '**broken**', undecided: 'undecided' } as const;
const gatesOf = ({ all }: Topic) =>
  all.flatMap(({ row }) => row.gates.map((gate) => ({ ...gate, row: row.id })));

/** True if two intervals have a value in common. */
const meet = (a: Interval, b: Interval): boolean => a.low <= b.high && b.low <= a.high;
/** A ratio with more than one observation; absolute figures depend on the machine. */
const isRatio = ({ what, unit, measured }: Gate): boolean =>
  measured.low < measured.high && (unit.trim() === '×' || /\bslope\b|^share\b/.test(what));
/** Ratios of a row that both runs have, with the intervals. */
const pairsOf = ({ row, repeat }: Measured): readonly (readonly [Interval, Interval])[] =>
  row.gates.flatMap((gate) => {
    const again = repeat?.measured[gate.what];
    const first = repeat?.of === undefined ? gate.measured : repeat.of.measured[gate.what];
    return again === undefined || first === undefined || !isRatio(gate) ? [] : [[first, again] as const];
  });
function repeatText(topics: readonly Topic[]): string {
  const rows = topics
    .flatMap(({ all }) => all)
    .map((measured) => ({ id: measured.row.id, pairs: pairsOf(measured) }))
    .filter(({ pairs }) => pairs.length > 0);
  if (rows.length === 0) return '';
  const ratios = rows.flatMap(({ pairs }) => pairs);
  const apart = rows.filter(({ pairs }) => pairs.some(([a, b]) => !meet(a, b))).map(({ id }) => id);
  const agree = ratios.filter(([a, b]) => meet(a, b)).length;
  return `
Repeated on another machine (\`npm run bench -- --repeat P1 P7\`): of ${ratios.length} ratios in ${rows.length} rows, the intervals of ${agree} have
values in common with the published ones. All ratios of ${rows.length - apart.length} rows do${apart.length === 0 ? '' : `; not those of ${apart.join(', ')}`}. A row whose code
has changed is repeated in a checkout of the commit that was published.
`;
}

function indexOf(topics: readonly Topic[]): string {
  const gates = topics.flatMap(gatesOf);
  const of = (verdict: keyof typeof verdictText): number =>
    gates.filter((gate) => gate.verdict === verdict).length;
  return `# Performance

Written by \`npm run bench\` (\`npm run bench -- P1 P7\` measures some rows); do not edit. What is measured is in [bench/](../bench).

Every row is measured beside its peer and beside its physical limit in one run: ${ROUNDS} pairs where the row names no other number. In each
pair every subject has its turn, in an order drawn by the seed of the run${pinned ? ', with the subject on one core and the load on the other' : ''}. The ratio of each pair is
the observation. Published are the median of the observations and its 95 % interval by bootstrap. A gate is held where the whole
interval is on the right side of what is asked, broken where it is on the wrong side, and undecided between them. Absolute figures
depend on the machine, and ratios hardly do.

${gates.length} gates: ${of('held')} held, ${of('broken')} broken, ${of('undecided')} undecided.
${repeatText(topics)}
${topics.map(({ name, title }) => `- [${title}](performance/${name}.md)`).join('\n')}${fs.existsSync(SOAK_PAGE) ? `\n- [A centre of 5,000 agents, held for an hour](performance/${SOAK})` : ''}

| Row | Asked | Measured | |
|---|---|---|---|
${gates.map((gate) => `| ${gate.row} | ${askedOf(gate)} | ${measuredOf(gate)} | ${verdictText[gate.verdict]} |`).join('\n')}
`;
}
function writeTopic(topic: Topic): void {
  const { name, title, all } = topic;
  const growth = all.flatMap(({ row }) => row.growth ?? []);
  fs.writeFileSync(path.join(PAGES, `${name}.svg`), gatesChart(gatesOf(topic)));
  if (growth.length > 0) fs.writeFileSync(path.join(PAGES, `${name}-growth.svg`), growthChart(growth));
  const charts = [
    `![Gates: how far each is from what is asked](${name}.svg)`,
    ...(growth.length > 0 ? [`![Cost over size](${name}-growth.svg)`] : []),
  ];
  fs.writeFileSync(
    path.join(PAGES, `${name}.md`),
    `# ${title}

Written by \`npm run bench\`; do not edit. The method is on [the first page](../performance.md).

${charts.join('\n\n')}

${all.map(sectionOf).join('\n')}`,
  );
}
function sectionOf({ row, at, commit, machine, history, repeat }: Measured): string {
  const figures = row.figures.map(({ name, unit, role, series }) => {
    const shown = role === 'ours' ? `**${name}**` : name;
    return `| ${shown} | ${role === 'ours' ? '' : role} | ${digits(series.median)} ${unit} | ${intervalOf(series)} |`;
  });
  const of = repeat?.of;
  /** Additional cells in the table of gates if the row was repeated. */
  const repeated = (text: string, first: string): string =>
    repeat === undefined ? '' : of === undefined ? `${text}|` : `${first}|${text}|`;
  const gates = row.gates.map((gate) => {
    const shown = (measured: Interval | undefined): string =>
      measured === undefined ? '' : measuredOf({ ...gate, measured });
    return `| ${askedOf(gate)} | ${measuredOf(gate)} | ${verdictText[gate.verdict]} |${repeated(` ${shown(repeat?.measured[gate.what])} `, ` ${shown(of?.measured[gate.what])} `)}`;
  });
  return `## ${row.id}: ${row.title}

| | | median | 95 % interval |
|---|---|---|---|
${figures.join('\n')}
${gates.length === 0 ? '' : `\n| Asked | Measured | |${repeated(' Repeated ', ` Commit ${of?.commit} `)}\n|---|---|---|${repeated('---', '---')}\n${gates.join('\n')}\n`}${(row.notes ?? []).map((note) => `\n${note}\n`).join('')}${historyTable(row, commit, history)}
<sub>Measured ${at}, commit ${commit}; ${machine}.${repeat === undefined ? '' : ` Repeated ${repeat.at}, commit ${repeat.commit}; ${repeat.machine}.`}</sub>
`;
}
function historyTable(row: Row, commit: string, history: readonly Past[]): string {
  if (history.length === 0 || row.gates.length === 0) return '';
  const rows = row.gates.map(
    ({ what, unit, measured }) =>
      `| ${what}${unit === '' ? '' : `, ${unit.trim()}`} | ${[...history.map((past) => past.measured[what]), measured.median].map((value) => (value === undefined ? '' : digits(value))).join(' | ')} |`,
  );
  const commits = [...history.map((past) => past.commit), commit];
  return `\n| By commit | ${commits.join(' | ')} |\n|---|${'---|'.repeat(commits.length)}\n${rows.join('\n')}\n`;
}
