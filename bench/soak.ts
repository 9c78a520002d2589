/**
 * `npm run soak -- --minutes 60 [--conversations 10000000]`: the sizes of a centre of 5,000 agents, held for that long. Recorded
 * calls arrive at 2,000 frames of the engine a second, 10,000 clients each hear their extension and their queue, and a page of
 * a history of so many conversations is read each second. It prints a line for each minute; from half an hour on it writes
 * docs/performance/soak.md. Its exit code is 1 if one of its checks fails.
 */
import fs from 'node:fs';
import { parseArgs } from 'node:util';
import { SOAK_PAGE, commitOf, writeDocuments } from './documents.ts';
import { request } from './http-client.ts';
import {
  GENERATOR_CORE,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  ask,
  count,
  cpuOf,
  digits,
  end,
  firstLine,
  moveTo,
  quantile,
  series,
  start,
} from './lib.ts';
import { machineText, readMachine } from './machine.ts';
import { storeOf } from './rows/history.ts';
import type { Flooded } from './stream/questions.ts';
import { AGENTS_PER_QUEUE } from './stream/script.ts';
import { startSubject } from './stream/subjects.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    conversations: { type: 'string', default: '1000000' },
  },
});
const number = (name: keyof typeof values): number => {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name}: expected a number from 1`);
  return value;
};
const [minutes, conversations] = [number('minutes'), number('conversations')];
const AGENTS = 5_000;
const CLIENTS = 10_000;
const FRAMES_PER_SECOND = 2_000;
const SLICE_SECONDS = 60;
/** A page is written, and memory judged, in a run of at least so many minutes. */
const WRITTEN_FROM = 30;
/** Highest ratio of the memory of the last quarter to that of the second. */
const MOST_GROWTH = 1.05;
const MOST_LAG_MS = 100;

interface Minute {
  /** Memory of the service after a collection, in MB. */
  readonly rss: number;
  /** Part of `rss` in the heap of JavaScript, in MB. */
  readonly heap: number;
  readonly handles: number;
  /** CPU of the service alone, in % of one core. */
  readonly core: number;
  /** Delay of the service's event loop, p99 in ms. */
  readonly delay: number;
  /** From the time in an event to its arrival at a client, p99 in ms. */
  readonly lag: number;
  /** Messages to all clients. */
  readonly messages: number;
  /** Messages lost, doubled or out of order. */
  readonly wrong: number;
  /** A page of the history, p99 in ms. */
  readonly page: number;
}

moveTo(GENERATOR_CORE, process.pid);
const machine = readMachine();
process.stdout.write(`${machineText(machine)}\n`);
const store = await storeOf(conversations);
const history = start('history/pages-subject.ts', [store], SUBJECT_CORE, SERVICE_FLAGS);
await using stack = new AsyncDisposableStack();
stack.defer(() => end(history));
const { port } = await firstLine<{ port: number }>(history);
const site = { extensions: AGENTS, queues: AGENTS / AGENTS_PER_QUEUE };
const service = stack.use(await startSubject('ours', site, { clients: CLIENTS }));
await service.connect({ count: CLIENTS, topics: 'narrow' });
const pid = service.process.pid!;
const LISTS = ['/api/v1/conversations?limit=50', '/api/mobile/history.php?limit=50'];
/** The person whose lists are read: one of the recorded calls. */
const PERSON = '1500';

let pages: number[] = [];
let failedPages = 0;
let turn = 0;
const reading = setInterval(() => {
  const began = performance.now();
  request(`http://127.0.0.1:${port}${LISTS[(turn += 1) % LISTS.length]!}`, { token: PERSON }).then(
    ({ status }) => {
      if (status === 200) pages.push(performance.now() - began);
      else failedPages += 1;
    },
    () => (failedPages += 1),
  );
}, 1_000);
stack.defer(() => clearInterval(reading));

