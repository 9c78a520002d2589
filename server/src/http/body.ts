import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../core/errors.ts';
import { say } from '../core/said.ts';
import type { App } from '../ports/http.ts';
import { checkJson } from '../core/json-check.ts';
import { parseInTurns } from './large-json.ts';

/** Bytes a body may have where its route does not say more. */
export const BODY_LIMIT = 64 * 1024;
/** Size from which a JSON body is parsed in turns with other requests. */
const LARGE = 256 * 1024;
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
const FORM_TYPE =
  /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
const AUDIO_TYPE = /^(?:audio\/[a-z0-9.+-]+|application\/octet-stream)[ \t]*(?:;[^\r\n]*)?$/i;
const MERGE_PATCH_TYPE =
  /^application\/merge-patch\+json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
/** Bytes of a refused body that are still read and thrown away, so that its sender sees the answer and not a reset. */
const DRAIN_LIMIT = 4 * 1024 * 1024;

/** True when the request says that a body follows. */
export const hasBodyOf = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');
export const hasBody = (request: FastifyRequest): boolean => hasBodyOf(request.raw);
/** Refuses a body by what its headers say, before a byte of it is read. */
export function checkBodyHeaders(request: FastifyRequest): void {
  if (!hasBody(request)) return;
  const { headers } = request.raw;
  const type = headers['content-type'];
  const { body = 'json', bodyBytes = BODY_LIMIT } = request.routeOptions.config;
  if (body === 'audio') {
    if (type === undefined || !AUDIO_TYPE.test(type)) {
      throw new ServiceError(
        'unsupported_media_type',
        'Content-Type must be audio/… or application/octet-stream',
      );
    }
  } else if (type === undefined || !(JSON_TYPE.test(type) || BESIDE_JSON[body]?.type.test(type))) {
    const other = BESIDE_JSON[body];
    throw new ServiceError(
      'unsupported_media_type',
      other === undefined
        ? 'Content-Type must be application/json in UTF-8'
        : say`Content-Type must be application/json or ${other.name} in UTF-8`,
    );
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'a compressed body is not read here');
  }
  if (Number(headers['content-length'] ?? 0) > bodyBytes)
    throw body === 'audio' ? soundTooLarge(bodyBytes) : tooLarge(bodyBytes);
}
const BESIDE_JSON: Readonly<Record<string, { readonly type: RegExp; readonly name: string }>> = {
  form: { type: FORM_TYPE, name: 'application/x-www-form-urlencoded' },
  merge_patch: { type: MERGE_PATCH_TYPE, name: 'application/merge-patch+json' },
};
const soundTooLarge = (most: number): ServiceError =>
  new ServiceError('sound_too_large', say`the upload is larger than ${most} bytes`);
export const tooLarge = (most = BODY_LIMIT): ServiceError =>
  new ServiceError('body_too_large', say`the body is larger than ${most} bytes`);

/** Replaces a missing body by the route's empty one. */
export function fillEmptyBody(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (!hasBody(request)) request.body = request.routeOptions.config.emptyBody;
  done();
}
/** JSON and form encoding; sound goes on as a stream, bounded by who reads it; nothing else is ever parsed. */
export function addBodyParsers(app: App): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  const json = ['application/json', 'application/merge-patch+json'];
  app.addContentTypeParser(json, { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    // Clients name the type of a body they do not send: a DELETE with nothing in it is a DELETE.
    if (bytes.length === 0 && request.method === 'DELETE') return done(null, null);
    const { emptyBody } = request.routeOptions.config;
    if (bytes.length === 0 && emptyBody !== undefined) return done(null, emptyBody);
    const text = utf8(bytes);
    const parse = (part: string): unknown => {
      let parsed: unknown;
      void parseJson(request, part, (error: Error | null, value: unknown) => {
        if (error !== null) throw error;
        parsed = value;
      });
      return parsed;
    };
    if (bytes.length > LARGE) return parseInTurns(text, parse);
    checkJson(text);
    done(null, parse(text));
    return undefined;
  });
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    (_request, bytes: Buffer, done) => {
      done(null, parseForm(utf8(bytes)));
    },
  );
  // Only the routes that say so get here: every other refuses these types by the request's head.
  app.addContentTypeParser(AUDIO_TYPE, (_request, payload, done) => done(null, payload));
}
function utf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ServiceError('invalid_request', 'body: not valid UTF-8');
  return bytes.toString('utf8');
}
/** Strings only; the same name twice, or an escape that is no UTF-8, is refused. */
export function parseForm(text: string): Record<string, string> {
  const fields = new Map<string, string>();
  for (const part of text.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const name = formText(at < 0 ? part : part.slice(0, at));
    if (fields.has(name)) {
      throw new ServiceError(
        'invalid_request',
        say`body: the field "${name.slice(0, 64)}" stands there twice`,
      );
    }
    fields.set(name, at < 0 ? '' : formText(part.slice(at + 1)));
  }
  if (fields.has('__proto__'))
    throw new ServiceError('invalid_request', 'body: the field __proto__ is refused');
  return Object.fromEntries(fields);
}
function formText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ServiceError('invalid_request', 'body: broken percent-encoding');
  }
}

/**
 * Lets the rest of a refused body run into nothing, up to a bound, so that its sender reads the answer instead of a reset
 * connection; a sender that goes on beyond it is cut off.
 */
export function drainBody(request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = request;
  if (raw.complete || raw.destroyed || !hasBody(request) || request.upgrade !== null) return;
  reply.removeHeader('connection');
  let drained = 0;
  raw.on('data', (chunk: Buffer) => {
    drained += chunk.length;
    if (drained > DRAIN_LIMIT) raw.destroy();
  });
  raw.on('error', () => {});
}
