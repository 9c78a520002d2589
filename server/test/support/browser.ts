/** Headless Chromium with WebRTC phones: SIP.js on a page that has only the login reply. */
import { once } from 'node:events';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { z } from 'zod';
import type { Sip } from '@offhook/contract/session.ts';
import { findChromium } from './chromium.ts';
import { awaitOneMatch } from './one-match.ts';
import { reportPages, watchPages } from './page-log.ts';
import { PATIENCE_MS, until } from './until.ts';

type SipReply = z.infer<typeof Sip>;
export interface WebPhoneState {
  readonly registered: boolean;
  readonly socketClosed: boolean;
  readonly status: number;
  readonly transferStatus: number;
  readonly call: 'none' | 'calling' | 'ringing' | 'up' | 'ended';
  readonly waiting: number;
}
export interface AudioStats {
  readonly sent: number;
  readonly received: number;
  readonly energyIn: number;
  readonly energyOut: number;
  readonly codec: string;
}
/** A browser page as a phone with one call at a time. */
export interface WebPhone {
  readonly page: Page;
  state(): Promise<WebPhoneState>;
  call(number: string): Promise<void>;
  ringing(): Promise<void>;
  answered(): Promise<void>;
  ended(): Promise<void>;
  /** Takes the next incoming call; returns its caller. */
  incoming(): Promise<{ number: string; name: string }>;
  answer(): Promise<void>;
  reject(status?: number): Promise<void>;
  hangup(): Promise<void>;
  hold(): Promise<void>;
  retrieve(): Promise<void>;
  transfer(number: string): Promise<void>;
  digits(text: string): Promise<void>;
  stats(): Promise<AudioStats>;
  /** Audio is received and sent. */
  talks(): Promise<AudioStats>;
  unregister(): Promise<void>;
  /** Registers again after the socket closed. */
  register(): Promise<void>;
  close(): Promise<void>;
}
export interface Browser extends AsyncDisposable {
  /** Origin of the softphone page; a site must list it in OFFHOOK_CORS_ORIGINS. */
  readonly origin: string;
  /** A new page registered with the `sip` part of a login reply, by default as its browser user. */
  phone(sip: SipReply, as?: 'webrtc_username' | 'sip_username'): Promise<WebPhone>;
  newPage(): Promise<Page>;
  /** A context with its own cookies and storage and a microphone, for pages of a site. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Requests, frames and texts of the open pages. */
  report(): Promise<string>;
}

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--use-fake-device-for-media-stream',
  '--use-fake-ui-for-media-stream',
  '--allow-loopback-in-peer-connection',
  '--disable-features=WebRtcHideLocalIpsWithMdns',
  '--autoplay-policy=no-user-gesture-required',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-sync',
  '--no-first-run',
  // No page is open long enough for optimised code: to compile it is a tenth of the processor time of a file of pages.
  '--js-flags=--no-maglev --no-turbofan',
];
const FILES: Readonly<Record<string, { file: string; type: string }>> = {
  '/page.html': { file: fileURLToPath(new URL('softphone/page.html', import.meta.url)), type: 'text/html' },
  '/page.js': { file: fileURLToPath(new URL('softphone/page.js', import.meta.url)), type: 'text/javascript' },
};
const SIP_LIBRARY = path.dirname(fileURLToPath(import.meta.resolve('sip.js')));

