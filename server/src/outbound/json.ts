import { ATTEMPT_TIMEOUT_MS } from './transport.ts';
import type { OutboundRequest, OutboundResult, OutboundStream } from './transport.ts';

/** Bytes of an answer that are read; a longer one is not JSON any more. */
export const MAX_ANSWER_BYTES = 2_097_152;
/** Levels of arrays and objects in an answer: `JSON.stringify` of a deeper one would exhaust the stack and throw. */
const MAX_DEPTH = 100;
/** Limit of a request body in bytes; the file of an upload does not count. */
const MAX_BODY_BYTES = 1_048_576;
/** Slowest upload that the time limit allows, in bytes per millisecond. */
const UPLOAD_BYTES_PER_MS = 64;

export type Send = (request: OutboundRequest, signal: AbortSignal) => Promise<OutboundResult>;
export interface JsonRequest {
  readonly method: OutboundRequest['method'];
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON; `form` is sent as a form instead. */
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  /** Sent in place of both. */
  readonly upload?: Upload;
  readonly repeatable: boolean;
}
/** A body with a file in it. */
export interface Upload {
  readonly stream: OutboundStream;
  readonly type: string;
  /** The body without the file, for a trace. */
  readonly shown: string;
}
/** Result of one JSON request. `reason` is null only where an answer was read. */
export interface JsonResult {
  /** `unreadable`: an answer came that is no whole JSON document, or a redirect. */
  readonly kind: 'answered' | 'unreadable' | 'unsent' | 'unknown';
  readonly status: number | null;
  readonly reason: string | null;
  /** Undefined for an answer without a body. */
  readonly value: unknown;
  /** The body as it came, for a trace. */
  readonly text: string;
  readonly retry_after_seconds: number | null;
  readonly latency_ms: number;
}

/** The body of a request as it is sent, with its media type. */
export function bodyOf({
  body,
  form,
  upload,
}: Pick<JsonRequest, 'body' | 'form' | 'upload'>): { text: string; type: string } | null {
  if (upload !== undefined) return { text: upload.shown, type: upload.type };
  if (form !== undefined)
    return { text: new URLSearchParams(form).toString(), type: 'application/x-www-form-urlencoded' };
  return body === undefined ? null : { text: JSON.stringify(body), type: 'application/json' };
}

/** Sends a request and reads a JSON answer; never throws, never follows a redirect. */
export async function sendJson(send: Send, request: JsonRequest, signal: AbortSignal): Promise<JsonResult> {
  const { upload } = request;
  const body = bodyOf(request);
  if (body && Buffer.byteLength(body.text) > MAX_BODY_BYTES)
    return {
      kind: 'unsent',
      status: null,
      reason: `the body has more than ${MAX_BODY_BYTES} bytes`,
      value: undefined,
      text: '',
      retry_after_seconds: null,
      latency_ms: 0,
    };
  const result = await send(
    {
      method: request.method,
      url: request.url,
      headers: { accept: 'application/json', ...(body && { 'content-type': body.type }), ...request.headers },
      ...(body && { body: upload?.stream ?? body.text }),
      ...(upload && { timeout_ms: ATTEMPT_TIMEOUT_MS + upload.stream.bytes / UPLOAD_BYTES_PER_MS }),
      max_bytes: MAX_ANSWER_BYTES,
      repeatable: request.repeatable,
    },
    signal,
  );
  const { kind, status, error, retry_after_seconds, latency_ms } = result;
  const text = result.body.toString();
  const came = { status, text, retry_after_seconds, latency_ms };
  if (kind !== 'answered') return { ...came, kind, reason: error ?? 'no answer', value: undefined };
  const { value, reason } = readAnswer(result, text);
  return { ...came, kind: reason === null ? 'answered' : 'unreadable', reason, value };
}

function readAnswer(
  { status, whole }: OutboundResult,
  text: string,
): { value: unknown; reason: string | null } {
  const unreadable = (reason: string) => ({ value: undefined, reason });
  if (status !== null && status >= 300 && status < 400)
    return unreadable(`the answer is a redirect (${status}), which is never followed: check the address`);
  if (!whole) return unreadable(`the answer broke off or has more than ${MAX_ANSWER_BYTES} bytes`);
  if (text.trim() === '') return { value: undefined, reason: null };
  try {
    const value = JSON.parse(text) as unknown;
    return isTooDeep(text)
      ? unreadable(`the answer is nested deeper than ${MAX_DEPTH} levels`)
      : { value, reason: null };
  } catch {
    // The parser's own message quotes the answer, which may contain an access token.
    return unreadable(
      text.trimStart().startsWith('<')
        ? 'the answer is HTML or XML instead of JSON: check the address'
        : 'the answer is not JSON',
    );
  }
}

/** Whether a valid JSON text has more than `MAX_DEPTH` levels. */
function isTooDeep(json: string): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < json.length; at += 1) {
    const sign = json[at]!;
    // Valid JSON has a backslash only in a string.
    if (sign === '\\') at += 1;
    else if (sign === '"') isString = !isString;
    else if (isString) continue;
    else if (sign === '[' || sign === '{') depth += 1;
    else if (sign === ']' || sign === '}') depth -= 1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}
