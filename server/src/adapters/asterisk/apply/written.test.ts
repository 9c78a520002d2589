/** Effects of a write on a running engine that a later service, or the owner of a mailbox, notices. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { company, extension } from '../../../../test/support/rendered-company.ts';
import { configOf, startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { EngineConfig, EngineFiles } from '../../../ports/engine-config.ts';
import { mailboxesDir } from '../mailbox-folders.ts';

const site = company();
let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(site);
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
/** The configuration as a service that was just started has it. */
const started = (): EngineConfig => configOf(engine);

test('apply/write - the next service is told the files that the engine has not loaded, until it has', async () => {
  const files = started().render({ ...site, extensions: [...site.extensions, extension('1030')] });
  const fixed = new Map([...files, ['cdr.conf', `${files.get('cdr.conf')}; changed\n`]]);
  const changed = await started().write(fixed);
  const live = changed.filter((name) => name !== 'cdr.conf');
  assert.deepEqual([changed.includes('cdr.conf'), live.includes('extensions.conf')], [true, true]);
  const next = started();
  assert.deepEqual(await next.write(new Map()), live, 'all but the one for a restart');
  assert.notDeepEqual(await next.verify(await next.prove(fixed), live), []);
  assert.deepEqual(await started().write(fixed), live);
  await next.reload(live);
  assert.deepEqual(await next.verify(await next.prove(fixed), live), []);
  assert.deepEqual(await started().write(fixed), []);
  await next.write(next.render(site));
  await engine.restart();
  assert.deepEqual(await started().write(new Map()), [], 'an engine that started later has read them');
});

test('apply/write - a new PIN of a mailbox is valid, also if its owner chose another one by phone', async () => {
  const config = started();
  const withPins = (pins: Readonly<Record<string, string>>): EngineFiles =>
    config.render({
      ...site,
      extensions: site.extensions.map((e) => ({
        ...e,
        voicemail_pin: pins[e.extension] ?? e.voicemail_pin,
      })),
    });
  const bring = async (files: EngineFiles, back = false): Promise<void> =>
    config.reload(await config.write(files, back));
  const pinOf = async (mailbox: string): Promise<string | undefined> =>
    /Result: (\d+)/.exec(
      await engine.cli(`dialplan eval function VM_INFO(${mailbox}@default,password)`),
    )?.[1];
  const chosen = path.join(mailboxesDir(engine.instance), '1001', 'secret.conf');
  await mkdir(path.dirname(chosen), { recursive: true });
  await writeFile(chosen, '[general]\npassword = 9753\n');
  await bring(withPins({ 1003: '1357' }));
  assert.deepEqual([await pinOf('1001'), await pinOf('1003')], ['9753', '1357']);
  await bring(withPins({ 1001: '2468', 1003: '1357' }));
  assert.deepEqual([await pinOf('1001'), existsSync(chosen)], ['2468', false]);
  await bring(withPins({ 1003: '1357' }), true);
  assert.equal(await pinOf('1001'), '9753', 'a rollback restores it');
});
