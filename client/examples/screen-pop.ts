/** Prints the caller, and the new party after a transfer: `node screen-pop.ts http://127.0.0.1:8080 1003 <password>` */
import { createClient } from '@offhook/client';

const [base = '', username = '', password = ''] = process.argv.slice(2);
const offhook = createClient({ base });
const { user } = await offhook.login({ username, password });
const pop = (what: string, { number, name }: { number: string; name: string }): void =>
  console.log(`${name || 'Somebody'} (${number}) ${what}: https://crm.example.com/people?phone=${number}`);

for await (const event of offhook.stream({ topics: ['calls/mine'] })) {
  switch (event.type) {
    case 'call.ringing':
      // A click-to-call rings the own device too, but has no caller.
      if (event.data.leg.extension === user.extension && event.data.placed === undefined)
        pop('calls', event.data.caller);
      break;
    case 'call.party_changed':
      // A colleague completed an attended transfer.
      if (event.data.leg.extension === user.extension && event.data.party.extension === null)
        pop('is on the line', event.data.party);
      break;
    default:
  }
}
