/** Effects of a write on a running engine that a later service notices. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { company, extension } from '../../../../test/support/rendered-company.ts';
import { startTestEngine } from '../../../../test/support/throwaway-engine.ts';
import type { TestEngine } from '../../../../test/support/throwaway-engine.ts';
import { systemClock } from '../../../core/clock.ts';
import { silent } from '../../../core/log.ts';
import type { EngineConfig } from '../../../ports/engine-config.ts';
import { AsteriskConfig } from './engine-config.ts';

const site = company();
let engine: TestEngine;
before(async () => {
  engine = await startTestEngine(site);
});
after(async () => {
  await engine?.[Symbol.asyncDispose]();
});
/** The configuration as a service that was just started has it. */
const started = (): EngineConfig =>
  new AsteriskConfig({
    instance: engine.instance,
    settings: engine.settings,
    program: () => engine.program,
    clock: systemClock,
    log: silent,
  });

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