const told: Minute[] = [];
let before = { received: 0, wrong: 0 };
let different = 0;
await ask(service.process, { ask: 'delay' });
for (let minute = 1; minute <= minutes; minute += 1) {
  const cpu = cpuOf(pid);
  const last = minute === minutes;
  const done = await service.ask<Flooded>({
    ask: 'flood',
    rate: FRAMES_PER_SECOND,
    seconds: SLICE_SECONDS,
    ...(last ? {} : { settle: false }),
  });
  const core = (cpuOf(pid) - cpu) / 1e4 / done.seconds;
  // Read before the collection, which holds the event loop.
  const { p99: delay } = await ask<{ p99: number }>(service.process, { ask: 'delay' });
  const memory = await ask<{ rss: number; heap: number }>(service.process, { ask: 'memory' });
  const [rss, heap] = [memory.rss / 1e6, memory.heap / 1e6];
  const handles = fs.readdirSync(`/proc/${pid}/fd`).length;
  const { received, wrong } = done;
  different = done.different;
  const one: Minute = {
    rss,
    heap,
    handles,
    core,
    delay,
    lag: done.lag.p99,
    messages: received - before.received,
    wrong: wrong - before.wrong,
    page: quantile(pages, 0.99),
  };
  before = { received, wrong };
  pages = [];
  told.push(one);
  process.stdout.write(
    `minute ${minute}: ${digits(rss)} MB (heap ${digits(heap)}), ${handles} handles, ${digits(core)} % of a core, event loop p99 ${digits(delay)} ms, lag p50 ${digits(done.lag.p50)}, p99 ${digits(one.lag)} ms (max ${digits(done.lag.max)}), of the load ${digits(done.load.core)} % of its core and event loop p99 ${digits(done.load.delay)} ms, ${count(one.messages)} messages, ${one.wrong} wrong, page p99 ${digits(one.page)} ms, ${digits(done.frames / done.seconds)} frames/s\n`,
  );
}
clearInterval(reading);

const quarter = (n: number): readonly Minute[] => {
  const some = told.slice(Math.floor((n * told.length) / 4), Math.floor(((n + 1) * told.length) / 4));
  return some.length > 0 ? some : told.slice(-1);
};
const middle = (of: readonly Minute[], pick: (minute: Minute) => number): number =>
  series(of.map(pick)).median;
const growth = middle(quarter(3), ({ rss }) => rss) / middle(quarter(1), ({ rss }) => rss);
const moreHandles =
  middle(quarter(3), ({ handles }) => handles) - middle(quarter(1), ({ handles }) => handles);
const all = (pick: (minute: Minute) => number): number => told.reduce((sum, minute) => sum + pick(minute), 0);
const lost = all(({ wrong }) => wrong);
const lag = middle(told, (minute) => minute.lag);
const checks: readonly (readonly [asked: string, measured: string, held: boolean])[] = [
  ['messages lost, doubled or out of order: 0', count(lost), lost === 0],
  ['clients that lack the last figures of their queue: 0', count(different), different === 0],
  ['pages of the history that failed: 0', count(failedPages), failedPages === 0],
  // Memory grows for some eight minutes, until every agent, membership and extension has been seen.
  ...(minutes >= WRITTEN_FROM
    ? [
        [
          `memory of the last quarter, times the second ≤ ${MOST_GROWTH}`,
          `${digits(growth)}×`,
          growth <= MOST_GROWTH,
        ] as const,
      ]
    : []),
  ['open files and sockets more than in the second quarter ≤ 0', count(moreHandles), moreHandles <= 0],
  [`lag, p99 of a minute in the median ≤ ${MOST_LAG_MS} ms`, `${digits(lag)} ms`, lag <= MOST_LAG_MS],
];
for (const [asked, measured, held] of checks)
  process.stdout.write(`${held ? 'HELD  ' : 'BROKEN'} ${asked}: ${measured}\n`);
if (minutes >= WRITTEN_FROM) writePage();
process.exitCode = checks.every(([, , held]) => held) ? 0 : 1;

function writePage(): void {
  const every = Math.max(1, Math.floor(told.length / 12));
  const shown = [...told.entries()].filter(([i]) => i % every === every - 1);
  const text = `# A centre of ${count(AGENTS)} agents, held for ${minutes} minutes

Written by \`npm run soak -- --minutes ${minutes} --conversations ${conversations}\`; do not edit. Recorded calls at ${count(FRAMES_PER_SECOND)} frames of the engine a second;
${count(CLIENTS)} clients, each of which hears one extension and one queue; ${count(conversations)} conversations, of which a page of 50 is read each second by a process
of its own. All of it is on one core, and the load on the other. Each message names the one before it, so a lost, doubled or exchanged
one is noticed.

| Asked | Measured | |
|---|---|---|
${checks.map(([asked, measured, held]) => `| ${asked} | ${measured} | ${held ? 'held' : '**broken**'} |`).join('\n')}

| Minute | memory, MB | of it the heap, MB | open files and sockets | share of a core, % | event loop, p99, ms | lag, p99, ms | messages | page, p99, ms |
|---|---|---|---|---|---|---|---|---|
${shown.map(([i, m]) => `| ${i + 1} | ${digits(m.rss)} | ${digits(m.heap)} | ${count(m.handles)} | ${digits(m.core)} | ${digits(m.delay)} | ${digits(m.lag)} | ${count(m.messages)} | ${digits(m.page)} |`).join('\n')}

<sub>Measured ${new Date().toISOString().slice(0, 10)}, commit ${commitOf()}; ${machineText(machine)}.</sub>
`;
  fs.writeFileSync(SOAK_PAGE, text);
  // docs/performance.md has a link to this page.
  writeDocuments([], machine, false);
}
