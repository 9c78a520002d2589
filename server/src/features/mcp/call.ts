/** Runs a tool as the corresponding REST request, with the same checks, limits, audit trail and errors. */
import type { Language, Problem } from '@offhook/contract/errors.ts';
import { ServiceError, problemOf } from '../../core/errors.ts';
import { checkInput } from '../../core/check-input.ts';
import { asSaid, say } from '../../core/said.ts';
import type { App } from '../../ports/http.ts';
import type { Part, Tool } from './tools.ts';

/** Limit of a tool's reply in bytes of JSON; a model cannot process more. */
const MAX_ANSWER = 96 * 1024;

/** The calling program, from its HTTP request. */
export interface Asker {
  readonly authorization: string;
  readonly ip: string;
  readonly host: string;
  readonly language: Language;
}
export type Arguments = Readonly<Record<string, unknown>>;
export type Answer =
  | {
      readonly ok: true;
      readonly text: string;
      readonly value: Record<string, unknown>;
      readonly etag: string | null;
    }
  | { readonly ok: false; readonly problem: Problem };

interface Wanted {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}
/**
 * Sorts the arguments into path, query, header and body and checks them, so that no person confirms a change that the
 * operation would refuse; the operation checks them again. Throws `invalid_request`.
 */
export function requestOf({ operation, parts, wholeBody }: Tool, args: Arguments): Wanted {
  const given: Readonly<Record<Part, Record<string, unknown>>> = {
    params: {},
    query: {},
    body: {},
    if_match: {},
  };
  for (const [name, value] of Object.entries(args)) {
    // Unknown names go into the body, whose schema refuses them.
    const part = parts.get(name) ?? (operation.body === undefined || wholeBody ? undefined : 'body');
    if (part === undefined)
      throw new ServiceError('invalid_request', say`${name}: ${asSaid('unknown field')}`);
    given[part][name] = part === 'body' ? value : asText(value);
  }
  const { params, query } = given;
  if (operation.params !== undefined) checkInput(operation.params, params, 'arguments');
  if (operation.query !== undefined) checkInput(operation.query, query, 'arguments');
  const whole = wholeBody ? given.body['body'] : given.body;
  if (operation.body !== undefined && operation.unchecked !== true)
    checkInput(operation.body, whole, 'arguments');
  const path = operation.path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = String(params[name]);
    // An empty or dot segment would change the path to that of another operation.
    if (['', '.', '..'].includes(value))
      throw new ServiceError('invalid_request', say`${name}: ${asSaid('is not accepted by this tool')}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams(query as Record<string, string>).toString();
  const { if_match: tag } = given.if_match;
  return {
    url: search === '' ? path : `${path}?${search}`,
    headers: typeof tag === 'string' ? { 'if-match': tag } : {},
    body: whole,
  };
}
/** Path and query consist of text, so numbers and booleans are converted. */
const asText = (value: unknown): unknown =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;

/** Injects the request into the HTTP server, so that every rule of REST applies. */
export async function callTool(app: App, asker: Asker, tool: Tool, args: Arguments): Promise<Answer> {
  const { method, body } = tool.operation;
  try {
    const wanted = requestOf(tool, args);
    const reply = await app.inject({
      method,
      url: wanted.url,
      remoteAddress: asker.ip,
      headers: {
        authorization: asker.authorization,
        host: asker.host,
        accept: 'application/json',
        'accept-language': asker.language,
        ...wanted.headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(wanted.body ?? {}) }),
    });
    const value = reply.json<Record<string, unknown>>();
    if (reply.statusCode >= 400) return { ok: false, problem: value as unknown as Problem };
    if (reply.rawPayload.length > MAX_ANSWER) throw tooLarge(reply.rawPayload.length, tool);
    const { etag } = reply.headers;
    return { ok: true, text: reply.payload, value, etag: typeof etag === 'string' ? etag : null };
  } catch (error) {
    if (error instanceof ServiceError)
      return { ok: false, problem: problemOf(error, undefined, asker.language) };
    throw error;
  }
}
function tooLarge(bytes: number, { parts }: Tool): ServiceError {
  const narrower = [...parts].filter(([, part]) => part === 'query').map(([name]) => name);
  return new ServiceError(
    'answer_too_large',
    narrower.length === 0
      ? say`the answer has ${bytes} bytes, more than ${MAX_ANSWER}; read single objects instead`
      : say`the answer has ${bytes} bytes, more than ${MAX_ANSWER}; narrow it by ${narrower.join(', ')}`,
  );
}
