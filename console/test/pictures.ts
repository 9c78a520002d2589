/**
 * Takes the pictures of docs/pictures: a demo site with real calls, looked at in a real Chromium.
 *
 *   npm run node console/test/pictures.ts
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { startBrowser } from '../../server/test/support/browser.ts';
import type { Browser } from '../../server/test/support/browser.ts';
import type { Phone } from '../../server/test/support/phone.ts';
import { startSite } from '../../server/test/support/site.ts';
import type { Site } from '../../server/test/support/site.ts';
import { REPOSITORY } from '../../server/test/support/sources.ts';
import { buildFirst, consoleOf, openConsole } from './rig.ts';
import type { ConsolePageOptions } from './rig.ts';

const FOLDER = path.join(REPOSITORY, 'docs/pictures');
const WALL = { width: 1920, height: 1080 };
const PHONE = { width: 390, height: 844 };

/** Answers what rings after a moment and talks for a while, until it is told to stop. */
async function work(phone: Phone, talk: () => number, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const call = await phone.incoming().catch(() => null);
    if (call === null) continue;
    await wait(1_000 + Math.random() * 3_000);
    await call.answer().catch(() => undefined);
    await Promise.race([wait(talk()), call.ended().catch(() => undefined)]);
    if (call.state === 'up') await call.hangup();
  }
}
/** Calls a queue again and again; one in five gives up. */
async function callIn(phone: Phone, queue: string, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const call = await phone.invite(queue);
    if (Math.random() < 0.2) await wait(6_000 + Math.random() * 6_000);
    else await call.ended().catch(() => undefined);
    if (call.state !== 'ended') await call.hangup();
    await wait(500 + Math.random() * 2_000);
  }
}
async function take(
  site: Site,
  browser: Browser,
  name: string,
  extension: string,
  options: ConsolePageOptions,
  prepare: (page: Page) => Promise<void> = async () => undefined,
): Promise<void> {
  const page =
    extension === ''
      ? await openConsole(site, browser, options)
      : await consoleOf(site, browser, extension, options);
  await wait(2_500);
  await prepare(page);
  await page.screenshot({ path: path.join(FOLDER, `${name}.png`) });
  await page.context().close();
  process.stderr.write(`${name}.png\n`);
}

await buildFirst();
await mkdir(FOLDER, { recursive: true });
await using site = await startSite();
await using browser = await startBrowser();
const ended = new AbortController();
const agents = await Promise.all(['1003', '1004', '1005', '1006'].map((extension) => site.phone(extension)));
const callers = await Promise.all(['1002', '1008', '1009', '1010', '1011', '1012'].map((e) => site.phone(e)));
const work_ = agents.map((phone, i) =>
  work(phone, () => 8_000 + i * 6_000 + Math.random() * 20_000, ended.signal),
);
const calls = callers.map((phone, i) => callIn(phone, i % 3 === 0 ? '510' : '500', ended.signal));
await wait(Number(process.env['PICTURES_SECONDS'] ?? 100) * 1_000);

await take(site, browser, 'wallboard', '1001', { path: '/wallboard', size: WALL, scheme: 'dark' });
await take(site, browser, 'wallboard-light', '1001', { path: '/wallboard', size: WALL });
await take(site, browser, 'wallboard-phone', '1001', { path: '/wallboard', size: PHONE });
await take(site, browser, 'desk', '1003', { path: '/desk' });
await take(site, browser, 'desk-phone', '1004', { path: '/desk', size: PHONE, language: 'de' });
await take(site, browser, 'directory', '1001', { path: '/directory' });
await take(site, browser, 'supervisor', '1001', { path: '/supervisor' });
await take(site, browser, 'history', '1001', { path: '/history' });
await take(site, browser, 'conversation', '1001', { path: '/history' }, async (page) => {
  await page.locator('main a[href^="/history/"], #content a[href^="/history/"]').nth(14).click();
  await wait(2_000);
});
await take(site, browser, 'configuration', '1001', { path: '/admin/config' });
await take(site, browser, 'queue-form', '1001', { path: '/admin/config/queues/support' });
await take(site, browser, 'people', '1001', { path: '/admin/people', language: 'tr' });
await take(site, browser, 'health', '1001', { path: '/admin/health', scheme: 'dark' });
await take(site, browser, 'first-steps', '1001', { path: '/welcome' });
await take(site, browser, 'api', '', { path: '/docs' });
ended.abort();
await Promise.allSettled([...callers, ...agents].map((phone) => phone[Symbol.asyncDispose]()));
await Promise.allSettled([...work_, ...calls]);
