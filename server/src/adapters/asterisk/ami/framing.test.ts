import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { header } from './frame.ts';
import type { Frame } from './frame.ts';
import { createDecoder, FRAME_LIMITS, LINE_BYTES } from './framing.ts';
import type { DecoderOptions } from './framing.ts';

const H = { a: header('A'), b: header('B'), name: header('CallerIDName') };

interface Seen {
  banners: string[];
  frames: { kind: string; name: string; fields: Map<string, string[]>; caller: string | undefined }[];
  drops: string[];
  ignored: string[];
}
const decode = (
  chunks: readonly (Buffer | string)[],
  options: DecoderOptions = {},
): Seen & { last?: Frame } => {
  const seen: Seen & { last?: Frame } = { banners: [], frames: [], drops: [], ignored: [] };
  const keep = (kind: string) => (name: string, frame: Frame) => {
    seen.last = frame;
    seen.frames.push({ kind, name, fields: frame.fields(), caller: frame.get(H.name) });
  };
  const decoder = createDecoder(
    {
      banner: (line) => {
        seen.banners.push(line);
        return line.startsWith('Asterisk');
      },
      event: keep('event'),
      response: keep('response'),
      ignored: (name) => seen.ignored.push(name),
      dropped: (reason) => seen.drops.push(reason),
    },
    options,
  );
  for (const chunk of chunks) decoder.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return seen;
};
const split = (bytes: Buffer, at: readonly number[]): Buffer[] => {
  const points = [0, ...[...at].map((p) => p % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return points.slice(1).map((to, i) => bytes.subarray(points[i], to));
};

test('framing - values keep their colons and lose one space only', () => {
  const { last } = decode(['Event: X\r\nA: sip:1001@10.0.0.1:5060\r\nB:  two\r\nC:none\r\nD:\r\n\r\n']);
  assert.deepEqual(Object.fromEntries(last!.fields()), {
    Event: ['X'],
    A: ['sip:1001@10.0.0.1:5060'],
    B: [' two'],
    C: ['none'],
    D: [''],
  });
  assert.equal(last!.get(H.a), 'sip:1001@10.0.0.1:5060');
  assert.equal(last!.get(H.b), ' two');
  assert.equal(last!.get(header('C')), 'none');
  assert.equal(last!.get(header('D')), '');
  assert.equal(last!.get(header('E')), undefined);
});

test('framing - a repeated header is a list, and asking in any order finds everything', () => {
  const { last } = decode(['Event: X\r\nA: 1\r\nB: 2\r\nA: 3\r\n\r\n']);
  assert.deepEqual(last!.all(H.a), ['1', '3']);
  assert.equal(last!.get(H.b), '2');
  assert.equal(last!.get(H.a), '3', 'the search goes on from the last one found');
  assert.equal(last!.get(H.b), '2', 'and begins anew when there is none behind it');
  assert.equal(last!.repeats(H.a), true);
  assert.equal(last!.repeats(H.b), false);
});

test('framing - the output of a command comes line by line', () => {
  const { last } = decode([
    'Response: Success\r\nActionID: 1\r\nMessage: Command output follows\r\nOutput: a: b\r\nOutput: \r\nOutput: c\r\n\r\n',
  ]);
  assert.deepEqual(last!.all(header('Output')), ['a: b', '', 'c']);
});

test('framing - numbers and times are read in place', () => {
  const { last } = decode(['Event: X\r\nA: 42\r\nB: -7\r\nT: 1795222133.306533\r\nU: 5\r\nV: x\r\n\r\n']);
  assert.equal(last!.int(H.a, 0), 42);
  assert.equal(last!.int(H.b, 0), -7);
  assert.equal(last!.int(header('V'), 9), 9);
  assert.equal(last!.int(header('W'), 9), 9);
  assert.equal(last!.millis(header('T')), 1795222133306);
  assert.equal(last!.millis(header('U')), 5000);
  assert.equal(last!.millis(header('V')), null);
});

test('framing - UTF-8 is read as UTF-8, anything else as latin1', () => {
  const utf = decode([Buffer.from('Event: X\r\nCallerIDName: Jörg 漢字 🙂\r\nA: plain\r\n\r\n')]).last!;
  assert.equal(utf.get(H.name), 'Jörg 漢字 🙂');
  assert.equal(utf.get(H.a), 'plain');
  const latin = decode([Buffer.from('Event: X\r\nCallerIDName: J\xf6rg\r\n\r\n', 'latin1')]).last!;
  assert.equal(latin.get(H.name), 'Jörg');
});

test('framing - every split of the bytes gives the same frames', () => {
  const bytes = Buffer.from(
    'Asterisk Call Manager/11.0.0\r\nResponse: Success\r\nActionID: 1\r\n\r\n\r\nEvent: A\r\nCallerIDName: Jörg 漢🙂\r\n\r\n' +
      'nonsense\r\n\r\nEvent: Skip\r\nX: y\r\n\r\nEvent: B\r\nA: 1\r\n\r\n',
  );
  const options: DecoderOptions = { banner: true, wants: (name) => name !== 'Skip' };
  const whole = decode([bytes], options);
  assert.equal(whole.frames.length, 3);
  assert.deepEqual(whole.drops, ['not_a_frame']);
  assert.deepEqual(whole.ignored, ['Skip']);
  for (let i = 0; i <= bytes.length; i++)
    assert.deepEqual(decode(split(bytes, [i]), options).frames, whole.frames, `split at ${i}`);
  assert.deepEqual(
    decode(
      Array.from(bytes, (b) => Buffer.from([b])),
      options,
    ).frames,
    whole.frames,
    'bytewise',
  );
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (at) => {
      const again = decode(split(bytes, at), options);
      assert.deepEqual(again.frames, whole.frames);
      assert.deepEqual(again.drops, whole.drops);
      assert.deepEqual(again.banners, whole.banners);
    }),
    { numRuns: 300 },
  );
});

