import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { AlertsSnapshot } from '@offhook/contract/alerts.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { rfc3339 } from '../../core/clock.ts';
import { Alerts } from './service.ts';

async function begun() {
  const clock = createVirtualClock();
  const published: DomainEvent[] = [];
  const alerts = new Alerts({ publish: (events) => void published.push(...events), clock });
  const event = (type: DomainEvent['type'], data: object): DomainEvent =>
    ({ type, subject: 'calls/x', at: clock.now(), observed: 'live', data }) as DomainEvent;
  const help = (call: string, notified: readonly string[] = []): DomainEvent =>
    event('call.emergency', {
      call_id: `main:${call}`,
      extensions: ['1008'],
      extension: '1008',
      name: null,
      number: '112',
      location: 'Gate house',
      address: null,
      callback_number: null,
      notified,
      called_at: rfc3339(clock.now()),
    });
  const refused = (call: string, extension: string, reason = 'budget'): DomainEvent =>
    event('call.refused', {
      call_id: `main:${call}`,
      extensions: [extension],
      extension,
      number: '0301234',
      class: 'national',
      reason,
      call_limit: reason === 'class' ? null : 'few',
      refused_at: rfc3339(clock.now()),
    });
  const shown = (objects: readonly string[] | null = null, since = 0): string[] =>
    AlertsSnapshot.parse(alerts.snapshot(objects, since)).alerts.map(({ data }) => data.call_id);
  return { clock, alerts, published, help, refused, shown };
}

test('alerts - a snapshot has those of the last half hour, each call for help and each reason once', async () => {
  const { clock, alerts, published, help, refused, shown } = await begun();
  alerts.publish([help('1'), refused('2', '1008'), refused('3', '1008', 'class')]);
  assert.equal(published.length, 3, 'all are events');
  assert.deepEqual(shown(), ['main:1', 'main:2']);
  await clock.advance(20 * 60_000);
  alerts.publish([help('1'), refused('4', '1008')]);
  assert.deepEqual(shown(), ['main:1', 'main:4']);
  await clock.advance(29 * 60_000);
  assert.deepEqual(shown(), ['main:1', 'main:4']);
  await clock.advance(2 * 60_000);
  assert.deepEqual(shown(), []);
});

test('alerts - a person sees only the calls for help that name it', async () => {
  const { alerts, help, refused, shown } = await begun();
  alerts.publish([help('1', ['1004']), help('2'), refused('3', '1004')]);
  assert.deepEqual([shown(['1004']), shown(['1003'])], [['main:1'], []]);
});

test('alerts - who is given an extension sees no call for help that named the former holder', async () => {
  const { clock, alerts, help, shown } = await begun();
  alerts.publish([help('1', ['1004'])]);
  await clock.advance(60_000);
  const given = clock.now();
  alerts.publish([help('2', ['1004'])]);
  assert.deepEqual([shown(['1004'], given), shown(['1004'])], [['main:2'], ['main:1', 'main:2']]);
});

test('alerts - a flood keeps fifty, the newest ones; a restart takes them from the journal', async () => {
  const { alerts, help, shown } = await begun();
  alerts.restore(Array.from({ length: 200 }, (_, i) => help(String(i))));
  assert.deepEqual([shown().length, shown()[0], shown().at(-1)], [50, 'main:150', 'main:199']);
});
