import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { JsonRequest } from '../../../outbound/json.ts';
import { uploadOf } from './upload.ts';

const audioOf = (bytes: Buffer, piece: number) => ({
  mark: 'mark-4711',
  name: 'r1.wav',
  stream: {
    bytes: bytes.length,
    async *read() {
      for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
    },
  },
});
const request = (more: Partial<JsonRequest>): JsonRequest => ({
  method: 'POST',
  url: 'https://a.example/x',
  headers: {},
  repeatable: false,
  ...more,
});

test('connector upload - audio stands as base64 in JSON, and in a form, whole in any pieces, with the stated length', async () => {
  for (const size of [1, 2, 3, 1_000, 65_537])
    for (const piece of size > 1_000 ? [4_096, 64_000] : [1, 4, 64_000]) {
      const bytes = Buffer.from(Array.from({ length: size }, (_, n) => (n * 7) % 251));
      const audio = audioOf(bytes, piece);
      const json = uploadOf(
        request({ body: { name: 'ü', data: ['mark-4711', 'x"mark'] } }),
        undefined,
        audio,
      )!;
      const sent = await buffer(json.stream.read());
      assert.equal(sent.length, json.stream.bytes);
      const { data } = JSON.parse(sent.toString()) as { data: [string, string] };
      assert.ok(Buffer.from(data[0], 'base64').equals(bytes));
      assert.deepEqual([data[1], json.shown.includes(`(${size} bytes)`)], ['x"mark', true]);
      const form = uploadOf(request({ form: { entry: '7\r\n--x' } }), 'audio', audio)!;
      const whole = await buffer(form.stream.read());
      assert.equal(whole.length, form.stream.bytes);
      const read = await new Response(new Uint8Array(whole), {
        headers: { 'content-type': form.type },
      }).formData();
      const file = read.get('audio') as File;
      assert.deepEqual([read.get('entry'), file.name, file.type], ['7\r\n--x', 'r1.wav', 'audio/wav']);
      assert.ok(Buffer.from(await file.arrayBuffer()).equals(bytes));
    }
});

test('connector upload - a request without the audio has none; in an address, a header or a field of a form it is refused', () => {
  const audio = audioOf(Buffer.from('abc'), 3);
  assert.equal(uploadOf(request({ body: { url: 'https://pbx.example/' } }), undefined, audio), null);
  for (const wrong of [
    request({ url: 'https://a.example/mark-4711' }),
    request({ headers: { x: 'mark-4711' } }),
    request({ form: { x: 'mark-4711' } }),
  ])
    assert.throws(() => uploadOf(wrong, 'audio', audio), /recording\.base64/);
  assert.throws(() => uploadOf(request({ form: { 'a"b': 'x' } }), 'audio', audio), /quotation mark/);
});
