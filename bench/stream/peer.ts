/**
 * Peers of delivery: `peer.ts <kind> <port of the engine> [<port of a message server>]`. All receive the events of the
 * same engine and have one port for their clients.
 *
 * bridge     the usual way: asterisk-manager, JSON.stringify, `ws` to all clients, each client's filter applied each time
 * ws         `ws` to all clients, the envelope built once: only the library's cost of sending
 * socket.io  the same with socket.io
 * preframed  the limit: one frame built once, written to the bare socket of each due client
 * due        the same, and what the contract asks of every service: heartbeats, and figures of a queue after its events
 * sse        the same limit for server-sent events
 * replay     the limit of resuming: prepared frames, in pieces of 64 kB to a bare socket
 * redis, jetstream  publish each event to a message server, whose port is that for clients; the log kinds fill its log
 * replay json  the usual way: rows of a database, each parsed, built again and sent by `ws`
 */
import http from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import type { Duplex } from 'node:stream';
import { presenceEvent } from './events.ts';
import * as nats from './nats.ts';
import * as redis from './redis.ts';
import { LOGGED } from './script.ts';
import { eachFrame, serverFrame, unmasked, upgradeAnswer } from './wire.ts';

const [kind = '', enginePort = '', brokerPort = ''] = process.argv.slice(2);
const engine = { host: '127.0.0.1', port: Number(enginePort) };
const require = createRequire(import.meta.url);
/**
 * Members of the peers' packages that are used here: the first run installs them, and types are checked without them.
 */
interface WebSocket {
  on(event: string, listener: (message: unknown) => void): void;
  send(text: string): void;
}
interface WebSocketServer {
  on(event: 'connection', listener: (ws: WebSocket) => void): void;
}
const webSocketServer = (): WebSocketServer => {
  const { WebSocketServer: Made } = require('ws') as {
    WebSocketServer: new (o: object) => WebSocketServer;
  };
  return new Made({ server });
};

/** One event of the engine as sent by every peer but the bridge: an envelope of the size of ours. */
interface Published {
  readonly topics: readonly string[];
  /** Null for a phone, which changes no figures while it has no call. */
  readonly queue: string | null;
  readonly json: string;
}
let seq = 0;
function envelope(type: string, subject: string, ms: number, data: object): string {
  return JSON.stringify({
    specversion: '1.0',
    id: `bench:${++seq}`,
    source: '/bench/peer',
    type,
    subject,
    time: new Date(ms).toISOString(),
    seq,
    observed: 'live',
    data,
  });
}
function published(frame: string): Published | null {
  const value = (name: string): string => {
    const at = frame.indexOf(`\r\n${name}: `);
    return at < 0 ? '' : frame.slice(at + name.length + 4, frame.indexOf('\r\n', at + 2));
  };
  const ms = Math.round(Number(value('Timestamp')) * 1000);
  if (frame.startsWith('Event: DeviceStateChange')) {
    const extension = value('Device').slice('PJSIP/'.length);
    const state = value('State');
    const devices = { sip: state, webrtc: 'UNAVAILABLE', mobile: 'UNAVAILABLE' };
    const rest = { reachability: 'online', activity: state, personal: 'not_set', note: null };
    return {
      topics: ['presence', `presence/${extension}`],
      queue: null,
      json: envelope('presence.changed', `presence/${extension}`, ms, {
        extension,
        ...rest,
        summary: state,
        since: new Date(ms).toISOString(),
        devices,
      }),
    };
  }
  if (/^Event: QueueCaller(Join|Leave)/.test(frame)) {
    const queue = value('Queue');
    const caller = { number: value('CallerIDNum'), name: value('CallerIDName') };
    const data = { queue, call_id: value('Linkedid'), leg_id: value('Uniqueid'), caller, position: 1 };
    return {
      topics: ['queues', `queues/${queue}`],
      queue,
      json: envelope('queue.caller', `queues/${queue}`, ms, data),
    };
  }
  return null;
}
function readEngine(tell: (published: Published) => void): void {
  const socket = net.connect(engine, () =>
    socket.write('Action: Login\r\nActionID: 1\r\nUsername: e\r\nSecret: e\r\nEvents: on\r\n\r\n'),
  );
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += String(chunk);
    let from = 0;
    for (let at = text.indexOf('\r\n\r\n'); at >= 0; at = text.indexOf('\r\n\r\n', from)) {
      const made = published(text.slice(from, at));
      from = at + 4;
      if (made !== null) tell(made);
    }
    text = text.slice(from);
  });
}

