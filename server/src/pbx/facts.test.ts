import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { noFacts, readFacts, reduceFacts, writeFacts } from './facts.ts';

const T0 = 1_795_222_133_000;
const event = (type: string, data: object): DomainEvent =>
  ({ type, subject: type, at: T0, observed: 'live', data }) as unknown as DomainEvent;
const leg = (id: string) => ({ leg_id: id, extension: null });
const started = (id: string) => event('call.started', { call_id: id, leg: leg(`${id}-1`) });
const presence = (extension: string, activity: string) =>
  event('presence.changed', { extension, activity, note: 'x'.repeat(200) });
const ALL = { extension: () => true, trunk: () => true };

test('facts - a text is that of the facts at the call, however much changes until its last piece', () => {
  const facts = noFacts();
  for (const id of ['a', 'b']) reduceFacts(facts, started(id));
  for (let n = 0; n < 1_001; n += 1) reduceFacts(facts, presence(String(n), 'idle'));
  const text = [...writeFacts(facts, ALL)].join('');
  const pieces: string[] = [];
  for (const piece of writeFacts(facts, ALL)) {
    pieces.push(piece);
    reduceFacts(facts, started(`c${pieces.length}`));
    reduceFacts(facts, event('call.joined', { call_id: 'b', leg: leg('b-2') }));
    reduceFacts(facts, event('call.ended', { call_id: 'a', merged_into: 'b', into: null }));
    for (let n = 0; n < 1_001; n += 1) reduceFacts(facts, presence(String(n), 'in_call'));
  }
  assert.ok(pieces.length > 5, `${pieces.length} pieces`);
  assert.equal(pieces.join(''), text);
  const read = readFacts(text);
  assert.deepEqual([...read.calls.keys()], ['a', 'b']);
  assert.deepEqual([...(read.calls.get('b')?.legs.keys() ?? [])], ['b-1']);
  assert.deepEqual(read.calls.get('b')?.aliases, []);
  assert.equal(read.presence.size, 1_001);
  assert.equal(read.presence.get('1000')?.activity, 'idle');
});

test('facts - what is written is read again, with lists of any length', () => {
  for (const count of [0, 1, 199, 200, 201, 400]) {
    const facts = noFacts();
    for (let n = 0; n < count; n += 1) reduceFacts(facts, presence(String(n), 'idle'));
    assert.deepEqual(readFacts([...writeFacts(facts, ALL)].join('')), facts);
  }
});
