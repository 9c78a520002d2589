import assert from 'node:assert/strict';
import { test } from 'node:test';
import { company, renderCompany } from '../../../../test/support/rendered-company.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import { codeSteps } from '../conf/code-steps.ts';
import { neededPrompts } from './needed-prompts.ts';

test('needed prompts - every prompt that a feature code plays, also one that it chooses', () => {
  const site = company({ feature_codes: FEATURE_CODES });
  const played = FEATURE_CODES.flatMap(({ does }) => codeSteps(does, site))
    .filter(({ app }) => app === 'Playback')
    .flatMap(({ data = '' }) => /\?([^()]*)\)\}$/.exec(data)?.[1]?.split(':') ?? [data]);
  assert.ok(played.includes('im-sorry') && played.includes('de-activated'), played.join());
  const needed = neededPrompts(renderCompany(site));
  const missing = [...new Set(played)].filter((prompt) => !needed.includes(prompt));
  assert.deepEqual(missing, [], `add a row to OWN of sounds/needed-prompts.ts for ${missing.join(', ')}`);
});
