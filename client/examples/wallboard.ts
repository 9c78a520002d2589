/**
 * A wallboard with a log that survives a kill of either side: each line contains the position after its event.
 * `node wallboard.ts http://127.0.0.1:8080 <API key or token> wallboard.log`
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { createClient, cursorOf } from '@offhook/client';

const [base = '', token = '', file = 'wallboard.log'] = process.argv.slice(2);
const offhook = createClient({ base, token });
const queues = offhook.store('queues');
const percent = (rate: number | null | undefined) => (rate == null ? '-' : `${Math.round(rate * 100)} %`);
const shown = new Map<string, string>();
queues.subscribe(() => {
  for (const [name, { callers, offers, stats }] of queues) {
    const agents = `${stats?.agents.talking ?? '-'} talking, ${stats?.agents.wrap_up ?? '-'} in wrap-up`;
    const counts = `${callers.length} waiting, ${offers.length} ringing, ${agents}`;
    const line = `${queues.stale ? '(stale) ' : ''}${name}: ${counts}, SL ${percent(stats?.service_level)}`;
    if (shown.get(name) !== line) console.log(line);
    shown.set(name, line);
  }
});

appendFileSync(file, '');
const last = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1);
const cursor = last ? JSON.parse(last).cursor : null;
for await (const event of offhook.stream({ topics: ['queues', 'agents'], cursor })) {
  if (event.type === 'gap') console.log(`events ${event.from} to ${event.to} are kept no longer`);
  if (!('seq' in event)) continue;
  appendFileSync(file, `${JSON.stringify({ cursor: cursorOf(event), type: event.type })}\n`);
}
