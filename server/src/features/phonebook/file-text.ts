import type { ImportQuery } from '@offhook/contract/phonebook-files.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';

type Encoding = NonNullable<ImportQuery['encoding']>;

function encodingOf(bytes: Buffer): Encoding {
  const mark = bytes.readUInt16BE(0);
  return mark === 0xfffe || mark === 0xfeff ? 'utf-16' : 'utf-8';
}
/**
 * The text of a file, without its byte order mark. Throws `invalid_request` where the bytes are not in the character set: a
 * wrong guess would store broken names.
 */
export function textOf(bytes: Buffer, asked: Encoding | undefined): string {
  if (bytes.length < 2) throw new ServiceError('invalid_request', 'body: the file is empty');
  const encoding = asked ?? encodingOf(bytes);
  const isBig = encoding === 'utf-16' && bytes.readUInt16BE(0) === 0xfeff;
  const label = encoding === 'utf-16' ? (isBig ? 'utf-16be' : 'utf-16le') : encoding;
  let text: string;
  try {
    text = new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    throw new ServiceError(
      'invalid_request',
      say`body: the file is not in ${encoding}; save it as UTF-8, or name its character set in encoding`,
    );
  }
  // Windows-1252 decodes any bytes, so UTF-16 under that name is found only by its NUL characters.
  if (text.includes('\0'))
    throw new ServiceError('invalid_request', 'body: must be a text file without NUL characters');
  return text;
}
