import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameError } from '../websocket/frames.ts';
import { clientFrame } from '../../test/support/ws-client.ts';
import { MessageReader } from './message-reader.ts';

function reader() {
  const got: string[] = [];
  const frames = new MessageReader();
  const target = {
    text: (message: string) => void got.push(`text ${message}`),
    binary: () => void got.push('binary'),
    ping: (payload: Buffer) => void got.push(`ping ${payload.toString('hex')}`),
    pong: () => void got.push('pong'),
    closed: (code: number) => void got.push(`close ${code}`),
  };
  return { got, push: (chunk: Buffer) => frames.push(Buffer.from(chunk), target) };
}
/** The bytes cut at these places, given as parts of the whole. */
function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [0, ...at.map((part) => Math.floor(part * bytes.length)), bytes.length].toSorted(
    (a, b) => a - b,
  );
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end));
}
const parts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
const message = fc.record({
  text: fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.nat(65_000).map((n) => 'ä'.repeat(Math.floor(n / 2))),
  ),
  binary: fc.boolean(),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }),
  ping: fc.boolean(),
});

test('message reader - messages come out whole, however they are framed, mixed with pings and cut', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), parts, (messages, cuts) => {
      const wanted: string[] = [];
      const bytes: Buffer[] = [];
      for (const { text, binary, cuts: pieces, ping } of messages) {
        const all = cut(Buffer.from(text), pieces);
        for (const [i, piece] of all.entries()) {
          const opcode = i > 0 ? 0 : binary ? 2 : 1;
          bytes.push(clientFrame(opcode, piece, (i === all.length - 1 ? 0x80 : 0) | opcode));
          if (ping && i === 0) {
            bytes.push(clientFrame(0x9, Buffer.from('abc')));
            if (all.length > 1) wanted.push('ping 616263');
          }
        }
        wanted.push(binary ? 'binary' : `text ${text}`);
        if (ping && all.length === 1) wanted.push('ping 616263');
      }
      const { got, push } = reader();
      for (const chunk of cut(Buffer.concat(bytes), cuts)) push(chunk);
      assert.deepEqual(got, wanted);
    }),
    { numRuns: 150 },
  );
});

test('message reader - any bytes at all are messages or a close code, and never anything else', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), parts, (bytes, cuts) => {
      const read = (chunks: readonly Buffer[]): string => {
        const { got, push } = reader();
        try {
          for (const chunk of chunks) push(chunk);
          return got.join();
        } catch (error) {
          assert.ok(error instanceof FrameError, String(error));
          assert.ok([1002, 1007, 1008, 1009].includes(error.code));
          return `${got.join()} ${error.code}`;
        }
      };
      const whole = Buffer.from(bytes);
      // However it is cut, the same is read up to the same mistake.
      assert.equal(read(cut(whole, cuts)), read([whole]));
    }),
    { numRuns: 500 },
  );
});
