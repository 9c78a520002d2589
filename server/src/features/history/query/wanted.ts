import type { ConversationsQuery } from '@offhook/contract/conversation-list.ts';
import { toE164 } from '../../../numbers/e164.ts';
import { digitsOf, fold } from '@offhook/contract/search.ts';
import { historyOf } from '../../../rights/rights.ts';
import type { Principal } from '../../../rights/rights.ts';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import type { Store } from '../../../ports/store.ts';
import { invalid, readRange, sinceHeld } from './paging.ts';
import type { Tables } from '../tables.ts';
import { addedFilter } from './annotations.ts';
import { both, hiddenFilter } from './hide.ts';
import { KEY_LIMIT } from './terms.ts';
import type { Wanted } from './find.ts';

export interface WantedDeps {
  readonly store: Store;
  readonly recordings: RecordingIndex;
  /** The site's, for numbers in a query. */
  readonly country: string;
}
/** What the filters leave of what the reader may see. Throws `invalid_request` (range, `own` of an API key). */
export async function wantedOf(
  deps: WantedDeps,
  reader: Principal,
  query: ConversationsQuery,
): Promise<Wanted> {
  const within = historyOf(reader);
  const sources: Wanted['sources'][number][] = [];
  const person = (extension: string) => ({ kind: 'person', value: extension }) as const;
  if (within !== null) sources.push({ keys: within.map(person) });
  const own = query.own === 'true';
  if (own && reader.key !== null) throw invalid('own: an API key has no view of its own');
  if (own && within === null) sources.push({ keys: [person(reader.extension)] });
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
  const db = deps.store.db<Tables>();
  const fits = both(
    own ? await hiddenFilter(db, reader.extension) : undefined,
    addedFilter(db, deps.recordings, query),
  );
  const contains = fold(query.q ?? '');
  return {
    ...sinceHeld(reader, readRange(query)),
    sources,
    contains,
    ...(fits === undefined ? {} : { fits }),
  };
}

/** How a number may have been written down when it was received. */
function spellings(number: string, country: string): readonly string[] {
  const all = [number, digitsOf(number), toE164(number, country)];
  return [...new Set(all.flatMap((text) => (text ? [text.slice(0, KEY_LIMIT)] : [])))];
}
