/**
 * Search of the directory with its peer and limit: `search-subject.ts <entries> <times>`. Prints the milliseconds of
 * every search, by way: `ours` is the body of contacts.php, `like` the same by SQLite, `scan` an array of folded texts.
 */
import { DatabaseSync } from 'node:sqlite';
import { createContactsBody } from '../server/src/features/contacts/body.ts';
import type { Directory, Person } from '../server/src/ports/directory.ts';
import type { LiveView } from '../server/src/ports/live.ts';

const [entries = 0, times = 0] = process.argv.slice(2).map(Number);
const people = Array.from({ length: entries }, (_, i): Person => {
  const extension = String(1_000_000 + i);
  return {
    id: i + 1,
    extension,
    username: `person${extension}`,
    name: `Zoë Person ${i} of Team ${i % 7_919}`,
    email: null,
    mobile: `+4930${extension}`,
    department: null,
    pickup_group: null,
    level: 'user',
    active: true,
    endpoints: [],
  };
});
const directory = { version: 1, people: () => people } as unknown as Directory;
const live = {
  live: true,
  as_of: 0,
  presence_version: 1,
  extension: () => undefined,
  changedSince: () => [],
} as unknown as LiveView;
const contacts = createContactsBody(directory, live, 0);
const folded = people.map((p) => `${p.name.toLowerCase().replace('ë', 'e')}\n${p.extension}\n${p.mobile}`);
const db = new DatabaseSync(':memory:');
db.exec('create table people (id integer primary key, text text)');
db.exec('begin');
const insert = db.prepare('insert into people (text) values (?)');
for (const text of folded) insert.run(text);
db.exec('commit');

/** A rare name, a frequent word in the middle, a number, a common one, and no match; each word may be anywhere. */
const texts = ['person 314', 'zoë', 'team 271', '1003141', 'nobody is called so'];
const wordsOf = (q: string): string[] => q.replace('ë', 'e').split(' ');
/** Statements by the number of words. */
const statements = new Map(
  texts.map((text) => {
    const { length } = wordsOf(text);
    const where = Array.from({ length }, () => 'text like ?').join(' and ');
    const page = db.prepare(`select id from people where ${where} limit 50`);
    return [length, { page, count: db.prepare(`select count(*) as n from people where ${where}`) }];
  }),
);
const ways: Readonly<Record<string, (text: string) => number>> = {
  ours: (q) => (JSON.parse(contacts.body({ q, limit: 50 }).join('')) as { total: number }).total,
  like: (q) => {
    const words = wordsOf(q).map((word) => `%${word}%`);
    const { page, count } = statements.get(words.length)!;
    page.all(...words);
    return Number(count.get(...words)!['n']);
  },
  scan: (q) => {
    const words = wordsOf(q);
    return folded.filter((text) => words.every((word) => text.includes(word))).length;
  },
};
const ms = Object.fromEntries(Object.keys(ways).map((way) => [way, [] as number[]]));
for (let i = -5; i < times; i += 1) {
  for (const text of texts) {
    const totals = Object.entries(ways).map(([way, search]) => {
      const began = performance.now();
      const total = search(text);
      if (i >= 0) ms[way]!.push(performance.now() - began);
      return total;
    });
    if (new Set(totals).size !== 1) throw new Error(`"${text}": ${totals.join(', ')} found`);
  }
}
process.stdout.write(`${JSON.stringify(ms)}\n`);
