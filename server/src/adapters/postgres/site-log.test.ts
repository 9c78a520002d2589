import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { siteLogConformance } from '../../../test/conformance/site-log.ts';
import { cuttable } from '../../../test/support/cuttable.ts';
import { usePostgres } from '../../../test/support/use-site.ts';
import { REPOSITORY } from '../../../test/support/sources.ts';
import { openPostgresSiteLog } from './site-log.ts';

const execute = promisify(execFile);
const APPENDER = path.join(REPOSITORY, 'server/test/support/appender.ts');
const server = usePostgres();

siteLogConformance('postgres', async () => {
  const url = await server().createDatabase();
  const relay = await cuttable(url);
  return {
    open: () => openPostgresSiteLog(relay.url),
    async cut(count) {
      await server().run(
        url,
        `delete from offhook_journal where seq > (select head from offhook_log) - ${count};
         update offhook_log set head = head - ${count}, sum = (
           select substr(json, length(json) - 9, 8) from offhook_journal order by seq desc limit 1)`,
      );
    },
    async appendApart({ term, word, groups }) {
      await execute(process.execPath, [APPENDER, url, String(term), word, String(groups)]);
    },
    loseAnswer: () => relay.loseAnswer('insert into offhook_journal'),
    [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose](),
  };
});
