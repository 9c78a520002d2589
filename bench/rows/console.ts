/** The console in Chromium: its load, the use of its main thread, and its memory. */
import type { Page } from 'playwright-core';
import { countEvents, heap, startConsole, watchTasks } from '../console/rig.ts';
import type { ConsoleRig } from '../console/rig.ts';
import { QUICK, ROUNDS, atLeast, atMost, count, figure, interleave } from '../lib.ts';
import type { Figure, Gate, Row } from '../lib.ts';

const AGENTS = 300;
/** Loaded later, and not counted: charts and the phone. */
const LATER = /\/(?:plot|uPlot|panel|softphone|sip)[-.]/i;
interface Loaded {
  /** Compressed, as received. */
  readonly kilobytes: number;
  readonly withHeaders: number;
  readonly firstPaint: number;
  readonly largestPaint: number;
  readonly live: number;
}
const LIVE: Readonly<Record<string, string>> = {
  '/wallboard': '[data-agent]',
  '/desk': '#content h1',
  '/bench/naive': 'body[data-live]',
};
async function open(page: Page, base: string, path: string): Promise<number> {
  await page.goto(base + path, { waitUntil: 'commit' });
  await page
    .locator(LIVE[path.split('?')[0] ?? ''] ?? 'body')
    .first()
    .waitFor({ state: 'attached', timeout: 60_000 });
  return (await page.evaluate('performance.now()')) as number;
}
/** One load with an empty cache, signed in. */
async function load(rig: ConsoleRig, path: string): Promise<Loaded> {
  const context = await rig.context();
  try {
    const page = await context.newPage();
    await watchTasks(page);
    const cdp = await context.newCDPSession(page);
    const kinds = new Map<string, { readonly url: string; readonly type: string }>();
    let bytes = 0;
    cdp.on('Network.responseReceived', ({ requestId, response, type }) =>
      kinds.set(requestId, { url: response.url, type }),
    );
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const { url = '', type = '' } = kinds.get(requestId) ?? {};
      if (['Document', 'Script', 'Stylesheet'].includes(type) && !LATER.test(url)) bytes += encodedDataLength;
    });
    await cdp.send('Network.enable');
    const live = await open(page, rig.base, path);
    await page.waitForLoadState('networkidle');
    const bodies = (await page.evaluate(
      `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map((e) => [e.name, e.encodedBodySize])`,
    )) as [string, number][];
    const wanted = bodies.filter(
      ([url]) => !LATER.test(url) && (url.includes('/assets/') || url === page.url()),
    );
    const kilobytes = wanted.reduce((sum, [, size]) => sum + size, 0) / 1_000;
    const [firstPaint, largestPaint] = (await page.evaluate(
      `[performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN, globalThis.benchLargest ?? NaN]`,
    )) as [number, number];
    return { kilobytes, withHeaders: bytes / 1_000, firstPaint, largestPaint, live };
  } finally {
    await context.close();
  }
}
const PAGES = ['/wallboard', '/desk'];
/** First load. */
export async function c1(): Promise<Row> {
  await using rig = await startConsole(AGENTS);
  // The service reads its files at the first request.
  for (const path of PAGES) await load(rig, path);
  const loads = await interleave(PAGES, ROUNDS, (path) => load(rig, path));
  const figures: Figure[] = [];
  const gates: Gate[] = [];
  for (const path of PAGES) {
    const of = (key: keyof Loaded): number[] => (loads.get(path) ?? []).map((one) => one[key]);
    figures.push(
      figure(`${path}, page, scripts and styles, compressed`, 'kB', 'ours', of('kilobytes'), 'higher'),
      figure(`${path}, the same with the headers of their answers`, 'kB', 'ours', of('withHeaders')),
      figure(`${path}, first paint`, 'ms', 'ours', of('firstPaint')),
      figure(`${path}, largest paint`, 'ms', 'ours', of('largestPaint')),
      figure(`${path}, shows what is live`, 'ms', 'ours', of('live')),
    );
    gates.push(
      atMost(`${path}: first load, compressed`, 200, of('kilobytes'), ' kB'),
      atMost(`${path}: first load on the wire, with headers`, 210, of('withHeaders'), ' kB'),
      atMost(`${path}: first paint`, 1_000, of('firstPaint'), ' ms'),
    );
  }
  return {
    id: 'C1',
    title: 'The first load of the console, with nothing in the cache',
    figures,
    gates,
    notes: [
      'As Chromium received it over HTTP (brotli, which Chromium takes over a loopback address and over HTTPS; gzip elsewhere); charts and the telephone are loaded later and left out. The browser has one core.',
    ],
  };
}

