/** Pages of the console in a real Chromium, on a real site. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { createClient } from '@offhook/client';
import type { Client } from '@offhook/client';
import type { Language } from '@offhook/contract/errors.ts';
import { SESSION_COOKIE } from '@offhook/contract/session.ts';
import type { Browser } from '../../server/test/support/browser.ts';
import type { Site } from '../../server/test/support/site.ts';
import { until } from '../../server/test/support/until.ts';
import { buildConsole } from '../../scripts/build-console.ts';

/** Builds what is served, where it has changed since: a test never looks at an old console. */
export const buildFirst = (): Promise<boolean> => buildConsole(() => undefined);

/** Pages whose trouble is kept: errors of scripts, and what the policy of the page refused. */
const trouble = new WeakMap<Page, string[]>();
/** The browser's own messages on refused or lost requests and sockets are judged by the test and are no fault of the page. */
const EXPECTED = /Failed to load resource|WebSocket (?:connection to|is already in CLOSING)|net::ERR/;

const DESK = { width: 1440, height: 900 };
const PERMISSIONS = ['microphone', 'notifications'];
export interface ConsolePageOptions {
  readonly path?: string;
  readonly language?: Language;
  readonly scheme?: 'light' | 'dark';
  readonly size?: { readonly width: number; readonly height: number };
  /** In a context of its own (cookies, storage); then it is closed with the context. */
  readonly context?: BrowserContext;
}
/** A page of the console with nobody signed in, in a browser context of its own. */
export async function openConsole(
  site: Pick<Site, 'base'>,
  browser: Browser,
  { path = '/', language = 'en', scheme = 'light', size, context }: ConsolePageOptions = {},
): Promise<Page> {
  const own =
    context ??
    (await browser.newContext({
      locale: language,
      colorScheme: scheme,
      viewport: size ?? DESK,
      // An element that fades in has neither its colours for axe nor its position for a click.
      reducedMotion: 'reduce',
      permissions: PERMISSIONS,
    }));
  const page = await newPage(own);
  await page.goto(site.base + path);
  return page;
}
/**
 * Runs in the page before its own scripts: a script that takes the focus out of a field somebody types in is an error, unless a press of
 * the pointer or of a key that is no text came just before. A dialog may take the focus, but into none of its fields, and hand it back.
 */
const WATCH_FOCUS = `(() => {
  const FIELD = 'input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]';
  const JUST_MS = 1000;
  let acted = -Infinity;
  const act = (event) => {
    const text = event.type === 'keydown' && event.key.length === 1 && !event.ctrlKey && !event.altKey && !event.metaKey;
    if (event.isTrusted && !(text && event.target.matches?.(FIELD))) acted = performance.now();
  };
  for (const type of ['pointerdown', 'keydown']) addEventListener(type, act, true);
  const own = HTMLElement.prototype.focus;
  HTMLElement.prototype.focus = function (...options) {
    const from = document.activeElement;
    const kept = from === null || from === this || !from.matches(FIELD) || from.closest('[role=dialog]') !== null ||
      (this.closest('[role=dialog]') !== null && !this.matches(FIELD));
    if (!kept && performance.now() - acted > JUST_MS)
      console.error('the page took the focus from ' + from.outerHTML.slice(0, 120) + ' to ' + this.outerHTML.slice(0, 120));
    return own.apply(this, options);
  };
  window.focusIsWatched = true;
})()`;
/** A page whose trouble is kept. */
async function newPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.addInitScript(WATCH_FOCUS);
  const said: string[] = [];
  trouble.set(page, said);
  page.on('pageerror', (error) => said.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) said.push(message.text());
  });
  return page;
}
/** A site, or a simulator. */
interface SignInSite {
  credentials(): Promise<readonly { readonly extension: string; readonly password: string }[]>;
}
/** Signs a person of the site in by typing. */
export async function signIn(site: SignInSite, page: Page, extension: string): Promise<void> {
  const own = (await site.credentials()).find((c) => c.extension === extension);
  assert.ok(own, `nobody is at ${extension}`);
  await page.locator('input[name=username]').fill(extension);
  await page.locator('input[name=password]').fill(own.password);
  await page.locator('button[type=submit]').click();
  await page.locator('#content').waitFor();
}
/** A page on which this person is signed in. */
export async function consoleOf(
  site: Pick<Site, 'base'> & SignInSite,
  browser: Browser,
  extension: string,
  options: ConsolePageOptions = {},
): Promise<Page> {
  const page = await openConsole(site, browser, options);
  await signIn(site, page, extension);
  return page;
}
/** Ends the session of this page elsewhere, and waits until the page asks for another sign-in. */
export async function endSession(site: Pick<Site, 'base'>, page: Page): Promise<void> {
  const cookie = (await page.context().cookies()).find(({ name }) => name === SESSION_COOKIE);
  const answer = await fetch(`${site.base}/api/v1/session/logout`, {
    method: 'POST',
    headers: { authorization: `Bearer ${cookie?.value}`, 'content-type': 'application/json' },
    body: '{}',
  });
  assert.equal(answer.status, 200);
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
}
/** The same person signs in again on a page whose session ended; `dialogs` are open below that of the sign-in. */
export async function signInAgain(
  site: SignInSite,
  page: Page,
  extension: string,
  dialogs = 0,
): Promise<void> {
  const own = (await site.credentials()).find((c) => c.extension === extension);
  await page.locator('input[name=password]').fill(own?.password ?? '');
  await page.keyboard.press('Enter');
  await until('the dialog is gone', async () => (await page.getByRole('dialog').count()) === dialogs);
}
const kept = new WeakMap<Browser, Map<string, Promise<BrowserContext>>>();
/**
 * A page on which this person is signed in already, for tests of what comes after that. All pages of a person are tabs of one
 * context of theirs (cookies, storage, what the browser has loaded): a test closes the page, not the context.
 */
