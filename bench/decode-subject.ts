/**
 * Reads recorded calls with one decoder and prints the cost: `decode-subject.ts <name> <port> <extensions> <events> [warm]`. The
 * first `warm` events are read and not measured, by our own decoders.
 */
import { createRequire } from 'node:module';
import net from 'node:net';
import { nodeId } from '@offhook/contract/ids.ts';
import type { EngineEvent } from '../server/src/ports/engine-events.ts';
import { createDecoder } from '../server/src/adapters/asterisk/ami/framing.ts';
import { FactReader } from '../server/src/adapters/asterisk/fact-reader.ts';
import { Mirror } from '../server/src/adapters/asterisk/mirror.ts';
import { createModel } from '../server/src/pbx/model.ts';
import { siteOf } from './site.ts';

const [name = '', port = '', extensions = '1000', sent = '0', warm = '0'] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const target = { host: '127.0.0.1', port: Number(port) };
interface Peer {
  on(event: string, listener: (event: Record<string, unknown>) => void): void;
}

let events = 0;
/** Events before the measurement began. */
let before = 0;
/** Number of domain events from the model. */
let published = 0;
let began = 0;
let cpu = process.cpuUsage();
const begin = (): void => {
  began = performance.now();
  cpu = process.cpuUsage();
};
const finish = (): void => {
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const measured = events - before;
  console.log(JSON.stringify({ events, measured, published, seconds, cpu_us: (user + system) / measured }));
  process.exit();
};
/** Peers return an object for each event, with its name under different keys. */
const take = (key: string) => (event: Record<string, unknown>) => {
  const type = event[key];
  if (events === 0) begin();
  events += 1;
  if (type !== 'BenchDone') return;
  events -= 1;
  finish();
};

const subjects: Readonly<Record<string, () => void>> = {
  raw() {
    const socket = net.connect(target, () => socket.write('Action: Login\r\nActionID: 1\r\n\r\n'));
    const mark = Buffer.from('BenchDone');
    let bytes = 0;
    socket.on('data', (chunk) => {
      if (bytes === 0) begin();
      bytes += chunk.length;
      if (!chunk.subarray(-64).includes(mark)) return;
      events = Number(sent) + 1;
      finish();
    });
  },
  decode: () => ours(() => undefined),
  model() {
    const model = createModel();
    model.step(siteOf(Number(extensions)));
    ours((event) => {
      const made = model.step(event);
      published += made.length;
      model.committed(made);
    });
  },
  yana() {
    const Ami = require('yana') as new (o: object) => Peer & { connect(): void };
    const ami = new Ami({ ...target, login: 'a', password: 'b', events: true });
    ami.on('event', take('Event'));
    ami.connect();
  },
  'ami-io'() {
    const { Client, SilentLogger } = require('ami-io') as {
      Client: new (o: object) => Peer & { connect(): void };
      SilentLogger: new () => object;
    };
    const client = new Client({ ...target, login: 'a', password: 'b', logger: new SilentLogger() });
    client.on('event', take('event'));
    client.connect();
  },
  'asterisk-manager'() {
    const Manager = require('asterisk-manager') as new (...a: unknown[]) => Peer;
    new Manager(target.port, target.host, 'a', 'b', true).on('managerevent', take('event'));
  },
  nami() {
    const { Nami } = require('nami') as { Nami: new (o: object) => Peer & { open(): void; logger: object } };
    const nami = new Nami({ ...target, username: 'a', secret: 'b' });
    const quiet = (): void => undefined;
    nami.logger = { error: quiet, warn: quiet, info: quiet, debug: quiet };
    nami.on('namiEvent', take('event'));
    nami.open();
  },
  'asterisk-ami-client'() {
    const Client = require('asterisk-ami-client') as new (o?: object) => Peer & {
      connect(user: string, secret: string, o: object): Promise<unknown>;
    };
    const client = new Client();
    client.on('event', take('Event'));
    void client.connect('a', 'b', target);
  },
};

/** The adapter's own path: bytes → frames, with every check → facts. */
function ours(sink: (event: EngineEvent) => void): void {
  const mirror = new Mirror();
  let facts = 0;
  const reader = new FactReader({
    node: nodeId('ast1'),
    known: mirror,
    now: () => 0,
    emit(event) {
      mirror.apply(event);
      facts += 1;
      sink(event);
    },
    system: () => undefined,
    suspicious: () => undefined,
  });
  let ended = false;
  const decoder = createDecoder(
    {
      banner: () => true,
      event: reader.event,
      ignored(type) {
        ended ||= type === 'BenchDone';
        reader.ignored();
      },
      response: () => undefined,
      dropped: reader.dropped,
    },
    { banner: true, wants: reader.wants },
  );
  const socket = net.connect(target, () => socket.write('Action: Login\r\nActionID: 1\r\n\r\n'));
  socket.on('data', (chunk) => {
    if (began === 0 && before >= Number(warm)) begin();
    decoder.write(chunk);
    if (began === 0) before = reader.counters().frames;
    if (!ended) return;
    events = reader.counters().frames - 1;
    const { malformed, oversize } = reader.counters();
    if (malformed + oversize > 0 || facts === 0)
      throw new Error(`malformed ${malformed}, oversize ${oversize}, facts ${facts}`);
    finish();
  });
}

const subject = subjects[name];
if (subject === undefined) throw new Error(`no such decoder: ${name}`);
subject();
