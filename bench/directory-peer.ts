/** Peers of the directory: `directory-peer.ts <json|framework|prebuilt|hello> <file with the body>`. */
import fs from 'node:fs';
import http from 'node:http';
import type net from 'node:net';
import Fastify from 'fastify';

const [kind = '', file = ''] = process.argv.slice(2);
const body = fs.readFileSync(file);
const type = 'application/json; charset=utf-8';
const listening = (port: number): void => console.log(JSON.stringify({ port }));

const hello = Buffer.from('{"hello":"world"}');
if (kind === 'json' || kind === 'framework') {
  const app = Fastify();
  const contacts: unknown = JSON.parse(body.toString());
  if (kind === 'json') app.get('/', () => contacts);
  else app.get('/', (_request, reply) => reply.type(type).send(hello));
  await app.listen({ host: '127.0.0.1', port: 0 });
  listening((app.server.address() as net.AddressInfo).port);
} else {
  const sent = kind === 'prebuilt' ? body : hello;
  const server = http.createServer((_request, response) => {
    response.writeHead(200, { 'content-type': type, 'content-length': sent.length }).end(sent);
  });
  server.listen(0, '127.0.0.1', () => listening((server.address() as net.AddressInfo).port));
}
process.on('SIGTERM', () => process.exit());
