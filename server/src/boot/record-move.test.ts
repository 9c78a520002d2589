import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { batchOf, historyScene, later, recorded, recordings } from '../../test/support/history-scene.ts';
import type { HistoryScene } from '../../test/support/history-scene.ts';
import { usePostgres } from '../../test/support/use-site.ts';
import { until } from '../../test/support/until.ts';
import { openPostgresStore } from '../adapters/postgres/store.ts';
import { lockFolder } from '../core/folder-lock.ts';
import type { Tables } from '../features/history/store/tables.ts';
import { noteRecords, recordsDatabase } from './site-id.ts';
import { moveToServer } from './site-move.ts';
import { RECORDS } from './site-tables.ts';

const server = usePostgres();

/** A site that has been in use: every recorded call, some days of them, packs, and a line nobody can read. */
async function usedSite(copies: number): Promise<HistoryScene> {
  const scene = await historyScene();
  for (const [feature, migrations] of Object.entries(RECORDS)) await scene.store.migrate(feature, migrations);
  const names = await recordings();
  for (let i = 0; i < copies; i += 1) {
    await scene.feed(...names.flatMap((name) => later(recorded(name), i * 3_600)));
  }
  await scene.ingest.store({ ...batchOf([], 9_999), malformed: ['a\0b', 'ü'] });
  return scene;
}
interface Ended {
  readonly code: number | null;
  readonly said: string;
}
/** Runs `npm run migrate`; killed at the line whose number is given. */
async function migrate(folder: string, url: string, killAt = Infinity): Promise<Ended> {
  const child = spawn(process.execPath, [new URL('../programs/migrate.ts', import.meta.url).pathname], {
    env: { PATH: process.env['PATH'], OFFHOOK_DATA: folder, OFFHOOK_DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const note = (chunk: Buffer): void => {
    said += chunk.toString();
    if (said.split('\n').length > killAt) child.kill('SIGKILL');
  };
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}
const hashOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');
/** Everything that is stored, whichever store it is in. */
async function everything(scene: HistoryScene, store: HistoryScene['store']): Promise<object> {
  const db = store.db<Tables>();
  const all: Record<string, unknown> = { checkpoint: await scene.restart(store).checkpoint() };
  for (const [table, ...order] of [
    ['history_rows', 'id'],
    ['history_calls', 'call'],
    ['conversations', 'id'],
    ['conversation_keys', 'kind', 'value', 'started_ms', 'conversation'],
  ] as const) {
    let rows = db.selectFrom(table as 'history_rows').selectAll();
    for (const column of order) rows = rows.orderBy(column as 'id');
    all[table] = await rows.execute();
  }
  return all;
}

test('move - killed again and again it ends with the same on both sides; the file is as it was', async () => {
  await using scene = await usedSite(20);
  const before = await everything(scene, scene.store);
  await scene.store.close();
  const hash = hashOf(scene.database);
  const url = await server().createDatabase();

  let kills = 0;
  for (const line of [1, 3, 6, 10]) {
    const { code } = await migrate(scene.folder, url, line);
    if (code === null) kills += 1;
    const service = openPostgresStore(url);
    await service.migrate('history', RECORDS['history']!);
    await assert.rejects(
      service.db<Tables>().selectFrom('history_rows').selectAll().execute(),
      /not moved to the end; run: npm run migrate/,
    );
    await service.close();
  }
  assert.equal(kills, 4);
  const { code, said } = await migrate(scene.folder, url);
  assert.equal(code, 0, said);
  assert.match(said, /history_rows +\d+ +\d+ +[0-9a-f]{32}/);
  assert.equal(hashOf(scene.database), hash);

  const moved = openPostgresStore(url);
  await moved.migrate('history', RECORDS['history']!);
  assert.deepEqual(await everything(scene, moved), before);

  // It goes on from there: what came already changes nothing, what is new gets a number of its own.
  const ingest = scene.restart(moved);
  const names = await recordings();
  const given = names.flatMap((name) => later(recorded(name), 19 * 3_600));
  await ingest.store({ ...batchOf(given, 9_999) });
  assert.deepEqual(await everything(scene, moved), before);
  const most = async (): Promise<number> => {
    const db = moved.db<Tables>();
    const found = await db
      .selectFrom('history_rows')
      .select((e) => e.fn.max('id').as('id'))
      .executeTakeFirst();
    return Number(found?.id);
  };
  const last = await most();
  await ingest.store(batchOf(later(recorded('internal-answered'), 100 * 3_600), 10_000));
  assert.ok((await most()) > last);
  await moved.close();

  const again = await migrate(scene.folder, url);
  assert.deepEqual([again.code, /were moved already/.test(again.said)], [1, true], again.said);
});

test('move - refused while the service runs, into a database that is in use, and without one', async () => {
  await using scene = await usedSite(1);
  await scene.store.close();
  const url = await server().createDatabase();
  const lock = lockFolder(scene.folder);
  const running = await migrate(scene.folder, url);
  assert.deepEqual([running.code, /another Offhook/.test(running.said)], [1, true], running.said);
  lock.release();

  await server().run(url, `create table guests as select 'somebody' as name`);
  const used = await migrate(scene.folder, url);
  assert.deepEqual([used.code, /not empty: guests/.test(used.said)], [1, true], used.said);

  const none = await migrate(scene.folder, '');
  assert.deepEqual([none.code, /OFFHOOK_DATABASE_URL/.test(none.said)], [1, true], none.said);
  const away = await migrate(scene.folder, url.replace(/:\d+\//, ':1/'));
  assert.deepEqual([away.code, /ECONNREFUSED/.test(away.said)], [1, true], away.said);
});

test('move - a row that was changed on the way is found', async () => {
  await using scene = await usedSite(1);
  await scene.store.close();
  const url = await server().createDatabase();
  await migrate(scene.folder, url, 12);
  const tamper = `update history_calls set root = 'another' where call = (select min(call) from history_calls)`;
  await until('rows to tamper with', async () => {
    const [row] = await server().run(url, 'select count(*)::int as n from history_calls');
    return Number(row?.['n']) > 0;
  });
  await server().run(url, tamper);
  const { code, said } = await migrate(scene.folder, url);
  assert.deepEqual([code, /history_calls differs/.test(said)], [1, true], said);
});

test('move - a whole site with its records in another database is refused, and names that database', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'offhook-move-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(path.join(folder, 'offhook.db'), '');
  await noteRecords(folder, 'postgres://offhook:secret@db.example.com/records');
  const url = 'postgres://offhook:secret@127.0.0.1:1/site';
  await assert.rejects(moveToServer({ data: folder, url, report: () => {} }), (error: Error) => {
    assert.match(error.message, /are in PostgreSQL at db\.example\.com\/records and would stay there/);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
  await noteRecords(folder, null);
  assert.equal(await recordsDatabase(folder), null);
});
