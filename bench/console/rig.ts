/** The console in a real Chromium with a service and a scripted engine: the browser on one core, all else on the other. */
import fs from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { buildConsole } from '../../scripts/build-console.ts';
import { findChromium } from '../../server/test/support/chromium.ts';
import {
  GENERATOR_CORE,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  ask,
  end,
  firstLine,
  moveTo,
  start,
  temporaryFolder,
} from '../lib.ts';
import { PASSWORD, extensionOf, fillSite } from '../site-data.ts';
import type { Flooded } from '../stream/questions.ts';
import { AGENTS_PER_QUEUE } from '../stream/script.ts';
import { NAIVE_PAGE, NAIVE_SCRIPT } from './naive.ts';

export interface ConsoleRig extends AsyncDisposable {
  readonly base: string;
  /** A context with a supervisor's session and an empty cache. */
  context(): Promise<BrowserContext>;
  /** Plays recorded calls at so many frames of the engine per second. */
  flood(rate: number, seconds: number): Promise<Flooded>;
  /** CPU of the open page's main thread, µs. */
  mainThread(): Promise<number>;
}
/** The load replies after it has played and waited for the following events: no figure includes that wait. */
export async function startConsole(agents: number): Promise<ConsoleRig> {
  await buildConsole(() => undefined);
  const stack = new AsyncDisposableStack();
  try {
    const site = { extensions: agents, queues: agents / AGENTS_PER_QUEUE };
    const load = start('stream/load.ts', [JSON.stringify(site)], GENERATOR_CORE);
    stack.defer(() => end(load));
    const engine = await firstLine<{ port: number }>(load);
    const folder = temporaryFolder();
    stack.defer(() => folder[Symbol.dispose]());
    await fillSite(folder.path, {
      ...site,
      agentsPerQueue: AGENTS_PER_QUEUE,
      static: true,
      level: 'supervisor',
    });
    const service = start(
      'service-subject.ts',
      [folder.path, engine.port, 'e:e', 'a:a', 'console'],
      GENERATOR_CORE,
      SERVICE_FLAGS,
    );
    stack.defer(() => end(service));
    const { port } = await firstLine<{ port: number }>(service);
    const base = `http://127.0.0.1:${port}`;
    const found = await findChromium();
    // Child processes inherit the core.
    moveTo(SUBJECT_CORE, process.pid);
    const browser: Browser = await chromium.launch({
      executablePath: found.path,
      args: [
        ...found.flags,
        '--no-sandbox',
        '--disable-gpu',
        '--js-flags=--expose-gc',
        // Without it, a page without an address, such as the peer's, may not connect to this machine.
        '--disable-features=LocalNetworkAccessChecks',
      ],
    });
    moveTo(GENERATOR_CORE, process.pid);
    stack.defer(() => browser.close());
    const whole = await browser.newBrowserCDPSession();
    const owned = stack.move();
    return {
      base,
      async context() {
        const context = await browser.newContext({ viewport: { width: 1920, height: 1080 }, locale: 'en' });
        const answer = await context.request.post(`${base}/api/auth/login`, {
          data: { username: extensionOf(0), password: PASSWORD },
          headers: { origin: base },
        });
        if (!answer.ok()) throw new Error(await answer.text());
        await context.route(`${base}/bench/**`, async (route) => {
          const script = route.request().url().endsWith('.js');
          await route.fulfill(
            script
              ? { contentType: 'text/javascript', body: NAIVE_SCRIPT }
              : { contentType: 'text/html', body: NAIVE_PAGE },
          );
        });
        return context;
      },
      flood: async (rate, seconds) => await ask<Flooded>(load, { ask: 'flood', rate, seconds }),
      async mainThread() {
        const { processInfo } = await whole.send('SystemInfo.getProcessInfo');
        const all = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => mainThreadOf(id));
        return Math.max(...all);
      },
      async [Symbol.asyncDispose]() {
        await owned.disposeAsync();
      },
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
/** CPU of the thread whose id equals that of its process. */
const mainThreadOf = (pid: number): number =>
  Number(fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;

/** Events received by the page. */
export async function countEvents(cdp: CDPSession): Promise<() => number> {
  let events = 0;
  cdp.on('Network.webSocketFrameReceived', ({ response }) => {
    events += response.payloadData.split('"op":"event"').length - 1;
  });
  await cdp.send('Network.enable');
  return () => events;
}
/** Collected by the page from its start: tasks of 50 ms and more, and the largest paint. */
export async function watchTasks(page: Page): Promise<void> {
  await page.addInitScript(`
    globalThis.benchTasks = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) benchTasks.push(entry.duration);
    }).observe({ type: 'longtask', buffered: true });
    new PerformanceObserver((list) => {
      globalThis.benchLargest = list.getEntries().at(-1).startTime;
    }).observe({ type: 'largest-contentful-paint', buffered: true });
  `);
}
/** Used bytes of the heap after a garbage collection. */
export async function heap(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage');
  await cdp.send('HeapProfiler.collectGarbage');
  return (await cdp.send('Runtime.getHeapUsage')).usedSize;
}
