import { randomBytes } from 'node:crypto';
import type { JsonRequest, Upload } from '../../../outbound/json.ts';
import type { OutboundStream } from '../../../outbound/transport.ts';

/** The audio of a recording, and the mark that stands for it in a body. */
export interface AudioOf {
  readonly mark: string;
  readonly name: string;
  readonly stream: OutboundStream;
}

const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;
async function* base64Of(stream: OutboundStream): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream.read()) {
    const all = Buffer.concat([rest, chunk]);
    // Base64 texts can be joined only after whole groups of three bytes.
    const whole = all.length - (all.length % 3);
    rest = all.subarray(whole);
    yield Buffer.from(all.subarray(0, whole).toString('base64'));
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'));
}
/** Stream of texts with the file between each two texts. */
function around(
  texts: readonly string[],
  bytes: number,
  file: () => AsyncIterable<Uint8Array>,
): OutboundStream {
  return {
    bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), bytes * (texts.length - 1)),
    async *read() {
      for (const [n, text] of texts.entries()) {
        if (n > 0) yield* file();
        yield Buffer.from(text);
      }
    },
  };
}
const nameless = (name: string): string => {
  if (/["\r\n]/.test(name)) throw new Error('form: a field has a quotation mark or a line break in its name');
  return name;
};

/**
 * Body of a request with the audio: as the field `field` of a multipart form, else instead of the mark in the JSON.
 * Null if the request does not contain the audio. Throws if the mark is in its address, a header or a form.
 */
export function uploadOf(
  request: JsonRequest,
  field: string | undefined,
  { mark, name, stream }: AudioOf,
): Upload | null {
  const { url, headers, form, body } = request;
  const size = `${stream.bytes} bytes`;
  if ([url, ...Object.values(headers), ...Object.values(form ?? {})].some((text) => text.includes(mark)))
    throw new Error('recording.base64 can only be the value of a key of the body');
  if (field !== undefined) {
    const boundary = `offhook-${randomBytes(16).toString('hex')}`;
    const part = (of: string): string =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${nameless(of)}"`;
    const fields = Object.entries(form ?? {}).map(([key, value]) => `${part(key)}\r\n\r\n${value}\r\n`);
    const head = `${fields.join('')}${part(field)}; filename="${nameless(name)}"\r\ncontent-type: audio/wav\r\n\r\n`;
    return {
      stream: around([head, `\r\n--${boundary}--\r\n`], stream.bytes, () => stream.read()),
      type: `multipart/form-data; boundary=${boundary}`,
      shown: JSON.stringify({ ...form, [field]: `${name}, ${size}` }),
    };
  }
  const texts = JSON.stringify(body ?? null).split(mark);
  if (texts.length < 2) return null;
  return {
    stream: around(texts, base64Length(stream.bytes), () => base64Of(stream)),
    type: 'application/json',
    shown: texts.join(`(${size})`),
  };
}
