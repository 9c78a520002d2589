import type { ErrorCode } from '@offhook/contract/errors.ts';
import { OffhookError } from '@offhook/client';
import { wordsOf } from './words.ts';

type Own = 'network' | 'unknown' | 'not_sent' | 'no_answer' | 'outcome_unknown';

const t = wordsOf('errors');

/** The code of an error, if it has one. */
export function codeOf(error: unknown): ErrorCode | Own {
  if (error instanceof OffhookError) {
    const { code } = error;
    return t.has(code) ? code : 'unknown';
  }
  // Thrown by `fetch` without an answer, and by a timeout.
  return error instanceof TypeError || (error instanceof DOMException && error.name !== 'AbortError')
    ? 'network'
    : 'unknown';
}
/** One sentence in the reader's language for an error. */
export const errorText = (error: unknown): string => t(codeOf(error));
/** The same for a code; one without words is returned as it is. */
export const codeText = t as (code: string) => string;
/** The service's detail in the reader's language; empty where it adds nothing to the code. */
export function errorDetail(error: unknown): string {
  const detail = error instanceof OffhookError ? error.message : '';
  return detail.toLowerCase() === errorText(error).toLowerCase() ? '' : detail;
}
