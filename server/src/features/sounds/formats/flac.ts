import { say } from '../../../core/said.ts';
import { FLACDecoder } from '@wasm-audio-decoders/flac';
import { checkShape, notAudio } from './source.ts';
import type { Source } from './source.ts';

/** A thousand bytes of silence can decode to seconds of sound, all in memory at once. */
const BITE = 1_024;
const STREAM_INFO = 34;

/** FLAC in its own container. `bytes` begins with `fLaC`. Throws `not_audio`. */
export function readFlac(bytes: Uint8Array): Source {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 8 + STREAM_INFO || (bytes[4]! & 0x7f) !== 0 || bytes[7] !== STREAM_INFO) {
    throw notAudio('FLAC: the header is truncated');
  }
  const facts = view.getUint32(18);
  const sample_rate = facts >>> 12;
  const channels = ((facts >>> 9) & 7) + 1;
  const samples = (view.getUint8(21) & 0x0f) * 2 ** 32 + view.getUint32(22);
  checkShape('FLAC', sample_rate, channels);
  return {
    format: 'flac',
    sample_rate,
    channels,
    seconds: samples === 0 ? null : samples / sample_rate,
    async *blocks() {
      const decoder = new FLACDecoder();
      await decoder.ready;
      let count = 0;
      for (let from = 0; from <= bytes.length; from += BITE) {
        const last = from + BITE > bytes.length;
        const fresh = await decoder.decode(bytes.subarray(from, from + BITE));
        for (const decoded of last ? [fresh, await decoder.flush()] : [fresh]) {
          const [error] = decoded.errors;
          if (error !== undefined) throw notAudio(say`FLAC: ${error.message.slice(0, 100)}`);
          if (decoded.samplesDecoded === 0) continue;
          if (decoded.sampleRate !== sample_rate || decoded.channelData.length !== channels) {
            throw notAudio('FLAC: the sample rate or number of channels changes within the file');
          }
          count += decoded.samplesDecoded;
          yield decoded.channelData;
        }
      }
      decoder.free();
      if (samples !== 0 && count !== samples) {
        throw notAudio(
          say`FLAC: the header declares ${samples} samples, the file has ${count}: it is truncated or damaged`,
        );
      }
    },
  };
}
