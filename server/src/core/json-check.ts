import { ServiceError } from './errors.ts';
import { say } from './said.ts';

const MAX_DEPTH = 32;
/** Limit of values in one JSON text, counted by commas and opening brackets; the largest site uses half of it. */
export const MAX_VALUES = 1_000_000;
/** Characters checked before the event loop runs other work: about 3 ms. */
const TURN = 256 * 1024;

/**
 * Rejects texts that `JSON.parse` accepts: a key twice in one object (two parsers could read two different requests),
 * half of a surrogate pair (no database keeps it, and readers reject a document that has one), nesting deeper than 32
 * and more than a million values. The text need not be JSON: the parser reports all other errors. O(n), no recursion.
 */
export function checkJson(text: string): void {
  const check = jsonCheck(text);
  while (check.next().done !== true);
}
/** A long list: an array that is a member of the outermost object. Offsets of its text without the brackets. */
export interface LongList {
  readonly from: number;
  readonly to: number;
  /** Offsets of the commas between its elements. */
  readonly commas: readonly number[];
}
/** `checkJson` that pauses after each `TURN` characters; it returns the lists that can be parsed element by element. */
export function* jsonCheck(text: string): Generator<void, LongList[]> {
  const open: (Set<string> | null)[] = [];
  const lists: LongList[] = [];
  let list: { from: number; commas: number[] } | null = null;
  let keys: Set<string> | null = null;
  let keyNext = false;
  let values = 0;
  let pause = TURN;
  for (let i = 0; i < text.length; i += 1) {
    if (i >= pause) {
      yield;
      pause = i + TURN;
    }
    switch (text.charCodeAt(i)) {
      case 0x22: {
        const start = i;
        let escaped = false;
        for (i += 1; i < text.length && text.charCodeAt(i) !== 0x22; i += 1) {
          if (text.charCodeAt(i) === 0x5c) {
            escaped = true;
            i += 1;
          }
        }
        const unescapedText = escaped ? unescaped(text.slice(start, i + 1)) : null;
        if (unescapedText?.isWellFormed() === false) {
          throw new ServiceError('invalid_request', 'body: a string contains an unpaired UTF-16 surrogate');
        }
        if (keyNext && keys !== null) {
          const key = unescapedText ?? text.slice(start + 1, i);
          if (key === '__proto__')
            throw new ServiceError('invalid_request', 'body: the field __proto__ is not allowed');
          if (keys.has(key)) {
            throw new ServiceError(
              'invalid_request',
              say`body: the key "${key.slice(0, 64)}" occurs twice; send it once`,
            );
          }
          keys.add(key);
          keyNext = false;
        }
        break;
      }
      case 0x7b:
      case 0x5b:
        if (open.length >= MAX_DEPTH) {
          throw new ServiceError(
            'invalid_request',
            say`body: must be nested at most ${MAX_DEPTH} levels deep`,
          );
        }
        keyNext = text.charCodeAt(i) === 0x7b;
        keys = keyNext ? new Set() : null;
        open.push(keys);
        values += 1;
        if (!keyNext && open.length === 2 && open[0] !== null) list = { from: i + 1, commas: [] };
        break;
      case 0x7d:
      case 0x5d:
        open.pop();
        if (list !== null && open.length === 1) {
          lists.push({ ...list, to: i });
          list = null;
        }
        keys = open.at(-1) ?? null;
        keyNext = false;
        break;
      case 0x2c:
        keyNext = keys !== null;
        values += 1;
        if (values > MAX_VALUES) {
          throw new ServiceError(
            'invalid_request',
            say`body: more than ${MAX_VALUES} values; send fewer at once`,
          );
        }
        if (list !== null && open.length === 2) list.commas.push(i);
        break;
      default:
    }
  }
  return lists;
}
function unescaped(literal: string): string {
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
}
