/** An agent's buttons as lines of text: `pause lunch`, `ready`, `done`. `node agent-buttons.ts <base> 1003 <password>` */
import { createInterface } from 'node:readline';
import { createClient } from '@offhook/client';
const [base = '', username = '', password = ''] = process.argv.slice(2);
const offhook = createClient({ base });
const { extension } = (await offhook.login({ username, password })).user;
const me = offhook.store('agents', { only: [extension] });
me.subscribe(() => {
  const { state, readiness, since } = me.get(extension) ?? {};
  if (state) console.log(me.stale ? 'stale:' : 'live:', state, readiness?.reason ?? '', 'since', since);
});
const buttons: Record<string, (word?: string) => Promise<unknown>> = {
  pause: (reason) => offhook.command('agents.pause', { extension, reason }),
  ready: () => offhook.command('agents.unpause', { extension }),
  done: () => offhook.command('agents.wrap-up', { extension, finish: true }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const [name = '', word] = line.split(' ');
  await (buttons[name]?.(word) ?? offhook.command(name)).catch(({ message }) => console.log(message));
}
