/** Requests, frames and texts of a page, printed when its test fails. */
import { setTimeout as wait } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';

/** Number of newest lines kept for each page. */
const MOST_LINES = 24;
const LONGEST = 240;
const MOST_TEXT = 1_500;
/** Frames that every page exchanges continuously. */
const IDLE = /^\{"op":"(?:ping|pong|heartbeat)"/;
const logs = new WeakMap<Page, string[]>();

function watch(page: Page): void {
  const lines: string[] = [];
  logs.set(page, lines);
  const began = Date.now();
  const add = (line: string): void => {
    // One line each, because a report keeps only its last lines.
    lines.push(`${Date.now() - began} ms ${line.replaceAll(/\s*\n\s*/g, ' · ').slice(0, LONGEST)}`);
    if (lines.length > MOST_LINES) lines.shift();
  };
  page.on('response', (response) => {
    const { pathname, search } = new URL(response.url());
    if (pathname.startsWith('/api/'))
      add(`${response.request().method()} ${pathname}${search} ${response.status()}`);
  });
  page.on('requestfailed', (request) =>
    add(`${request.method()} ${request.url()} failed: ${request.failure()?.errorText ?? ''}`),
  );
  page.on('websocket', (socket) => {
    const logger = (way: string) => (frame: { payload: string | Buffer }) => {
      const text = String(frame.payload);
      if (!IDLE.test(text)) add(`${way} ${text}`);
    };
    socket.on('framesent', logger('sent'));
    socket.on('framereceived', logger('received'));
    socket.on('close', () => add(`${socket.url()} closed`));
  });
  page.on('console', (message) => add(`console ${message.type()}: ${message.text()}`));
}
/** Lines of a page, or of its dialogs, that are put into the error of a wait. */
const MOST_SHOWN = 40;
/** Limit of each look at a page whose wait has failed, in milliseconds. */
const LOOK_MS = 2_000;

interface Shown {
  readonly alerts: string;
  readonly parts: string;
}
/** What each page of this page's browser shows now, this one first: alerts in one line, and parts as roles and names. */
export async function shownBy(page: Page): Promise<Shown> {
  const all = page.context().browser()?.contexts() ?? [];
  const others = all.flatMap((context) => context.pages()).filter((other) => other !== page);
  const [own, ...rest] = await Promise.all([page, ...others].map(partsOf));
  const beside = others.map(
    (other, i) => `${other.url()} shows, with alerts ${rest[i]!.alerts}:\n${rest[i]!.parts}`,
  );
  return { alerts: own!.alerts, parts: [`${page.url()} shows:`, own!.parts, ...beside].join('\n') };
}
/** Dialogs, panel and main part. */
async function partsOf(page: Page): Promise<Shown> {
  // A page that is closed or no longer runs answers nothing.
  const within = <T>(work: Promise<readonly T[]>): Promise<readonly T[]> =>
    Promise.race([work.catch(() => []), wait(LOOK_MS, [], { ref: false })]);
  const alerts = await within(page.locator('[role=alert]').allInnerTexts());
  const found = [
    ...(await within(page.locator('[role=dialog]').all())),
    ...(await within(page.getByRole('complementary').all())),
    ...(await within(page.locator('main').all())),
  ];
  const parts = found.length > 0 ? found : [page.locator('body')];
  const shown = await Promise.all(
    parts.map((part) =>
      part
        .ariaSnapshot({ timeout: LOOK_MS })
        .catch((error: Error) => `nothing: ${error.message.split('\n', 1)[0]}`),
    ),
  );
  const lines = shown.join('\n').split('\n');
  const rest = lines.length > MOST_SHOWN ? [`… ${lines.length - MOST_SHOWN} more lines`] : [];
  return {
    alerts:
      alerts.length === 0
        ? 'none'
        : alerts
            .join(' | ')
            .replaceAll(/\s*\n\s*/g, ' · ')
            .slice(0, LONGEST),
    parts: [...lines.slice(0, MOST_SHOWN), ...rest].join('\n'),
  };
}

/** Keeps a log of every page of this context. */
export const watchPages = (context: BrowserContext): unknown => context.on('page', watch);

/** The log of each open page, and its text. */
export async function reportPages(contexts: readonly BrowserContext[]): Promise<string> {
  const pages = contexts.flatMap((context) => context.pages());
  const reports = pages.map(async (page) => {
    const text = await page
      .locator('body')
      .innerText({ timeout: 2_000 })
      .catch((error: Error) => `no text: ${error.message}`);
    const lines = logs.get(page) ?? [];
    return `page ${page.url()}\n${lines.join('\n')}\nshows: ${text.replaceAll(/\s*\n\s*/g, ' · ').slice(0, MOST_TEXT)}`;
  });
  return (await Promise.all(reports)).join('\n');
}
