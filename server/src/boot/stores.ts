/** Storage of a site: its data folder, log, stores and journal. */
import path from 'node:path';
import { openPostgresStore } from '../adapters/postgres/store.ts';
import { refuseOlder } from '../adapters/sqlite/database.ts';
import type { Flusher } from '../adapters/sqlite/flusher.ts';
import { openSqliteJournal } from '../adapters/sqlite/journal.ts';
import { openSqliteStore } from '../adapters/sqlite/store.ts';
import { messageOf } from '../core/errors.ts';
import { lockFolder } from '../core/folder-lock.ts';
import { makeFolder } from '../core/folders.ts';
import { openLog } from '../core/log-file.ts';
import type { Log } from '../core/log.ts';
import { EventFeed } from '../journal/event-feed.ts';
import { openJournal } from '../journal/journal.ts';
import type { Clock } from '../ports/clock.ts';
import type { LogHolder } from '../ports/site-log.ts';
import type { OpenEngineSite } from './asterisk-site.ts';
import { openBus } from './bus.ts';
import { HomeEngines } from './home-engines.ts';
import { sealingKey, siteKey, siteSecret } from './site-key.ts';
import { ConfigError, VERSION } from './config.ts';
import { shareFiles } from './shared-files.ts';
import type { Config } from './config.ts';
import { openOnServer } from './server-site.ts';
import { RECORDS } from './site-tables.ts';
import { noteRecords, siteId, storeFile } from './site-id.ts';
import { openLostEvents } from './lost-events.ts';
import { createStoreGaps } from './store-gaps.ts';

/** Locks the data folder and opens its log. Throws `ConfigError` where the folder cannot be created or written. */
export function openFolder(
  config: Pick<Config, 'data' | 'logLevel'> & Partial<Pick<Config, 'sharedFiles' | 'nodeRole'>>,
  stack: AsyncDisposableStack,
) {
  try {
    makeFolder(config.data);
  } catch (error) {
    throw new ConfigError(
      `OFFHOOK_DATA=${config.data}: expected a folder that can be made and written; ${messageOf(error)}`,
    );
  }
  const lock = lockFolder(config.data);
  stack.defer(() => lock.release());
  if (config.sharedFiles != null && config.nodeRole !== 'web') shareFiles(config.data, config.sharedFiles);
  const logFile = openLog(path.join(config.data, 'logs', 'offhook.log'), config.logLevel);
  stack.defer(() => logFile.close());
  logFile.log.info({ version: VERSION, node: process.version, pid: process.pid }, 'starting');
  return { log: logFile.log };
}
export type Stores = Awaited<ReturnType<typeof openStores>>;

export interface StoresOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly openEngineSite: OpenEngineSite;
  /** Receives lines for the terminal. */
  readonly say: (line: string) => void;
  /** Flushes the store to the disk; for a site whose data need not survive its process. */
  readonly flusher?: Flusher | undefined;
  /** Ends the wait for a database that does not answer. */
  readonly signal: AbortSignal;
  /** Called when this process may no longer write the site's journal and has to end. */
  readonly end: (why: string) => void;
  /** See `ServerSiteOptions.heir`. */
  readonly heir?: () => LogHolder | null | undefined;
}
/** Everything that belongs to the site, in files of the data folder. */
async function openLocal({ config, clock, flusher }: StoresOptions, log: Log, stack: AsyncDisposableStack) {
  const store = await openSqliteStore(storeFile(config.data), {
    log,
    ...(flusher !== undefined && { flusher }),
  });
  stack.defer(() => store.close());
  // Live work needs no records: while their database is away, calls, agents and sign-in continue.
  const features = Object.keys(RECORDS);
  const records =
    config.databaseUrl === null ? store : openPostgresStore(config.databaseUrl, { log, features });
  stack.defer(() => records.close());
  await noteRecords(config.data, config.databaseUrl);
  const site = await siteId(store);
  const journalStore = openSqliteJournal(path.join(config.data, 'journal.db'), { log, site });
  const [lease, nodes] = [null, null];
  return {
    site,
    store,
    storeGaps: createStoreGaps(store, clock, log),
    records,
    journalStore,
    record: null,
    lease,
    nodes,
  };
}
/** Opens the stores, the journal and the bus of the site, and its engine's folder; starts no engine. */
export async function openStores(options: StoresOptions, stack: AsyncDisposableStack) {
  const { config, clock, say } = options;
  refuseOlder(path.join(config.data, 'offhook.db'));
  const { log } = openFolder(config, stack);
  const { site, store, storeGaps, records, journalStore, record, lease, nodes } =
    config.siteStore === 'postgres'
      ? await openOnServer({ ...options, log }, stack)
      : await openLocal(options, log, stack);
  const fence = config.node === null ? undefined : lease?.fence;
  const key = await siteKey(config.data);
  const homes = new HomeEngines({
    nodes,
    secret: siteSecret(key, 'nodes'),
    sealingKey: sealingKey(key),
    own: () => ({ node: config.node ?? '', term: lease?.term ?? 0 }),
    clock,
    log,
  });
  stack.defer(() => homes.close());
  const others =
    config.node === null
      ? undefined
      : {
          connect: (name: string) => () => homes.of(name).target(),
          records: (name: string) => homes.of(name).records,
          voicemail: (name: string) => homes.of(name).voicemail,
          config: (name: string) => homes.of(name),
        };
  const engineSite = await options.openEngineSite({ config, log, clock, say, fence, others });
  const { node } = engineSite;
  const journal = openJournal({ store: journalStore, node, record });
  stack.defer(() => journal.close());
  const nats = await openBus({ config, log, site }, stack);
  const outside = config.natsStream === null ? undefined : await nats?.stream(config.natsStream);
  const feed = outside === undefined ? null : new EventFeed({ journal, stream: outside, log });
  stack.defer(() => feed?.close());
  const bus = nats?.bus ?? null;
  return {
    config,
    log,
    clock,
    bus,
    feed,
    store,
    storeGaps,
    lostEvents: await openLostEvents(config.data, clock, log),
    records,
    engineSite,
    /** Addresses of the engines of all nodes. */
    engineHosts: () => homes.hosts(),
    node,
    journal,
    lease,
    nodes,
  };
}
