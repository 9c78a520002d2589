/** Recorded call records for tests. */
import { readFileSync } from 'node:fs';
import type { NodeId } from '@offhook/contract/ids.ts';
import type { CallRecord } from '../../src/ports/call-records.ts';
import { decodeRecord } from '../../src/adapters/asterisk/cel/decode.ts';
import { splitRecords } from '../../src/adapters/asterisk/cel/split.ts';

/** Every record of a file; throws for a malformed one. */
export function recordsOf(node: NodeId, bytes: Buffer): readonly CallRecord[] {
  return splitRecords(bytes, true).records.flatMap(({ bytes: raw, whole }) => {
    const record = whole ? decodeRecord(node, raw) : 'malformed';
    if (record === 'malformed') throw new Error(`a record cannot be read: ${raw.toString('latin1')}`);
    return typeof record === 'object' ? [record] : [];
  });
}
export const recordedIn = (node: NodeId, file: string | URL): readonly CallRecord[] =>
  recordsOf(node, readFileSync(file));
