import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../core/errors.ts';
import { KEPT_RATE, convert } from './convert.ts';
import { createResampler } from './resample.ts';
import {
  WAV_KINDS,
  chunk,
  encoded,
  flacSilence,
  levelOf,
  mp3Silence,
  riff,
  samplesOf,
  wav,
  wavFormat,
} from '../../../test/support/sound-samples.ts';

let folder: string;
let files = 0;
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-sounds-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function converted(bytes: Uint8Array, most = 600) {
  const to = path.join(folder, `${(files += 1)}.wav16`);
  try {
    const facts = await convert(bytes, to, most);
    const kept = await readFile(to);
    return { ...facts, kept, samples: samplesOf(kept), mode: (await stat(to)).mode & 0o777 };
  } finally {
    await rm(to, { force: true });
  }
}
const refused = (bytes: Uint8Array, code: string, about = /./, most = 600): Promise<void> =>
  assert.rejects(converted(bytes, most), (error) => {
    assert.ok(error instanceof ServiceError, String((error as Error).stack));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, about);
    return true;
  });
const near = (value: number, wanted: number, by: number, what: string): void =>
  assert.ok(Math.abs(value - wanted) <= by, `${what}: ${value} instead of ${wanted}`);

test('sounds/convert - every kind of WAV, mono and stereo, becomes mono with 16 bit and 16 kHz at its own level', async () => {
  for (const kind of WAV_KINDS) {
    for (const [rate, channels] of [
      [8_000, 1],
      [44_100, 2],
    ] as const) {
      const what = `${kind} ${rate} ${channels}`;
      const { samples, seconds, format, sample_rate, mode } = await converted(wav({ kind, rate, channels }));
      assert.deepEqual([format, sample_rate, seconds, mode], ['wav', rate, 0.5, 0o640], what);
      near(levelOf(samples, 1_000, KEPT_RATE), 0.4, 0.01, what);
    }
  }
});

test('sounds/convert - mono with 16 bit and 16 kHz is stored sample for sample, named by its hash', async () => {
  const bytes = wav({ seconds: 1.25 });
  const { kept, sha256, bytes: size } = await converted(bytes);
  assert.deepEqual(kept, bytes);
  assert.equal(size, bytes.length);
  assert.equal(sha256, createHash('sha256').update(bytes).digest('hex'));
});

test('sounds/convert - an extensible header and other chunks are read', async () => {
  const plain = wav();
  const format = Buffer.alloc(40);
  plain.copy(format, 0, 20, 36);
  format.writeUInt16LE(0xfffe, 0);
  format.writeUInt16LE(22, 16);
  format.writeUInt16LE(1, 24);
  Buffer.from('000000001000800000aa00389b71', 'hex').copy(format, 26);
  const list = chunk('LIST', Buffer.from('INFOISFT'));
  const wrapped = riff(list, chunk('fmt ', format), list, chunk('data', plain.subarray(44)), list);
  assert.deepEqual((await converted(wrapped)).kept, plain);
});

test('sounds/convert - MP3, FLAC, Opus and Vorbis of other programs keep tone and length', async () => {
  for (const [file, by] of [
    ['tone.mp3', 0.08],
    ['tone.flac', 0],
    ['tone-opus.ogg', 0.001],
    ['tone-vorbis.ogg', 0.001],
  ] as const) {
    const { samples, seconds } = await converted(encoded(file));
    near(seconds, 0.5, by, file);
    near(levelOf(samples.subarray(2_000, 6_000), 1_000, KEPT_RATE), 12_000 / 32_768, 0.02, file);
  }
});

test('sounds/convert - frequencies above half the rate are removed without aliases; speech is unchanged', async () => {
  for (const [rate, hz] of [
    [44_100, 9_000],
    [48_000, 15_500],
    [96_000, 33_000],
  ] as const) {
    const { samples: all } = await converted(wav({ rate, hz }));
    // The start and end of the tone contain other frequencies.
    const samples = all.subarray(500, -500);
    const rms = Math.hypot(...samples) / Math.sqrt(samples.length) / 32_768;
    assert.ok(rms < 0.4 / 1_000, `${hz} Hz at ${rate}: ${rms}`);
  }
  for (const [rate, hz] of [
    [8_000, 3_400],
    [22_050, 300],
    [44_100, 6_500],
    [191_999, 5_000],
  ] as const) {
    near(
      levelOf((await converted(wav({ rate, hz }))).samples, hz, KEPT_RATE),
      0.4,
      0.004,
      `${hz} Hz at ${rate}`,
    );
  }
});

test('sounds/convert - a sound above full scale is attenuated as a whole, never clipped', async () => {
  const { samples } = await converted(wav({ kind: 'float32', amplitude: 3 }));
  const peak = samples.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  assert.ok(peak > 32_700, `${peak}`);
  near(levelOf(samples, 1_000, KEPT_RATE), 1, 0.001, 'its tone');
  near(levelOf(samples, 3_000, KEPT_RATE), 0, 0.0001, 'what clipping would add');
  // A square wave overshoots after a low-pass filter, although no sample exceeds full scale.
  const square = await converted(
    wav({ rate: 44_100, sample: (i) => (Math.floor(i / 100) % 2 === 0 ? 1 : -1) }),
  );
  assert.equal(square.samples.filter((v) => Math.abs(v) >= 32_767).length < 3, true);
});

