import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import { MOST_ADDRESSES, createSipSecurity } from './service.ts';

const rig = () => {
  const clock = createVirtualClock();
  const rows: AuditEntry[] = [];
  const security = createSipSecurity({
    audit: { record: async (entry) => void rows.push(entry) },
    clock,
    log: silent,
    isAccount: (account) => account.startsWith('10'),
  });
  return { clock, rows, security };
};

test('sip-security - a flood is one line of the audit trail for each address, and counted in full', async () => {
  const { rows, security } = rig();
  for (let i = 0; i < 600; i++)
    security.refused({ reason: 'password', account: '1009', address: '192.0.2.1' });
  security.refused({ reason: 'account', account: 'my-password', address: '192.0.2.2' });
  assert.deepEqual(security.lastMinute(), { requests: 601, addresses: 2 });
  await security.close();
  assert.deepEqual(
    rows.map(({ object, ip, detail }) => [object, ip, detail?.['requests'], detail?.['password']]),
    [
      ['1009', '192.0.2.1', 600, 600],
      [null, '192.0.2.2', 1, 0],
    ],
    'an account that nobody has is not named',
  );
  assert.deepEqual(security.totals, { password: 600, account: 1, address: 0, request: 0 });
});

test('sip-security - ten thousand addresses are at most fifty lines and one for the rest', async () => {
  const { rows, security } = rig();
  for (let i = 0; i < 10_000; i++)
    security.refused({ reason: 'account', account: 'x', address: `198.51.${i >> 8}.${i & 255}` });
  await security.close();
  assert.equal(rows.length, MOST_ADDRESSES + 1);
  assert.deepEqual([rows.at(-1)?.ip, rows.at(-1)?.detail?.['requests']], [null, 10_000 - MOST_ADDRESSES]);
});
