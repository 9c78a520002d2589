/** Thread of one conversion: reads the upload and posts the result. */
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { convert } from './convert.ts';
import type { Task, ThreadReply } from './converter.ts';

const { from, to, most_seconds } = workerData as Task;
let reply: ThreadReply;
try {
  reply = { converted: await convert(readFileSync(from), to, most_seconds) };
} catch (error) {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof ServiceError) reply = { refused: { code: error.code, detail: error.detail } };
  else if (code === 'ENOSPC' || code === 'EDQUOT')
    reply = { refused: { code: 'storage_full', detail: 'the disk is full' } };
  else if (code !== undefined && typeof code === 'string' && /^E[A-Z]+$/.test(code))
    reply = { failed: messageOf(error) };
  // A decoder failed on invalid input.
  else reply = { refused: { code: 'not_audio', detail: 'it is broken and cannot be decoded' } };
}
parentPort!.postMessage(reply);
