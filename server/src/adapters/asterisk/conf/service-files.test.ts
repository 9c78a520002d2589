import assert from 'node:assert/strict';
import { test } from 'node:test';
import { company, queue, renderCompany } from '../../../../test/support/rendered-company.ts';

test('conf/service-files - a queue that also rings agents in a call pauses between rounds that do not disturb ends at once', () => {
  const queues = [
    queue({ name: 'usual', number: '520', retry_seconds: 1, ring_in_use: false }),
    queue({ name: 'eager', number: '521', retry_seconds: 1, ring_in_use: true }),
    queue({ name: 'patient', number: '522', retry_seconds: 20, ring_in_use: true }),
  ];
  const text = renderCompany({ ...company(), queues }).get('queues.conf')!;
  assert.deepEqual(
    queues.map(({ name }) => new RegExp(`^\\[${name}\\][^[]*^retry = (\\d+)$`, 'm').exec(text)?.[1]),
    ['1', '5', '20'],
  );
});
