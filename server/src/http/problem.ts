import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode, Language } from '@offhook/contract/errors.ts';
import { ServiceError, problemOf } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { languageOf } from '../core/words.ts';
import { drainBody } from './body.ts';
import { pathOf } from './route-table.ts';

/** Default Retry-After in seconds, for errors without their own. */
export const RETRY_AFTER: Partial<Record<ErrorCode, number>> = {
  too_many_attempts: 1,
  too_many_requests: 1,
  store_unavailable: 5,
  node_not_active: 2,
  engine_unavailable: 5,
  overloaded: 5,
};

/** Reply to an error, without stack trace and cause. */
export interface Answer {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Converts any thrown value to a `ServiceError`; an unknown one becomes `internal`. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  switch ((error as { code?: unknown } | null | undefined)?.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ServiceError('body_too_large', 'the body is larger than this path takes');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServiceError('unsupported_media_type', 'Content-Type must be application/json in UTF-8');
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new ServiceError('invalid_request', 'body: an empty body is not valid JSON; send at least {}');
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return new ServiceError('invalid_request', 'body: must be valid JSON');
    case 'FST_ERR_NOT_FOUND':
      // Only a request line that ends in RTSP/1.0 gets here: the router has no RTSP methods, and the parser
      // accepts none with HTTP.
      return new ServiceError('invalid_request', 'this is not an HTTP/1.1 request');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'ECONNRESET':
      return new ServiceError('invalid_request', 'the body ended early');
    default:
      return new ServiceError(
        'internal',
        'internal error; the service log has the cause under this request_id',
        {
          cause: error,
        },
      );
  }
}

/** Problem document of an error. */
export function answerOf(
  error: ServiceError,
  requestId: string | undefined,
  language: Language = 'en',
): Answer {
  const problem = problemOf(error, requestId, language);
  const wait = error.extras.retry_after_seconds ?? RETRY_AFTER[error.code];
  return {
    code: error.code,
    status: problem.status,
    headers: {
      'content-type': 'application/problem+json',
      'content-language': language,
      ...(error.code === 'not_authenticated' ? { 'www-authenticate': 'Bearer' } : {}),
      ...(wait === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(wait))) }),
    },
    body: Buffer.from(JSON.stringify(problem)),
  };
}

/** Path of a request for logs; the route where the path has a token. */
export function shownPath({ params, routeOptions, originalUrl }: FastifyRequest): string {
  const hides = (params as { readonly token?: string } | undefined)?.token !== undefined;
  return (hides ? routeOptions.url! : pathOf(originalUrl)).slice(0, 200);
}

/** Replies with the problem document of any thrown value; logs those that the client did not cause. */
export function sendProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  const error = asServiceError(thrown);
  const answer = answerOf(error, request.id, languageOf(request.raw.headers));
  if (answer.status >= 500) {
    const cause = error.extras.cause ?? error;
    const fields = {
      request_id: request.id,
      code: error.code,
      path: shownPath(request),
    };
    if (error.code === 'internal') log.error({ ...fields, error: describe(cause) }, 'a request failed');
    else log.warn({ ...fields, detail: error.message.slice(0, 300) }, 'a request was refused');
  }
  drainBody(request, reply);
  reply.code(answer.status).headers(answer.headers).send(answer.body);
}
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  return { name: error.name, message: error.message, stack: error.stack };
}

/** The problem document as bytes, for a socket without an HTTP response object; the connection is closed after it. */
export function rawAnswer(error: ServiceError, headers: Readonly<Record<string, string>> = {}): Buffer {
  const answer = answerOf(error, headers['x-request-id']);
  const lines = Object.entries({
    ...headers,
    ...answer.headers,
    'content-length': String(answer.body.length),
    connection: 'close',
    date: new Date().toUTCString(),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), answer.body]);
}
