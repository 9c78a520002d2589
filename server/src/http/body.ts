import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isFileBody } from '@offhook/contract/operation.ts';
import type { FileBody } from '@offhook/contract/operation.ts';
import { ServiceError } from '../core/errors.ts';
import { say } from '../core/said.ts';
import type { App } from '../ports/http.ts';
import { checkJson } from '../core/json-check.ts';
import { parseInTurns } from './large-json.ts';

/** Longest body in bytes, unless the route sets its own limit. */
export const BODY_LIMIT = 64 * 1024;
/** Size in bytes from which a JSON body is parsed in slices between other requests. */
const LARGE = 256 * 1024;
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
const FORM_TYPE =
  /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
const AUDIO_TYPE = /^(?:audio\/[a-z0-9.+-]+|application\/octet-stream)[ \t]*(?:;[^\r\n]*)?$/i;
const CUSTOMERS_TYPE = /^text\/(?:csv|vcard|x-vcard)[ \t]*(?:;[^\r\n]*)?$/i;
/** Content types of another system, which may add parameters of its own. */
const MESSAGE_TYPE = /^application\/(?:json|x-www-form-urlencoded)[ \t]*(?:;[^\r\n]*)?$/i;
const MESSAGE_REFUSAL = 'Content-Type must be application/json or application/x-www-form-urlencoded';
const MERGE_PATCH_TYPE =
  /^application\/merge-patch\+json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
/**
 * Bytes of a rejected body that are still read and discarded, so that the client reads the reply instead of a
 * connection reset.
 */
const DRAIN_LIMIT = 4 * 1024 * 1024;

/** True if the request announces a body. */
export const hasBodyOf = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');
export const hasBody = (request: FastifyRequest): boolean => hasBodyOf(request.raw);
/** Rejects a body by its headers, before any byte of it is read. */
export function checkBodyHeaders(request: FastifyRequest): void {
  if (!hasBody(request)) return;
  const { headers } = request.raw;
  const type = headers['content-type'];
  const { body = 'json', bodyBytes = BODY_LIMIT } = request.routeOptions.config;
  if (isFileBody(body)) {
    const { accepts, refusal } = FILES[body];
    if (type === undefined || !accepts.test(type)) throw new ServiceError('unsupported_media_type', refusal);
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
    throw new ServiceError(
      'unsupported_media_type',
      'Content-Encoding is not supported; send the body uncompressed',
    );
  }
  if (Number(headers['content-length'] ?? 0) > bodyBytes)
    throw body === 'audio' ? soundTooLarge(bodyBytes) : tooLarge(bodyBytes);
}
const FILES: Readonly<Record<FileBody, { readonly accepts: RegExp; readonly refusal: string }>> = {
  audio: { accepts: AUDIO_TYPE, refusal: 'Content-Type must be audio/… or application/octet-stream' },
  customers: { accepts: CUSTOMERS_TYPE, refusal: 'Content-Type must be text/csv or text/vcard' },
  message: { accepts: MESSAGE_TYPE, refusal: MESSAGE_REFUSAL },
};
const BESIDE_JSON: Readonly<Record<string, { readonly type: RegExp; readonly name: string }>> = {
  form: { type: FORM_TYPE, name: 'application/x-www-form-urlencoded' },
  merge_patch: { type: MERGE_PATCH_TYPE, name: 'application/merge-patch+json' },
};
const soundTooLarge = (most: number): ServiceError =>
  new ServiceError('sound_too_large', say`the upload is larger than ${most} bytes`);
export const tooLarge = (most = BODY_LIMIT): ServiceError =>
  new ServiceError('body_too_large', say`the body is larger than ${most} bytes`);

/** Replaces a missing body by the route's empty body. */
export function fillEmptyBody(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (!hasBody(request)) request.body = request.routeOptions.config.emptyBody?.();
  done();
}
/**
 * Parses JSON and form encoding. Customers and messages are passed on as bytes, audio as a stream whose length the
 * handler limits; every other type is rejected.
 */
export function addBodyParsers(app: App): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  const json = ['application/json', 'application/merge-patch+json'];
  app.addContentTypeParser(json, { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    if (request.routeOptions.config.body === 'message') return done(null, bytes);
    // Clients set a Content-Type without sending a body: an empty DELETE is valid.
    if (bytes.length === 0 && request.method === 'DELETE') return done(null, null);
    const emptyBody = bytes.length === 0 ? request.routeOptions.config.emptyBody?.() : undefined;
    if (emptyBody !== undefined) return done(null, emptyBody);
    const text = utf8(bytes);
    const parse = (part: string): unknown => {
      let parsed: unknown;
      void parseJson(request, part, (error: Error | null, value: unknown) => {
        if (error !== null) throw isJson(part) ? noPrototype() : error;
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
    (request, bytes: Buffer, done) => {
      done(null, request.routeOptions.config.body === 'message' ? bytes : parseForm(utf8(bytes)));
    },
  );
  // Only routes that accept such a file get here; every other route rejected the type with the request head.
  app.addContentTypeParser(CUSTOMERS_TYPE, { parseAs: 'buffer' }, (_request, bytes, done) =>
    done(null, bytes),
  );
  app.addContentTypeParser(AUDIO_TYPE, (_request, payload, done) => done(null, payload));
}
/** Valid JSON that the parser refuses: it could change all objects of the process where a body is merged. */
const noPrototype = (): ServiceError =>
  new ServiceError('invalid_request', 'body: the field constructor.prototype is not allowed');
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
function utf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new ServiceError('invalid_request', 'body: must be valid UTF-8');
  return bytes.toString('utf8');
}
/** Strings only; a duplicate name or an escape that is not UTF-8 is rejected. */
export function parseForm(text: string): Record<string, string> {
  const fields = new Map<string, string>();
  for (const part of text.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const name = formText(at < 0 ? part : part.slice(0, at));
    if (fields.has(name)) {
      throw new ServiceError(
        'invalid_request',
        say`body: the field "${name.slice(0, 64)}" occurs twice; send it once`,
      );
    }
    fields.set(name, at < 0 ? '' : formText(part.slice(at + 1)));
  }
  if (fields.has('__proto__'))
    throw new ServiceError('invalid_request', 'body: the field __proto__ is not allowed');
  return Object.fromEntries(fields);
}
function formText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ServiceError('invalid_request', 'body: the percent-encoding is not valid');
  }
}

/**
 * Reads and discards the rest of a rejected body up to `DRAIN_LIMIT`, so that the client reads the reply instead of a
 * connection reset; a client that sends more is disconnected.
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
