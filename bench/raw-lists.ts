/** The limit of a resync: the same lists, read and discarded: `raw-lists.ts <manager port> <user:secret> <times>`. */
import { rawManager } from './raw-manager.ts';

const [port = '', account = '', times = '1'] = process.argv.slice(2);
const colon = account.indexOf(':');
const manager = await rawManager(
  Number(port),
  { user: account.slice(0, colon), secret: account.slice(colon + 1) },
  'off',
);
const ms: number[] = [];
let frames = 0;
for (let i = 0; i < Number(times); i++) {
  const from = performance.now();
  frames = 0;
  for (const name of ['Ping', 'CoreStatus', 'CoreSettings']) await manager.action(name);
  for (const name of ['CoreShowChannels', 'QueueStatus', 'DeviceStateList', 'PJSIPShowContacts'])
    frames += await manager.list(name);
  ms.push(performance.now() - from);
}
console.log(JSON.stringify({ ms, frames }));
process.exit();