test('sounds/resample - pieces of any size give the same result, with the length by the rates', () => {
  const whole = Float32Array.from({ length: 5_000 }, (_, i) => Math.sin(i / 9));
  const run = (from: number, to: number, sizes: readonly number[]): number[] => {
    const resampler = createResampler(from, to);
    const out: number[] = [];
    for (let at = 0, n = 0; at < whole.length; n++) {
      const size = Math.max(1, sizes[n % sizes.length]!);
      out.push(...resampler.push(whole.slice(at, at + size)));
      at += size;
    }
    return [...out, ...resampler.flush()];
  };
  for (const [from, to] of [
    [44_100, 16_000],
    [8_000, 16_000],
    [11_025, 16_000],
    [16_000, 16_000],
  ] as const) {
    const at_once = run(from, to, [5_000]);
    assert.equal(at_once.length, Math.ceil((5_000 * to) / from));
    fc.assert(
      fc.property(fc.array(fc.nat(700), { minLength: 1, maxLength: 8 }), (sizes) => {
        assert.deepEqual(run(from, to, sizes), at_once);
      }),
      { numRuns: 20 },
    );
  }
});

const silent = Buffer.alloc(3_200);
const data = chunk('data', silent);
const fmt = (tag = 1, channels = 1, rate = 8_000, bits = 16): Buffer => wavFormat(tag, channels, rate, bits);
const changed = (bytes: Buffer, at: number, value: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at] = value;
  return copy;
};
const flacRate = (rate: number, channels = 1): Buffer => {
  const copy = flacSilence(2);
  copy.writeUInt32BE(((rate << 12) | ((channels - 1) << 9) | (15 << 4)) >>> 0, 18);
  return copy;
};
const ATTACKS: readonly (readonly [string, Uint8Array, string, RegExp?])[] = [
  ['nothing', Buffer.alloc(0), 'not_audio'],
  ['one byte', Buffer.from('R'), 'not_audio'],
  ['text', Buffer.from('not a sound'), 'not_audio'],
  ['a program', Buffer.from('\u007fELF\u0002\u0001'), 'not_audio'],
  ['a page', Buffer.from('<!doctype html><script>'), 'not_audio'],
  ['RIFF of another kind', chunk('RIFF', Buffer.from('AVI LIST')), 'not_audio'],
  ['a head alone', riff(fmt()), 'not_audio'],
  ['no samples', riff(fmt(), chunk('data', Buffer.alloc(0))), 'not_audio', /has no audio/],
  ['one sample', riff(fmt(), chunk('data', Buffer.alloc(2))), 'not_audio', /has no audio/],
  ['no format', riff(data), 'not_audio'],
  ['two formats', riff(fmt(), fmt(), data), 'not_audio'],
  ['its format after its sound', riff(data, fmt()), 'not_audio'],
  ['a head that claims 4 GB', riff(fmt(), chunk('data', silent, 0xffff_ffff)), 'not_audio', /declares/],
  ['a chunk that claims 4 GB', riff(chunk('LIST', silent, 0xffff_fff0), fmt(), data), 'not_audio'],
  ['cut off', riff(fmt(), data).subarray(0, 2_000), 'not_audio', /truncated/],
  [
    'a thousand chunks',
    riff(...Array.from({ length: 1_000 }, () => chunk('junk', silent.subarray(0, 4))), fmt(), data),
    'not_audio',
  ],
  ['a file in a file', riff(chunk('RIFF', riff(fmt(), data))), 'not_audio'],
  ['1 Hz', riff(fmt(1, 1, 1), data), 'not_audio', /sample rate 1 must be/],
  ['0 Hz', riff(fmt(1, 1, 0), data), 'not_audio', /sample rate/],
  ['10 MHz', riff(fmt(1, 1, 10_000_000), data), 'not_audio', /sample rate/],
  ['4 GHz', riff(fmt(1, 1, 0xffff_ffff), data), 'not_audio', /sample rate/],
  ['no channel', riff(fmt(1, 0), data), 'not_audio', /0 channels/],
  ['65535 channels', riff(fmt(1, 255, 8_000, 8), data), 'not_audio', /255 channels/],
  ['12 bits', riff(fmt(1, 1, 8_000, 12), data), 'not_audio'],
  ['0 bits', riff(fmt(1, 1, 8_000, 0), data), 'not_audio'],
  ['ADPCM', riff(fmt(0x11, 1, 8_000, 4), data), 'not_audio', /audio format 17/],
  ['MP3 in a WAV', riff(fmt(0x55, 1, 8_000, 16), data), 'not_audio'],
  ['half a sample', riff(fmt(), chunk('data', Buffer.alloc(3_201))), 'not_audio', /within a sample/],
  [
    'no number',
    wav({ kind: 'float32', sample: (i) => (i === 4_000 ? NaN : 0) }),
    'not_audio',
    /outside the valid range/,
  ],
  [
    'infinite',
    wav({ kind: 'float64', sample: (i) => (i === 7_999 ? Infinity : 0) }),
    'not_audio',
    /outside the valid range/,
  ],
  [
    'absurd',
    wav({ kind: 'float32', sample: (i) => (i === 0 ? -1e30 : 0) }),
    'not_audio',
    /outside the valid range/,
  ],
  ['601 s', wav({ rate: 8_000, seconds: 601, kind: 'ulaw' }), 'sound_too_long'],
  ['MP3 cut off', encoded('tone.mp3').subarray(0, 3_000), 'not_audio', /ends within a frame/],
  ['MP3 with text in it', Buffer.concat([encoded('tone.mp3'), Buffer.from('hello')]), 'not_audio'],
  ['MP3, two frames', mp3Silence(2), 'not_audio', /too little audio/],
  ['a tag that claims more than there is', Buffer.from('ID3\u0004\0\0\u007f\u007f\u007f\u007f'), 'not_audio'],
  ['a tag alone', Buffer.from('ID3\u0004\0\0\0\0\0\0'), 'not_audio'],
  ['a broken tag', Buffer.from([...Buffer.from('ID3\u0004\0\0'), 255, 255, 255, 255]), 'not_audio'],
  ['an hour of silent MP3 in half a megabyte', mp3Silence(50_000).subarray(0, 72 * 8_400), 'sound_too_long'],
  ['FLAC cut off', encoded('tone.flac').subarray(0, 6_000), 'not_audio', /truncated|damaged/],
  ['FLAC, its head alone', encoded('tone.flac').subarray(0, 42), 'not_audio'],
  ['FLAC of 1 Hz', flacRate(1), 'not_audio', /sample rate/],
  ['FLAC of 655350 Hz', flacRate(655_350), 'not_audio', /sample rate/],
  ['FLAC of 8 channels', flacRate(8_000, 8), 'not_audio', /8 channels/],
  ['Ogg cut off', encoded('tone-opus.ogg').subarray(0, 3_000), 'not_audio'],
  ['Ogg without its end', encoded('tone-vorbis.ogg').subarray(0, 58), 'not_audio', /last page/],
  [
    'two Oggs',
    Buffer.concat([encoded('tone-opus.ogg'), encoded('tone-vorbis.ogg')]),
    'not_audio',
    /one stream/,
  ],
  ['Ogg of nothing known', changed(encoded('tone-opus.ogg'), 28, 0x58), 'not_audio', /neither/],
  ['Opus of 9 channels', changed(encoded('tone-opus.ogg'), 37, 9), 'not_audio', /9 channels/],
];
test('sounds/convert - data that is no sound, or more than one, is refused with a stable code', async () => {
  for (const [what, bytes, code, about] of ATTACKS) {
    await refused(bytes, code, about).catch((error: unknown) => {
      throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
    });
  }
});

