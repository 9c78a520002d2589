import { say } from '../../../core/said.ts';
import { checkShape, notAudio } from './source.ts';
import type { Source } from './source.ts';

const PCM = 1;
const FLOAT = 3;
const ALAW = 6;
const ULAW = 7;
const EXTENSIBLE = 0xfffe;
/** Rest of the format's GUID in an extensible header. */
const REST_OF_GUID = '000000001000800000aa00389b71';
/** Limit of skipped chunks. */
const MAX_CHUNKS = 64;
const BLOCK = 16_384;

const ulaw = Float32Array.from({ length: 256 }, (_, byte) => {
  const b = ~byte & 0xff;
  const magnitude = ((((b & 0x0f) << 3) + 132) << ((b >> 4) & 7)) - 132;
  return (b & 0x80 ? -magnitude : magnitude) / 32_768;
});
const alaw = Float32Array.from({ length: 256 }, (_, byte) => {
  const b = byte ^ 0x55;
  const exponent = (b >> 4) & 7;
  const mantissa = ((b & 0x0f) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 256) << (exponent - 1);
  return (b & 0x80 ? magnitude : -magnitude) / 32_768;
});

type Read = (view: DataView, at: number) => number;
const READERS: Readonly<Record<string, Read>> = {
  [`${PCM}/8`]: (view, at) => (view.getUint8(at) - 128) / 128,
  [`${PCM}/16`]: (view, at) => view.getInt16(at, true) / 32_768,
  [`${PCM}/24`]: (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 65_536) / 8_388_608,
  [`${PCM}/32`]: (view, at) => view.getInt32(at, true) / 2_147_483_648,
  [`${FLOAT}/32`]: (view, at) => view.getFloat32(at, true),
  [`${FLOAT}/64`]: (view, at) => view.getFloat64(at, true),
  [`${ULAW}/8`]: (view, at) => ulaw[view.getUint8(at)]!,
  [`${ALAW}/8`]: (view, at) => alaw[view.getUint8(at)]!,
};

/** `plain`: 16-bit PCM without an extensible header, which the engine plays as it is. */
export interface WavSource extends Source {
  readonly plain: boolean;
}
interface Head {
  readonly tag: number;
  readonly kind: number;
  readonly channels: number;
  readonly sample_rate: number;
  readonly frame: number;
  readonly bits: number;
}
const text = (view: DataView, at: number): string =>
  String.fromCharCode(...Array.from({ length: 4 }, (_, i) => view.getUint8(at + i)));

function readHead(view: DataView, at: number, length: number): Head {
  if (length < 16) throw notAudio('WAV: the format chunk is truncated');
  const tag = view.getUint16(at, true);
  let kind = tag;
  if (kind === EXTENSIBLE) {
    if (length < 40) throw notAudio('WAV: the format chunk is truncated');
    const rest = Array.from({ length: 14 }, (_, i) => view.getUint8(at + 26 + i));
    if (Buffer.from(rest).toString('hex') !== REST_OF_GUID) throw notAudio('WAV: unknown audio format');
    kind = view.getUint16(at + 24, true);
  }
  return {
    tag,
    kind,
    channels: view.getUint16(at + 2, true),
    sample_rate: view.getUint32(at + 4, true),
    frame: view.getUint16(at + 12, true),
    bits: view.getUint16(at + 14, true),
  };
}

/** RIFF WAVE: PCM of 8 to 32 bit, float of 32 and 64 bit, G.711. `bytes` begins with `RIFF`. Throws `not_audio`. */
export function readWav(bytes: Uint8Array): WavSource {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = bytes.byteLength;
  if (size < 12 || text(view, 8) !== 'WAVE') throw notAudio('the RIFF file contains no WAVE');
  let head: Head | undefined;
  let at = 12;
  for (let chunks = 0; ; chunks++) {
    if (at + 8 > size) throw notAudio('WAV: the file ends before the audio data');
    if (chunks === MAX_CHUNKS)
      throw notAudio(say`WAV: the audio data must begin within ${MAX_CHUNKS} chunks`);
    const name = text(view, at);
    const length = view.getUint32(at + 4, true);
    at += 8;
    if (at + length > size) {
      throw notAudio(
        say`WAV: the header declares ${length} bytes, the file has ${size - at}: it is truncated or a stream`,
      );
    }
    if (name === 'data') return sourceOf(view, head, at, length);
    if (name === 'fmt ') {
      if (head !== undefined) throw notAudio('WAV: the file has two format chunks');
      head = readHead(view, at, length);
    }
    at += length + (length % 2);
  }
}
function sourceOf(view: DataView, head: Head | undefined, start: number, length: number): WavSource {
  if (head === undefined) throw notAudio('WAV: the audio data is before the format chunk');
  const { tag, kind, channels, sample_rate, frame, bits } = head;
  checkShape('WAV', sample_rate, channels);
  const read = READERS[`${kind}/${bits}`];
  if (read === undefined) {
    throw notAudio(
      say`WAV: audio format ${kind} with ${bits} bits is not supported; use PCM, float or G.711`,
    );
  }
  if (frame !== (channels * bits) / 8) throw notAudio('WAV: the format chunk is inconsistent');
  if (length % frame !== 0) throw notAudio('WAV: the file ends within a sample');
  const frames = length / frame;
  return {
    format: 'wav',
    sample_rate,
    channels,
    plain: tag === PCM && bits === 16,
    seconds: frames / sample_rate,
    *blocks() {
      for (let from = 0; from < frames; from += BLOCK) {
        const count = Math.min(BLOCK, frames - from);
        yield Array.from({ length: channels }, (_, channel) => {
          const samples = new Float32Array(count);
          let place = start + from * frame + (channel * bits) / 8;
          for (let i = 0; i < count; i++, place += frame) samples[i] = read(view, place);
          return samples;
        });
      }
    },
  };
}
