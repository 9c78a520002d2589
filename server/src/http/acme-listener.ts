/** Listener for the HTTP-01 challenges of an ACME server; every other request is redirected or gets 404. */
import { once } from 'node:events';
import { createServer } from 'node:http';

const PATH = '/.well-known/acme-challenge/';
const TIMEOUT_MS = 5_000;

/** `elsewhere`: origin to which every other GET and HEAD is redirected; null replies 404 instead. */
export async function listenChallenges(
  { host, port }: { readonly host: string; readonly port: number },
  answer: (token: string) => string | null,
  elsewhere: string | null,
): Promise<{ close(): Promise<void> }> {
  const server = createServer(
    { headersTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS, maxHeaderSize: 8_192 },
    ({ method = '', url = '' }, response) => {
      const reads = method === 'GET' || method === 'HEAD';
      const text = reads && url.startsWith(PATH) ? answer(url.slice(PATH.length)) : null;
      response.setHeader('connection', 'close');
      if (text !== null) response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(text);
      else if (reads && elsewhere !== null && url.startsWith('/') && !url.startsWith(PATH))
        response.writeHead(308, { location: `${elsewhere}${url}` }).end();
      else response.writeHead(404).end();
    },
  );
  server.maxConnections = 200;
  server.listen({ host, port });
  await once(server, 'listening');
  return {
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
