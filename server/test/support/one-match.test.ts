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

test('a wait that ends by its limit shows the alerts, the dialogs and the main part of the page', async () => {
  await using browser = await startBrowser();
  await using context = await browser.newContext();
  const page = await context.newPage();
  const items = '<li>one</li>'.repeat(100);
  await page.setContent(`<nav>elsewhere</nav><main><h1>Calls</h1><ul>${items}</ul></main>
    <div role="alert"><p>Hold</p><p>not confirmed</p></div><div role="dialog" aria-label="Ask">Sure?</div>`);
  const failed = await page
    .getByText('never')
    .waitFor({ timeout: 100 })
    .catch((error: Error) => error.message);
  assert.match(
    failed ?? '',
    /^locator\.waitFor: Timeout 100ms exceeded\.\nalerts: Hold · not confirmed\n[^]*getByText\('never'\)[^]*\nabout:blank shows:\n/,
  );
  const [, shown = ''] = (failed ?? '').split(' shows:\n');
  assert.match(shown, /^- dialog "Ask": Sure\?\n[^]*- heading "Calls" \[level=1\]\n/);
  assert.doesNotMatch(shown, /elsewhere/);
  assert.equal(shown.split('\n').length, 41);
  assert.match(shown, /\n… \d+ more lines$/);
  await page.setContent('<p>here</p>');
  await assert.rejects(
    page.getByRole('button').click({ timeout: 100 }),
    /alerts: none\n[^]* shows:\n- paragraph: here$/,
  );
  await page.close();
  await assert.rejects(page.getByText('never').waitFor(), /has been closed/);
});
