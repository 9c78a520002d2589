import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { finished } from 'node:stream/promises';
import { test } from 'node:test';
import fc from 'fast-check';
import { FrameError, closeFrame, frameWatch } from './frames.ts';
import { messageFilter } from './messages.ts';

/** A frame as a client sends it. */
function clientFrame(payload: number, first = 0x82): Buffer {
  const body = randomBytes(payload + 4);
  if (payload < 126) return Buffer.concat([Buffer.from([first, 0x80 | payload]), body]);
  const head = Buffer.alloc(payload < 65_536 ? 4 : 10);
  head[0] = first;
  if (payload < 65_536) {
    head[1] = 0x80 | 126;
    head.writeUInt16BE(payload, 2);
  } else {
    head[1] = 0x80 | 127;
    head.writeBigUInt64BE(BigInt(payload), 2);
  }
  return Buffer.concat([head, body]);
}
/** Sends the bytes in pieces of the given sizes; resolves with what passed and the code it failed with. */
async function pass(
  bytes: Buffer,
  cuts: readonly number[],
  max: number,
): Promise<{ out: Buffer; code: number | null }> {
  const guard = messageFilter(max, () => null);
  const out: Buffer[] = [];
  guard.on('data', (chunk: Buffer) => out.push(chunk));
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    guard.write(bytes.subarray(at, at + cut));
    at += cut;
  }
  guard.end();
  try {
    await finished(guard);
    return { out: Buffer.concat(out), code: null };
  } catch (error) {
    return { out: Buffer.concat(out), code: error instanceof FrameError ? error.code : -1 };
  }
}

test('ws frames - allowed frames pass unchanged however they are cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.nat(300), fc.constantFrom(0, 125, 126, 1_000, 65_535, 65_536)), { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 }),
      async (sizes, cuts) => {
        const bytes = Buffer.concat(sizes.map((size) => clientFrame(size)));
        const { out, code } = await pass(bytes, cuts, 65_536);
        assert.equal(code, null);
        assert.ok(out.equals(bytes));
      },
    ),
    { numRuns: 60 },
  );
});
test('ws frames - one byte too many is 1009 before its payload is there, at every cut', async () => {
  for (const size of [1_001, 65_536, 70_000]) {
    const head = clientFrame(size).subarray(0, 14);
    for (let cut = 1; cut <= head.length; cut += 1) {
      const { code } = await pass(Buffer.concat([clientFrame(3), head]), [9, cut], 1_000);
      assert.equal(code, 1009, `${size} bytes cut at ${cut}`);
    }
  }
  const endless = Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]);
  assert.equal((await pass(endless, [], 65_536)).code, 1009);
});
test('ws frames - reserved bits and unmasked frames are 1002', async () => {
  assert.equal((await pass(clientFrame(5, 0xc2), [], 100)).code, 1002);
  assert.equal((await pass(Buffer.from([0x82, 0x03, 1, 2, 3]), [], 100)).code, 1002);
});
test('ws frames - control frames in pieces or of more than 125 bytes, and reserved kinds, are 1002', async () => {
  for (const opcode of [0x8, 0x9, 0xa]) {
    const cut = clientFrame(5, opcode);
    const long = clientFrame(126, 0x80 | opcode);
    const wide = Buffer.from([0x80 | opcode, 0xff, 0, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4]);
    for (const bytes of [cut, long, wide]) {
      const before = clientFrame(3);
      const { out, code } = await pass(Buffer.concat([before, bytes]), [before.length], 1_000);
      assert.equal(code, 1002, bytes.subarray(0, 2).toString('hex'));
      assert.ok(out.equals(before), 'nothing of it passes');
      assert.equal((await pass(bytes, [1], 1_000)).code, 1002);
    }
    assert.equal((await pass(clientFrame(125, 0x80 | opcode), [], 1_000)).code, null);
  }
  for (const opcode of [3, 4, 5, 6, 7, 0xb, 0xc, 0xd, 0xe, 0xf]) {
    assert.equal((await pass(clientFrame(5, 0x80 | opcode), [], 1_000)).code, 1002, String(opcode));
  }
  // A message in pieces, with a ping between them.
  const pieces = Buffer.concat([clientFrame(3, 0x02), clientFrame(0, 0x89), clientFrame(3, 0x80)]);
  assert.equal((await pass(pieces, [], 1_000)).code, null);
});
test('ws frames - a watch knows when a close frame may follow, at every cut', () => {
  const text = Buffer.concat([Buffer.from([0x81, 126, 1, 0]), Buffer.alloc(256, 0x88)]);
  const bytes = Buffer.concat([text, Buffer.from([0x89, 0]), closeFrame(1000, 'x')]);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const watch = frameWatch();
    watch.see(bytes.subarray(0, cut));
    assert.equal(watch.mayClose, [0, text.length, text.length + 2].includes(cut), `after ${cut} bytes`);
    watch.see(bytes.subarray(cut));
    assert.equal(watch.mayClose, false, `cut at ${cut}`);
  }
});
test('ws frames - a close frame carries its code and a reason of at most 123 bytes', () => {
  const frame = closeFrame(1009, 'x'.repeat(500));
  assert.equal(frame.length, 127);
  assert.equal(frame[0], 0x88);
  assert.equal(frame[1], 125);
  assert.equal(frame.readUInt16BE(2), 1009);
});
