import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamCursor } from './events.ts';
import { StreamPosition } from './stream-position.ts';

const TOPICS = ['queues', 'agents'];
/** A position with the state of both topics, received with the access `support`. */
function begun(): StreamPosition {
  const position = new StreamPosition(null, undefined);
  position.hello('e1');
  position.subscribed('support', TOPICS);
  position.awaitSnapshots(TOPICS);
  position.advance(7);
  for (const topic of TOPICS) position.snapshot(topic, 7);
  assert.equal(position.isOwed, false);
  return position;
}
/** True if the next connection, with this access, needs the state again. */
function lacksState(position: StreamPosition, access: string): boolean {
  position.hello('e1');
  position.subscribed(access, TOPICS);
  return position.isOwed;
}

test('stream position - rights that change during a connection and back while it is lost: the state comes again', () => {
  const position = begun();
  assert.equal(lacksState(position, 'support'), false);
  // The service sends the topic whose rights changed.
  position.snapshot('queues', 9);
  position.event(10, undefined);
  assert.equal(lacksState(position, 'support'), true);
  for (const topic of TOPICS) position.snapshot(topic, 10);
  assert.equal(lacksState(position, 'support'), false);
});

test('stream position - rights that change during a connection with a later gap, and back while it is lost', () => {
  const position = begun();
  position.snapshot('queues', 9);
  position.awaitSnapshots(TOPICS);
  position.gap(20);
  for (const topic of TOPICS) position.snapshot(topic, 20);
  assert.equal(position.isOwed, false);
  assert.equal(lacksState(position, 'support'), true);
});

test('stream position - rights that differ for a connection that is cut before its state is requested', () => {
  const position = begun();
  assert.equal(lacksState(position, 'sales'), true);
  assert.equal(position.event(8, undefined), null, 'the position is not stored before the state');
  assert.equal(lacksState(position, 'support'), true);
});

test('stream position - a stored cursor names the rights of the state that it belongs to', () => {
  let cursor: StreamCursor | undefined;
  const keep = (one: StreamCursor): void => void (cursor = one);
  const first = new StreamPosition({ epoch: 'e1', seq: 5 }, keep);
  assert.equal(lacksState(first, 'support'), false);
  first.settle(first.event(6, '00000006'));
  assert.deepEqual(cursor, { epoch: 'e1', seq: 6, check: '6:00000006', access: 'support' });

  const later = new StreamPosition(cursor, keep);
  assert.deepEqual(later.resume, { cursor: 6, epoch: 'e1', check: '6:00000006' });
  assert.equal(lacksState(later, 'sales'), true);
  for (const topic of TOPICS) later.settle(later.snapshot(topic, 6));
  assert.deepEqual(cursor, { epoch: 'e1', seq: 6, check: '6:00000006', access: 'sales' });
  assert.equal(lacksState(new StreamPosition(cursor, keep), 'sales'), false);
});
