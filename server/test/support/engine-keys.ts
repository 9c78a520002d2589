/** Keys that no phone has, given to the engine as if an extension's phone had sent them. */
import { once } from 'node:events';
import net from 'node:net';
import { loadInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import type { Site } from './site.ts';
import { until } from './until.ts';

/** Resolves to the time at which the keys were sent, on the phones' clock. */
export async function pressKeys(site: Site, extension: string, keys: string): Promise<number> {
  const instance = loadInstance(site.dataDir)!;
  const shown = await site.engineCli('core show channels concise');
  const channel = shown
    .split('\n')
    .find((line) => line.startsWith(`PJSIP/${extension}-`))!
    .split('!')[0]!;
  const socket = net.connect(instance.ami_port, '127.0.0.1');
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await once(socket, 'connect');
  const { user, secret } = instance.ami_actions;
  const send = (...lines: string[]): void => void socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  send('Action: Login', `Username: ${user}`, `Secret: ${secret}`);
  const sent = performance.now();
  for (const key of keys) send('Action: PlayDTMF', `Channel: ${channel}`, `Digit: ${key}`, 'Receive: true');
  const done = (): boolean => said.split('Response: Success').length - 1 === keys.length + 1;
  await until(`the engine to take ${keys}`, done, { seen: () => ({ said }) });
  socket.destroy();
  return sent;
}
