/**
 * Lookup and search of the phonebook with bare statements on the same tables: `phonebook-subject.ts <customers> <times>`.
 * Prints the milliseconds of every lookup and search, by way and kind.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../server/src/adapters/sqlite/store.ts';
import { createPhonebookStore } from '../server/src/features/phonebook/store.ts';

const [customers = 0, times = 0] = process.argv.slice(2).map(Number);
const folder = await mkdtemp(path.join(os.tmpdir(), 'offhook-phonebook-'));
const file = path.join(folder, 'site.sqlite');
const KINDS = ['lookup', 'words', 'prefix'] as const;
type Kind = (typeof KINDS)[number];
const PAGE = 50;

/** Numbers of five areas, spread evenly, so that a prefix has as many as in a real phonebook. */
const AREAS = ['+4930', '+4989', '+4940', '+49171', '+43720'] as const;
const numberOf = (i: number): string =>
  `${AREAS[i % AREAS.length]!}${String((i * 2_654_435_761) % 100_000_000).padStart(8, '0')}`;
function fill(db: DatabaseSync): void {
  const customer = db.prepare(
    `insert into customers (id, person_id, kind, name, numbers, emails, vip, blocked, source, updated_at, version)
     values (?, 0, 'person', ?, ?, '[]', 0, 0, 'manual', 0, 1)`,
  );
  const number = db.prepare('insert into customer_numbers (key, customer_id) values (?, ?)');
  const text = db.prepare('insert into customer_texts (id, text) values (?, ?)');
  db.exec('begin');
  for (let id = 1; id <= customers; id += 1) {
    const key = numberOf(id);
    const name = `Person ${id} of Team ${id % 7_919}`;
    customer.run(id, name, JSON.stringify([{ number: key, e164: key, label: null }]));
    number.run(key, id);
    text.run(id, `${name.toLowerCase()}\n${key}\n0${key.slice(3)}`);
  }
  db.exec('commit');
}

try {
  const site = await openSqliteStore(file);
  const store = await createPhonebookStore(site);
  const db = new DatabaseSync(file);
  fill(db);
  const key = db.prepare(
    `select c.* from customer_numbers n cross join customers c on c.id = n.customer_id
     where n.key = ? and c.person_id in (0, 1) order by c.person_id desc, c.id desc limit ${PAGE}`,
  );
  const like = db.prepare(`select id from customer_texts where text like ? order by id desc limit ${PAGE}`);
  const some = (i: number): number => 1 + ((i * 7_919) % customers);
  const questions: Readonly<Record<Kind, (i: number) => string>> = {
    lookup: (i) => numberOf(some(i)),
    words: (i) => [`person ${some(i)}`, `team ${some(i) % 7_919} person`, 'nobody is called so'][i % 3]!,
    prefix: (i) => numberOf(some(i)).slice(0, 5 + (i % 7)),
  };
  const ours: Readonly<Record<Kind, (q: string) => Promise<unknown>>> = {
    lookup: (q) => store.withKey(1, q, PAGE),
    words: (q) => store.search(1, q, null, PAGE),
    prefix: (q) => store.search(1, q, null, PAGE),
  };
  const bare: Readonly<Record<Kind, (q: string) => unknown>> = {
    lookup: (q) => key.all(q),
    words: (q) => like.all(`%${q}%`),
    prefix: (q) => like.all(`%${q}%`),
  };
  const ms: Record<string, number[]> = {};
  for (const kind of KINDS) {
    for (const way of ['ours', 'bare']) ms[`${way} ${kind}`] = [];
    for (let i = -10; i < times; i += 1) {
      const q = questions[kind](i + 10);
      for (const [way, ask] of [
        ['ours', ours[kind]],
        ['bare', bare[kind]],
      ] as const) {
        const began = performance.now();
        await ask(q);
        if (i >= 0) ms[`${way} ${kind}`]!.push(performance.now() - began);
      }
    }
  }
  db.close();
  await site.close();
  process.stdout.write(`${JSON.stringify(ms)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
