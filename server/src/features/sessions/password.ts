import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { ServiceError } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';

/** Argon2id with the parameters that OWASP recommends: 19 MiB, 2 passes, 1 lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
export type PasswordCost = typeof COST;
/** For passwords that protect nothing, such as a simulator's; the first sign-in hashes them at the usual cost. */
export const LEAST_COST: PasswordCost = { memory: 8, passes: 1, parallelism: 1 };
const TAG_BYTES = 32;
const SALT_BYTES = 16;
/** A password has 8 to 1024 bytes of UTF-8. */
const PASSWORD_BYTES = { min: 8, max: 1024 } as const;
/** Limit of waiting computations; the next one is rejected as `overloaded`. */
const MAX_WAITING = 128;
/** Retry-After in seconds: about the time in which the queue empties. */
const RETRY_SECONDS = 5;

const compute = promisify(argon2);
const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/**
 * Bounds simultaneous key derivations. They share node's thread pool with file access and name lookups, and
 * the cores with the event loop: one thread always stays free, and at most as many run as there are cores.
 */
export const createKdfQueue = (
  places = Math.max(1, Math.min(threadPoolSize() - 1, availableParallelism())),
  most_waiting = MAX_WAITING,
): Queue =>
  new Queue({
    places,
    most_waiting,
    refusal: overloaded,
  });
export const overloaded = (): ServiceError =>
  new ServiceError('overloaded', 'too many sign-ins at once; try again in a moment', {
    retry_after_seconds: RETRY_SECONDS,
  });
function threadPoolSize(): number {
  const size = Number(process.env['UV_THREADPOOL_SIZE']);
  return Number.isInteger(size) && size > 0 ? size : 4;
}
const queue = createKdfQueue();

/** Normalised, so that the same characters match however a keyboard composed them. */
const bytesOf = (password: string): Buffer => Buffer.from(password.normalize('NFC'), 'utf8');

/** A PHC string (`$argon2id$v=19$…`) with its own salt. Throws `overloaded`, or `invalid_request` for a bad length. */
export async function hashPassword(password: string, cost = COST): Promise<string> {
  const message = bytesOf(password);
  if (message.length < PASSWORD_BYTES.min || message.length > PASSWORD_BYTES.max) {
    throw new ServiceError('invalid_request', 'password: must have 8 to 1024 bytes');
  }
  const nonce = randomBytes(SALT_BYTES);
  const tag = await queue.run(() => compute('argon2id', { message, nonce, tagLength: TAG_BYTES, ...cost }));
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}

/**
 * Checks `password` against `phc`. Without a hash (an unknown person) the same work is done, so that the time
 * reveals nothing. The comparison takes constant time. Throws `overloaded`.
 */
export async function verifyPassword(phc: string | null, password: string): Promise<boolean> {
  const parts = PHC.exec(phc ?? '');
  const [, memory, passes, parallelism, salt, expected] = parts ?? [];
  const message = bytesOf(password).subarray(0, PASSWORD_BYTES.max * 4);
  const nonce = salt === undefined ? DUMMY_SALT : Buffer.from(salt, 'base64');
  const wanted = expected === undefined ? DUMMY_TAG : Buffer.from(expected, 'base64');
  const tag = await queue.run(() =>
    compute('argon2id', {
      message,
      nonce,
      tagLength: wanted.length,
      memory: Number(memory ?? COST.memory),
      passes: Number(passes ?? COST.passes),
      parallelism: Number(parallelism ?? COST.parallelism),
    }),
  );
  return timingSafeEqual(tag, wanted) && parts !== null;
}
const DUMMY_SALT = randomBytes(SALT_BYTES);
const DUMMY_TAG = randomBytes(TAG_BYTES);

/** True if a hash was made at less than the present cost and must be renewed at the next sign-in. */
export function isOutdated(phc: string): boolean {
  const parts = PHC.exec(phc);
  return parts === null || Number(parts[1]) < COST.memory || Number(parts[2]) < COST.passes;
}
const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/={1,2}$/, '');