test('sounds/convert - a decompression bomb takes no more memory than an allowed sound', async () => {
  const bomb = flacSilence(1_000_000);
  assert.ok(bomb.length > 13e6 && bomb.length < 20e6, `${bomb.length}`);
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 5);
  try {
    await refused(bomb, 'sound_too_long', /60 seconds/, 60);
  } finally {
    clearInterval(watch);
  }
  assert.ok(most - before < 250e6, `${(most - before) / 1e6} MB`);
});

/** Checks that these bytes are a sound within limits, or refused with a code. */
async function soundOrRefusal(bytes: Uint8Array): Promise<void> {
  try {
    const { samples, seconds } = await converted(bytes, 5);
    assert.ok(seconds <= 5.01 && samples.length === Math.round(seconds * KEPT_RATE));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    assert.ok(['not_audio', 'sound_too_long'].includes(error.code), error.message);
  }
  assert.equal(existsSync(path.join(folder, `${files}.wav16`)), false);
}
test('sounds/convert - random bytes with any beginning are a sound or a refusal', async () => {
  const heads = [
    '',
    'RIFF',
    'RIFF\u0010\0\0\0WAVEfmt \u0010\0\0\0',
    'ID3\u0003\0\0\0\0\0\0',
    'fLaC\u0080\0\0"',
    'OggS\0\u0002',
    '\u00ff\u00fb',
  ];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...heads), fc.uint8Array({ maxLength: 400 }), (head, rest) =>
      soundOrRefusal(Buffer.concat([Buffer.from(head, 'latin1'), rest])),
    ),
    { numRuns: 1_500 },
  );
});

test('sounds/convert - a WAV with any bytes changed is a sound or a refusal', async () => {
  const good = wav({ kind: 'float32', seconds: 0.1, rate: 8_000 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(63), fc.nat(255)), { minLength: 1, maxLength: 6 }),
      fc.nat(good.length),
      (changes, length) => {
        const bytes = Buffer.from(good.subarray(0, length < 60 ? length : good.length));
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
        return soundOrRefusal(bytes);
      },
    ),
    { numRuns: 800 },
  );
});
