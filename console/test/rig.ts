/** Pages of the console in a real Chromium, on a real site. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { BrowserContext, Page } from 'playwright-core';
import type { Browser } from '../../server/test/support/browser.ts';
import type { Site } from '../../server/test/support/site.ts';
import { buildConsole } from '../../scripts/build-console.ts';

/** Builds what is served, where it has changed since: a test never looks at an old console. */
export const buildFirst = (): Promise<boolean> => buildConsole(() => undefined);

/** Pages whose trouble is kept: errors of scripts, and what the policy of the page refused. */
const trouble = new WeakMap<Page, string[]>();
/** What the browser itself says of a refused or lost request is the test's to judge, not a fault of the page. */
const EXPECTED = /Failed to load resource|WebSocket connection to|net::ERR/;

export interface ConsolePageOptions {
  readonly path?: string;
  readonly language?: 'en' | 'tr' | 'de';
  readonly scheme?: 'light' | 'dark';
  readonly size?: { readonly width: number; readonly height: number };
  /** In a context of its own (cookies, storage); then it is closed with the context. */
  readonly context?: BrowserContext;
}
/** A page of the console with nobody signed in, in a browser context of its own. */
export async function openConsole(
  site: Site,
  browser: Browser,
  { path = '/', language = 'en', scheme = 'light', size, context }: ConsolePageOptions = {},
): Promise<Page> {
  const own =
    context ??
    (await browser.newContext({
      locale: language,
      colorScheme: scheme,
      viewport: size ?? { width: 1440, height: 900 },
      permissions: ['microphone', 'notifications'],
    }));
  const page = await own.newPage();
  const said: string[] = [];
  trouble.set(page, said);
  page.on('pageerror', (error) => said.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) said.push(message.text());
  });
  await page.goto(site.base + path);
  return page;
}
/** Signs a person of the site in by typing. */
export async function signIn(site: Site, page: Page, extension: string): Promise<void> {
  const own = (await site.credentials()).find((c) => c.extension === extension);
  assert.ok(own, `nobody is at ${extension}`);
  await page.locator('input[name=username]').fill(extension);
  await page.locator('input[name=password]').fill(own.password);
  await page.locator('button[type=submit]').click();
  await page.locator('#content').waitFor();
}
/** A page on which this person is signed in. */
export async function consoleOf(
  site: Site,
  browser: Browser,
  extension: string,
  options: ConsolePageOptions = {},
): Promise<Page> {
  const page = await openConsole(site, browser, options);
  await signIn(site, page, extension);
  return page;
}
/** Fails where a script of the page failed or its policy refused something. */
export function assertNoTrouble(page: Page): void {
  assert.deepEqual(trouble.get(page) ?? ['this page was not opened by openConsole'], []);
}

let axe: Promise<string> | undefined;
interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}
/** Fails where axe finds a violation of WCAG 2.2 AA, with what and where. */
export async function assertAccessible(page: Page, where = page.url()): Promise<void> {
  axe ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // By the debugger, which the policy of the page does not hold.
  await page.evaluate(await axe);
  const violations = (await page.evaluate(
    `axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }).then((r) => r.violations)`,
  )) as Violation[];
  const said = violations.flatMap(({ id, help, nodes }) =>
    nodes
      .slice(0, 5)
      .map((node) => `${id}: ${help} at ${node.target.join(' ')} ${node.failureSummary ?? ''}`),
  );
  assert.deepEqual(said, [], where);
}
