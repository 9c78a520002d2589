/** Reads the files of an uploaded archive: zip, tar or tar with gzip, detected from the content. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { openPromise } from 'yauzl';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { notAudio } from './formats/source.ts';

/** Limits of an archive: number of entries, unpacked bytes of one file, unpacked bytes of all files. */
const MOST_ENTRIES = 3_000;
const MOST_FILE_BYTES = 4 * 1_048_576;
const MOST_BYTES = 128 * 1_048_576;

export interface ArchivedFile {
  /** Path in the archive, without `.` or `..`. */
  readonly name: string;
  readonly bytes: Buffer;
}
const LINKS = 0xa000;
const KIND = 0xf000;

/** Path without empty and `.` parts; throws `not_audio` for a path that could lead out of the folder. */
function safe(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  const odd = name.startsWith('/') || /[\\\0:]/.test(name) || name.length > 256;
  if (odd || parts.includes('..')) throw notAudio(say`the archive has a path that is not safe: ${name}`);
  return parts.join('/');
}
const tooLarge = (): ServiceError =>
  new ServiceError('sound_too_large', say`the archive must unpack to at most ${MOST_BYTES} bytes`);

/** Counts entries and unpacked bytes, because the sizes in the headers of an archive can be wrong. */
class Bounds {
  #entries = 0;
  #bytes = 0;

  entry(): void {
    if ((this.#entries += 1) > MOST_ENTRIES)
      throw notAudio(say`the archive must have at most ${MOST_ENTRIES} entries`);
  }
  async whole(name: string, stream: AsyncIterable<Buffer>): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of stream) {
      size += chunk.length;
      this.#bytes += chunk.length;
      if (size > MOST_FILE_BYTES)
        throw new ServiceError('sound_too_large', say`${name} must have at most ${MOST_FILE_BYTES} bytes`);
      if (this.#bytes > MOST_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }
}
async function* unzipped(file: string): AsyncGenerator<ArchivedFile> {
  const bounds = new Bounds();
  const zip = await openPromise(file, { lazyEntries: true, autoClose: false, strictFileNames: true });
  try {
    for await (const entry of zip.eachEntry()) {
      bounds.entry();
      const name = safe(entry.fileName);
      if (((entry.externalFileAttributes >>> 16) & KIND) === LINKS)
        throw notAudio(say`the archive has a link: ${name}`);
      if (entry.fileName.endsWith('/')) continue;
      yield { name, bytes: await bounds.whole(name, await zip.openReadStreamPromise(entry)) };
    }
  } finally {
    zip.close();
  }
}
/** Throws once the stream has more bytes than all permitted files with their headers. */
async function* limited(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES + MOST_ENTRIES * 2_048) throw tooLarge();
    yield chunk;
  }
}
async function* untarred(source: Readable): AsyncGenerator<ArchivedFile> {
  const bounds = new Bounds();
  const tar = extract();
  const reading = Readable.from(limited(source as AsyncIterable<Buffer>), { objectMode: false });
  reading.on('error', (error) => tar.destroy(error));
  reading.pipe(tar);
  try {
    for await (const entry of tar) {
      bounds.entry();
      const name = safe(entry.header.name);
      const { type } = entry.header;
      if (type !== 'file' && type !== 'contiguous-file' && type !== 'directory')
        throw notAudio(say`the archive has a link: ${name}`);
      const bytes = await bounds.whole(name, entry as AsyncIterable<Buffer>);
      if (type !== 'directory') yield { name, bytes };
    }
  } finally {
    reading.destroy();
    tar.destroy();
  }
}
/** The reader of the result receives the errors of both streams; with `compose` of Node 24, some end the process. */
function gunzipped(packed: Readable): Readable {
  const plain = createGunzip();
  pipeline(packed, plain, () => undefined);
  return plain;
}
const TAR_MARK = { at: 257, text: 'ustar' } as const;

/** Null if the file is no archive. */
async function formatOf(file: string): Promise<'zip' | 'gzip' | 'tar' | null> {
  await using handle = await open(file);
  const head = Buffer.alloc(512);
  await handle.read(head, 0, head.length, 0);
  if (head.readUInt32LE(0) === 0x04034b50) return 'zip';
  if (head.readUInt16LE(0) === 0x8b1f) return 'gzip';
  return head.toString('latin1', TAR_MARK.at, TAR_MARK.at + TAR_MARK.text.length) === TAR_MARK.text
    ? 'tar'
    : null;
}
/**
 * Regular files of an archive, in sequence. Throws `sound_too_large`, and `not_audio` if the file is no archive, is
 * damaged, or has links or paths that lead out of the folder.
 */
export async function* archivedFiles(file: string): AsyncGenerator<ArchivedFile> {
  const format = await formatOf(file);
  if (format === null) throw notAudio('the file must be a zip, tar or tar.gz archive');
  try {
    if (format === 'zip') yield* unzipped(file);
    else {
      const bytes = createReadStream(file);
      yield* untarred(format === 'gzip' ? gunzipped(bytes) : bytes);
    }
  } catch (error) {
    if (error instanceof ServiceError || (error as NodeJS.ErrnoException).code === 'ENOSPC') throw error;
    throw new ServiceError('not_audio', 'the archive is damaged', { cause: error });
  }
}
