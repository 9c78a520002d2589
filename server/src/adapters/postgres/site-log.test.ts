import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { logRows, siteLogConformance } from '../../../test/conformance/site-log.ts';
import { cuttable } from '../../../test/support/cuttable.ts';
import { usePostgres } from '../../../test/support/use-site.ts';
import { REPOSITORY } from '../../../test/support/sources.ts';
import { firstCheck } from '../../core/row-check.ts';
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

test('site log - a database that lost a takeover gives its term again, and the process that had it is fenced', async () => {
  const url = await server().createDatabase();
  const [a, b] = [openPostgresSiteLog(url), openPostgresSiteLog(url)];
  try {
    const start = { epoch: 'epoch-one', began: 1, head: 0, check: firstCheck('epoch-one') };
    await a.begin(start);
    const lost = await b.take({ id: 'b', location: 'host b' }, 60);
    await server().run(url, 'update offhook_log set term = 0, holder = null');
    const again = await a.take({ id: 'a', location: 'host a' }, 60);
    assert.ok(lost.taken && again.taken);
    assert.equal(again.state.term, lost.state.term);
    assert.equal(await b.append(lost.state.term, 0, logRows(start, 1, 'late')), 'deposed');
    assert.equal(await b.renew(lost.state.term, 60), false);
    assert.equal(await b.pass(lost.state.term, null, 10), false);
    assert.equal(await a.append(again.state.term, 0, logRows(start, 1)), 'appended');
    assert.equal(await a.renew(again.state.term, 60), true);
  } finally {
    await a.close();
    await b.close();
  }
});
