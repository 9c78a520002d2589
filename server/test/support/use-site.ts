import { after, afterEach, before } from 'node:test';
import type { Browser } from './browser.ts';
import type { TestPostgres } from './postgres.ts';
import { startSite } from './site.ts';
import type { Site, SiteOptions } from './site.ts';

/** Prints this after every failed test of the file. */
function afterFailure(report: () => string | Promise<string>): void {
  afterEach(async (t) => {
    const context = t as { passed?: boolean; diagnostic(message: string): void };
    if (context.passed === false) context.diagnostic(await report());
  });
}

/**
 * One site for all tests of a file, ended after the last; its last lines are printed with every failure. `options` may be
 * a function that uses the result of an earlier `use…`.
 */
export function useSite(options: SiteOptions | (() => SiteOptions) = {}): () => Site {
  let site: Site | undefined;
  before(async () => {
    site = await startSite(typeof options === 'function' ? options() : options);
  });
  afterFailure(() => `the site said last:\n${site?.tail() ?? ''}`);
  after(() => site?.[Symbol.asyncDispose]());
  return () => {
    if (!site) throw new Error('the site is only there inside a test');
    return site;
  };
}

/** One Chromium for all tests of a file; the log of its open pages is printed with every failure. `by`: as `startBrowser` takes it. */
export function useBrowser(by: readonly string[] = []): () => Browser {
  let browser: Browser | undefined;
  before(async () => {
    // Playwright takes 0.3 s of a core to load, and few files open pages.
    const { startBrowser } = await import('./browser.ts');
    browser = await startBrowser(by);
  });
  afterFailure(async () => (await browser?.report()) ?? '');
  after(() => browser?.[Symbol.asyncDispose]());
  return () => {
    if (!browser) throw new Error('the browser is only there inside a test');
    return browser;
  };
}

/** One PostgreSQL server for all tests of a file. */
export function usePostgres(): () => TestPostgres {
  let server: TestPostgres | undefined;
  before(async () => {
    const { startPostgres } = await import('./postgres.ts');
    server = await startPostgres();
  });
  after(() => server?.[Symbol.asyncDispose]());
  return () => {
    if (!server) throw new Error('the server is only there inside a test');
    return server;
  };
}