test('framing - any bytes at all: no exception, bounded memory, and good frames afterwards are read', () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((a) => Buffer.from(a)),
    fc
      .constantFrom('\r\n', '\r\n\r\n', '\r', '\n', 'Event: ', 'Response: ', ':', '__proto__: x\r\n')
      .map((s) => Buffer.from(s)),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const { frames } = decode([...pieces, '\r\n\r\nEvent: Sane\r\nA: 1\r\n\r\n']);
      assert.equal(frames.at(-1)?.name, 'Sane');
    }),
    { numRuns: 500 },
  );
});

test('framing - oversize frames are dropped and counted, and the next frame is read', () => {
  const good = 'Event: Good\r\nA: 1\r\n\r\n'.repeat(3);
  const cases: [string, string][] = [
    ['frame_too_long', `Event: Big\r\n${'A: 1234567890\r\n'.repeat(80_000)}\r\n`],
    ['line_too_long', `Event: Long\r\nA: ${'x'.repeat(LINE_BYTES)}\r\n\r\n`],
    ['too_many_headers', `Event: Many\r\n${'A: 1\r\n'.repeat(10_000)}\r\n`],
    ['too_many_headers', `Event: Many\r\n${'A: 1\r\n'.repeat(FRAME_LIMITS.headers)}\r\n`],
  ];
  for (const [reason, bad] of cases)
    for (const size of [1 << 30, 65_536, 1448, 97, 5]) {
      const bytes = Buffer.from(bad + good);
      const chunks: Buffer[] = [];
      for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.subarray(i, i + size));
      const { frames, drops } = decode(chunks);
      assert.deepEqual(
        drops,
        [bad.length > FRAME_LIMITS.bytes ? 'frame_too_long' : reason],
        `${reason} by ${size}`,
      );
      assert.deepEqual(
        frames.map((f) => f.name),
        ['Good', 'Good', 'Good'],
        `${reason} by ${size}`,
      );
    }
  const fits = `Event: Fits\r\n${'A: 1\r\n'.repeat(FRAME_LIMITS.headers - 1)}\r\n`;
  assert.equal(decode([fits]).frames.length, 1);
});

test('framing - a megabyte without a blank line is never kept', () => {
  const before = process.memoryUsage().rss;
  const seen = decode(
    Array.from({ length: 20_000 }, () => 'X: 12345678901234567890123456789012345678901234567890\r\n'),
  );
  assert.deepEqual(seen.drops, ['frame_too_long']);
  assert.ok(process.memoryUsage().rss - before < 64 * 1024 * 1024);
});

test('framing - hostile names of headers change no prototype', () => {
  const { frames, last } = decode([
    'Event: X\r\n__proto__: x\r\nconstructor: y\r\nno colon here\r\n: empty\r\nA: 1\r\n\r\n',
  ]);
  assert.equal(frames[0]?.fields.get('__proto__')?.[0], 'x');
  assert.equal(frames[0]?.fields.get('constructor')?.[0], 'y');
  assert.equal(last!.get(H.a), '1');
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
  assert.equal(Object.prototype.toString.call({}), '[object Object]');
});

test('framing - whoever does not greet like a manager is not read', () => {
  for (const garbage of [
    'HTTP/1.1 400 Bad Request\r\n\r\nEvent: X\r\nA: 1\r\n\r\n',
    `${'y'.repeat(300)}`,
    '\0\0\0\r\n',
  ]) {
    const { frames, banners } = decode([garbage, 'Event: X\r\nA: 1\r\n\r\n'], { banner: true });
    assert.equal(banners.length, 1);
    assert.equal(frames.length, 0);
  }
});

test('framing - the recorded stream gives the same frames in chunks of any size', () => {
  const bytes = fs.readFileSync(new URL('../../../../test/transcripts/queue-calls.ami', import.meta.url));
  const whole = decode([bytes]).frames;
  assert.ok(whole.length > 150);
  for (const size of [1, 7, 64, 1448, 65_536]) {
    const chunks: Buffer[] = [];
    for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.subarray(i, i + size));
    assert.deepEqual(decode(chunks).frames, whole, `chunks of ${size}`);
  }
});
