/** Compares a site's stored conversations with two rebuilds: by the command, and from the call records alone. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { nodeId } from '@offhook/contract/ids.ts';
import { celFile } from '../../src/adapters/asterisk/conf/instance.ts';
import { assertProven } from './conversation-proof.ts';
import { recordedIn } from './call-records.ts';
import { loadInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import { run } from '../../src/adapters/asterisk/provision/run.ts';
import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import { systemClock } from '../../src/core/clock.ts';
import { e164In } from '../../src/numbers/e164.ts';
import { silent } from '../../src/core/log.ts';
import { Ingest } from '../../src/features/history/ingest/ingest.ts';
import { readRecord } from '../../src/features/history/store/packs.ts';
import { migrations } from '../../src/features/history/store/migrations.ts';
import type { Tables } from '../../src/features/history/store/tables.ts';
import { createDirectory } from '../../src/features/pbx-config/directory.ts';
import { openObjects } from '../../src/features/pbx-config/objects.ts';
import type { Store } from '../../src/ports/store.ts';
import type { Site } from './site.ts';
import { REPOSITORY } from './sources.ts';

/** Stored conversations by id, without their position in the feed of changes. */
async function storedIn(store: Store): Promise<ReadonlyMap<string, object>> {
  const db = store.db<Tables>();
  const keys = await db.selectFrom('conversation_keys').selectAll().execute();
  const people = await db.selectFrom('history_rows').selectAll().execute();
  const found = await db.selectFrom('conversations').selectAll().orderBy('root').execute();
  return new Map(
    found.map(({ id, record, ...row }) => [
      row.root,
      {
        ...row,
        change: undefined,
        record: JSON.stringify(readRecord(record)),
        keys: keys
          .filter((k) => k.conversation === id)
          .map((k) => `${k.kind} ${k.value} ${k.started_ms}`)
          .sort(),
        rows: people
          .filter((p) => p.root === row.root)
          .map((p) => JSON.stringify({ ...p, id: undefined }))
          .sort(),
      },
    ]),
  );
}

/** Runs `npm run rebuild` over all records of a stopped site. */
export function rebuild(site: Site, country = ''): ReturnType<typeof run> {
  const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
  const command = [
    process.execPath,
    path.join(REPOSITORY, 'server/src/programs/rebuild.ts'),
    '--from',
    day(-1),
    '--to',
    day(1),
  ];
  const own = { PATH: process.env['PATH'], OFFHOOK_DATA: site.dataDir, OFFHOOK_SITE_COUNTRY: country };
  const env = { ...own, ...site.place.env };
  return run(command, { env });
}
/**
 * Stops the service; checks that the live conversations equal those of `npm run rebuild` and of a site that reads all
 * records at once.
 */
export async function assertRebuilt(site: Site, country = ''): Promise<void> {
  await site.stop();
  await assertProven(site);
  const read = async (): Promise<ReadonlyMap<string, object>> => {
    const store = await site.place.open();
    try {
      return await storedIn(store);
    } finally {
      await store.close();
    }
  };
  const live = await read();
  assert.ok(live.size > 0);

  const { code, stdout, stderr } = await rebuild(site, country);
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    new RegExp(`${live.size} of ${live.size} conversations rebuilt in .*; 0 of them changed`),
  );
  assert.deepEqual(await read(), live, 'told anew by the command');

  const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-anew-'));
  const store = await openSqliteStore(path.join(folder, 'offhook.db'));
  const local = await site.place.open();
  try {
    await store.migrate('history', migrations);
    const directory = createDirectory(await openObjects(local));
    const ingest = new Ingest({ store, directory, clock: systemClock, log: silent, e164: e164In(country) });
    const instance = loadInstance(site.dataDir)!;
    const records = recordedIn(nodeId(instance.node), celFile(instance));
    const checkpoint = { file: 'offhook.csv', inode: 1, offset: 1, mark: '' };
    await ingest.engineBooted('one life', 0);
    await ingest.store({ records: records.toReversed(), checkpoint, malformed: [], live: true });
    await ingest.engineBooted('another life', Date.now());
    assert.deepEqual(await storedIn(store), live, 'told from nothing, all records at once and backwards');
  } finally {
    await Promise.all([store.close(), local.close()]);
    await rm(folder, { recursive: true, force: true });
  }
}
