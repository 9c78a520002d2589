/**
 * 50 connections that send requests at full speed: `load.ts <url> <requests> <headers as JSON>`. Raw sockets, because the
 * usual tools cost more for each reply than the subject.
 */
import net from 'node:net';

const CONNECTIONS = 50;
const SILENCE_MS = 20_000;
const [address = '', wanted = '1', headers = '{}'] = process.argv.slice(2);
const url = new URL(address);
const request = Buffer.from(
  [
    `GET ${url.pathname} HTTP/1.1`,
    `host: ${url.host}`,
    ...Object.entries(JSON.parse(headers) as object).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n'),
);
let left = Number(wanted);
let bytes = 0;
let done = 0;
const statuses = new Set<string>();
const END = Buffer.from('\r\n\r\n');

/** One connection; resolves when no request is left. */
async function work(): Promise<void> {
  const socket = net.connect({ host: url.hostname, port: Number(url.port), noDelay: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.setTimeout(SILENCE_MS, () => reject(new Error(`no answer in ${SILENCE_MS / 1000} s`)));
  socket.once('error', reject).once('close', () => reject(new Error('the connection was closed')));
  let head: Buffer | null = null;
  let missing = 0;
  const ask = (): void => {
    if (left <= 0) return resolve();
    left -= 1;
    head = Buffer.alloc(0);
    socket.write(request);
  };
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    if (head === null) missing -= chunk.length;
    else {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(END);
      if (end < 0) return;
      const text = head.subarray(0, end).toString('latin1');
      statuses.add(text.slice(9, 12));
      missing = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0) - (head.length - end - END.length);
      head = null;
    }
    if (missing < 0) return reject(new Error('the body is longer than its Content-Length'));
    if (missing > 0) return;
    done += 1;
    ask();
  });
  socket.once('connect', ask);
  await promise;
  socket.removeAllListeners('close').destroy();
}
const began = performance.now();
await Promise.all(Array.from({ length: CONNECTIONS }, work));
const seconds = (performance.now() - began) / 1000;
console.log(JSON.stringify({ requests: done, bytes, seconds, statuses: [...statuses] }));
process.exit();
