/** P35: a new web node reads the whole log of a site, beside a program that only selects the same rows. */
import { nodeId } from '@offhook/contract/ids.ts';
import { Client } from 'pg';
import { openPostgresSiteLog } from '../../server/src/adapters/postgres/site-log.ts';
import { openMemoryJournal } from '../../server/src/adapters/memory/journal-store.ts';
import { checkOf } from '../../server/src/core/row-check.ts';
import { openJournal } from '../../server/src/journal/journal.ts';
import { QUICK, atLeast, count, figure, interleave, ratiosOf } from '../lib.ts';
import type { Row } from '../lib.ts';
import { startCluster } from '../cluster.ts';
import { presenceEvent } from '../stream/events.ts';

const ROWS = QUICK ? 50_000 : 1_000_000;
const PAIRS = 3;
/** Rows of one append. */
const GROUP = 5_000;
const PAGE = 500;

/** Appends events of another process until the log has `ROWS` more. */
async function fill(url: string): Promise<void> {
  const siteLog = openPostgresSiteLog(url);
  try {
    const taken = await siteLog.take({ id: 'bench', location: 'bench' }, 600);
    if (!taken.taken) throw new Error(`${taken.by.location} leads the site`);
    const { epoch, term } = taken.state;
    let { head, check } = taken.state;
    // A store that keeps no rows: the journal only makes them for the log.
    const store = {
      ...openMemoryJournal(),
      epoch,
      head: () => head,
      check: () => check,
      append: () => undefined,
    };
    const journal = openJournal({ store, node: nodeId('bench') });
    for (let done = 0; done < ROWS; done += GROUP) {
      const rows = journal.append(Array.from({ length: GROUP }, (_, i) => presenceEvent(done + i)));
      const answer = await siteLog.append(term, head, rows);
      if (answer !== 'appended') throw new Error(`the append was ${answer}`);
      head += GROUP;
      check = checkOf(rows.at(-1)!.json);
    }
    await siteLog.pass(term, null, 0);
  } finally {
    await siteLog.close();
  }
}
/** Seconds of reading every row in pages. */
async function select(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const text =
    'select seq, type, subject, at, topics, json from offhook_journal where seq > $1 order by seq limit $2';
  const began = performance.now();
  for (let at = 0, more = true; more;) {
    const { rows } = await client.query<{ seq: string }>({ name: 'page', text, values: [at, PAGE] });
    at = Number(rows.at(-1)?.seq ?? at);
    more = rows.length === PAGE;
  }
  const seconds = (performance.now() - began) / 1000;
  await client.end();
  return seconds;
}

export async function p35(): Promise<Row> {
  await using cluster = await startCluster(0);
  const { leader, server, url } = cluster;
  // The first rows of the log are real ones. From here on no node leads, so that no other program reads the log.
  await leader.stop();
  await fill(url);
  const rows = Number((await server.run(url, 'select count(*)::int as n from offhook_journal'))[0]!['n']);
  let nodes = 0;
  /** Seconds of a first start until the node listens, less those of a second start, which has the copy. */
  async function catchUp(): Promise<number> {
    const began = performance.now();
    await using web = await cluster.addWeb(`w${++nodes}`, 'answers');
    const first = performance.now() - began;
    await web.stop();
    const again = performance.now();
    await web.start('answers');
    return (first - (performance.now() - again)) / 1000;
  }
  const ways: Readonly<Record<string, () => Promise<number>>> = { web: catchUp, select: () => select(url) };
  await select(url);
  const seconds = await interleave(Object.keys(ways), PAIRS, (way) => ways[way]!());
  const rate = (way: string): number[] => seconds.get(way)!.map((one) => rows / one);
  const share = ratiosOf(rate('web'), rate('select'));
  return {
    id: 'P35',
    title: `A new web node reads a log of ${count(ROWS)} events`,
    figures: [
      figure('until it has all, beyond a start with them', 's', 'ours', seconds.get('web')!),
      figure('web node', 'rows/s', 'ours', rate('web')),
      figure('a program that only selects the rows', 'rows/s', 'limit', rate('select')),
      figure('share of the bare SELECT', '×', 'ours', share, 'lower'),
    ],
    gates: [atLeast('share of the speed of the bare SELECT', 0.25, share, '×')],
    notes: [
      `${PAIRS} pairs. Both read ${PAGE} rows at once by the same statement; the web node checks each row against the one before it and stores it in its copy.`,
    ],
  };
}
