import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { ServiceError } from '../../core/errors.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import { NightSwitches } from './service.ts';
import type { NightSwitchDeps } from './service.ts';

test('night switches - a switch that no phone can reset is reset after a reconnect, if the link was down at the change', async () => {
  const switched = new Map<string, 'open' | 'closed'>([
    ['front', 'closed'],
    ['lunch', 'closed'],
  ]);
  const asked: unknown[] = [];
  const condition = { title: 'Any', number: '28', switched_by: ['1001'] };
  const switches = new NightSwitches({
    conditions: () => [
      { ...condition, name: 'front' },
      { ...condition, name: 'lunch', switched_by: [] },
    ],
    engine: {
      keepSwitch: async (...change) => {
        if (asked.push(change) === 1) throw new Error('the link is down');
      },
    },
    live: { live: true, switched } as Partial<NightSwitchDeps['live']> as NightSwitchDeps['live'],
    audit: { record: () => Promise.reject(new Error('nothing to audit')) } as never,
    log: { warn: () => undefined } as never,
  });
  switches.followSite();
  await switches.close();
  const data = { node: 'ast1', boot_id: 'b', restarted: false, differences: 0 };
  switches.onEvent({
    type: 'engine.resynced',
    subject: 'engine/ast1',
    at: 0,
    observed: 'live',
    data,
  } as DomainEvent);
  await switches.close();
  assert.deepEqual(asked, [
    ['lunch', null],
    ['lunch', null],
  ]);
});

test('night switches - a switch that the engine refuses is no success in the audit trail', async () => {
  const outcomes: unknown[] = [];
  const switches = new NightSwitches({
    conditions: () => [{ name: 'front', title: 'Any', number: '28', switched_by: ['1001'] }],
    engine: {
      keepSwitch: async () => {
        throw new ServiceError('engine_unavailable', 'the link is down');
      },
    },
    live: { live: true, switched: new Map() } as Partial<NightSwitchDeps['live']> as NightSwitchDeps['live'],
    audit: { record: async ({ outcome }: AuditEntry) => void outcomes.push(outcome) } as never,
    log: { warn: () => undefined } as never,
  });
  const actor = { caller: { extension: '1001' }, ip: '127.0.0.1' } as never;
  await assert.rejects(switches.set(actor, 'front', 'closed'), { code: 'engine_unavailable' });
  assert.deepEqual(outcomes, ['ok', 'failed']);
});