const RATE = 450;
const SECONDS = QUICK ? 5 : 15;
const SUBJECTS = ['ours', 'drawn anew with every event', 'only read'] as const;
const PATHS: Readonly<Record<string, string>> = {
  ours: '/wallboard',
  'drawn anew with every event': '/bench/naive',
  'only read': '/bench/naive?draw=no',
};
interface Worked {
  /** Use of one core by the main thread, %. */
  readonly busy: number;
  readonly events: number;
  /** The longest task, ms, and the number of tasks of 50 ms and more. */
  readonly longest: number;
  readonly long: number;
}
async function work(rig: ConsoleRig, path: string): Promise<Worked> {
  const context = await rig.context();
  try {
    const page = await context.newPage();
    await watchTasks(page);
    const cdp = await context.newCDPSession(page);
    const heard = await countEvents(cdp);
    await open(page, rig.base, path);
    await page.waitForLoadState('networkidle');
    const flood = rig.flood(RATE, SECONDS + 2);
    await page.waitForTimeout(1_000);
    await page.evaluate('benchTasks.length = 0');
    const [events, cpu, at] = [heard(), await rig.mainThread(), performance.now()];
    await page.waitForTimeout(SECONDS * 1_000);
    const seconds = (performance.now() - at) / 1_000;
    const used = ((await rig.mainThread()) - cpu) / 1e6;
    const published = heard() - events;
    const tasks = (await page.evaluate('benchTasks')) as number[];
    await flood;
    return {
      busy: (100 * used) / seconds,
      events: published / seconds,
      longest: Math.max(0, ...tasks),
      long: tasks.length,
    };
  } finally {
    await context.close();
  }
}
/** Use of the main thread by the wallboard. */
export async function c2(): Promise<Row> {
  await using rig = await startConsole(AGENTS);
  await work(rig, '/wallboard');
  const worked = await interleave(SUBJECTS, ROUNDS, (name) => work(rig, PATHS[name] ?? ''));
  const of = (name: string, key: keyof Worked): number[] => (worked.get(name) ?? []).map((one) => one[key]);
  const roleOf = (name: string): Figure['role'] =>
    name === 'ours' ? 'ours' : name === 'only read' ? 'limit' : 'peer';
  const named = (name: string): string => (name === 'ours' ? 'Offhook' : `a page of tables, ${name}`);
  return {
    id: 'C2',
    title: `A wallboard of ${AGENTS} agents while calls come and go`,
    figures: SUBJECTS.flatMap((name) => [
      figure(
        `${named(name)}: main thread`,
        '% of one core',
        roleOf(name),
        of(name, 'busy'),
        ...(name === 'ours' ? (['higher'] as const) : []),
      ),
      figure(`${named(name)}: events heard`, '/s', roleOf(name), of(name, 'events')),
      figure(
        `${named(name)}: longest task of 50 ms and more, 0 where there is none`,
        'ms',
        roleOf(name),
        of(name, 'longest'),
      ),
    ]),
    gates: [
      atLeast('events heard', 100, of('ours', 'events'), '/s'),
      atMost('main thread', 40, of('ours', 'busy'), ' %'),
      atMost('longest task', 50, of('ours', 'longest'), ' ms'),
    ],
    notes: [
      'CPU time of the main thread of the renderer, which has one core; tasks are Chromium’s own long-task entries. Recorded calls.',
    ],
  };
}

/** Events of an hour at 100 per second, or a part of them. */
const EVENTS = QUICK ? 20_000 : 360_000;
const FAST = 6_000;
const STEPS = 12;
/** Memory of the wallboard. */
export async function c3(): Promise<Row> {
  await using rig = await startConsole(AGENTS);
  const context = await rig.context();
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  const heard = await countEvents(cdp);
  await open(page, rig.base, '/wallboard');
  await rig.flood(FAST, 3);
  const first = await heap(cdp);
  const from = heard();
  const kept: number[] = [];
  while (kept.length < STEPS) {
    while (heard() - from < (EVENTS / STEPS) * (kept.length + 1)) await rig.flood(FAST, 30);
    kept.push(await heap(cdp));
  }
  await context.close();
  // The first half warms caches of the browser; a leak continues after it.
  const half = kept.slice(STEPS / 2);
  const mean = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0) / list.length;
  const [xs, ys] = [half.map((_, i) => i), half.map((bytes) => bytes / 2 ** 20)];
  const slope =
    xs.reduce((sum, x, i) => sum + (x - mean(xs)) * ((ys[i] ?? 0) - mean(ys)), 0) /
    xs.reduce((sum, x) => sum + (x - mean(xs)) ** 2, 0);
  const hour = (slope * STEPS * 360_000) / EVENTS;
  return {
    id: 'C3',
    title: `A wallboard of ${AGENTS} agents over ${count(EVENTS)} events: an hour at ${count(Math.round(EVENTS / 3_600))} a second, in less time`,
    figures: [
      figure('heap in use at first', 'MiB', 'ours', [first / 2 ** 20]),
      figure('heap in use at the end', 'MiB', 'ours', [(kept.at(-1) ?? 0) / 2 ** 20], 'higher'),
      figure('slope of the second half', 'MiB/hour', 'ours', [hour]),
    ],
    gates: [atMost('growth in the second half, for an hour', 1, hour, ' MiB')],
    notes: [`Garbage collected before each of ${STEPS} measures.`],
  };
}
