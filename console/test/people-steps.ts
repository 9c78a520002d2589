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
  for (let presses = 0; presses < 80; presses += 1) {
    if ((await target.and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`the Tab key never comes to ${String(target)}`);
};
