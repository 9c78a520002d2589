/** A DNS server whose records a test sets while it runs; it answers SRV and A questions by UDP. */
import dgram from 'node:dgram';
import { once } from 'node:events';

export interface FakeRecords {
  /** By name, e.g. `_sip._udp.carrier.example.com`. */
  readonly srv?: Readonly<
    Record<string, readonly (readonly [priority: number, weight: number, port: number, target: string])[]>
  >;
  readonly a?: Readonly<Record<string, readonly string[]>>;
  /** Answers every question with SERVFAIL, or not at all. */
  readonly fault?: 'refuse' | 'silent';
}
export interface FakeDns extends AsyncDisposable {
  readonly address: string;
  /** Names that were asked for so far. */
  readonly asked: readonly string[];
  become(records: FakeRecords): void;
}
const TYPE = { a: 1, srv: 33 } as const;
const u16 = (n: number): Buffer => Buffer.from([n >> 8, n & 255]);
const encoded = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);
function questionOf(data: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = data[at]!; length > 0; length = data[at]!) {
    labels.push(data.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: data.readUInt16BE(at + 1), end: at + 5 };
}
/** A record for the name of the question, which it refers to. */
const record = (type: number, data: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([0xc0, 12]),
    u16(type),
    u16(1),
    Buffer.from([0, 0, 0, 5]),
    u16(data.length),
    data,
  ]);

export async function startFakeDns(records: FakeRecords): Promise<FakeDns> {
  let now = records;
  const asked: string[] = [];
  const socket = dgram.createSocket('udp4');
  socket.on('message', (data, from) => {
    const { name, type, end } = questionOf(data);
    asked.push(name);
    if (now.fault === 'silent') return;
    const answers =
      type === TYPE.srv
        ? (now.srv?.[name] ?? []).map(([priority, weight, port, target]) =>
            record(type, Buffer.concat([u16(priority), u16(weight), u16(port), encoded(target)])),
          )
        : type === TYPE.a
          ? (now.a?.[name] ?? []).map((address) => record(type, Buffer.from(address.split('.').map(Number))))
          : [];
    // A name that has records of another type exists.
    const known = now.srv?.[name] !== undefined || now.a?.[name] !== undefined;
    const code = now.fault === 'refuse' ? 2 : known ? 0 : 3;
    const header = Buffer.concat([
      data.subarray(0, 2),
      Buffer.from([0x81, 0x80 | code]),
      u16(1),
      u16(code === 0 ? answers.length : 0),
      u16(0),
      u16(0),
    ]);
    socket.send(
      Buffer.concat([header, data.subarray(12, end), ...(code === 0 ? answers : [])]),
      from.port,
      from.address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    become: (records) => void (now = records),
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}
