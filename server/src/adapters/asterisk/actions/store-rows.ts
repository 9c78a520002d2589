import { ServiceError } from '../../../core/errors.ts';
import type { AmiConnection } from '../ami/connection.ts';
import { header } from '../ami/frame.ts';
import type { Frame } from '../ami/frame.ts';
import { ListVoid } from '../ami/pending.ts';

/*
 * DBGetTree  Family    DBGetTreeResponse: Key(/family/key) Val
 */
const key = header('Key');
const value = header('Val');

/** Values by key. */
export type StoreRows = ReadonlyMap<string, string>;

/** Values of one family of the engine's own store, by key. Throws `ListVoid`. */
export async function storeRows(
  ami: Pick<AmiConnection, 'list'>,
  Family: string,
  signal: AbortSignal | undefined,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const row = (_event: string, frame: Frame): void => {
    found.set((frame.get(key) ?? '').slice(Family.length + 2), frame.get(value) ?? '');
  };
  await ami.list('DBGetTree', { Family }, row, signal === undefined ? {} : { signal });
  return found;
}
/** What a verb reads of the store. Throws `engine_refused` instead of `ListVoid`. */
export async function asked<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof ListVoid)) throw error;
    throw new ServiceError('engine_refused', error.message, { cause: error });
  }
}
/** The engine's store rejects a change that cannot be written, e.g. on a full disk; the request itself is valid. */
export const storeNotWritten = (): ServiceError =>
  new ServiceError('store_unavailable', 'the engine cannot write to its store; is the disk full?', {
    retry_after_seconds: 5,
  });
