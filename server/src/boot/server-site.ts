/** A site whose stores and journal are in PostgreSQL; the data folder has a copy of the journal. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { openPostgresSiteLog } from '../adapters/postgres/site-log.ts';
import { openPostgresSiteNodes } from '../adapters/postgres/site-nodes.ts';
import { placeOf } from '../adapters/postgres/settings.ts';
import { openPostgresStore } from '../adapters/postgres/store.ts';
import { sqliteCopyFile } from '../adapters/sqlite/journal-copy.ts';
import { randomBytes } from '../core/chance.ts';
import { ServiceError, StartError, messageOf } from '../core/errors.ts';
import { rfc3339 } from '../core/clock.ts';
import { freeBytes } from '../core/folders.ts';
import type { Log } from '../core/log.ts';
import { firstCheck } from '../core/row-check.ts';
import { attachCopy } from '../journal/attach.ts';
import { LEASE_SECONDS, Lease, momentNow } from '../journal/lease.ts';
import { createSiteRecord } from '../journal/site-record.ts';
import type { LogHolder, LogState, SiteLog } from '../ports/site-log.ts';
import type { Store } from '../ports/store.ts';
import type { Common } from '../ports/common.ts';
import type { Config } from './config.ts';
import { assertTables } from './lost-tables.ts';
import { folderId, siteId } from './site-id.ts';
import { shareKey } from './site-key.ts';
import { SITE } from './site-tables.ts';
import { noStoreGaps } from './store-gaps.ts';

/** Interval between questions to a database that does not answer. */
const ASK_MS = 1_000;

export interface ServerSiteOptions extends Common<'clock' | 'log'> {
  readonly config: Config;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  readonly end: (why: string) => void;
  /** Called last at the stop: the node to pass the site to; null for any, undefined to keep it for this folder. */
  readonly heir?: () => LogHolder | null | undefined;
}
/** Opens the database of the site for a node that does not lead. */
export function openSiteDatabase({ databaseUrl }: Config, log: Log, stack: AsyncDisposableStack) {
  const siteLog = openPostgresSiteLog(databaseUrl!);
  stack.defer(() => siteLog.close());
  const nodes = openPostgresSiteNodes(databaseUrl!);
  stack.defer(() => nodes.close());
  const store = openPostgresStore(databaseUrl!, { log });
  stack.defer(() => store.close());
  return { siteLog, nodes, store };
}
/** Time in which only the named node may take a site that was passed to it. */
const HEIR_SECONDS = 10;

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
  let taken = momentNow();
  let state = await whenReachable(options, async () => {
    taken = momentNow();
    return (await siteLog.state()) === null ? null : await takeLog(siteLog, config.data);
  });
  const holder = (await holderOf(config.data)).id;
  const term = () => (state === null ? null : { term: state.term, holder });
  const opened = openPostgresStore(url, { log, features: Object.keys(SITE), term });
  stack.defer(() => opened.close());
  // The disk of this machine still takes recordings and the copy of the journal.
  const store: Store = { ...opened, freeBytes: () => freeBytes(config.data) };
  if (state !== null) await whenReachable(options, () => assertTables(opened, placeOf(url)));
  const site = await whenReachable(options, () => siteId(store));
  const led = (state ??= await whenReachable(options, () => {
    taken = momentNow();
    return beginLog(siteLog, config.data);
  }));
  const lease = new Lease({ siteLog, term: led.term, taken, log, lost: options.end });
  stack.defer(async () => {
    lease.close();
    const heir = options.heir?.();
    if (heir === undefined) return;
    // Nothing of this process may be written once another one leads.
    await opened.close();
    await siteLog.pass(led.term, heir, HEIR_SECONDS).catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'the site could not be handed over; its lease will expire');
    });
  });
  const nodes = config.node === null ? null : openPostgresSiteNodes(url);
  stack.defer(() => nodes?.close());
  if (nodes !== null) await whenReachable(options, () => shareKey(nodes, config.data));
  const copyFile = sqliteCopyFile(path.join(config.data, 'journal.db'), { log, site });
  const journalStore = await whenReachable(options, async () => {
    const now = await siteLog.state();
    return attachCopy({
      siteLog,
      state: now?.term === led.term ? now : led,
      copyFile,
      log,
      restored: (since) => sayRestored(options, since),
    });
  });
  // The lease finds out whether another process took the log, which then leads the site.
  const lost = (why: string): void => void lease.renew().then(() => options.end(why));
  const record = createSiteRecord({ siteLog, term: led.term, copy: journalStore, log, lost });
  return { site, store, storeGaps: noStoreGaps, records: store, journalStore, record, lease, nodes };
}

/** Warns of a restored database: the copy on this machine restores its events, but no rows of other tables. */
function sayRestored({ say, log }: Pick<ServerSiteOptions, 'say' | 'log'>, since: number | null): void {
  const from = since === null ? 'an unknown time' : rfc3339(since);
  const words =
    `The database of this site is older than the events on this machine (store_restored): changes of people, configuration and ` +
    `history since ${from} are lost where the database was restored from a backup or failed over; see docs/postgresql.md.`;
  say(words);
  log.error({ code: 'store_restored', since: from }, words);
}
/** Retries `ask` while the database is unavailable (`store_unavailable`); throws every other error. */
export async function whenReachable<R>(
  { clock, say, signal }: Pick<ServerSiteOptions, 'clock' | 'say' | 'signal'>,
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
/** This data folder as the holder of a site's log. */
export const holderOf = async (data: string): Promise<LogHolder> => ({
  id: await folderId(data),
  location: `${os.hostname()}:${path.resolve(data)}`,
});
/** Takes the log for this data folder. Throws where another one has it. */
export async function takeLog(siteLog: SiteLog, data: string): Promise<LogState> {
  const found = await siteLog.take(await holderOf(data), LEASE_SECONDS);
  if (found.taken) return found.state;
  throw new Error(
    `another Offhook (${found.by.location}) runs the site of this database; stop it, or give this one another database`,
  );
}
