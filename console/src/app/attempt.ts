import { useMemo } from 'react';

/** Also where the page has no secure context, on a plain http address of the house. */
export const newKey = (): string =>
  crypto
    .getRandomValues(new Uint8Array(16))
    .reduce((key, byte) => key + byte.toString(16).padStart(2, '0'), '');
/** One idempotency key for as long as `text` is the same: sent twice, because an answer was lost, it is done once. */
export const useAttempt = (text: string): string => useMemo(newKey, [text]);
