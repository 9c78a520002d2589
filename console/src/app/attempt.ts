/** Creations that run once, although the answer to the first request was lost. */
import { useState } from 'react';
import { OffhookError } from '@offhook/client';

/** Works without a secure context too, at a plain http address. */
const newKey = (): string =>
  crypto
    .getRandomValues(new Uint8Array(16))
    .reduce((key, byte) => key + byte.toString(16).padStart(2, '0'), '');

type Send<T> = (options: { readonly idempotency_key: string }) => Promise<T>;
/** Sends `what`. Until an answer is known, a repeat of the same has the same idempotency key. */
export type Attempt = <T>(what: unknown, send: Send<T>) => Promise<T>;

/** The service keeps a refusal with its key, so a repeat with the same key would be refused after the reason is gone. */
const isRefusal = (error: unknown): boolean =>
  error instanceof OffhookError && error.problem !== null && error.status < 500;

export function createAttempt(): Attempt {
  let open: { readonly text: string; readonly key: string } | null = null;
  return async (what, send) => {
    const text = JSON.stringify(what);
    const own = open?.text === text ? open : { text, key: newKey() };
    open = own;
    let known = false;
    try {
      const reply = await send({ idempotency_key: own.key });
      known = true;
      return reply;
    } catch (error) {
      known = isRefusal(error);
      throw error;
    } finally {
      if (known && open === own) open = null;
    }
  };
}
export const useAttempt = (): Attempt => useState(createAttempt)[0];
