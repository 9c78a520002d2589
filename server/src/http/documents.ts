import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { acceptedCoding } from '../core/content-codings.ts';
import { matchesTag } from '../core/entity-tags.ts';
import type { App } from '../ports/http.ts';

interface Packed {
  readonly etag: string;
  readonly identity: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}
/** Quality of Brotli and gzip: some megabytes take a tenth of a second, on another thread. */
const QUALITY = 6;
async function pack(document: object): Promise<Packed> {
  const identity = Buffer.from(JSON.stringify(document));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: identity.length,
  };
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(identity, { params }),
    promisify(gzip)(identity, { level: QUALITY }),
  ]);
  const etag = `"${createHash('sha256').update(identity).digest('base64url').slice(0, 16)}"`;
  return { etag, identity, br, gzip: gz };
}
/**
 * Serves a document of the contract without sign-in, because it contains nothing of the site. The document is built and
 * compressed at the first request; a matching `If-None-Match` receives 304.
 */
export function addDocument(app: App, url: string, make: () => object): void {
  let packed: Promise<Packed> | undefined;
  app.get(url, { config: { level: 'public' }, schema: { hide: true } }, async (request, reply) => {
    packed ??= pack(make());
    const { etag, ...bodies } = await packed.catch((error: unknown) => {
      packed = undefined;
      throw error;
    });
    const { 'accept-encoding': accepted, 'if-none-match': held } = request.headers;
    reply.header('vary', 'Accept-Encoding').header('cache-control', 'no-cache').header('etag', etag);
    if (matchesTag(held, etag)) return reply.code(304).send();
    const coding = acceptedCoding(accepted, ['br', 'gzip']);
    if (coding !== undefined) reply.header('content-encoding', coding);
    return reply.type('application/json; charset=utf-8').send(bodies[coding ?? 'identity']);
  });
}
