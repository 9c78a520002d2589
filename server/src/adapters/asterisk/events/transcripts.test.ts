import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { nodeId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../../../ports/engine-events.ts';
import { readTranscript } from '../transcript.ts';

const folder = new URL('../../../../test/transcripts/', import.meta.url);
const node = nodeId('ast1');
const bytesOf = (name: string): Buffer => fs.readFileSync(new URL(name, folder));
const recordings = fs.readdirSync(folder).filter((name) => name.endsWith('.ami'));
const split = (bytes: Buffer, at: readonly number[]): Buffer[] => {
  const points = [0, ...at.map((p) => p % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return points.slice(1).map((to, i) => bytes.subarray(points[i], to));
};

test('transcripts - there are recordings of each kind of call', () => {
  assert.ok(recordings.length >= 7, recordings.join(' '));
});

for (const name of recordings)
  test(`transcripts - ${name} gives the expected facts`, () => {
    const expected = JSON.parse(bytesOf(name.replace('.ami', '.events.json')).toString()) as EngineEvent[];
    const { events, counters } = readTranscript(node, [bytesOf(name)]);
    assert.equal(counters.malformed, 0);
    events.forEach((event, i) => assert.deepEqual(event, expected[i], `fact ${i} of ${name}`));
    assert.equal(events.length, expected.length);
  });

test('transcripts - split at every offset of a sample, the facts are the same', () => {
  const sample = bytesOf('pickup.ami').subarray(0, 6_000);
  const whole = readTranscript(node, [sample]).events;
  assert.ok(whole.length > 10);
  for (let i = 0; i <= sample.length; i++)
    assert.deepEqual(readTranscript(node, split(sample, [i])).events, whole, `split at ${i}`);
});

test('transcripts - split anywhere, any number of times, the facts are the same', () => {
  const bytes = bytesOf('queue-calls.ami');
  const whole = readTranscript(node, [bytes]).events;
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { minLength: 1, maxLength: 200 }), (at) => {
      assert.deepEqual(readTranscript(node, split(bytes, at)).events, whole);
    }),
    { numRuns: 60 },
  );
});

test('transcripts - torn, doubled and spoilt bytes never stop the stream', () => {
  const bytes = bytesOf('queue-no-answer.ami');
  const after = Buffer.from(
    '\r\n\r\nEvent: DeviceStateChange\r\nPrivilege: call,all\r\nTimestamp: 1.0\r\nDevice: PJSIP/last\r\nState: BUSY\r\n\r\n',
  );
  fc.assert(
    fc.property(
      fc.array(
        fc.record({ at: fc.nat(bytes.length), cut: fc.nat(300), put: fc.uint8Array({ maxLength: 9 }) }),
        {
          maxLength: 20,
        },
      ),
      (wounds) => {
        const spoilt = wounds.reduce(
          (b, w) => Buffer.concat([b.subarray(0, w.at), w.put, b.subarray(Math.min(b.length, w.at + w.cut))]),
          bytes,
        );
        const { events } = readTranscript(node, [spoilt, after]);
        assert.deepEqual(events.at(-1), { at: 1000, type: 'device.state', endpoint: 'last', state: 'BUSY' });
      },
    ),
    { numRuns: 200 },
  );
});

test('transcripts - a pickup joins the two calls into the one that was ringing', () => {
  const { events } = readTranscript(node, [bytesOf('pickup.ami')]);
  const linked = events.filter((e) => e.type === 'channel.linked');
  assert.deepEqual(
    linked.map(({ id, call }) => ({ id, call })),
    [{ id: 'ast1:C2', call: 'ast1:C1' }],
  );
});
