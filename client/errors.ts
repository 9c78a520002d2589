import type { ErrorCode, Problem } from '@offhook/contract/errors.ts';

/**
 * `no_answer`: what came back was not the service's. `outcome_unknown`: a command was sent and its result did not come; it
 * may have been done, so nothing repeats it. `not_sent`: there was no connection to send it on in time.
 */
export type ClientErrorCode = ErrorCode | 'no_answer' | 'outcome_unknown' | 'not_sent';

/** An answer that is no success. `code` is a row of the error registry, or one of the client's own. */
export class OffhookError extends Error {
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  readonly code: ClientErrorCode;
  /** The whole body; null where the answer was not the service's. */
  readonly problem: Problem | null;
  /** Seconds after which the same request can help, where the service said so. */
  readonly retry_after: number | null;
  constructor(status: number, problem: Problem | null, retryAfter: number | null) {
    super(problem?.detail ?? `the answer (status ${status}) is not Offhook's`);
    this.name = 'OffhookError';
    this.status = status;
    this.code = (problem?.code as ErrorCode | undefined) ?? 'no_answer';
    this.problem = problem;
    this.retry_after = retryAfter;
  }
}
/** An error of the client's own making, or one that the stream reported with a code. */
export function clientError(code: ClientErrorCode, detail: string): OffhookError {
  const error = new OffhookError(0, null, null);
  return Object.assign(error, { code, message: detail });
}