/** Clients by topic; a client without topics receives nothing, and one with `presence` all of it. */
const byTopic = new Map<string, Set<Duplex | http.ServerResponse>>();
const listen = (topic: string, client: Duplex | http.ServerResponse): void => {
  const set = byTopic.get(topic) ?? new Set();
  set.add(client);
  byTopic.set(topic, set);
};
const leave = (client: Duplex | http.ServerResponse): void => {
  for (const set of byTopic.values()) set.delete(client);
};
/** Serves bare WebSocket frames, and returns a function that writes an event to the clients of its topics. */
function serveFrames(opened: (socket: net.Socket) => void = () => undefined) {
  server.on('upgrade', (request: http.IncomingMessage, socket: net.Socket) => {
    socket.setNoDelay(true).on('error', () => socket.destroy());
    socket.on('close', () => leave(socket));
    socket.write(upgradeAnswer(request.headers['sec-websocket-key'] ?? ''));
    socket.on('data', (chunk: Buffer) => {
      eachFrame(chunk, chunk.length, (opcode, from, to) => {
        if (opcode !== 1) return;
        for (const topic of topicsIn(unmasked(chunk, from, to))) listen(topic, socket);
        socket.write(serverFrame(OK));
      });
    });
    opened(socket);
  });
  return ({ topics, json }: Pick<Published, 'topics' | 'json'>): void => {
    const frame = serverFrame(json);
    for (const topic of topics) for (const socket of byTopic.get(topic) ?? []) socket.write(frame);
  };
}
/** Each client's heartbeat and ping come once in an interval, spread over it as ours are. */
const HEARTBEAT_MS = 15_000;
const PARTS = 150;
const PING = Buffer.from([0x89, 0]);
function heartbeats(): (socket: net.Socket) => void {
  const parts = Array.from({ length: PARTS }, () => new Set<net.Socket>());
  let part = 0;
  let opened = 0;
  setInterval(() => {
    const beat = { op: 'heartbeat', scanned: seq, time: new Date().toISOString() };
    const bytes = Buffer.concat([serverFrame(JSON.stringify(beat)), PING]);
    part = (part + 1) % PARTS;
    for (const socket of parts[part]!) socket.write(bytes);
  }, HEARTBEAT_MS / PARTS);
  return (socket) => {
    const own = parts[opened++ % PARTS]!.add(socket);
    socket.on('close', () => own.delete(socket));
  };
}
/** Figures of a changed queue, of the size and at the rate of ours: their delay, and the shortest time between two. */
const GATHER_MS = 40;
const FIGURES_EVERY_MS = 500;
const FIGURES = 'x'.repeat(1_150);
function figures(write: ReturnType<typeof serveFrames>): (queue: string) => void {
  const changed = new Set<string>();
  const written = new Map<string, number>();
  setInterval(() => {
    const now = Date.now();
    for (const queue of changed) {
      if ((written.get(queue) ?? 0) + FIGURES_EVERY_MS > now) continue;
      changed.delete(queue);
      written.set(queue, now);
      const topic = `queues/${queue}`;
      write({
        topics: ['queues', topic],
        json: envelope('queue.stats', topic, now, { queue, figures: FIGURES }),
      });
    }
  }, GATHER_MS);
  return (queue) => changed.add(queue);
}
const topicsIn = (text: string): string[] => (JSON.parse(text) as { topics?: string[] }).topics ?? [];
const OK = '{"ok":true}';

