import { after, before } from 'node:test';
import { siteLogConformance } from '../../../test/conformance/site-log.ts';
import { cuttable } from '../../../test/support/cuttable.ts';
import { startPostgres } from '../../../test/support/postgres.ts';
import type { TestPostgres } from '../../../test/support/postgres.ts';
import { openPostgresSiteLog } from './site-log.ts';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server[Symbol.asyncDispose]());

siteLogConformance('postgres', async () => {
  const url = await server.createDatabase();
  const relay = await cuttable(url);
  return {
    open: () => openPostgresSiteLog(relay.url),
    async cut(count) {
      await server.run(
        url,
        `delete from offhook_journal where seq > (select head from offhook_log) - ${count};
         update offhook_log set head = head - ${count}, sum = (
           select substr(json, length(json) - 9, 8) from offhook_journal order by seq desc limit 1)`,
      );
    },
    loseAnswer: () => relay.loseAnswer('insert into offhook_journal'),
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
});
