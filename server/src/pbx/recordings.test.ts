import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { EVENT_DATA } from '@offhook/contract/events.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { EngineEvent } from '../ports/engine-events.ts';
import { Scene, site } from '../../test/support/model-scene.ts';

/**
 * Events of the model for calls recorded on a real Asterisk. The far end of every leg is one more endpoint, `loop`, of the same
 * engine, so each leg has a call of its own beside it: those that start with a `loop` leg are left out.
 */
function play(name: string): { published: DomainEvent[]; scene: Scene } {
  const file = new URL(`../../test/transcripts/${name}.events.json`, import.meta.url);
  const events = JSON.parse(readFileSync(file, 'utf8')) as EngineEvent[];
  const people = site(['1001', '1002', '1003', '1004', '1005', '1006']);
  // The recorded queue rang for ten seconds.
  const queues = people.queues.map((queue) => ({ ...queue, ring_seconds: 10 }));
  const scene = new Scene({ site: { ...people, queues } });
  for (const { at, ...body } of events) scene.send(body as never, at);
  for (const e of scene.published) EVENT_DATA[e.type].parse(e.data);
  const beside = new Set(
    scene.published.flatMap((e) =>
      e.type === 'call.started' && e.data.leg.endpoint === 'loop' ? [e.subject] : [],
    ),
  );
  assert.deepEqual(scene.view.calls(), [], 'everything was hung up');
  return { scene, published: scene.published.filter((e) => !beside.has(e.subject)) };
}
/** One line for each event that is not about devices and memberships; ids left out. */
const story = (published: readonly DomainEvent[]): string[] =>
  published.flatMap((e) => {
    switch (e.type) {
      case 'call.started':
      case 'call.ringing':
      case 'call.answered':
      case 'call.held':
      case 'call.retrieved':
        return [`${e.type} ${e.data.leg.extension}`];
      case 'call.parked':
        return [`${e.type} ${e.data.leg.extension} ${e.data.slot}`];
      case 'call.transferred':
        return [`${e.type} ${e.data.kind} by ${e.data.by} to ${e.data.to}`];
      case 'call.ended':
        return [`${e.type} ${e.data.reason}`];
      case 'queue.caller_joined':
      case 'queue.caller_abandoned':
        return [`${e.type} ${e.data.caller.number}`];
      case 'queue.caller_left':
        return [`${e.type} ${e.data.caller.number} ${e.data.reason}`];
      case 'offer.created':
      case 'offer.accepted':
      case 'offer.timeout':
      case 'offer.rejected':
      case 'offer.canceled':
        return [`${e.type} ${e.data.extension}`];
      case 'agent.talking':
        return [`${e.type} ${e.data.extension}`];
      default:
        return [];
    }
  });

const STORIES: Readonly<Record<string, readonly string[]>> = {
  'blind-transfer': [
    'call.started 1001',
    'call.answered 1003',
    'call.transferred blind by 1003 to 600',
    'call.ended hangup',
  ],
  'attended-transfer': [
    'call.started 1001',
    'call.answered 1003',
    'call.held 1003',
    'call.transferred attended by 1003 to 1004',
    'call.ended hangup',
  ],
  pickup: [
    'call.started 1001',
    'call.ringing 1005',
    'call.started 1003',
    'call.ended merged',
    'call.transferred pickup by 1003 to 1005',
    'call.answered 1003',
    'call.ended hangup',
  ],
  'park-retrieve': [
    'call.started 1001',
    'call.answered 1003',
    'call.parked 1001 701',
    'call.started 1004',
    'call.ended merged',
    'call.ended hangup',
  ],
  'park-timeout': ['call.started 1001', 'call.answered 1003', 'call.parked 1001 701', 'call.ended hangup'],
  'queue-no-answer': [
    'call.started 1003',
    'queue.caller_joined 1003',
    'offer.created 1005',
    'call.ringing 1005',
    'offer.timeout 1005',
    'queue.caller_left 1003 other',
    'call.ended hangup',
  ],
  'queue-calls': [
    'call.started null',
    'queue.caller_joined sipp',
    'offer.created null',
    'call.ringing null',
    'queue.caller_left sipp answered',
    'offer.accepted null',
    'call.answered null',
    'call.ended hangup',
    'call.started null',
    'queue.caller_joined sipp',
    'offer.created null',
    'call.ringing null',
    'queue.caller_left sipp answered',
    'offer.accepted null',
    'call.answered null',
    'call.ended hangup',
  ],
};
for (const [name, lines] of Object.entries(STORIES)) {
  test(`pbx recordings - ${name} gives its events`, () => {
    assert.deepEqual(story(play(name).published), lines);
  });
}

test('pbx recordings - after an attended transfer each side gets its new party', () => {
  const parties = play('attended-transfer').published.flatMap((e) =>
    e.type === 'call.party_changed' ? [`${e.data.leg.extension} talks to ${e.data.party.extension}`] : [],
  );
  // The extension that transfers spoke to the new party first, on the same channel.
  assert.deepEqual(parties.sort(), ['1001 talks to 1004', '1003 talks to 1004', '1004 talks to 1001']);
});
