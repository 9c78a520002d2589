import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  /** Seq of the envelope; undefined for a test event. */
  readonly seq: number | undefined;
}
export type Answer = (received: Received, response: http.ServerResponse) => void;
export interface Sink extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Every complete request, in order. */
  readonly received: Received[];
  readonly seqs: (number | undefined)[];
  /** Number of accepted connections. */
  readonly connections: number;
  /** Number of unanswered requests. */
  readonly open: number;
  answer: Answer;
}
export const ok: Answer = (_received, response) => void response.end('ok');
export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_received, response) =>
    void response.writeHead(code, headers).end(`status ${code}`);
/** Never answers. */
export const silence: Answer = () => undefined;

/** A target of webhooks on the loopback address. */
export async function startSink(answer: Answer = ok): Promise<Sink> {
  const received: Received[] = [];
  let connections = 0;
  let open = 0;
  const server = http.createServer((request, response) => {
    open += 1;
    response.on('close', () => (open -= 1));
    response.on('error', () => undefined);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const { headers } = request;
      const one: Received = {
        id: String(headers['webhook-id']),
        timestamp: String(headers['webhook-timestamp']),
        signature: String(headers['webhook-signature']),
        headers,
        body,
        seq: (JSON.parse(body) as { seq?: number }).seq,
      };
      received.push(one);
      sink.answer(one, response);
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const sink: Sink = {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    get seqs() {
      return received.map(({ seq }) => seq);
    },
    get connections() {
      return connections;
    },
    get open() {
      return open;
    },
    answer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return sink;
}
