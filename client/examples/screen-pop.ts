/** Says who calls while the own phone rings: `node screen-pop.ts http://127.0.0.1:8080 1003 <password>` */
import { createClient } from '@offhook/client';

const [base = '', username = '', password = ''] = process.argv.slice(2);
const offhook = createClient({ base });
const { user } = await offhook.login({ username, password });
for await (const event of offhook.stream({ topics: ['calls/mine'] })) {
  if (event.type !== 'call.ringing' || event.data.leg.extension !== user.extension) continue;
  const { number, name } = event.data.caller;
  console.log(`${name || 'Somebody'} (${number}) calls: https://crm.example.com/people?phone=${number}`);
}
