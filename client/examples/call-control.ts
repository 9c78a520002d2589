/** Calls a customer from an agent's phone, passes the call on attended, hears each step; a supervisor listens in. */
import { createClient } from '@offhook/client';

const [base = '', agent = '', supervisor = '', customer = '', colleague = ''] = process.argv.slice(2);
const [zoe, soren] = [createClient({ base, token: agent }), createClient({ base, token: supervisor })];
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
