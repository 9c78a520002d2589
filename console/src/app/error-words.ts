import type { ErrorCode } from '@offhook/contract/errors.ts';
import { OffhookError } from '@offhook/client';
import { wordsOf } from './words.ts';

type Own = 'network' | 'unknown' | 'not_sent' | 'no_answer' | 'outcome_unknown';

const t = wordsOf('errors');

/** The code of an error, as far as there is one. */
export function codeOf(error: unknown): ErrorCode | Own {
  if (error instanceof OffhookError) {
    const { code } = error;
    return t.has(code) ? code : 'unknown';
  }
  // What `fetch` throws where nothing answers, and what a time-out throws.
  return error instanceof TypeError || (error instanceof DOMException && error.name !== 'AbortError')
    ? 'network'
    : 'unknown';
}
/** One sentence in the reader's language, by the code of the error. */
export const errorText = (error: unknown): string => t(codeOf(error));
/** The same of a code that stands somewhere; one that has no words as it is. */
export const codeText = t as (code: string) => string;
/** What the service itself said about it, in the reader's language; empty where it said nothing more than its code says. */
export function errorDetail(error: unknown): string {
  const detail = error instanceof OffhookError ? error.message : '';
  return detail.toLowerCase() === errorText(error).toLowerCase() ? '' : detail;
}
