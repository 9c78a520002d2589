/**
 * The smallest service that answers a pause over HTTP: `node:http`, two bare connections to the manager, and one row in
 * a flushed commit before the answer. It checks no token, keeps no state and publishes nothing.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { temporaryFolder } from './lib.ts';
import { rawManager } from './raw-manager.ts';
import type { PauseBody } from './reconstruct.ts';

export interface BarePause {
  readonly port: number;
  readonly actions: { readonly user: string; readonly secret: string };
  readonly events: { readonly user: string; readonly secret: string };
  /** Queues of each agent. */
  readonly queues: number;
}
const given = JSON.parse(process.argv[2]!) as BarePause;
const actions = await rawManager(given.port, given.actions, 'off');
const events = await rawManager(given.port, given.events, 'agent');
const db = new DatabaseSync(path.join(temporaryFolder().path, 'commits.db'));
db.exec('pragma journal_mode=wal; pragma synchronous=full; create table lines (text text)');
const insert = db.prepare('insert into lines (text) values (?)');
let next: { readonly done: Promise<void>; count: number } | null = null;
/** Resolves after a flushed commit, which all calls of one turn of the event loop share. */
function flushed(): Promise<void> {
  if (next !== null) {
    next.count += 1;
    return next.done;
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const group = { done: promise, count: 1 };
  next = group;
  setImmediate(() => {
    next = null;
    db.exec('begin immediate');
    for (let i = 0; i < group.count; i++) insert.run('x'.repeat(300));
    db.exec('commit');
    resolve();
  });
  return promise;
}
async function pause({ agent, paused, queue }: PauseBody): Promise<void> {
  const iface = `Local/${agent}@queue-agent`;
  const seen = Array.from({ length: queue === null ? given.queues : 1 }, () =>
    events.event('QueueMemberPause', iface, `\r\nPaused: ${paused ? 1 : 0}\r\n`),
  );
  const sent = actions.action('QueuePause', {
    Interface: iface,
    Paused: String(paused),
    ...(queue === null ? {} : { Queue: queue }),
    ...(paused ? { Reason: 'break' } : {}),
  });
  await Promise.all([sent, ...seen]);
  await flushed();
}
const server = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as PauseBody;
    pause(body).then(
      () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
});
server.listen({ host: '127.0.0.1', port: 0, backlog: 512 }, () =>
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })),
);
process.on('SIGTERM', () => process.exit());
