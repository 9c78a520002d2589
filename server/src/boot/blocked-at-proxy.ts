/** The SIP proxy drops SIP from the networks that the leading node blocks; it requests their list from that node. */
import http from 'node:http';
import https from 'node:https';
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { ServiceError } from '../core/errors.ts';
import { MOST_BLOCKED } from '../adapters/asterisk/sip-proxy/config.ts';
import type { App } from '../ports/http.ts';
import type { ProxiedNode } from './setting-values.ts';
import type { Config } from './config.ts';

const PATH = '/api/nodes/blocked-networks';
const ANSWER_MS = 2_000;
const MOST_BYTES = 65_536;
const Answer = z.object({ networks: z.array(z.string().max(60)).max(MOST_BLOCKED) });

/** Address of a peer; an IPv4 one without the prefix `::ffff:` that a socket of both families adds. */
const plain = (address: string | undefined): string => {
  const four = address?.replace(/^::ffff:/, '') ?? '';
  return isIPv4(four) ? four : (address ?? '');
};
/**
 * Route of every engine node for its SIP proxies, which have no secret: they are identified by the address at which they accept
 * phones. Every other client gets `not_found`.
 */
export function blockedNetworksRoute(
  app: App,
  { sipProxies }: Pick<Config, 'sipProxies'>,
  blocked: () => readonly { readonly network: string }[],
): void {
  const known = new Set(sipProxies.map(({ host }) => host));
  if (known.size === 0) return;
  app.route({
    method: 'GET',
    url: PATH,
    config: { level: 'public' },
    schema: { hide: true },
    handler(request, reply) {
      if (![plain(request.raw.socket.remoteAddress), plain(request.ip)].every((one) => known.has(one)))
        throw new ServiceError(
          'not_found',
          'there is no such path; the paths are listed in /api/v1/openapi.json',
        );
      return reply.send({ networks: blocked().map(({ network }) => network) });
    },
  });
}
/** Networks that the node blocks, requested from the address of the proxy; null without an answer. */
export async function blockedBy(
  { url }: ProxiedNode,
  localAddress: string,
  stop: AbortSignal,
): Promise<readonly string[] | null> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(ANSWER_MS)]);
  try {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const { get } = url.startsWith('https:') ? https : http;
      get(`${url}${PATH}`, { localAddress, signal, agent: false }, resolve).on('error', reject);
    });
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of response) {
      bytes += (part as Buffer).length;
      if (bytes > MOST_BYTES) return null;
      parts.push(part as Buffer);
    }
    if (response.statusCode !== 200) return null;
    return Answer.parse(JSON.parse(Buffer.concat(parts).toString())).networks;
  } catch {
    return null;
  }
}
