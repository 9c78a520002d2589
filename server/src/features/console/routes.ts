import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { acceptedCoding } from '../../core/content-codings.ts';
import { matchesTag } from '../../core/entity-tags.ts';
import type { App } from '../../ports/http.ts';

export interface ConsoleRoutesOptions {
  /** Folder of the build of the console. */
  readonly folder: string;
}
const Coding = z.enum(['br', 'gzip']);
type Coding = z.infer<typeof Coding>;
const BuiltFile = z.object({
  url: z.string().regex(/^\/assets\/[A-Za-z0-9._-]+$/),
  type: z.string(),
  etag: z.string(),
  /** Encodings in which the build also stored the file, the smallest first. */
  codings: z.array(Coding),
});
type BuiltFile = z.infer<typeof BuiltFile>;
/** Content of `console.json`, which the build of the console writes: URL paths of its pages, and its files. */
const BuiltConsole = z.object({ pages: z.array(z.string()), files: z.array(BuiltFile) });
/** Placeholder in `index.html`; every reply replaces it by a new nonce. */
const NONCE = 'OFFHOOK_NONCE';

/**
 * Scripts and styles are files of this service, except the style elements that the component library creates; these
 * have the nonce of their page. `blob:` permits audio that was fetched with the session, `data:` icons of style sheets.
 */
const consolePolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "media-src 'self' blob:",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** Routes of the console: one for every page and every file of its build. Throws if there is no build. */
export function consoleRoutes(app: App, { folder }: ConsoleRoutesOptions): void {
  const read = (name: string): Buffer => readFileSync(path.join(folder, name));
  const { pages, files } = BuiltConsole.parse(JSON.parse(read('console.json').toString('utf8')));
  const open = { config: { level: 'public' }, schema: { hide: true } } as const;

  const [before = '', ...parts] = read('index.html').toString('utf8').split(NONCE);
  const page = (_request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const nonce = randomBytes(16).toString('base64url');
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', consolePolicy(nonce))
      .header('permissions-policy', 'microphone=(self), camera=(), geolocation=()')
      .header('cache-control', 'no-store')
      .send([before, ...parts].join(nonce));
  };
  for (const url of pages) app.get(url, open, page);

  const serve = ({ url, type, etag, codings }: BuiltFile): void => {
    const bytes = new Map<Coding | 'identity', Buffer>();
    const load = (coding: Coding | 'identity'): Buffer => {
      const known = bytes.get(coding);
      if (known !== undefined) return known;
      const loaded = read(url.slice(1) + (coding === 'identity' ? '' : `.${coding}`));
      bytes.set(coding, loaded);
      return loaded;
    };
    app.get(url, open, (request, reply) => {
      reply.header('etag', etag).header('vary', 'Accept-Encoding');
      // The file name contains the hash of the content.
      reply.header('cache-control', 'public, max-age=31536000, immutable');
      if (matchesTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      const coding = acceptedCoding(request.headers['accept-encoding'], codings);
      if (coding !== undefined) reply.header('content-encoding', coding);
      return reply.type(type).send(load(coding ?? 'identity'));
    });
  };
  files.forEach(serve);
}
