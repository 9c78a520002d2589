import { useMemo } from 'react';

/** Works without a secure context too, at a plain http address. */
export const newKey = (): string =>
  crypto
    .getRandomValues(new Uint8Array(16))
    .reduce((key, byte) => key + byte.toString(16).padStart(2, '0'), '');
/** The same idempotency key while `text` is the same: a repeat after a lost answer runs once. */
export const useAttempt = (text: string): string => useMemo(newKey, [text]);