const server = http.createServer();
const broker = Number(brokerPort);
const kinds: Readonly<Record<string, () => void | Promise<void>>> = {
  bridge() {
    const wss = webSocketServer();
    const filters = new Map<WebSocket, Set<string>>();
    wss.on('connection', (ws) => {
      ws.on('message', (text) => {
        filters.set(ws, new Set(topicsIn(String(text))));
        ws.send(OK);
      });
      ws.on('close', () => filters.delete(ws));
      ws.on('error', () => undefined);
    });
    const Manager = require('asterisk-manager') as new (...a: unknown[]) => {
      on(event: string, listener: (event: Record<string, string>) => void): void;
    };
    new Manager(engine.port, engine.host, 'e', 'e', true).on('managerevent', (event) => {
      const device = event['device']?.slice('PJSIP/'.length);
      const topic = device === undefined ? `queues/${event['queue']}` : `presence/${device}`;
      const all = device === undefined ? 'queues' : 'presence';
      const text = JSON.stringify(event);
      for (const [ws, wanted] of filters) if (wanted.has(all) || wanted.has(topic)) ws.send(text);
    });
  },
  ws() {
    const wss = webSocketServer();
    const heard = new Map<string, Set<WebSocket>>();
    wss.on('connection', (ws) => {
      ws.on('message', (text) => {
        for (const topic of topicsIn(String(text))) {
          const set = heard.get(topic) ?? new Set();
          set.add(ws);
          heard.set(topic, set);
        }
        ws.send(OK);
      });
      ws.on('close', () => {
        for (const set of heard.values()) set.delete(ws);
      });
      ws.on('error', () => undefined);
    });
    readEngine(({ topics, json }) => {
      for (const topic of topics) for (const ws of heard.get(topic) ?? []) ws.send(json);
    });
  },
  'socket.io'() {
    const { Server: SocketIo } = require('socket.io') as {
      Server: new (s: http.Server, o: object) => { emit(name: string, value: unknown): void };
    };
    const io = new SocketIo(server, {
      transports: ['websocket'],
      connectionStateRecovery: { maxDisconnectionDuration: 120_000, skipMiddlewares: true },
    });
    readEngine(({ json }) => {
      io.emit('event', JSON.parse(json));
    });
  },
  preframed() {
    readEngine(serveFrames());
  },
  due() {
    const write = serveFrames(heartbeats());
    const changed = figures(write);
    readEngine((made) => {
      write(made);
      if (made.queue !== null) changed(made.queue);
    });
  },
  replay() {
    const frames = missed().map((json) => serverFrame(json));
    server.on('upgrade', (request: http.IncomingMessage, socket: net.Socket) => {
      socket.setNoDelay(true).on('error', () => socket.destroy());
      socket.write(upgradeAnswer(request.headers['sec-websocket-key'] ?? ''));
      socket.on('data', (chunk: Buffer) => {
        eachFrame(chunk, chunk.length, (opcode, from, to) => {
          if (opcode !== 1) return;
          let at = LOGGED - behindIn(unmasked(chunk, from, to));
          const next = (): void => {
            while (at < LOGGED) {
              if (!socket.write(Buffer.concat(frames.slice(at, (at += 150)))))
                return void socket.once('drain', next);
            }
            socket.write(serverFrame(OK));
          };
          next();
        });
      });
    });
  },
  'replay json'() {
    const db = new DatabaseSync(':memory:');
    db.exec('create table log (seq integer primary key, json text)');
    const insert = db.prepare('insert into log (json) values (?)');
    db.exec('begin');
    for (const json of missed()) insert.run(json);
    db.exec('commit');
    const page = db.prepare('select json from log where seq > ? order by seq limit 500');
    webSocketServer().on('connection', (ws) => {
      ws.on('error', () => undefined);
      ws.on('message', (text) => {
        let at = LOGGED - behindIn(String(text));
        const next = (): void => {
          const rows = page.all(at) as { json: string }[];
          at += rows.length;
          for (const { json } of rows) ws.send(JSON.stringify(JSON.parse(json)));
          if (rows.length > 0) setImmediate(next);
          else ws.send(OK);
        };
        next();
      });
    });
  },
  async redis() {
    const socket = await redis.openBare(broker);
    readEngine(({ json }) => socket.write(redis.command('PUBLISH', redis.CHANNEL, json)));
  },
  async 'redis log'() {
    const client = await redis.openRedis(broker);
    const all = missed().map((json, i) => redis.entry(i + 1, json));
    for (let at = 0; at < all.length; at += AT_ONCE) await client.send(all.slice(at, at + AT_ONCE));
    client.close();
  },
  async jetstream() {
    const { openStream } = await import('./nats-stream.ts');
    const stream = await openStream(broker, true);
    await stream.leave();
    const socket = await redis.openBare(broker);
    socket.write(nats.BEGIN);
    readEngine(({ json }) => socket.write(nats.publish(nats.STORED, json)));
  },
  async 'jetstream log'() {
    const { openStream } = await import('./nats-stream.ts');
    const stream = await openStream(broker, false);
    const all = missed();
    for (let at = 0; at < all.length; at += AT_ONCE) await stream.append(all.slice(at, at + AT_ONCE));
    await stream.leave();
  },
  sse() {
    server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write(': hello\n\n');
      const topics = new URL(request.url ?? '', 'http://x').searchParams.get('topics') ?? '';
      for (const topic of topics.split(',')) listen(topic, response);
      response.on('close', () => leave(response));
    });
    readEngine(({ topics, json }) => {
      const text = Buffer.from(`id: ${seq}\ndata: ${json}\n\n`);
      for (const topic of topics) for (const client of byTopic.get(topic) ?? []) client.write(text);
    });
  },
};
/** Events sent at once while a log is filled. */
const AT_ONCE = 1_000;
/** Missed events of a client: presence of 1,000 extensions, newest last. */
function missed(): string[] {
  return Array.from({ length: LOGGED }, (_, i) => {
    const { type, subject, at, data } = presenceEvent(i);
    return envelope(type, subject, at, data);
  });
}
const behindIn = (text: string): number => (JSON.parse(text) as { behind?: number }).behind ?? 0;
const begin = kinds[kind];
if (begin === undefined) throw new Error(`no such peer: ${kind}`);
await begin();
process.on('message', () => {
  globalThis.gc?.();
  process.send?.({ rss: process.memoryUsage.rss() });
});
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  const { port } = server.address() as net.AddressInfo;
  console.log(JSON.stringify({ port: brokerPort === '' ? port : broker }));
});
process.on('SIGTERM', () => process.exit());