export async function signedIn(
  site: Site,
  browser: Browser,
  extension: string,
  { path = '/', language = 'en', scheme = 'light', size = DESK }: Omit<ConsolePageOptions, 'context'> = {},
): Promise<Page> {
  const contexts = kept.get(browser) ?? new Map<string, Promise<BrowserContext>>();
  kept.set(browser, contexts);
  const name = `${site.base} ${extension} ${language}`;
  const made = contexts.get(name) ?? contextOf(site, browser, extension, language);
  contexts.set(name, made);
  const page = await newPage(await made);
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize(size);
  await page.goto(site.base + path);
  await page.locator('#content').waitFor();
  return page;
}
async function contextOf(
  site: Site,
  browser: Browser,
  extension: string,
  language: string,
): Promise<BrowserContext> {
  const context = await browser.newContext({
    locale: language,
    reducedMotion: 'reduce',
    permissions: PERMISSIONS,
  });
  const { token } = await site.person(extension);
  await context.addCookies([{ name: SESSION_COOKIE, value: token, url: site.base, sameSite: 'Strict' }]);
  return context;
}
/** Clicks faster than a page can draw: three times before it comes to anything else. */
export const clickThrice = (button: Locator): Promise<void> =>
  button.evaluate((one) => {
    for (let i = 0; i < 3; i += 1) (one as unknown as { click(): void }).click();
  });
/** Waits until this has the focus; the failure says what has it. */
export async function focusIsOn(page: Page, target: Locator): Promise<void> {
  let has: unknown;
  await until(
    `the focus is on ${String(target)}`,
    async () => {
      has = await page.evaluate('document.activeElement.outerHTML.slice(0, 300)');
      return (await target.and(page.locator(':focus')).count()) > 0;
    },
    { seen: () => ({ has }) },
  );
}
/** Waits until a field has this value: after a reload or an event it is drawn a moment later. */
export async function hasValue(field: Locator, value: string, why = ''): Promise<void> {
  let last = '';
  await until(
    `${String(field)} has "${value}" ${why}`,
    async () => (last = await field.inputValue()) === value,
    {
      seen: () => ({ last }),
    },
  );
}
export const isChecked = (field: Locator, on = true): Promise<unknown> =>
  until(`${String(field)} is ${on ? 'on' : 'off'}`, async () => (await field.isChecked()) === on);

/** Waits until nothing of the page is wider than its screen: its last parts may be drawn a moment later. */
export async function fits(page: Page, where = page.url()): Promise<void> {
  let seen: unknown;
  await until(
    `nothing of ${where} is wider than the screen`,
    async () => {
      const [has, may] = (seen = await page.evaluate(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      )) as [number, number];
      return has <= may;
    },
    { seen: () => ({ seen }) },
  );
}

