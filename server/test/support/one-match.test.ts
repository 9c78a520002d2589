import assert from 'node:assert/strict';
import test from 'node:test';
import { startBrowser } from './browser.ts';

test('two elements that match for a moment are awaited, and two that stay are named', async () => {
  await using browser = await startBrowser();
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.setContent('<p>late</p><dialog open><p>late</p></dialog>');
  const late = page.getByText('late');
  await assert.rejects(late.waitFor({ timeout: 300 }), /one match for waitFor of .*strict mode violation/);
  const seen = late.waitFor();
  await page.evaluate('setTimeout(() => document.querySelector("dialog").remove(), 200)');
  await seen;
  await assert.rejects(page.getByText('never').waitFor({ timeout: 100 }), /Timeout 100ms exceeded/);
});
