/** Appends events of one of several processes to a site's log; run as a program, to the log at an address. */
import { setTimeout as wait } from 'node:timers/promises';
import { openPostgresSiteLog } from '../../src/adapters/postgres/site-log.ts';
import { checkOf, withCheck } from '../../src/core/row-check.ts';
import type { JournalRow } from '../../src/ports/journal-store.ts';
import type { LogState, SiteLog } from '../../src/ports/site-log.ts';

export interface Appending {
  readonly term: number;
  /** In every row of this process, with a number. */
  readonly word: string;
  readonly groups: number;
}
/** Rows of one append. */
const GROUP = 3;

/** The next rows of a log in this state; `words` distinguishes two histories. */
export function rowsAfter(state: Pick<LogState, 'head' | 'check'>, words: readonly string[]): JournalRow[] {
  let before = state.check;
  return words.map((word, i) => {
    const seq = state.head + 1 + i;
    const row = {
      seq,
      type: 'call.started',
      subject: `calls/${seq} \0 "Łódź" \\`,
      at: 1_700_000_000_000 + seq,
      topics: `calls calls/mine/${seq}`,
      json: `{"seq":${seq},"word":"${word}"}`,
    };
    const json = withCheck(row, before);
    before = checkOf(json);
    return { ...row, json };
  });
}
/** Appends groups one after another; after a lost answer the same rows again, after a lost race the same words. */
export async function appendGroups(log: SiteLog, { term, word, groups }: Appending): Promise<void> {
  for (let group = 0; group < groups; group += 1) {
    const words = Array.from({ length: GROUP }, (_, i) => `${word}${group * GROUP + i}`);
    for (let outcome = ''; outcome !== 'appended';) {
      const state = await log.state();
      if (state === null) throw new Error('the log was never begun');
      const rows = rowsAfter(state, words);
      do {
        outcome = await log.append(term, state.head, rows).catch(async () => (await wait(20), ''));
      } while (outcome === '');
      if (outcome !== 'appended' && outcome !== 'other') throw new Error(`the append was ${outcome}`);
    }
  }
}
if (import.meta.main) {
  const [url = '', term, word = '', groups] = process.argv.slice(2);
  const log = openPostgresSiteLog(url);
  await appendGroups(log, { term: Number(term), word, groups: Number(groups) });
  await log.close();
}
