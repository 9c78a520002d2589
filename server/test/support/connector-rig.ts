import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { loadConnector } from '../../src/features/connectors/format/load.ts';
import type { ConnectorFile } from '../../src/features/connectors/format/load.ts';
import { openConnector } from '../../src/features/connectors/format/session.ts';
import type { TracedExchange } from '../../src/features/connectors/format/requests.ts';
import { createGuard } from '../../src/outbound/address-guard.ts';
import { Transport } from '../../src/outbound/transport.ts';

export interface AskedOfSystem {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}
/** Reply of the fake system: a value as JSON, or bytes unchanged. */
export interface SystemAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
}
/** A fake system that replies by `answer` and keeps the requests. */
export async function startSystem(t: TestContext, answer: (asked: AskedOfSystem) => SystemAnswer | null) {
  const asked: AskedOfSystem[] = [];
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, path: url, headers, body: Buffer.concat(parts).toString() };
      asked.push(one);
      const reply = answer(one);
      if (reply === null) return void request.socket.resetAndDestroy();
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
      return void response.end(reply.text ?? (reply.json === undefined ? '' : JSON.stringify(reply.json)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** The file of a text; throws with its findings. */
export function fileOf(text: string): ConnectorFile {
  const { file, findings } = loadConnector(text);
  if (file === null) throw new Error(JSON.stringify(findings, null, 1));
  return file;
}
/** Opens a connector that may call the loopback address, at a site in Istanbul; keeps its trace. */
export function openForTest(t: TestContext, text: string, settings: Readonly<Record<string, string>>) {
  const clock = createVirtualClock();
  const guard = createGuard(['127.0.0.1']);
  const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
  const transport = new Transport({ guard, clock, resolve });
  t.after(() => transport.close());
  const traced: TracedExchange[] = [];
  const missed: string[] = [];
  const warned: string[] = [];
  const session = openConnector(fileOf(text), settings, {
    send: (request, signal) => transport.send(request, signal),
    clock,
    trace: (exchange) => traced.push(exchange),
    missed: (reason) => missed.push(reason),
    siteZone: 'Europe/Istanbul',
    warn: (words) => warned.push(words),
  });
  return { session, clock, traced, missed, warned, signal: new AbortController().signal };
}
