import type { FastifyReply, FastifyRequest } from 'fastify';
import { addressIn } from '../../core/networks.ts';
import type { App } from '../../ports/http.ts';
import type { Phones } from './service.ts';

export interface PhoneRoutesOptions {
  readonly phones: Phones;
  /** Networks whose phones may fetch without TLS. */
  readonly plain: readonly string[];
}
/** Headers that proxies add to a forwarded request. */
const PROXY_HEADERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'cf-connecting-ip',
];
/** Limit of characters of a search in the phonebook. */
const MOST_SOUGHT = 64;
/** Serves files of desk phones: a folder for each token, and a common address for phones without one. */
export function phoneRoutes(app: App, { phones, plain }: PhoneRoutesOptions): void {
  const open = { config: { level: 'public' }, schema: { hide: true } } as const;
  const loopback = addressIn(['127.0.0.0/8', '::1']);
  const allowed = addressIn(plain);
  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { token, file = '' } = request.params as { readonly token?: string; readonly file?: string };
    const { headers, ip, protocol } = request;
    const { q } = request.query as { readonly q?: unknown };
    // Behind an untrusted proxy on this machine, every client would seem to be on loopback.
    const passedOn = PROXY_HEADERS.some((name) => headers[name] !== undefined);
    const { type, text } = await phones.serve({
      token: token ?? null,
      file,
      ip,
      safe: protocol === 'https' || allowed(ip) || (loopback(ip) && !passedOn),
      agent: headers['user-agent'] ?? '',
      q: typeof q === 'string' ? q.slice(0, MOST_SOUGHT) : '',
      origin: request.ownOrigin(),
    });
    return reply.type(`${type}; charset=utf-8`).header('cache-control', 'no-store').send(text);
  };
  app.get('/provision/:token/:file', open, serve);
  app.get('/provision/:file', open, serve);
}
