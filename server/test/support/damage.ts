/** Stores, and functions that damage them. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { openSqliteStore } from '../../src/adapters/sqlite/store.ts';
import { siteId } from '../../src/boot/site-id.ts';

/** Bytes of an SQLite page. */
export const PAGE = 4096;
export const ROWS = 300;
const folders: string[] = [];
after(() => {
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
});
export const newFolder = (): string => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-damaged-'));
  folders.push(folder);
  return folder;
};
export const edited = (file: string, edit: (bytes: Buffer) => Buffer | void): void => {
  const bytes = fs.readFileSync(file);
  fs.writeFileSync(file, edit(bytes) ?? bytes);
};
export const cutTo =
  (size: (whole: number) => number) =>
  (file: string): void =>
    fs.truncateSync(file, size(fs.statSync(file).size));
export const flipped =
  (from: number, bytes: number) =>
  (file: string): void =>
    edited(file, (all) => {
      for (let at = from; at < from + bytes; at += 1) all.writeUInt8(all.readUInt8(at) ^ 0xff, at);
    });

export interface Items {
  item: { name: string };
}
/** The file of a closed store with `ROWS` rows. */
export async function storeWithRows(): Promise<string> {
  const file = path.join(newFolder(), 'offhook.db');
  const store = await openSqliteStore(file);
  await siteId(store);
  await store.migrate('test', [
    {
      id: '0100-item',
      up: async (db) => {
        await db.schema.createTable('item').addColumn('name', 'text').execute();
      },
    },
  ]);
  await store.transaction<Items, void>(async (trx) => {
    for (let i = 0; i < ROWS; i += 1) {
      await trx
        .insertInto('item')
        .values({ name: `${i}`.padEnd(200) })
        .execute();
    }
  });
  await store.close();
  return file;
}
