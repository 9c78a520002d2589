import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { openPostgresStore } from '../adapters/postgres/store.ts';
import { openSqliteStore } from '../adapters/sqlite/store.ts';
import { readConfig } from '../boot/config.ts';
import { e164In } from '../numbers/e164.ts';
import { messageOf } from '../core/errors.ts';
import { lockFolder } from '../core/folder-lock.ts';
import { silent } from '../core/log.ts';
import { rebuildConversations } from '../features/history/ingest/rebuild.ts';
import { migrations } from '../features/history/store/migrations.ts';
import { createDirectory } from '../features/pbx-config/directory.ts';
import { openObjects } from '../features/pbx-config/objects.ts';
import { migrations as pbxConfigMigrations } from '../features/pbx-config/tables.ts';

const USAGE = `Usage: npm run rebuild -- --from 2026-11-01 --to 2026-12-01
Rebuilds the conversations that ended in this range from their call records, with the service stopped.`;

/** Milliseconds since 1970; null for text that is no moment. */
function readMoment(text: string | undefined): number | null {
  const ms = /^\d{4}-\d\d-\d\d(T.*)?$/.test(text ?? '') ? Date.parse(text!) : Number.NaN;
  return Number.isFinite(ms) ? ms : null;
}

/**
 * The exit code is 0 when the whole range is rebuilt, 1 when the service runs or a step failed (the same command then
 * continues), 2 for wrong usage.
 */
async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { from: { type: 'string' }, to: { type: 'string' } },
  });
  const [from_ms, to_ms] = [readMoment(values.from), readMoment(values.to)];
  if (from_ms === null || to_ms === null || to_ms <= from_ms) {
    console.error(USAGE);
    return 2;
  }
  const config = readConfig(process.env);
  const file = path.join(config.data, 'offhook.db');
  const url = config.databaseUrl;
  const onServer = config.siteStore === 'postgres' && url !== null;
  if (!onServer && !fs.existsSync(file)) throw new Error(`there is no site in ${config.data}`);
  await using stack = new AsyncDisposableStack();
  const lock = lockFolder(config.data);
  stack.defer(() => lock.release());
  const local = onServer ? openPostgresStore(url) : await openSqliteStore(file);
  stack.defer(() => local.close());
  await local.migrate('pbx-config', pbxConfigMigrations);
  const store = onServer || url === null ? local : openPostgresStore(url);
  stack.defer(() => store.close());
  await store.migrate('history', migrations);
  const began = performance.now();
  const parts = {
    directory: createDirectory(await openObjects(local)),
    log: silent,
    e164: e164In(config.siteCountry),
  };
  const said = { percent: -1 };
  const { done, total, changed } = await rebuildConversations(
    { ...parts, store },
    { from_ms, to_ms },
    (at) => {
      const percent = Math.floor((at.done / Math.max(1, at.total)) * 20) * 5;
      if (percent > said.percent) console.log(`${percent} %: ${at.done} of ${at.total}`);
      said.percent = Math.max(said.percent, percent);
    },
    signal,
  );
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${done} of ${total} conversations rebuilt in ${seconds} s; ${changed} of them changed.`);
  return signal.aborted ? 1 : 0;
}

const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stopping.abort());
try {
  process.exitCode = await main(process.argv.slice(2), stopping.signal);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
