/** Pages of the console that are phones. */
import type { BrowserContext, Page } from 'playwright-core';
import type { Browser } from '../../server/test/support/browser.ts';
import type { Site } from '../../server/test/support/site.ts';
import { until } from '../../server/test/support/until.ts';
import { consoleOf, openConsole } from './rig.ts';

/** The browser's own statistics of the sound of all calls of a page. */
export interface Sound {
  readonly received: number;
  readonly sent: number;
  readonly energy: number;
}
export interface PhoneOptions {
  readonly scheme?: 'light' | 'dark';
  readonly path?: string;
  /** Runs in the page before its own scripts. */
  readonly before?: string;
}
/** Runs in a page whose microphone is refused. */
export const REFUSE = `
  navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', window.refused ?? 'NotAllowedError'));
  navigator.permissions.query = () => Promise.resolve({ state: 'denied' });`;
/** The page's statistics of a call's sound after its end. */
export interface Reported {
  readonly extension: string;
  readonly codec: string;
  readonly mos: number;
  readonly packets_received: number;
}
const WATCH = `
  window.connections = [];
  const Own = RTCPeerConnection;
  window.RTCPeerConnection = class extends Own { constructor(...args) { super(...args); window.connections.push(this); } };`;
const COUNT = `(async () => {
  const found = { received: 0, sent: 0, energy: 0 };
  for (const peer of window.connections) {
    if (peer.connectionState === 'closed') continue;
    for (const s of (await peer.getStats()).values()) {
      if (s.type === 'inbound-rtp') { found.received += s.packetsReceived; found.energy += s.totalAudioEnergy ?? 0; }
      if (s.type === 'outbound-rtp') found.sent += s.packetsSent;
    }
  }
  return found;
})()`;
export const soundOf = (page: Page): Promise<Sound> => page.evaluate(COUNT) as Promise<Sound>;
/** Sound with energy comes in, and ours goes out. */
export async function talks(page: Page, who: string): Promise<void> {
  const before = await soundOf(page);
  await until(
    `sound both ways at ${who}`,
    async () => {
      const now = await soundOf(page);
      const flows = now.received - before.received > 40 && now.sent - before.sent > 40;
      return flows && now.energy > before.energy ? now : null;
    },
    { seen: () => ({ before }) },
  );
}

/** The user name of ICE on this side and the other, and what the browser says of the way between them. */
const ICE_OF = `(() => {
  const peer = window.connections.findLast((one) => one.connectionState !== 'closed');
  const nameIn = (description) => /a=ice-ufrag:(\\S+)/.exec(description.sdp)[1];
  return [nameIn(peer.localDescription), nameIn(peer.remoteDescription), peer.iceConnectionState, peer.signalingState];
})()`;
/** As the browser tells a page whose network has changed: the way of the sound has failed. */
const FAIL_ICE = `(() => {
  const peer = window.connections.findLast((one) => one.connectionState !== 'closed');
  Object.defineProperty(peer, 'iceConnectionState', { configurable: true, value: 'failed' });
  peer.dispatchEvent(new Event('iceconnectionstatechange'));
  delete peer.iceConnectionState;
})()`;
export const failIce = (page: Page): Promise<unknown> => page.evaluate(FAIL_ICE);
/** The way of the sound fails in a call; resolves when both sides agreed on another one and it is connected. */
export async function renewsIce(page: Page): Promise<void> {
  const iceOf = (): Promise<string[]> => page.evaluate(ICE_OF) as Promise<string[]>;
  const before = await iceOf();
  await failIce(page);
  await until(
    'another way of the sound',
    async () => {
      const [own, other, state = '', signaling] = await iceOf();
      const renewed = own !== before[0] && other !== before[1] && signaling === 'stable';
      return renewed && ['connected', 'completed'].includes(state);
    },
    { seen: () => ({ before }) },
  );
}

/** The browser of this page finds no network path while `steps` run, as where the machine is too slow to find one in time. */
export async function withoutPath(page: Page, steps: () => Promise<void>): Promise<void> {
  await page.evaluate(`(() => {
    const peer = window.connections.findLast((one) => one.connectionState !== 'closed');
    const { type, sdp } = peer.localDescription;
    const value = { type, sdp: sdp.replaceAll('a=candidate:', 'a=other:') };
    Object.defineProperty(peer, 'localDescription', { configurable: true, value });
    window.pathless = peer;
  })()`);
  await steps();
  await page.evaluate(`delete window.pathless.localDescription`);
}