/** Names of tables, other than lists of objects, whose end one would have to scroll to, and texts that run over the next cell. */
const BESIDE = `[...document.querySelectorAll('[role=group]')].filter((one) => one.querySelector('table')).flatMap((one) => [
  ...(one.scrollWidth > one.clientWidth ? [one.ariaLabel] : []),
  ...[...one.querySelectorAll('td')].filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent),
])`;
/** A new size of the window is laid out a moment later. */
export const nothingBeside = (page: Page): Promise<unknown> => {
  let seen: unknown;
  return until(
    'no table has a part beside its card',
    async () => `${String((seen = await page.evaluate(BESIDE)))}` === '',
    { seen: () => ({ seen }) },
  );
};

/** Parts of the page whose content is wider than they are and is not cut off, so that it covers what is beside them. */
const OVER = `[...document.querySelectorAll('#content *')].filter((one) => {
  const { display, overflowX } = getComputedStyle(one);
  return one.clientWidth > 1 && one.scrollWidth > one.clientWidth + 1 && display !== 'inline' && overflowX === 'visible';
}).map((one) => one.tagName + ' ' + one.textContent.slice(0, 60))`;
export const nothingRunsOver = (page: Page, where = page.url()): Promise<unknown> => {
  let seen: unknown;
  return until(
    `nothing runs over what is beside it on ${where}`,
    async () => `${String((seen = await page.evaluate(OVER)))}` === '',
    { seen: () => ({ seen }) },
  );
};

/** The watch over the focus is on in this page, and says so where it is taken. */
export const focusIsWatched = async (page: Page): Promise<void> => {
  assert.equal(await page.evaluate('window.focusIsWatched'), true);
};
/** Fails where a script of the page failed, took the focus from who typed, or its policy refused something. */
export function assertNoTrouble(page: Page): void {
  assert.deepEqual(trouble.get(page) ?? ['this page was not opened by openConsole'], []);
}

/** Closes pages that `signedIn` opened; fails where one of them had trouble. */
export async function close(...pages: readonly Page[]): Promise<void> {
  for (const page of pages) {
    assertNoTrouble(page);
    await page.close();
  }
}
/** The API as this person of the site uses it. */
export const clientOf = async (site: Site, extension: string): Promise<Client> =>
  createClient({ base: site.base, token: (await site.person(extension)).token });

let axe: Promise<string> | undefined;
interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}
/** Fails where axe finds a violation of WCAG 2.2 AA, or of these rules only, with what and where. */
export async function assertAccessible(
  page: Page,
  where = page.url(),
  rules?: readonly string[],
): Promise<void> {
  axe ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // By the debugger, which the policy of the page does not hold.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(await axe);
  const runOnly = JSON.stringify(rules ?? ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']);
  // Levels of headings are of no criterion, and still the way who cannot see a page finds its parts.
  const beside = JSON.stringify({ 'heading-order': { enabled: rules === undefined } });
  const violations = (await page.evaluate(
    `axe.run({ runOnly: ${runOnly}, rules: ${beside}, resultTypes: ['violations'] }).then((r) => r.violations)`,
  )) as Violation[];
  const said = violations.flatMap(({ id, help, nodes }) =>
    nodes
      .slice(0, 5)
      .map((node) => `${id}: ${help} at ${node.target.join(' ')} ${node.failureSummary ?? ''}`),
  );
  assert.deepEqual(said, [], where);
}
/** The same of a page in the light, and once more in the dark, which has other colours and nothing else. */
export async function assertAccessibleInBoth(page: Page, where = page.url()): Promise<void> {
  await assertAccessible(page, where);
  await page.emulateMedia({ colorScheme: 'dark' });
  await until('the page is dark and no colour is on its way', () =>
    page.evaluate(`document.documentElement.dataset.mantineColorScheme === 'dark' &&
      !document.getAnimations().some((one) => one instanceof CSSTransition)`),
  );
  await assertAccessible(page, `${where} dark`, ['color-contrast']);
  await page.emulateMedia({ colorScheme: 'light' });
}
