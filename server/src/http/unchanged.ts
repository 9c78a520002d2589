/**
 * Fast path of the most frequent read: `If-None-Match` with the current tag. It makes every check of the framework's
 * chain; a request that is not clearly of this kind takes that chain.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { App, Authenticator } from '../ports/http.ts';
import type { Admission } from './admission.ts';
import type { Metrics } from './metrics.ts';
import { checkAccess } from './operations.ts';
import { bearerOf, isHost } from './origin.ts';
import type { ReplyHeaders } from './reply-headers.ts';
import type { RouteTable } from './route-table.ts';

/** Headers of a conditional request, which has each of them at most once. */
export interface Conditional {
  readonly host: string;
  readonly authorization: string;
  readonly tag: string;
  readonly id: string | undefined;
}
/**
 * Reads `rawHeaders`, which show a header that was sent twice. Null for every request that the framework's chain must
 * answer: one with a body, with an origin, from another node, or with a header twice.
 */
function conditionalOf(raw: readonly string[]): Conditional | null {
  let host: string | undefined;
  let authorization: string | undefined;
  let tag: string | undefined;
  let id: string | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    const value = raw[i + 1]!;
    switch (raw[i]!.toLowerCase()) {
      case 'host':
        if (host !== undefined) return null;
        host = value;
        break;
      case 'authorization':
        if (authorization !== undefined) return null;
        authorization = value;
        break;
      case 'if-none-match':
        if (tag !== undefined) return null;
        tag = value;
        break;
      case 'x-request-id':
        if (id !== undefined) return null;
        id = value;
        break;
      case 'origin':
      case 'content-length':
      case 'transfer-encoding':
      case 'expect':
      case 'upgrade':
      case 'offhook-forwarded':
        return null;
    }
  }
  if (host === undefined || authorization === undefined || tag === undefined) return null;
  return { host, authorization, tag, id };
}

/** Returns the function that answers 304 at once and returns true, or returns false and has done nothing. */
export function answersUnchanged(parts: {
  readonly app: App;
  readonly table: RouteTable;
  readonly admission: Admission;
  readonly authenticator: Authenticator;
  readonly headers: ReplyHeaders;
  readonly metrics: Metrics;
}): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { app, table, admission, authenticator, headers, metrics } = parts;
  /** The last valid `Host`; almost every request has the same one. */
  let lastHost: string | undefined;

  function answer(request: IncomingMessage, response: ServerResponse): boolean {
    const began = performance.now();
    if (request.method !== 'GET' || request.httpVersion !== '1.1') return false;
    const path = request.url!;
    const { held, level = 'admin', scope, setup } = table.tagged(path) ?? {};
    if (held === undefined) return false;
    const asked = conditionalOf(request.rawHeaders);
    if (asked === null) return false;
    if (asked.host !== lastHost) {
      if (!isHost(asked.host)) return false;
      lastHost = asked.host;
    }
    const token = bearerOf(asked.authorization);
    if (token === null || !admission.open()) return false;
    const caller = authenticator.authenticate(token);
    if (caller instanceof Promise) {
      // The chain asks again and reports the failure.
      caller.catch(() => undefined);
      return false;
    }
    if (caller === null) return false;
    checkAccess(caller, { level, scope });
    if (setup !== true) app.admitted(caller);
    if (held(caller) !== asked.tag) return false;
    response.writeHead(304, headers.unchanged(headers.requestId(asked.id), caller, asked.tag)).end();
    metrics.observe(path, 'GET', 304, (performance.now() - began) / 1000);
    return true;
  }
  return (request, response) => {
    try {
      return answer(request, response);
    } catch (error) {
      // Nothing was sent: the framework's chain finds the same error and reports it.
      if (!response.headersSent) return false;
      throw error;
    }
  };
}
