/** The company of the desk's tests, with a trunk over which strangers call, and the steps they are made of. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import type { Browser } from '../../server/test/support/browser.ts';
import type { IncomingCall } from '../../server/test/support/phone.ts';
import { until } from '../../server/test/support/until.ts';
import { assertNoTrouble, consoleOf } from './rig.ts';
import { prepareCompany } from '../../server/test/support/company.ts';
import { openFarSide } from '../../server/test/support/phone.ts';
import type { Phone } from '../../server/test/support/phone.ts';
import { farAddress } from '../../server/test/support/far-address.ts';
import type { Site } from '../../server/test/support/site.ts';

export const HOSTILE = '<b id=bold>Eve</b> <script>alert(1)</script>';
export const FAR = '+4915112345678';
const outside = await farAddress('127.0.0.2');
const person = (extension: string, name: string, level: 'admin' | 'agent' | 'user') => ({
  extension,
  username: `p${extension}`,
  name,
  level,
});
const queue = (name: string, number: string, title: string, wrap_up_seconds: number, members: object[]) => ({
  name,
  number,
  title,
  strategy: 'ringall' as const,
  // Longer than the steps of a test while a phone rings.
  ring_seconds: 60,
  wrap_up_seconds,
  max_wait_seconds: 600,
  members: members as { extension: string }[],
});
export const COMPANY = prepareCompany({
  people: [],
  objects: {
    extension: [
      person('1001', 'Ada Admin', 'admin'),
      person('1003', 'Zoë Müller', 'agent'),
      person('1004', 'José Ibáñez', 'agent'),
      person('1008', 'Olha', 'user'),
    ],
    queue: [
      queue('support', '500', 'Support', 60, [{ extension: '1003' }, { extension: '1004' }]),
      queue('sales', '510', 'Sales', 0, [{ extension: '1003' }]),
      queue('vip', '520', 'VIP', 0, [{ extension: '1004', static: true }]),
    ],
    trunk: [{ name: 'north', title: 'North', ...outside }],
    inbound_route: [
      { name: 'help', trunk: 'north', number: '+493055500', to: { kind: 'queue', key: 'support' } },
      { name: 'shop', trunk: 'north', number: '+493055510', to: { kind: 'queue', key: 'sales' } },
    ],
    pause_reason: [
      { id: 'break', name: 'Break', position: 0, longest_seconds: 900 },
      { id: 'errand', name: 'Errand', position: 1, paid: false, longest_seconds: 1 },
      { id: 'talk', name: 'Talk with the boss', position: 2, supervisor_only: true },
    ],
  },
});

/** Somebody outside, who calls itself what it likes. */
export const strangerOf = (site: Site): Promise<Phone> =>
  openFarSide({ server: site.sip, extension: FAR, name: HOSTILE, at: outside, cli: site.engineCli });

export const region = (page: Page, name: string): Locator => page.getByRole('region', { name });
export const stateOf = (page: Page): Locator =>
  page.getByRole('region', { name: /My state|Mein Zustand|Durumum/ });
export const isIn = (page: Page, word: string): Promise<void> =>
  stateOf(page).getByRole('status').getByText(word, { exact: true }).waitFor();
export const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();
/** The desk has the queues of a sign-in: as its buttons change, a click may fall into the moment in which they take none. */
export const showsSignIn = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();

/** Presses a key once its button is there and enabled: one that is pressed while another action runs does nothing. */
export const byKey = async (page: Page, letter: string): Promise<void> => {
  await page.locator(`[aria-keyshortcuts="${letter}"]:not([aria-disabled="true"])`).waitFor();
  await page.keyboard.press(letter);
};
export const close = async (...pages: Page[]): Promise<void> => {
  for (const page of pages) {
    assertNoTrouble(page);
    await page.context().close();
  }
};
/** The agent is ready with a phone, and a caller of this number rings there. */
export const offered = async (agent: Phone, caller: Phone, number = '500'): Promise<IncomingCall> => {
  await caller.invite(number);
  const call = await agent.incoming();
  call.ring();
  return call;
};

/** Steps on one site. */
export function deskSteps(site: () => Site, browser: () => Browser) {
  const api = async <T>(extension: string, method: string, path: string, body?: object): Promise<T> => {
    const { token } = await site().person(extension);
    const answer = await fetch(site().base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as T;
    assert.equal(answer.ok, true, JSON.stringify(json));
    return json;
  };
  const put = (what: string, body: object = {}, extension = '1003'): Promise<unknown> =>
    api(extension, 'POST', `/api/v1/agents/${extension}/${what}`, body);
  /** Members in the engine's own list of the queue. */
  const engineSays = (name: string, pattern: RegExp | null, extension = '1003'): Promise<unknown> => {
    let last = '';
    return until(
      `the engine ${pattern === null ? `does not have ${extension}` : `says ${pattern}`} in ${name}`,
      async () => {
        last = await site().engineCli(`queue show ${name}`);
        return pattern === null ? !last.includes(extension) : pattern.test(last);
      },
      { seen: () => ({ last }) },
    );
  };
  const desk = (extension = '1003', options: Parameters<typeof consoleOf>[3] = {}): Promise<Page> =>
    consoleOf(site(), browser(), extension, { path: '/desk', ...options });
  /** The desk of an agent who signed in to its queues and is available; it has a phone already. */
  const deskAtWork = async (extension = '1003'): Promise<Page> => {
    await put('login', {}, extension);
    await put('unpause', {}, extension);
    const page = await desk(extension);
    await isIn(page, 'Available');
    return page;
  };
  return { api, put, engineSays, desk, deskAtWork };
}