/** Watches each frame of a call: where “Hang up” is, px from the top, and the percentages of loss that are shown. */
export async function watchCall(page: Page): Promise<() => Promise<{ tops: number[]; losses: number[] }>> {
  await page.evaluate(`(() => {
    const tops = new Set(), losses = new Set();
    window.seenCall = () => ({ tops: [...tops], losses: [...losses] });
    (function look() {
      for (const button of document.querySelectorAll('#phone button'))
        if (button.textContent === 'Hang up') tops.add(Math.round(button.getBoundingClientRect().top));
      const lost = /MOS .* ([\\d.]+)% lost/.exec(document.querySelector('#phone')?.textContent ?? '');
      if (lost !== null) losses.add(Number(lost[1]));
      requestAnimationFrame(look);
    })();
  })()`);
  return () => page.evaluate('window.seenCall()');
}
/**
 * The next call of this method of the page does not settle, as a question to the person that stays open, or work of a connection
 * that was closed meanwhile. Returns a wait for that call.
 */
export async function stalls(
  page: Page,
  method: 'mediaDevices.getUserMedia' | 'connection.createAnswer' | 'connection.createOffer',
): Promise<() => Promise<void>> {
  await page.evaluate(`(() => {
    const of = { mediaDevices: navigator.mediaDevices, connection: RTCPeerConnection.prototype };
    const [owner, name] = '${method}'.split('.');
    const own = Object.getOwnPropertyDescriptor(of[owner], name);
    window.stalled = new Promise((resolve) => {
      of[owner][name] = () => {
        if (own === undefined) delete of[owner][name];
        else Object.defineProperty(of[owner], name, own);
        resolve();
        return new Promise(() => {});
      };
    });
  })()`);
  return () => page.evaluate('window.stalled');
}

/** Takes messages of the page's SIP connection out of their way. */
export interface Wire {
  /** True for a message of the page that is not passed on; `answer` sends the page one of the exchange instead. */
  takes: (message: string, answer: (response: string) => void) => boolean;
  /** Breaks the connection, which the page opens again. */
  breaks: () => Promise<void>;
}
/** Reloads the page with a phone whose SIP connection leads through this wire. */
export async function wired(page: Page): Promise<Wire> {
  const wire: Wire = { takes: () => false, breaks: () => Promise.resolve() };
  await page.routeWebSocket(/\/ws$/, (socket) => {
    const exchange = socket.connectToServer();
    socket.onMessage((message) => {
      if (!wire.takes(String(message), (response) => socket.send(response))) exchange.send(message);
    });
    wire.breaks = async () => {
      await exchange.close();
      await socket.close({ code: 3001 });
    };
  });
  await page.reload();
  await ready(page);
  await openPanel(page);
  return wire;
}
/** A response of the exchange to this request, without a body. */
export function responseTo(request: string, status: string): string {
  const copied = request.split('\r\n').filter((line) => /^(?:Via|From|To|Call-ID|CSeq):/i.test(line));
  return [`SIP/2.0 ${status}`, ...copied, 'Content-Length: 0', '', ''].join('\r\n');
}

export const panel = (page: Page) => page.getByRole('complementary', { name: 'Phone' });
export const button = (page: Page, name: string) => panel(page).getByRole('button', { name, exact: true });
/** A call of the page's panel, by who is on its other side. */
export const callOf = (page: Page, who: string) =>
  panel(page)
    .locator('section')
    .filter({ has: page.getByText(who, { exact: true }) });
export const says = (page: Page, words: string) => panel(page).getByText(words).first().waitFor();
export async function openPanel(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Phone:/ }).click();
  await panel(page).waitFor();
}
export async function contextOf(browser: Browser, { scheme = 'light', before = '' }: PhoneOptions = {}) {
  const context: BrowserContext = await browser.newContext({
    locale: 'en',
    reducedMotion: 'reduce',
    colorScheme: scheme,
    viewport: { width: 1440, height: 900 },
    permissions: ['microphone', 'notifications'],
  });
  await context.addInitScript(WATCH + before);
  return context;
}
/** A person's console with the phone switched on. */
export async function phoneOf(
  site: Site,
  browser: Browser,
  extension: string,
  options: PhoneOptions = {},
): Promise<Page> {
  const context = await contextOf(browser, options);
  const page = await consoleOf(site, browser, extension, { context, path: options.path ?? '/directory' });
  await openPanel(page);
  await button(page, 'Switch the phone on').click();
  await ready(page);
  return page;
}
export const ready = (page: Page) => page.getByRole('button', { name: 'Phone: ready' }).waitFor();
/** Another tab of the same browser. */
export const tabOf = (site: Site, browser: Browser, page: Page, path = '/history'): Promise<Page> =>
  openConsole(site, browser, { context: page.context(), path });
export async function dial(page: Page, number: string): Promise<void> {
  const field = panel(page).getByLabel('Number or name');
  await field.fill(number);
  await field.press('Enter');
}
/** One page calls another, which answers. */
export async function connect(from: Page, number: string, to: Page): Promise<void> {
  await dial(from, number);
  await button(to, 'Answer').click();
  await says(from, 'In the call');
  await says(to, 'In the call');
}
