import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';

/** The bytes of a secret as an authenticator app reads it. */
export const fromBase32 = (text: string): Buffer => {
  const bits = Array.from(text)
    .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
};
/** Goes on with the Tab key until this is what has the focus. */
export const tabTo = async (page: Page, target: Locator): Promise<void> => {
  await target.waitFor({ state: 'attached' });
  // A dialog takes the focus a moment after it is drawn, from whatever had it by then.
  const around = target.locator('xpath=ancestor::*[@role="dialog"]');
  if ((await around.count()) > 0) await around.and(page.locator(':focus-within')).waitFor();
  for (let presses = 0; presses < 80; presses += 1) {
    if ((await target.and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press('Tab');
    // A dialog puts the focus right in a timer after a field of dates: no hand is faster than it.
    await page.evaluate('new Promise((done) => setTimeout(done))');
  }
  assert.fail(`the Tab key never comes to ${String(target)}`);
};
