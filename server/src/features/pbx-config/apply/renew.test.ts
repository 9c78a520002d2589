import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryStore } from '../../../../test/conformance/store-temp.ts';
import { startSite } from '../../../../test/support/applies-rig.ts';

test('applies - a version that a newer release would reject is applied again for new addresses, but not with a change', async () => {
  await using temp = await temporaryStore();
  const codes = new Map<string, string>();
  const rig = await startSite(temp.store, { house: { codes, hasSound: () => true } });
  codes.set('a_new_code', '1003');
  const again = await rig.applies.renew('trunks pass another proxy');
  assert.deepEqual([again.state, again.problems], ['applied', []]);
  await rig.rename('1004', 'Zoe Miller');
  const changed = await rig.applied();
  assert.deepEqual(
    [changed.state, changed.problems.map(({ object }) => object)],
    ['rejected', ['extension 1003']],
  );
  await rig.applies.close();
});
