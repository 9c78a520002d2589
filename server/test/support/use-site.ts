import { after, afterEach, before } from 'node:test';
import { startBrowser } from './browser.ts';
import type { Browser } from './browser.ts';
import { startSite } from './site.ts';
import type { Site, SiteOptions } from './site.ts';

/**
 * One site for all tests of a file, ended after the last; what it said last is shown with every failure. `options` may be
 * a function that uses what an earlier `use…` has started.
 */
export function useSite(options: SiteOptions | (() => SiteOptions) = {}): () => Site {
  let site: Site | undefined;
  before(async () => {
    site = await startSite(typeof options === 'function' ? options() : options);
  });
  afterEach((t) => {
    const context = t as { passed?: boolean; diagnostic(message: string): void };
    if (context.passed === false) context.diagnostic(`the site said last:\n${site?.tail() ?? ''}`);
  });
  after(() => site?.[Symbol.asyncDispose]());
  return () => {
    if (!site) throw new Error('the site is only there inside a test');
    return site;
  };
}

/** One Chromium for all tests of a file. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.[Symbol.asyncDispose]());
  return () => {
    if (!browser) throw new Error('the browser is only there inside a test');
    return browser;
  };
}
