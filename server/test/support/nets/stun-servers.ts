/** STUN servers in the public net: a real one, and one that lies. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import dgram from 'node:dgram';
import path from 'node:path';
import { mixedAddress, readStun, stunMessage } from '../../../src/adapters/asterisk/turn/stun.ts';
import { ADDRESSES, coturn, inNet } from './nets.ts';

const SUCCESS = 0x0101;
const MAPPED = 0x0020;

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
function start(command: readonly string[], cwd: string): AsyncDisposable {
  const [program = '', ...args] = inNet('public', ...command);
  const child = spawn(program, args, { cwd, stdio: 'ignore' });
  return { [Symbol.asyncDispose]: () => ended(child) };
}
/** coturn, which gives no relay. `folder` keeps its files. */
export function startStun(port: number, folder: string): AsyncDisposable {
  const options = [
    'stun-only',
    'no-tls',
    'no-cli',
    'log-file=stdout',
    `listening-ip=${ADDRESSES.provider}`,
    `listening-port=${port}`,
    `userdb=${path.join(folder, 'stun.db')}`,
    `pidfile=${path.join(folder, 'stun.pid')}`,
  ];
  return start([...coturn(), '-n', ...options.map((option) => `--${option}`)], folder);
}
/** Gives this IPv4 address to all that ask. */
export const startLiar = (port: number, lie: string, folder: string): AsyncDisposable =>
  start([process.execPath, import.meta.filename, String(port), lie], folder);

if (import.meta.main) {
  const [, , port, lie = ''] = process.argv;
  const socket = dgram.createSocket('udp4');
  socket.on('message', (data, from) => {
    const question = readStun(data);
    if (question === null) return;
    const { id } = question;
    const plain = Buffer.from([0, 1, 0, 0, ...lie.split('.').map(Number)]);
    // The mixing is its own reverse.
    const mixed = mixedAddress(plain, id)!;
    const value = Buffer.from([
      0,
      1,
      mixed.port >> 8,
      mixed.port & 255,
      ...mixed.host.split('.').map(Number),
    ]);
    socket.send(stunMessage(SUCCESS, id, [[MAPPED, value]]), from.port, from.address);
  });
  socket.bind(Number(port), ADDRESSES.provider);
}
