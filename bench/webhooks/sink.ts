/**
 * Targets of webhooks on bare sockets: prints `{ port }`. `/<n>` is the n-th target, `/dead` accepts a request and never
 * answers. Over IPC it reports the requests since the last time, after checking every signature and the order.
 */
import { createHmac } from 'node:crypto';
import net from 'node:net';

const ANSWER = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
const END = Buffer.from('\r\n\r\n');
/** `whsec_…` by target; without one, signatures are not checked. */
let secrets: Record<string, string> = {};
const last = new Map<string, number>();
let [got, wrong] = [0, 0];
let finished = 0;
let wanted = Infinity;
let tell: (() => void) | null = null;

function take(path: string, head: string, body: Buffer): void {
  const header = (name: string): string => new RegExp(`\r\n${name}: ([^\r]*)`, 'i').exec(head)?.[1] ?? '';
  const id = header('webhook-id');
  const secret = secrets[path];
  if (secret !== undefined) {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const signed = createHmac('sha256', key)
      .update(`${id}.${header('webhook-timestamp')}.`)
      .update(body);
    if (header('webhook-signature') !== `v1,${signed.digest('base64')}`) wrong += 1;
  }
  const seq = Number(id.slice(id.indexOf(':') + 1));
  if (seq !== (last.get(path) ?? seq - 1) + 1) wrong += 1;
  last.set(path, seq);
  got += 1;
  if (got < wanted) return;
  finished = performance.now();
  tell?.();
}
const server = net.createServer((socket) => {
  socket.setNoDelay(true).on('error', () => socket.destroy());
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(END); end >= 0; end = rest.indexOf(END)) {
      const head = rest.toString('latin1', 0, end + 2);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const to = end + END.length + length;
      if (rest.length < to) return;
      const path = head.slice(head.indexOf(' ') + 1, head.indexOf(' ', head.indexOf(' ') + 1));
      const body = rest.subarray(end + END.length, to);
      rest = rest.subarray(to);
      if (path === '/dead') return;
      take(path, head, body);
      socket.write(ANSWER);
    }
  });
});
export type SinkQuestion =
  | { readonly ask: 'expect'; readonly count: number; readonly secrets?: Record<string, string> }
  | { readonly ask: 'result' };
process.on('message', (question: SinkQuestion) => {
  if (question.ask === 'expect') {
    ({ secrets = secrets } = question);
    [got, wrong, wanted] = [0, 0, question.count];
    process.send?.({});
    return;
  }
  const answer = (): void => {
    tell = null;
    process.send?.({ got, wrong, at: performance.timeOrigin + finished });
  };
  if (got >= wanted) answer();
  else tell = answer;
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as net.AddressInfo).port }));
});
process.on('SIGTERM', () => process.exit());
