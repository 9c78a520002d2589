/** A site whose stores and journal are in PostgreSQL; the data folder has a copy of the journal. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { openPostgresSiteLog } from '../adapters/postgres/site-log.ts';
import { openPostgresStore } from '../adapters/postgres/store.ts';
import { sqliteCopyFile } from '../adapters/sqlite/journal-copy.ts';
import { randomBytes } from '../core/chance.ts';
import { ServiceError, StartError, messageOf } from '../core/errors.ts';
import { freeBytes } from '../core/folders.ts';
import type { Log } from '../core/log.ts';
import { firstCheck } from '../core/row-check.ts';
import { attachCopy } from '../journal/attach.ts';
import { createSiteRecord } from '../journal/site-record.ts';
import type { Clock } from '../ports/clock.ts';
import type { LogState, SiteLog } from '../ports/site-log.ts';
import type { Store } from '../ports/store.ts';
import type { Config } from './config.ts';
import { folderId, siteId } from './site-id.ts';
import { SITE } from './site-tables.ts';
import { noStoreGaps } from './store-gaps.ts';

/** Time for which the log is taken, and interval at which it is taken again. */
const LEASE_SECONDS = 10;
const RENEW_MS = 3_000;
/** Interval between questions to a database that does not answer. */
const ASK_MS = 1_000;

export interface ServerSiteOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  readonly end: (why: string) => void;
}

/**
 * Opens everything that belongs to the site in its database, once the database answers. Throws where another process runs the site,
 * and `StartError` where the data folder holds another site.
 */
export async function openOnServer(options: ServerSiteOptions, stack: AsyncDisposableStack) {
  const { config, log } = options;
  const url = config.databaseUrl!;
  refuseUnmoved(config.data);
  const siteLog = openPostgresSiteLog(url);
  stack.defer(() => siteLog.close());
  // Before the tables, so that a second service learns which one runs the site.
  const begun = await whenReachable(options, async () =>
    (await siteLog.state()) === null ? null : await takeLog(siteLog, config.data),
  );
  const opened = openPostgresStore(url, { log, features: Object.keys(SITE) });
  stack.defer(() => opened.close());
  // The disk of this machine still takes recordings and the copy of the journal.
  const store: Store = { ...opened, freeBytes: () => freeBytes(config.data) };
  const site = await whenReachable(options, () => siteId(store));
  const state = begun ?? (await whenReachable(options, () => beginLog(siteLog, config.data)));
  const lease = keepLease(siteLog, state.term, options);
  stack.defer(() => lease.close());
  const copyFile = sqliteCopyFile(path.join(config.data, 'journal.db'), { log, site });
  const journalStore = await whenReachable(options, async () => {
    const now = await siteLog.state();
    return attachCopy({ siteLog, state: now?.term === state.term ? now : state, copyFile, log });
  });
  const record = createSiteRecord({ siteLog, term: state.term, copy: journalStore, log, lost: options.end });
  return { store, storeGaps: noStoreGaps, records: store, journalStore, record };
}

/** Answers of a database that is away or starting are awaited; others are errors of the start. */
async function whenReachable<R>(
  { clock, say, signal }: ServerSiteOptions,
  ask: () => Promise<R>,
): Promise<R> {
  let said = '';
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'store_unavailable') throw error;
      const why = messageOf(error);
      if (why !== said) say(`Waiting for the database of this site: ${why}`);
      said = why;
      await clock.sleep(ASK_MS, signal);
    }
  }
}
function refuseUnmoved(data: string): void {
  const file = path.join(data, 'offhook.db');
  if (!fs.existsSync(file)) return;
  throw new StartError(
    'store_missing',
    `${file} holds a site that is not in PostgreSQL: npm run migrate moves it there; to begin with an empty one, move offhook.db and ` +
      'journal.db away.',
  );
}
async function beginLog(siteLog: SiteLog, data: string): Promise<LogState> {
  const epoch = randomBytes(9, 'epoch').toString('base64url');
  await siteLog.begin({ epoch, began: 1, head: 0, check: firstCheck(epoch) });
  return takeLog(siteLog, data);
}
/** Takes the log for this data folder. Throws where another one has it. */
export async function takeLog(siteLog: SiteLog, data: string): Promise<LogState> {
  const holder = { id: await folderId(data), location: `${os.hostname()}:${path.resolve(data)}` };
  const found = await siteLog.take(holder, LEASE_SECONDS);
  if (found.taken) return found.state;
  throw new Error(
    `another Offhook (${found.by.location}) runs the site of this database; stop it, or give this one another database`,
  );
}

/** Keeps the log taken, so that no other process takes it while this one lives and the database answers. */
export function keepLease(
  siteLog: SiteLog,
  term: number,
  { log, end }: Pick<ServerSiteOptions, 'log' | 'end'>,
): { close(): void } {
  let failing = false;
  let asking = false;
  const timer = setInterval(() => {
    if (asking) return;
    asking = true;
    siteLog
      .renew(term, LEASE_SECONDS)
      .then(
        (ours) => {
          failing = false;
          if (!ours) end('another process took the log of this site');
        },
        (error: unknown) => {
          if (!failing)
            log.warn({ error: messageOf(error) }, 'the log of this site cannot be taken again now');
          failing = true;
        },
      )
      .finally(() => (asking = false));
  }, RENEW_MS);
  return { close: () => clearInterval(timer) };
}
