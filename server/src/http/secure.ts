/** The HTTPS listener beside the HTTP port: the same routes, with a certificate that is replaced while it listens. */
import https from 'node:https';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { SecureContext, TLSSocket } from 'node:tls';
import { wantsWebSocket } from './sockets.ts';

/** Certificate with its chain, and key, in PEM. */
export interface TlsPair {
  readonly certificate: string;
  readonly key: string;
}
export interface SecureOptions {
  readonly pair: TlsPair;
  /** Certificate that answers a validation by TLS-ALPN-01 for this name; null where none is under way. */
  readonly challenge?: (servername: string) => SecureContext | null;
}
export interface SecureServer {
  readonly server: https.Server;
  /** Uses this certificate from the next handshake on; open connections stay. Throws where the pair cannot be used. */
  readonly use: (pair: TlsPair) => void;
}
export interface SecureLimits {
  readonly headersTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly requestTimeoutMs: number;
  readonly checkIntervalMs: number;
  readonly maxConnections: number;
}
/** Protocol of RFC 8737. */
const ACME = 'acme-tls/1';
/** Time for a handshake; clients that send nothing would hold a connection. */
const HANDSHAKE_MS = 10_000;

const contextOf = ({ certificate, key }: TlsPair) => ({
  cert: certificate,
  key,
  minVersion: 'TLSv1.2' as const,
});

/** Creates the server, which does not listen yet; `routing` receives its requests. */
export function createSecureServer(
  routing: (request: IncomingMessage, response: ServerResponse) => void,
  { pair, challenge }: SecureOptions,
  limits: SecureLimits,
): SecureServer {
  const server = https.createServer(
    {
      ...contextOf(pair),
      handshakeTimeout: HANDSHAKE_MS,
      // Called with the connection as `this`, the only way to choose a certificate by the protocol.
      ALPNCallback(this: TLSSocket, { servername, protocols }: { servername: string; protocols: string[] }) {
        const answer = protocols.includes(ACME) ? (challenge?.(servername) ?? null) : null;
        if (answer === null) return protocols.find((protocol) => protocol === 'http/1.1');
        this.setKeyCert(answer);
        return ACME;
      },
      keepAliveTimeout: limits.keepAliveMs,
      requestTimeout: limits.requestTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.checkIntervalMs,
      maxHeaderSize: 16_384,
      requireHostHeader: false,
      shouldUpgradeCallback: wantsWebSocket,
    } as https.ServerOptions,
    routing,
  );
  Object.assign(server, { maxConnections: limits.maxConnections, dropMaxConnection: true });
  // A connection for a validation carries no request.
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === ACME) socket.end();
  });
  return { server, use: (next) => server.setSecureContext(contextOf(next)) };
}
/** `attachSockets` uses the events that both kinds of server have. */
export const asPlain = (server: https.Server): Server => server as unknown as Server;