/** Serves the softphone page and the installed SIP.js on a free loopback port. */
async function servePage(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page');
    const known = FILES[pathname];
    const file =
      known?.file ?? (pathname.startsWith('/sip/') ? path.join(SIP_LIBRARY, pathname.slice(5)) : '');
    readFile(file).then(
      (data) => response.writeHead(200, { 'content-type': known?.type ?? 'text/javascript' }).end(data),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

type PhonePage = Readonly<Record<string, (...args: unknown[]) => unknown>>;

async function newPhone(page: Page, url: string, sip: SipReply, username: string): Promise<WebPhone> {
  const trouble: string[] = [];
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') trouble.push(m.text());
    if (trouble.length > 50) trouble.shift();
  });
  page.on('pageerror', (error) => trouble.push(error.message));
  await page.goto(`${url}/page.html`);
  await page.waitForFunction('window.ready === true');
  const run = <T>(method: string, ...args: unknown[]): Promise<T> =>
    page.evaluate(
      ([name, values]) => (globalThis as unknown as { phone: PhonePage }).phone[name]!(...values) as T,
      [method, args] as const,
    );
  const state = (): Promise<WebPhoneState> => run('state');
  let last: object = {};
  const seen = (): object => ({ ...last, trouble: trouble.slice(-5) });
  const reach = async (words: readonly string[]): Promise<void> => {
    await until(
      `a call ${words[0]} at ${username}`,
      async () => {
        const now = await state();
        last = now;
        return words.includes(now.call);
      },
      { seen },
    );
  };
  const phone: WebPhone = {
    page,
    state,
    call: (number) => run('call', number),
    ringing: () => reach(['ringing', 'up']),
    answered: () => reach(['up']),
    ended: () => reach(['ended']),
    incoming: () =>
      until(
        `an incoming call at ${username}`,
        async () => {
          last = await state();
          return run<{ number: string; name: string } | null>('take');
        },
        { seen },
      ),
    async answer() {
      await run('answer');
      await reach(['up']);
    },
    reject: (status = 486) => run('reject', status),
    async hangup() {
      await run('hangup');
      await reach(['ended', 'none']);
    },
    hold: () => run('hold', true),
    retrieve: () => run('hold', false),
    transfer: (number) => run('transfer', number),
    digits: (text) => run('digits', text),
    stats: () => run('stats'),
    async talks() {
      const before = await run<AudioStats>('stats');
      return until(
        `audio both ways at ${username}`,
        async () => {
          const now = await run<AudioStats>('stats');
          last = now;
          const flows = now.received - before.received > 50 && now.sent - before.sent > 50;
          return flows && now.energyIn > before.energyIn ? now : null;
        },
        { seen },
      );
    },
    unregister: () => run('unregister'),
    async register() {
      await run('register', sip, username);
      await until(
        `${username} registered over ${sip.ws_url}`,
        async () => {
          const now = await state();
          last = now;
          return now.registered;
        },
        { seen },
      );
    },
    close: () => page.close(),
  };
  await phone.register();
  return phone;
}

/** A program that starts Chromium by another command, such as `ip netns exec home`. */
async function startedBy(command: readonly string[], program: string): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-chromium-'));
  const file = path.join(folder, 'chromium');
  await writeFile(file, `#!/bin/sh\nexec ${[...command, program].join(' ')} "$@"\n`, { mode: 0o700 });
  return file;
}

/**
 * Starts Chromium and the page server; disposal ends both. `by`: command that runs Chromium in another net, where the
 * phone's page is served from here all the same.
 */
export async function startBrowser(by: readonly string[] = []): Promise<Browser> {
  const found = await findChromium();
  const server = await servePage();
  try {
    const executablePath = by.length === 0 ? found.path : await startedBy(by, found.path);
    const browser = await chromium.launch({ executablePath, args: [...FLAGS, ...found.flags] });
    const newContext = async (options?: BrowserContextOptions): Promise<BrowserContext> => {
      const context = await browser.newContext(options);
      context.setDefaultTimeout(PATIENCE_MS);
      watchPages(context);
      context.on('page', (page) => awaitOneMatch(page.locator('html')));
      return context;
    };
    const context = await newContext({ permissions: ['microphone'] });
    if (by.length > 0)
      await context.route(`${server.url}/**`, async (route) => {
        const reply = await fetch(route.request().url());
        await route.fulfill({
          status: reply.status,
          contentType: reply.headers.get('content-type') ?? 'text/plain',
          body: Buffer.from(await reply.arrayBuffer()),
        });
      });
    return {
      origin: server.url,
      newPage: () => context.newPage(),
      newContext,
      report: () => reportPages(browser.contexts()),
      phone: async (sip, as = 'webrtc_username') =>
        newPhone(await context.newPage(), server.url, sip, sip[as]),
      async [Symbol.asyncDispose]() {
        await browser.close();
        await server.close();
      },
    };
  } catch (error) {
    await server.close();
    throw error;
  }
}
