import type { ErrorCode, Problem } from '@offhook/contract/errors.ts';

/**
 * `no_answer`: the reply did not come from the service. `outcome_unknown`: a command was sent and its result did not arrive; it
 * may have run, so it is not repeated. `not_sent`: there was no connection to send it on in time.
 */
export type ClientErrorCode = ErrorCode | 'no_answer' | 'outcome_unknown' | 'not_sent';

/** An unsuccessful reply. `code` is a row of the error registry, or one of the client's own. */
export class OffhookError extends Error {
  /** The HTTP status; 0 without a reply. */
  readonly status: number;
  readonly code: ClientErrorCode;
  /** The whole body; null if the reply did not come from the service. */
  readonly problem: Problem | null;
  /** Seconds until a repeat can succeed, if the service reported them. */
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
/** An error created by the client, or reported by the stream with a code. */
export function clientError(code: ClientErrorCode, detail: string): OffhookError {
  const error = new OffhookError(0, null, null);
  return Object.assign(error, { code, message: detail });
}
