import type { ConversationsQuery } from '@offhook/contract/conversation-list.ts';
import { toE164 } from '../../../core/e164.ts';
import { digitsOf, fold } from '@offhook/contract/search.ts';
import { historyOf } from '../../../core/rights.ts';
import type { Principal } from '../../../core/rights.ts';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import type { Store } from '../../../ports/store.ts';
import { readRange } from '../range.ts';
import type { Tables } from '../tables.ts';
import { addedFilter } from './annotations.ts';
import { KEY_LIMIT } from './terms.ts';
import type { Wanted } from './find.ts';

export interface WantedDeps {
  readonly store: Store;
  readonly recordings: RecordingIndex;
  /** The site's, for numbers in a query. */
  readonly country: string;
}
/** What the filters leave of what the reader may see. Throws `invalid_request` (range). */
export function wantedOf(deps: WantedDeps, reader: Principal, query: ConversationsQuery): Wanted {
  const within = historyOf(reader);
  const sources: Wanted['sources'][number][] = [];
  const person = (extension: string) => ({ kind: 'person', value: extension }) as const;
  if (within !== null) sources.push({ keys: within.map(person) });
  if (query.person !== undefined && !(within?.length === 1 && within[0] === query.person))
    sources.push({ keys: [person(query.person)] });
  if (query.number !== undefined)
    sources.push({
      keys: spellings(query.number, deps.country).map((value) => ({ kind: 'number', value })),
    });
  for (const kind of ['queue', 'agent'] as const) {
    const value = query[kind];
    if (value !== undefined) sources.push({ keys: [{ kind, value }] });
  }
  for (const column of ['direction', 'disposition', 'state'] as const) {
    const value = query[column];
    if (value !== undefined) sources.push({ column, value });
  }
  const fits = addedFilter(deps.store.db<Tables>(), deps.recordings, query);
  const contains = fold(query.q ?? '');
  return { ...readRange(query), sources, contains, ...(fits === undefined ? {} : { fits }) };
}

/** How a number may have been written down when it was received. */
function spellings(number: string, country: string): readonly string[] {
  const all = [number, digitsOf(number), toE164(number, country)];
  return [...new Set(all.flatMap((text) => (text ? [text.slice(0, KEY_LIMIT)] : [])))];
}
