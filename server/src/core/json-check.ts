import { ServiceError } from './errors.ts';

const MAX_DEPTH = 32;

/**
 * Refuses what `JSON.parse` lets through: a key twice in one object (two parsers could read two different requests), half of
 * a surrogate pair (no database keeps it, and readers refuse a document that holds one) and nesting deeper than 32. The text need not be JSON at all; what is left wrong is the parser's to find. O(n), no recursion.
 */
export function checkJson(text: string): void {
  const open: (Set<string> | null)[] = [];
  let keys: Set<string> | null = null;
  let keyNext = false;
  for (let i = 0; i < text.length; i += 1) {
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
        const told = escaped ? unescaped(text.slice(start, i + 1)) : null;
        if (told?.isWellFormed() === false) {
          throw new ServiceError('invalid_request', 'body: a text holds half a character');
        }
        if (keyNext && keys !== null) {
          const key = told ?? text.slice(start + 1, i);
          if (keys.has(key)) {
            throw new ServiceError(
              'invalid_request',
              `body: the key "${key.slice(0, 64)}" stands there twice`,
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
          throw new ServiceError('invalid_request', `body: nested deeper than ${MAX_DEPTH}`);
        }
        keyNext = text.charCodeAt(i) === 0x7b;
        keys = keyNext ? new Set() : null;
        open.push(keys);
        break;
      case 0x7d:
      case 0x5d:
        open.pop();
        keys = open.at(-1) ?? null;
        keyNext = false;
        break;
      case 0x2c:
        keyNext = keys !== null;
        break;
      default:
    }
  }
}
function unescaped(literal: string): string {
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
}
