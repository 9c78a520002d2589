/** Requests, frames and texts of a page, printed when its test fails. */
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
