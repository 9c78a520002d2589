import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Ping } from '@offhook/contract/session.ts';
import type { Clock } from '../../ports/clock.ts';
import type { App } from '../../ports/http.ts';
import { DOCS_POLICY, PAGE_POLICY, docsPage, errorsPage, eventsPage } from './pages.ts';

export interface FrontDoorOptions {
  readonly config: { readonly siteTitle: string };
  readonly version: string;
  readonly clock: Clock;
}
const HTML = 'text/html; charset=utf-8';
const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The documents as pages and the ping of real clients; every file has a route of its own. */
export function frontDoorRoutes(app: App, { config, version, clock }: FrontDoorOptions): void {
  const open = { config: { level: 'public' }, schema: { hide: true } } as const;
  const { siteTitle } = config;

  app.get(
    '/api/mobile/ping.php',
    {
      config: { level: 'public' },
      schema: { tags: ['sessions'], summary: 'Is this the right server?', response: { 200: Ping } },
    },
    () => ({
      success: true as const,
      service: 'offhook',
      version,
      site_title: siteTitle,
      brand_title: siteTitle,
      brand_sub: 'Offhook',
      server_time: Math.floor(clock.now() / 1000),
    }),
  );
  const page = (reply: FastifyReply, policy: string): FastifyReply =>
    reply.type(HTML).header('content-security-policy', policy).header('cache-control', 'no-store');
  app.get('/docs', open, (_request, reply) => page(reply, DOCS_POLICY).send(docsPage(siteTitle)));
  app.get('/docs/errors', open, (_request, reply) => page(reply, PAGE_POLICY).send(errorsPage(siteTitle)));
  app.get('/docs/events', open, (_request, reply) => page(reply, PAGE_POLICY).send(eventsPage(siteTitle)));

  const asset = (path: string, file: string, read: () => Buffer | Promise<Buffer>, tag: string): void => {
    app.get(path, open, async (request: FastifyRequest, reply: FastifyReply) => {
      const etag = `"${tag}"`;
      reply.header('etag', etag).header('cache-control', 'public, max-age=3600');
      if (request.headers['if-none-match'] === etag) return reply.code(304).send();
      return reply.type(types[file.slice(file.lastIndexOf('.') + 1)]!).send(await read());
    });
  };
  const own = (path: string, file: string): void => {
    const bytes = readFileSync(new URL(`assets/${file}`, import.meta.url));
    asset(path, file, () => bytes, createHash('sha256').update(bytes).digest('base64url').slice(0, 20));
  };
  own('/favicon.svg', 'favicon.svg');
  own('/favicon.ico', 'favicon.svg');
  own('/front-door.css', 'front-door.css');
  own('/docs/docs.js', 'docs.js');

  const resolve = createRequire(import.meta.url).resolve;
  const dist = JSON.parse(readFileSync(resolve('swagger-ui-dist/package.json'), 'utf8')) as {
    version: string;
  };
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js']) {
    // Read when asked for: a megabyte that most sites never send.
    asset(
      `/docs/${file}`,
      file,
      () => readFile(resolve(`swagger-ui-dist/${file}`)),
      `${dist.version}-${file}`,
    );
  }
}
