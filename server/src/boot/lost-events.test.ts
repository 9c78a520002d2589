import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silent } from '../core/log.ts';
import { openLostEvents } from './lost-events.ts';

test('lost events - what a stop noted is published by each start until it is committed, and fails the check for a day', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lost-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  let now = Date.UTC(2026, 10, 21, 12);
  const clock = { now: () => now };
  const open = () => openLostEvents(folder, clock, silent);
  const first = await open();
  await first.note(null);
  assert.deepEqual((await open()).events(), []);
  await first.note({ events: 3, from: now - 2_000, to: now - 1_000 });
  const killed = await open();
  assert.equal(killed.events().length, 1);
  await killed.note({ events: 2, from: now, to: now });
  const second = await open();
  const [event] = second.events();
  assert.deepEqual(event?.data, {
    from: '2026-11-21T11:59:58.000Z',
    to: '2026-11-21T12:00:00.000Z',
    events: 5,
  });
  assert.equal(second.trouble(), null);
  second.onDomainEvent(event!);
  assert.equal(second.trouble(), '5 events are lost, 2026-11-21T11:59:58.000Z to 2026-11-21T12:00:00.000Z');
  while (fs.readdirSync(folder).length > 0) await new Promise((resolve) => setImmediate(resolve));
  now += 86_400_000;
  assert.equal(second.trouble(), null);
  fs.writeFileSync(path.join(folder, 'events-lost.json'), '{"ev');
  assert.equal((await open()).events().length, 1, 'a damaged note still shows a loss');
});
