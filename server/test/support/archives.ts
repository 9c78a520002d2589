/** Archives as hostile senders write them. */
import { crc32, gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

export interface Packed {
  readonly name: string;
  readonly bytes?: Buffer;
  /** Target of a link. */
  readonly link?: string;
}
export async function tarOf(files: readonly Packed[]): Promise<Buffer> {
  const tar = pack();
  for (const { name, bytes = Buffer.alloc(0), link } of files)
    if (link === undefined) tar.entry({ name }, bytes);
    else tar.entry({ name, type: 'symlink', linkname: link });
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
export const tarGzOf = async (files: readonly Packed[]): Promise<Buffer> => gzipSync(await tarOf(files));

const SYMLINK = 0xa1ff;
/** Without compression. */
export function zipOf(files: readonly Packed[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let at = 0;
  for (const { name, bytes = Buffer.alloc(0), link } of files) {
    const data = link === undefined ? bytes : Buffer.from(link);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    locals.push(Buffer.from('PK\u0003\u0004'), common, Buffer.from(name), data);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(link === undefined ? 0 : SYMLINK * 65_536, 6);
    rest.writeUInt32LE(at, 10);
    central.push(Buffer.from('PK\u0001\u0002'), Buffer.from([20, 3]), common, rest, Buffer.from(name));
    at += 4 + common.length + Buffer.byteLength(name) + data.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...locals, directory, Buffer.from('PK\u0005\u0006'), end]);
}
