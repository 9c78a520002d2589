import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { ask } from '../../server/test/support/config-steps.ts';
import type { FaultFile } from '../../server/test/support/faulty-main.ts';
import { REPOSITORY } from '../../server/test/support/sources.ts';
import { until } from '../../server/test/support/until.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { addExtension, addQueue, applyDraft, choose, create, field, follow } from './admin-steps.ts';
import { KIND_FORMS, SOUND } from './admin-kinds.ts';
import {
  assertAccessibleInBoth,
  assertNoTrouble,
  buildFirst,
  consoleOf,
  focusIsOn,
  hasValue,
} from './rig.ts';

describe('console admin', () => {
  before(buildFirst);
  const site = useSite({ main: path.join(REPOSITORY, 'server/test/support/faulty-main.ts') });
  const browser = useBrowser();
  const fault = (what: FaultFile): Promise<void> =>
    writeFile(path.join(site().dataDir, 'fault.json'), JSON.stringify(what));
  let page: Page;
  before(async () => {
    page = await consoleOf(site(), browser(), '1001', { path: '/admin/config' });
  });
  const both = (): Promise<void> => assertAccessibleInBoth(page);
  afterEach(async () => {
    await ask(site(), 'DELETE', '/draft');
    assertNoTrouble(page);
  });

  test('console admin - a queue and an agent are added and applied by clicks alone, with progress and success', async () => {
    await both();
    let sent = 0;
    page.on('request', (request) => (sent += Number(request.url().endsWith('/config/draft/changes'))));
    await addExtension(page, { extension: '1013', username: 'newcomer', name: 'New Comer', level: 'agent' });
    await both();
    await addQueue(page, { name: 'hotline', title: 'Hotline', number: '570', members: ['1013', '1003'] });
    assert.equal(sent, 2, 'three clicks make one object');
    await page.getByText('2 changes are not applied').waitFor();
    await page.getByRole('link', { name: 'Review and apply' }).click();
    await page.getByRole('heading', { name: '2 objects change' }).waitFor();
    await page.getByRole('region', { name: 'queues.conf' }).getByText('[hotline]').waitFor();
    await both();
    await applyDraft(page, 'A hotline');
    const said = page.getByRole('status').filter({ hasText: 'The engine holds the new configuration.' });
    await said.waitFor();
    await both();
    assert.match(await site().engineCli('queue show hotline'), /hotline has 0 calls/);
    assert.match(await site().engineCli('pjsip show endpoint 1013'), /Endpoint: *1013/);
    await page.getByRole('link', { name: /^Version \d/ }).click();
    await page.getByRole('heading', { level: 1, name: /^Version/ }).waitFor();
    await page.getByText('A hotline').waitFor();
    await both();
    await page.getByRole('navigation').getByRole('link', { name: 'Versions' }).click();
    await page.getByRole('heading', { name: 'Compare two versions' }).waitFor();
    await both();
    await until('nothing waits', async () => (await page.getByText('not applied').count()) === 0);
  });

  test('console admin - a change of the draft by another administrator, and its end, are shown at once', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Configuration' }).click();
    await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor();
    await ask(site(), 'PATCH', '/queues/support', { title: 'By another' });
    await page.getByText('1 change is not applied').waitFor();
    await ask(site(), 'PATCH', '/queues/sales', { title: 'By another' });
    await page.getByText('2 changes are not applied').waitFor();
    await ask(site(), 'DELETE', '/draft');
    await page.getByText('not applied').waitFor({ state: 'detached' });
  });

  test('console admin - every kind: a form opens, shows what is refused at its field, and saves a valid one', async () => {
    for (const { kind, key, fill, bad, shows } of KIND_FORMS) {
      await follow(page, `/admin/config/${kind}`, `/admin/config/${kind}?new=1`);
      await fill(page);
      const [at, wrong, right, words] = bad;
      await field(page, at).fill(wrong);
      await create(page);
      const input = field(page, at);
      await until(
        `${kind} ${at} is refused`,
        async () => (await input.getAttribute('aria-invalid')) === 'true',
        {
          seen: () => ({ url: page.url() }),
        },
      );
      const described = (await input.getAttribute('aria-describedby')) ?? '';
      const error = page.locator(
        described
          .split(' ')
          .map((id) => `[id="${id}"]`)
          .join(',') || 'body',
      );
      assert.match((await error.allInnerTexts()).join(' '), words, `${kind} ${at}`);
      await input.fill(right);
      await create(page);
      if (shows) await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
      await focusIsOn(page, page.locator('#content'));
      await until(
        `the page of the new one in ${kind}`,
        () => decodeURIComponent(new URL(page.url()).pathname) === `/admin/config/${kind}/${key}`,
      );
      await page.getByRole('button', { name: 'Delete' }).waitFor();
      if (kind === 'time-conditions') await both();
    }
    const made = (await ask(site(), 'GET', '/outbound-routes/out')) as { object: { class: string } };
    assert.equal(made.object.class, 'international', 'its pattern leaves the country open');
    await follow(page, '/admin/config/settings/site');
    await field(page, 'recording_announcement').locator('select').first().selectOption('prompt');
    await page.getByRole('button', { name: 'Save in the draft' }).click();
    await page.getByRole('alert').getByText('Not saved').waitFor();
    await field(page, 'recording_announcement').getByRole('button', { name: 'New prompt' }).click();
    const making = page.getByRole('dialog', { name: 'New prompt' });
    await making.getByRole('textbox').fill('notice');
    await making.locator('input[type=file]').setInputFiles(SOUND);
    await making.getByRole('button', { name: 'Listen' }).waitFor();
    await hasValue(making.locator('input[type=file]'), '', 'so that the same file can be chosen again');
    await making.getByRole('button', { name: 'Create' }).click();
    await until(
      'the new prompt is chosen',
      async () => (await field(page, 'recording_announcement.prompt').inputValue()) === 'notice',
    );
    await choose(page, 'recording_announcement.prompt', 'hello');
    const prompt = field(page, 'recording_announcement.prompt');
    await prompt.click();
    await page.getByRole('option', { name: /^hello( · |$)/ }).click();
    await hasValue(prompt, 'hello · Hello', 'a click on the chosen one leaves it');
    await page.getByRole('button', { name: 'Save in the draft' }).click();
    await until(`${KIND_FORMS.length + 2} objects are in the draft`, async () => {
      const { total } = (await ask(site(), 'GET', '/draft')) as { total: number };
      return total === KIND_FORMS.length + 2;
    });

    await follow(page, '/admin/config/prompts', '/admin/config/prompts/hello');
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: /^Delete Prompt hello/ });
    await both();
    await dialog.getByRole('link', { name: 'Menu main' }).waitFor();
    assert.ok(await dialog.getByRole('button', { name: 'Delete' }).isDisabled(), 'it is in use');

    await page.keyboard.press('Escape');
    await focusIsOn(page, page.getByRole('button', { name: 'Delete' }));
    await follow(page, '/admin/route-test');
    await page.getByText('From outside').click();
    await page.locator('[id="route-from-trunk"]').click();
    await page.getByRole('option', { name: /^north/ }).click();
    await page.getByLabel('Called number').fill('+49305550');
    const clock = await page.context().newCDPSession(page);
    await clock.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Kathmandu' });
    await page.getByLabel('At', { exact: true }).fill('2027-01-04T10:00');
    await page.getByRole('button', { name: 'Where does it go?' }).click();
    await page.getByText(/4:15\sAM, time of the site: UTC/).waitFor();
    await clock.send('Emulation.setTimezoneOverride', { timezoneId: '' });
    await page.getByRole('heading', { name: 'The way of +49305550' }).waitFor();
    await page.getByRole('link', { name: 'Inbound route main-in' }).first().waitFor();
    await both();
  });

  test('console admin - two administrators change the same: the later one is told, and keeps both', async () => {
    await follow(page, '/admin/config/queues', '/admin/config/queues/sales');
    await field(page, 'title').fill('Mine');
    await ask(site(), 'PATCH', '/queues/sales', { title: 'Theirs', ring_seconds: 33 });
    await page.mouse.wheel(0, 10_000);
    await until('the end of the form is shown', () => page.evaluate<boolean>('scrollY > 600'));
    await page.getByRole('button', { name: 'Save in the draft' }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'Changed by another user in the meantime' });
    await alert.getByText('Theirs').waitFor();
    await until('the alert is in the window', async () => {
      const box = await alert.boundingBox();
      return box !== null && box.y >= 0 && box.y + box.height <= page.viewportSize()!.height;
    });
    await alert.getByText('you changed it too').waitFor();
    await both();
    await alert.getByRole('button', { name: 'Keep my changes' }).click();
    await page.getByRole('button', { name: 'Save in the draft' }).click();
    const object = await until('mine is in the draft', async () => {
      const read = (await ask(site(), 'GET', '/queues/sales')) as {
        object: { title: string; ring_seconds: number };
      };
      return read.object.title === 'Mine' && read.object;
    });
    assert.deepEqual([object.title, object.ring_seconds], ['Mine', 33]);
  });

  test('console admin - a new secret is shown before the saved object is read again, which may fail', async () => {
    await follow(page, '/admin/config/extensions', '/admin/config/extensions/1003');
    const secret = page.getByRole('group', { name: 'SIP password' });
    await secret.getByRole('button', { name: 'Make a new one' }).click();
    const read = /\/config\/extensions\/1003(\?|$)/;
    const shown = Promise.withResolvers<void>();
    await page.route(read, async (route) => {
      await shown.promise;
      await route.fulfill({ status: 503 });
    });
    const save = page.getByRole('button', { name: 'Save in the draft' });
    await save.click();
    const dialog = page.getByRole('dialog', { name: /^Hand over/ });
    await dialog.getByRole('rowheader', { name: 'SIP password', exact: true }).waitFor();
    const answered = page.waitForResponse(read);
    shown.resolve();
    await answered;
    await page.unroute(read);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    await until('the form as it is saved', () => save.isDisabled());
    assert.equal(await page.locator('#content').getByRole('alert').count(), 0);
  });

  test('console admin - a file with a mistake can be corrected and chosen again under its name', async () => {
    const chosen = async (label: string, name: string): Promise<void> => {
      const input = page.locator(`input[type=file][aria-label="${label}"]`);
      await input.setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from('[]') });
      await page.locator('#content').getByRole('alert').waitFor();
      await hasValue(input, '', name);
    };
    await follow(page);
    await chosen('Import a file', 'offhook.yaml');
    // The draft changes after the preview was read: the import must not undo what nobody has seen.
    const { success: _success, ...whole } = (await ask(site(), 'GET', '/export?view=applied')) as object & {
      success: true;
    };
    const buffer = Buffer.from(JSON.stringify(whole));
    const input = page.locator('input[type=file][aria-label="Import a file"]');
    await input.setInputFiles({ name: 'all.json', mimeType: 'application/json', buffer });
    const preview = page.getByRole('dialog', { name: 'Preview of all.json' });
    const take = preview.getByRole('button', { name: 'Make it the draft' });
    await until('the preview is read', async () => await take.isEnabled());
    await ask(site(), 'PATCH', '/queues/support', { wrap_up_seconds: 31 });
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
    await preview.getByText('The file is merged into the current draft').waitFor();
    await take.click();
    await preview.getByRole('alert').getByText('changed by another user').waitFor();
    const { object } = (await ask(site(), 'GET', '/queues/support')) as {
      object: { wrap_up_seconds: number };
    };
    assert.equal(object.wrap_up_seconds, 31);
    await preview.getByRole('button', { name: 'Cancel' }).click();
    await ask(site(), 'DELETE', '/draft');
    await follow(page, '/admin/config/prompts');
    await page.locator('#prompt-language').fill('tr');
    await chosen('Upload set', 'tr.zip');
  });

  test('console admin - what is half typed survives a reload, and a list is put in order by keyboard', async () => {
    await follow(page, '/admin/config/queues', '/admin/config/queues/support');
    await field(page, 'title').fill('Half');
    const first = await field(page, 'members.0.extension').inputValue();
    await page.getByRole('button', { name: 'Move line 2 up' }).focus();
    await page.keyboard.press('Enter');
    await until(
      'the line moved',
      async () => (await field(page, 'members.1.extension').inputValue()) === first,
    );
    await field(page, 'members.1.penalty').focus();
    await page.keyboard.press('Alt+ArrowUp');
    await until('it is back', async () => (await field(page, 'members.0.extension').inputValue()) === first);
    await page.reload();
    await page.getByText('Your unsaved input was restored').waitFor();
    await hasValue(field(page, 'title'), 'Half');
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    await hasValue(field(page, 'title'), 'Support');
  });

  test('console admin - what the proof rejects and what the engine rolled back say why in its own words', async () => {
    const custom = path.join(site().dataDir, 'engine/etc/custom');
    await mkdir(custom, { recursive: true });
    await writeFile(
      path.join(custom, 'extensions.conf'),
      '[internal]\nexten => 4711,1,NoSuchApplication(1)\n',
    );
    await ask(site(), 'PATCH', '/queues/support', { ring_seconds: 44 });
    await applyDraft(page);
    await page.getByText('The apply was rejected and nothing was changed').waitFor();
    await page
      .getByText(/NoSuchApplication/)
      .first()
      .waitFor();
    await both();
    await rm(path.join(custom, 'extensions.conf'));
    await ask(site(), 'POST', '/extensions', { extension: '1014', username: 'other', name: '1013 other' });
    await fault({ lie: true });
    await applyDraft(page);
    await page.getByText('Files and engine are as they were before').first().waitFor();
    await page.getByRole('heading', { name: 'Why' }).waitFor();
    await fault({});
    await both();
  });

  test('console admin - ten thousand extensions: the list is drawn in part, filtered, and sorted', async () => {
    const changes = Array.from({ length: 10_000 }, (_, i) => ({
      op: 'create',
      kind: 'extension',
      object: { extension: String(20_000 + i), username: `u${i}`, name: `Person ${10_000 - i}` },
    }));
    await ask(site(), 'POST', '/draft/changes', { changes });
    await follow(page, '/admin/config/extensions');
    await page.getByText(/10,01\d extensions/).waitFor();
    assert.ok((await page.locator('tbody tr').count()) < 100, 'too many lines are drawn');
    await page.getByLabel('Filter by name').fill('Person 9999');
    await page.getByText('1 extension', { exact: true }).waitFor();
    await page.getByRole('link', { name: '20001' }).waitFor();
    await follow(page);
    await page.getByRole('link', { name: /^Feature codes\s*Standard/ }).waitFor();
    await both();
  });

  test('console admin - texts with HTML in them are text', async () => {
    const comment = '<img src=x onerror=alert(1)>';
    await ask(site(), 'PATCH', '/queues/support', { ring_seconds: 21 });
    await applyDraft(page, comment);
    await page.getByText('The engine holds the new configuration.').waitFor();
    await page.getByText(comment).first().waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Versions' }).click();
    await page.getByRole('cell', { name: comment }).waitFor();
  });
});
