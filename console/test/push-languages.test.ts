/** Push services and languages of prompts in the administration, with a shared phone beside them. */
import { before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { apply, ask } from '../../server/test/support/config-steps.ts';
import { useBrowser, useSite } from '../../server/test/support/use-site.ts';
import { adminPage } from './people-steps.ts';
import { assertAccessible, assertNoTrouble, buildFirst, hasValue } from './rig.ts';

/** One second of silence: WAV, mono, 8 kHz, 16 bit. */
function silence(): Buffer {
  const data = Buffer.alloc(16_000);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + data.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}
/** A tar archive of these files. */
function tar(files: Readonly<Record<string, Buffer>>): Buffer {
  const parts = Object.entries(files).flatMap(([name, content]) => {
    const head = Buffer.alloc(512);
    head.write(name, 0);
    head.write('0000644\0', 100);
    head.write('0000000\0', 108);
    head.write('0000000\0', 116);
    head.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
    head.write('00000000000\0', 136);
    head.write('        ', 148);
    head.write('0', 156);
    head.write('ustar\0' + '00', 257);
    head.write(
      `${head
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    );
    return [head, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return Buffer.concat([...parts, Buffer.alloc(1024)]);
}

describe('push services and languages', () => {
  before(buildFirst);
  const site = useSite();
  const browser = useBrowser();
  const adminAt = adminPage(site, browser);

  test('push services - stored, replaced, tried and removed; the key is never shown', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    await ask(site(), 'POST', '/phones', { name: 'lobby', title: 'Lobby', vendor: 'yealink', shared: true });
    assert.equal((await apply(site())).state, 'applied');
    const page = await adminAt('/admin/config/phones');
    await page.getByText('Shared, nobody signed in').waitFor();
    const apns = page.getByRole('region', { name: /APNs/ });
    await apns.getByText('Not set up').waitFor();
    await apns.getByRole('button', { name: /^Set up/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Team id').fill('TEAM123456');
    await dialog.getByLabel('Key id').fill('KEY7654321');
    await dialog.getByLabel('Private key').fill('no key');
    await dialog.getByRole('button', { name: 'Store' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Private key').fill(key);
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Store' }).click();
    await apns.getByText('Team id: TEAM123456').waitFor();
    await apns.getByText(/^Key stored/).waitFor();
    await dialog.waitFor({ state: 'detached' });
    assert.ok(!(await page.content()).includes(key.split('\n')[1]!), 'the key is not in the page');

    await apns.getByLabel('Test for extension').fill('1007');
    await apns.getByRole('button', { name: 'Send test' }).click();
    await apns.getByText('This extension has no app').waitFor();
    await assertAccessible(page);
    if (process.env['PICTURES'] !== undefined)
      await page.screenshot({ path: `${process.env['PICTURES']}/push.png`, fullPage: true });

    await apns.getByRole('button', { name: /^Replace/ }).click();
    await hasValue(dialog.getByLabel('Team id'), 'TEAM123456');
    await hasValue(dialog.getByLabel('Private key'), '');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await apns.getByRole('button', { name: /^Remove/ }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await apns.getByText('Not set up').waitFor();
    assertNoTrouble(page);
  });

  test('languages - a set is uploaded, shows what it lacks, and is removed', async () => {
    const page = await adminAt('/admin/config/prompts');
    await page.getByRole('heading', { name: 'Languages of prompts' }).waitFor();
    await page.locator('#prompt-language').fill('tr');
    await page.locator('input[type=file]').setInputFiles({
      name: 'turkish.tar',
      mimeType: 'application/x-tar',
      buffer: tar({ 'tr/vm-goodbye.wav': silence(), 'tr/digits/1.wav': silence() }),
    });
    await page.getByText('2 prompts uploaded').waitFor();
    const row = page.getByRole('row', { name: /^tr/ });
    await row.getByText('Not used').waitFor();
    await row.locator('summary').click();
    await row.getByText(/vm-nobodyavail/).waitFor();
    assert.equal(await row.getByText(/vm-goodbye/).count(), 0, 'what was uploaded is not lacking');
    await assertAccessible(page);
    if (process.env['PICTURES'] !== undefined)
      await page.screenshot({ path: `${process.env['PICTURES']}/languages.png`, fullPage: true });
    await row.getByRole('button', { name: 'Remove: tr' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await row.waitFor({ state: 'detached' });
    assertNoTrouble(page);
  });
});
