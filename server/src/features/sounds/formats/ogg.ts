import { say } from '../../../core/said.ts';
import { OggVorbisDecoder } from '@wasm-audio-decoders/ogg-vorbis';
import { OpusDecoder } from 'opus-decoder';
import { checkShape, notAudio } from './source.ts';
import type { Source } from './source.ts';

const PAGE_HEAD = 27;
const FIRST = 2;
const LAST = 4;
const OPUS_RATE = 48_000;
/** Decoded in small pieces, as FLAC: few bytes can contain much sound. */
const BITE = 1_024;
/** Packets decoded at once. */
const PACKETS = 50;
const MAX_PACKET = 3_840;

interface Pages {
  readonly packets: readonly Uint8Array[];
  /** Number of samples by the last page. */
  readonly position: number;
}
/** All pages of one stream, without a gap. Throws `not_audio`. */
function readPages(bytes: Uint8Array): Pages {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const broken = (what: string): never => {
    throw notAudio(say`Ogg: ${what}`);
  };
  const packets: Uint8Array[] = [];
  let begun: Uint8Array[] = [];
  let [at, number, position, flags] = [0, 0, 0, 0];
  while (at < bytes.length) {
    if (at + PAGE_HEAD > bytes.length) broken('it is cut off');
    if (view.getUint32(at) !== 0x4f676753 || view.getUint8(at + 4) !== 0) {
      broken(`what stands at byte ${at} is no page`);
    }
    flags = view.getUint8(at + 5);
    if (((flags & FIRST) !== 0) !== (number === 0)) broken('it is more than one stream');
    if (view.getUint32(at + 14, true) !== view.getUint32(14, true)) broken('it is more than one stream');
    if (view.getUint32(at + 18, true) !== number) broken('a page is missing');
    const granule = view.getBigInt64(at + 6, true);
    if (granule >= 0n) position = Number(granule);
    const segments = view.getUint8(at + 26);
    const sizes = bytes.subarray(at + PAGE_HEAD, at + PAGE_HEAD + segments);
    at += PAGE_HEAD + segments;
    if (at > bytes.length) broken('it is cut off');
    for (const size of sizes) {
      if (at + size > bytes.length) broken('it is cut off');
      begun.push(bytes.subarray(at, at + size));
      at += size;
      if (size === 255) continue;
      packets.push(begun.length === 1 ? begun[0]! : Buffer.concat(begun));
      begun = [];
    }
    number++;
  }
  if ((flags & LAST) === 0) broken('its last page is missing');
  return { packets, position };
}

/** Ogg with one stream of Opus or Vorbis. `bytes` begins with `OggS`. Throws `not_audio`. */
export function readOgg(bytes: Uint8Array): Source {
  const pages = readPages(bytes);
  const first = Buffer.from(pages.packets[0] ?? []);
  if (first.toString('latin1', 0, 8) === 'OpusHead' && first.length >= 19) return opus(pages, first);
  if (first.toString('latin1', 0, 7) === '\u0001vorbis' && first.length >= 30) {
    return vorbis(bytes, pages, first);
  }
  throw notAudio('Ogg: the file contains neither Opus nor Vorbis');
}
function opus({ packets, position }: Pages, head: Buffer): Source {
  const channels = head[9]!;
  const skip = head.readUInt16LE(10);
  const gain = 10 ** (head.readInt16LE(16) / 256 / 20);
  if (head[18] !== 0) throw notAudio('Opus: the audio must be mono or stereo');
  checkShape('Opus', OPUS_RATE, channels);
  const length = Math.max(0, position - skip);
  return {
    format: 'ogg_opus',
    sample_rate: OPUS_RATE,
    channels,
    seconds: length / OPUS_RATE,
    async *blocks() {
      const decoder = new OpusDecoder({ channels, preSkip: skip });
      await decoder.ready;
      let left = length;
      // The second packet is the comment.
      for (let from = 2; from < packets.length && left > 0; from += PACKETS) {
        const some = packets.slice(from, from + PACKETS);
        if (some.some((packet) => packet.length > MAX_PACKET)) throw notAudio('Opus: a packet is too large');
        const decoded = decoder.decodeFrames([...some]);
        const [error] = decoded.errors;
        if (error !== undefined) throw notAudio(say`Opus: ${error.message.slice(0, 100)}`);
        const count = Math.min(left, decoded.samplesDecoded);
        left -= count;
        if (count > 0) yield decoded.channelData.map((c) => c.subarray(0, count).map((v) => v * gain));
      }
      decoder.free();
      if (left > 0) throw notAudio('Opus: the file has less audio than its header declares');
    },
  };
}
function vorbis(bytes: Uint8Array, { position }: Pages, head: Buffer): Source {
  const channels = head[11]!;
  const sample_rate = head.readUInt32LE(12);
  checkShape('Vorbis', sample_rate, channels);
  return {
    format: 'ogg_vorbis',
    sample_rate,
    channels,
    seconds: position / sample_rate,
    async *blocks() {
      const decoder = new OggVorbisDecoder();
      await decoder.ready;
      for (let from = 0; from <= bytes.length; from += BITE) {
        const last = from + BITE > bytes.length;
        const fresh = await decoder.decode(bytes.subarray(from, from + BITE));
        for (const decoded of last ? [fresh, await decoder.flush()] : [fresh]) {
          const [error] = decoded.errors;
          if (error !== undefined) throw notAudio(say`Vorbis: ${error.message.slice(0, 100)}`);
          if (decoded.samplesDecoded > 0) yield decoded.channelData;
        }
      }
      decoder.free();
    },
  };
}
