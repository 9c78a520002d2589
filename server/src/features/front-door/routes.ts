import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { frontDoor as operations } from '@offhook/contract/operations/health.ts';
import { matchesTag } from '../../core/entity-tags.ts';
import type { Clock } from '../../ports/clock.ts';
import type { App } from '../../ports/http.ts';
import type { Served } from '../../ports/operations.ts';
import { PAGE_POLICY, errorsPage, eventsPage } from './pages.ts';

export interface FrontDoorOptions {
  readonly config: { readonly siteTitle: string };
  /** Title of the sign-in by the company account; absent without one. */
  readonly companySignIn?: string | undefined;
  readonly version: string;
  readonly clock: Clock;
}
const HTML = 'text/html; charset=utf-8';
const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** `ping.php`, which existing clients call before they sign in. */
export const frontDoorOperations = ({
  config: { siteTitle },
  companySignIn,
  version,
  clock,
}: FrontDoorOptions): Served<typeof operations> => ({
  operations,
  handlers: {
    ping: ({ caller }) => ({
      service: 'offhook',
      version,
      site_title: siteTitle,
      brand_title: siteTitle,
      brand_sub: 'Offhook',
      server_time: Math.floor(clock.now() / 1000),
      signed_in: caller !== null,
      company_sign_in: companySignIn ?? null,
    }),
  },
});
/** Pages that list the error codes and event types, with a route for each of their files. */
export function frontDoorRoutes(app: App, { config }: Pick<FrontDoorOptions, 'config'>): void {
  const open = { config: { level: 'public' }, schema: { hide: true } } as const;
  const { siteTitle } = config;

  const page = (path: string, text: string): void => {
    app.get(path, open, (_request, reply: FastifyReply) =>
      reply
        .type(HTML)
        .header('content-security-policy', PAGE_POLICY)
        .header('cache-control', 'no-store')
        .send(text),
    );
  };
  page('/docs/errors', errorsPage(siteTitle));
  page('/docs/events', eventsPage(siteTitle));

  const asset = (path: string, file: string): void => {
    const bytes = readFileSync(new URL(`assets/${file}`, import.meta.url));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 20)}"`;
    app.get(path, open, (request: FastifyRequest, reply: FastifyReply) => {
      reply.header('etag', etag).header('cache-control', 'public, max-age=3600');
      if (matchesTag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      return reply.type(types[file.slice(file.lastIndexOf('.') + 1)]!).send(bytes);
    });
  };
  asset('/favicon.svg', 'favicon.svg');
  asset('/favicon.ico', 'favicon.svg');
  asset('/front-door.css', 'front-door.css');
}
