/** Calls a customer from an agent's phone, transfers the call attended, and prints each step; a supervisor listens in. */
import { createClient } from '@offhook/client';

const [base = '', customer = '', colleague = '', ...people] = process.argv.slice(2);
const [zoe, soren] = [createClient({ base }), createClient({ base })];
process.on('uncaughtException', (error) => process.exit((console.error(error.message), 1)));
await zoe.login({ username: people[0] ?? '', password: people[1] ?? '' });
await soren.login({ username: people[2] ?? '', password: people[3] ?? '' });
let call = '';
for await (const event of zoe.stream({ topics: ['calls/mine'], snapshot: true })) {
  console.log(event.type, JSON.stringify(event));
  const met = event.type === 'call.answered' || event.type === 'call.joined' ? event.data.leg.number : '';
  if (event.type === 'snapshot') call = (await zoe.calls.originate({ to: customer })).operation.call_id ?? '';
  if (met === customer) await soren.calls.listen(call);
  if (met === customer) await zoe.calls.transfer(call, { kind: 'attended', to: colleague });
  if (met === colleague) await zoe.calls.completeTransfer(call);
  if (event.type === 'call.ended' && event.data.call_id === call) break;
}
