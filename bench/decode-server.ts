/** Plays recorded calls to each client: `decode-server.ts <events> <chunk bytes> <extensions>`. */
import net from 'node:net';
import { EVENTS_PER_COPY, recordingCopy } from './recording.ts';

const [wanted = 0, size = 65_536, extensions = 1_000] = process.argv.slice(2).map(Number);
const copies = Math.ceil(wanted / EVENTS_PER_COPY);
const done = Buffer.from('Event: BenchDone\r\nPrivilege: system,all\r\n\r\n');
// Prepared first: the player must never be slower than its client.
const stream = Buffer.concat([
  ...Array.from({ length: copies }, (_, n) => recordingCopy(n, extensions)),
  done,
]);

const server = net.createServer((socket) => {
  socket.setNoDelay(true).on('error', () => undefined);
  socket.write('Asterisk Call Manager/11.0.0\r\n');
  let text = '';
  let playing = false;
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
    for (let at = text.indexOf('\r\n\r\n'); at >= 0; at = text.indexOf('\r\n\r\n')) {
      const action = text.slice(0, at);
      text = text.slice(at + 4);
      const id = /^ActionID: ?(.*)$/im.exec(action)?.[1];
      socket.write(
        `Response: Success\r\n${id === undefined ? '' : `ActionID: ${id}\r\n`}Message: Authentication accepted\r\n\r\n`,
      );
      if (playing || !/^Action: ?login$/im.test(action)) continue;
      playing = true;
      socket.write(
        'Event: FullyBooted\r\nPrivilege: system,all\r\nUptime: 1\r\nLastReload: 1\r\nStatus: Fully Booted\r\n\r\n',
      );
      setImmediate(play, socket);
    }
  });
});
function play(socket: net.Socket): void {
  let at = 0;
  const next = (): void => {
    while (at < stream.length) {
      const piece = stream.subarray(at, (at += size));
      if (!socket.write(piece)) return void socket.once('drain', next);
    }
  };
  next();
}
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as net.AddressInfo;
  console.log(JSON.stringify({ port, events: copies * EVENTS_PER_COPY, bytes: stream.length }));
});
process.on('SIGTERM', () => process.exit());
