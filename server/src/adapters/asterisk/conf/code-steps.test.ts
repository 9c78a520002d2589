import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reasonFixture } from '../../../../test/support/directory-fixture.ts';
import { company, renderCompany } from '../../../../test/support/rendered-company.ts';
import { FEATURE_CODES } from '../../../features/feature-codes/feature-codes.ts';
import type { Site } from '../../../ports/site.ts';
import { codeSteps } from './code-steps.ts';

const site = (reasons: number): Site =>
  company({
    extensions: [],
    queues: [],
    services: [],
    parking_lots: [],
    pause_reasons: Array.from({ length: reasons }, (_, i) =>
      reasonFixture(`reason${i + 1}`, `Reason ${i + 1}`),
    ),
    feature_codes: FEATURE_CODES,
  });

test('conf/code-steps - every jump leads to a step, and the last step ends the call', () => {
  for (const code of FEATURE_CODES) {
    for (const reasons of [0, 1, 99]) {
      const steps = codeSteps(code.does, site(reasons));
      const labels = steps.flatMap((s) => s.label ?? []);
      assert.deepEqual(labels, [...new Set(labels)], code.id);
      for (const { app, data = '' } of steps) {
        const targets =
          app === 'Goto' ? [data] : app === 'GotoIf' ? data.slice(data.lastIndexOf('?') + 1).split(':') : [];
        for (const target of targets.filter(Boolean)) {
          assert.ok(labels.includes(target), `${code.id}: ${app}(${data}) leads to no step`);
        }
      }
      assert.equal(steps.at(-1)?.app, 'Hangup', code.id);
    }
  }
});

test('conf/code-steps - every code that acts for an agent looks at the caller first', () => {
  for (const code of FEATURE_CODES.filter((c) => c.id.startsWith('agent.'))) {
    const [first] = codeSteps(code.does, site(2));
    assert.match(
      `${first?.app} ${first?.data}`,
      /^GotoIf .*OFFHOOK_EXTENSION.*BLINDTRANSFER.*refused$/,
      code.id,
    );
  }
});

test('conf/code-steps - a site may have more reasons of a pause than fit in a line', () => {
  const pause_reasons = Array.from({ length: 1_000 }, (_, i) =>
    reasonFixture(`${'r'.repeat(36)}${i + 1}`, 'Reason'),
  );
  pause_reasons[1] = { ...pause_reasons[1]!, supervisor_only: true };
  const dialplan = renderCompany({ ...site(0), pause_reasons }).get('extensions.conf')!;
  assert.match(
    dialplan,
    /^\[pause-reasons\]\nexten => 1,1,Return\(r{36}1\)\nexten => 3,1,Return\(r{36}3\)\n/m,
  );
  assert.ok(dialplan.split('\n').every((line) => Buffer.byteLength(line) < 8_192));
});
