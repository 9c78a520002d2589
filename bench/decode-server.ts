/** Plays a recorded AMI stream, repeated, to whoever signs in: `decode-server.ts <frames> <chunk bytes>`. */
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

const [frames = '375000', chunk = '65536'] = process.argv.slice(2);
const recording = fs.readFileSync(
  path.join(import.meta.dirname, '../server/test/transcripts/queue-calls.ami'),
);
const perCopy = recording
  .toString('latin1')
  .split('\r\n\r\n')
  .filter((f) => f.startsWith('Event: ')).length;
const copies = Math.ceil(Number(frames) / perCopy);
const size = Number(chunk);
const done = Buffer.from('Event: BenchDone\r\nPrivilege: system,all\r\n\r\n');

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
  let copy = 0;
  let at = 0;
  const next = (): void => {
    for (;;) {
      if (copy === copies) return void socket.write(done);
      const piece = recording.subarray(at, at + size);
      at += piece.length;
      if (at >= recording.length) {
        at = 0;
        copy += 1;
      }
      if (!socket.write(piece)) return void socket.once('drain', next);
    }
  };
  next();
}
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as net.AddressInfo).port, events: copies * perCopy }));
});
process.on('SIGTERM', () => process.exit());
