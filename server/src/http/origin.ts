import type { FastifyRequest } from 'fastify';
import { HOST_SESSION_COOKIE, SESSION_COOKIE } from '@offhook/contract/session.ts';
import type { Credential } from '../ports/http.ts';

const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const MAX_TOKEN = 512;
const isToken = (text: string): boolean => text.length <= MAX_TOKEN && TOKEN.test(text);
const HOST = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** True for a `host[:port]` that may appear in a published address. */
export const isHost = (host: string): boolean => HOST.test(host) && URL.canParse(`http://${host}`);

/**
 * Reads the bearer token or the session cookie. A request with two of one kind has none, because choosing between them
 * would be a guess.
 */
export function readCredential(request: FastifyRequest): Credential | null {
  const { headers, rawHeaders } = request.raw;
  if (headers.authorization !== undefined) {
    if (count(rawHeaders, 'authorization') > 1) return null;
    const token = bearerOf(headers.authorization);
    return token === null ? null : { token, cookie: false };
  }
  if (headers.cookie === undefined) return null;
  const pairs = headers.cookie.split(';').map((pair) => pair.trim());
  const named = (name: string): string[] =>
    pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
  // Another host of the same domain can set the plain cookie, but not one with the `__Host-` prefix.
  const safe = named(HOST_SESSION_COOKIE);
  const values = safe.length > 0 ? safe : named(SESSION_COOKIE);
  const [value] = values;
  return values.length === 1 && value !== undefined && isToken(value) ? { token: value, cookie: true } : null;
}
/** The token of an `Authorization` header; null if the header holds no valid bearer token. */
export function bearerOf(authorization: string): string | null {
  const bearer = /^bearer +([^ ]+)$/i.exec(authorization)?.[1];
  return bearer !== undefined && isToken(bearer) ? bearer : null;
}
/** Number of headers with this name, including those that node drops. */
export function count(rawHeaders: readonly string[], name: string): number {
  let n = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]!;
    if (header.length === name.length && header.toLowerCase() === name) n += 1;
  }
  return n;
}

/** Origin of the request's own address, from a trusted proxy or the Host header. */
export function requestOrigin(request: FastifyRequest): string {
  const protocol = request.protocol === 'https' ? 'https' : 'http';
  const host = request.host.toLowerCase();
  return isHost(host) ? withoutDefaultPort(`${protocol}://${host}`) : '';
}
const withoutDefaultPort = (origin: string): string =>
  origin.replace(/^(http:\/\/.*):80$/, '$1').replace(/^(https:\/\/.*):443$/, '$1');

const URL_SECRETS = new Set([
  'token',
  'access_token',
  'auth_token',
  'session_token',
  'refresh_token',
  'id_token',
  'bearer',
  'authorization',
  'api_key',
  'apikey',
  'jwt',
  'password',
  SESSION_COOKIE,
]);
/** Name of the first query parameter that carries a secret; undefined if there is none. */
export function secretInQuery(url: string): string | undefined {
  const at = url.indexOf('?');
  if (at < 0) return undefined;
  return [...new URLSearchParams(url.slice(at + 1)).keys()].find((name) => {
    const bracket = name.indexOf('[');
    const plain = bracket >= 0 && name.endsWith(']') ? name.slice(0, bracket) : name;
    return URL_SECRETS.has(plain.toLowerCase().replaceAll('-', '_'));
  });
}
