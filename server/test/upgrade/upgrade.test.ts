/**
 * Every site of a release upgrades: the schema of each release is kept here, and after a start of this version it must be the
 * schema of a new site. A migration that is edited, instead of one being added, fails here. `OFFHOOK_DUMP=0.2.0` writes the
 * files of a release.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { openPostgresStore } from '../../src/adapters/postgres/store.ts';
import { RECORDS } from '../../src/boot/site-tables.ts';
import { startPostgres } from '../support/postgres.ts';
import type { TestPostgres } from '../support/postgres.ts';
import { postgresSchema, sqliteSchema, textOf } from '../support/schema.ts';
import { startSite } from '../support/site.ts';
import type { Site } from '../support/site.ts';

const RELEASES = ['0.1.0'];
const dump = (name: string): string => path.join(import.meta.dirname, name);
const DATABASES = ['offhook', 'journal'];

/** A site without an engine, ended at once. */
async function startedOnce(prepare?: (folder: string) => Promise<void>): Promise<Site> {
  const site = await startSite({
    wait: 'answers',
    empty: true,
    env: { OFFHOOK_ASTERISK: '/nonexistent/asterisk' },
    ...(prepare === undefined ? {} : { prepare }),
  });
  await site.stop();
  return site;
}
function create(file: string, statements: string): void {
  using db = new DatabaseSync(file);
  db.exec(statements);
}
async function migratedRecords(server: TestPostgres, before = ''): Promise<string> {
  const url = await server.createDatabase();
  if (before !== '') await server.run(url, before);
  const store = openPostgresStore(url);
  for (const [feature, migrations] of Object.entries(RECORDS)) await store.migrate(feature, migrations);
  await store.close();
  return textOf(await postgresSchema((text) => server.run(url, text)));
}
/** Content of every file of a folder, by name. */
const filesOf = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    fs
      .readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => [file, createHash('sha256').update(fs.readFileSync(file)).digest('hex')]),
  );

test('upgrade - a data folder of every release has the schema of a new one after a start', async () => {
  await using fresh = await startedOnce();
  const now = DATABASES.map((name) => textOf(sqliteSchema(path.join(fresh.dataDir, `${name}.db`))));
  const release = process.env['OFFHOOK_DUMP'];
  if (release !== undefined)
    for (const [i, name] of DATABASES.entries()) fs.writeFileSync(dump(`${release}-${name}.sql`), now[i]!);
  for (const one of RELEASES) {
    await using site = await startedOnce(async (folder) => {
      for (const name of DATABASES)
        create(path.join(folder, `${name}.db`), fs.readFileSync(dump(`${one}-${name}.sql`), 'utf8'));
    });
    for (const [i, name] of DATABASES.entries())
      assert.equal(
        textOf(sqliteSchema(path.join(site.dataDir, `${name}.db`))),
        now[i],
        `${name}.db of ${one}`,
      );
    const aside = fs.readdirSync(site.dataDir).filter((file) => /^journal\.db\.[a-z]+-/.test(file));
    assert.deepEqual(aside, [], 'the journal goes on');
  }
});

test('upgrade - a database of records of every release has the schema of a new one', async () => {
  await using server = await startPostgres();
  const now = await migratedRecords(server);
  const release = process.env['OFFHOOK_DUMP'];
  if (release !== undefined) fs.writeFileSync(dump(`${release}-records.sql`), now);
  for (const one of RELEASES)
    assert.equal(
      await migratedRecords(server, fs.readFileSync(dump(`${one}-records.sql`), 'utf8')),
      now,
      one,
    );
});

test('upgrade - a data folder of a build before 0.1.0 is refused by its code, and no byte of it is changed', async () => {
  await using site = await startedOnce();
  const file = path.join(site.dataDir, 'offhook.db');
  fs.rmSync(file);
  create(file, fs.readFileSync(dump('before-0.1.0.sql'), 'utf8'));
  const before = filesOf(site.dataDir);
  await assert.rejects(site.start('answers'));
  assert.equal(site.exitCode, 1);
  const said = site.tail(1);
  assert.match(said, /^Offhook could not start \(store_older\): .* export .* apply /m);
  assert.ok(said.includes(`${site.dataDir} was written by a build before 0.1.0`), said);
  assert.deepEqual(filesOf(site.dataDir), before);
});
