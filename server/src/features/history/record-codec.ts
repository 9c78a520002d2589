import { hash } from 'node:crypto';
import { constants, gunzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { ConversationRecord } from './record.ts';

/** For 2 to 12 kB of JSON: two thirds of deflate's time at its fastest level, and the same size. */
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const GZIP = 0x1f;

export const pack = (json: string): Buffer => zstdCompressSync(json, FAST);
/** Also reads what was packed by gzip, as releases before 0.2 did. */
export const unpack = <T>(bytes: Uint8Array): T =>
  JSON.parse((bytes[0] === GZIP ? gunzipSync(bytes) : zstdDecompressSync(bytes)).toString()) as T;

export const readRecord = (bytes: Uint8Array): ConversationRecord => unpack<ConversationRecord>(bytes);
export const writeRecord = (record: ConversationRecord): Buffer => pack(JSON.stringify(record));
/** Of everything but the version of the rules: rules that tell a conversation as before have not changed it. */
export const fingerprintOf = (record: ConversationRecord): string =>
  hash('sha256', JSON.stringify({ ...record, built_by: 0 }), 'base64url').slice(0, 24);
