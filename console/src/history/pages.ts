/** Merges events of the stream into the pages of the list. Pure. */
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import type { ListQuery } from './filters.ts';
import { fits } from './fits.ts';
import type { Pages } from './use-conversations.ts';

type Page = Pages['pages'][number];
export const rowsOf = (data: Pick<Pages, 'pages'>): ConversationSummary[] =>
  data.pages.flatMap((page) => page.conversations);

const NO_PAGE: Page = { success: true, conversations: [], next_cursor: null, total: null };
/** The later change of a conversation wins, so that an older revision never overwrites a newer one. */
const newer = (a: ConversationSummary, b: ConversationSummary): ConversationSummary =>
  b.change >= a.change ? b : a;

const newestFirst = (a: ConversationSummary, b: ConversationSummary): number =>
  b.started_at < a.started_at ? -1 : b.started_at > a.started_at ? 1 : 0;

/** Updates known conversations in position, removes merged ones and inserts matching new ones by time. */
export function arriving(data: Pages, some: readonly ConversationSummary[], query: ListQuery): Pages {
  if (some.length === 0) return data;
  const updates = new Map<string, ConversationSummary>();
  for (const c of some) {
    const before = updates.get(c.id);
    updates.set(c.id, before === undefined ? c : newer(before, c));
  }
  const isLater = (id: string, c: ConversationSummary): boolean => (updates.get(id)?.change ?? 0) > c.change;
  const gone = new Set([...updates.values()].flatMap((c) => c.merged_from.filter((id) => !isLater(id, c))));
  let count = 0;
  const pages = data.pages.map((page): Page => {
    const conversations = page.conversations.flatMap((row) => {
      if (gone.has(row.id)) {
        count -= 1;
        return [];
      }
      const news = updates.get(row.id);
      updates.delete(row.id);
      return [news === undefined ? row : newer(row, news)];
    });
    return { ...page, conversations };
  });
  if (pages.length === 0) pages.push(NO_PAGE);
  const last = pages.at(-1)!;
  const oldest = last.next_cursor === null ? '' : (last.conversations.at(-1)?.started_at ?? '');
  const fresh = [...updates.values()].filter(
    (c) => !gone.has(c.id) && fits(c, query) && c.started_at >= oldest,
  );
  for (const c of fresh) {
    const at = pages.findIndex((page) => (page.conversations.at(-1)?.started_at ?? '~') <= c.started_at);
    const place = at === -1 ? pages.length - 1 : at;
    const page = pages[place]!;
    pages[place] = { ...page, conversations: [c, ...page.conversations].toSorted(newestFirst) };
  }
  const first = pages[0]!;
  const total = first.total && {
    ...first.total,
    count: Math.max(0, first.total.count + count + fresh.length),
  };
  pages[0] = { ...first, total };
  return { pages, pageParams: data.pages.length === 0 ? [undefined] : data.pageParams };
}
/**
 * What `newest`, the `most` newest conversations, say of a list whose events may have been missed: `beyond`, more were missed than were
 * read; `open`, one that the list shows as going on is not among them, and may have ended; `current`, neither.
 */
export function caughtUp(
  data: Pages,
  newest: readonly ConversationSummary[],
  most: number,
): 'current' | 'open' | 'beyond' {
  const read = new Set(newest.map(({ id }) => id));
  const rows = rowsOf(data);
  if (newest.length === most && !rows.some(({ id }) => read.has(id))) return 'beyond';
  return rows.some(({ id, state }) => state === 'open' && !read.has(id)) ? 'open' : 'current';
}
/** Updates known conversations only. */
export function updating(data: Pages, some: readonly ConversationSummary[]): Pages {
  const known = new Set(rowsOf(data).map((row) => row.id));
  const there = some.filter((c) => known.has(c.id) || c.merged_from.some((id) => known.has(id)));
  return arriving(data, there, {});
}
/** Removes conversations, e.g. after they were hidden. */
export function without(data: Pages, ids: readonly string[] | 'all'): Pages {
  const gone = ids === 'all' ? null : new Set(ids);
  let count = 0;
  const pages = data.pages.map((page): Page => {
    const conversations = gone === null ? [] : page.conversations.filter((c) => !gone.has(c.id));
    count += page.conversations.length - conversations.length;
    return gone === null ? { ...page, conversations, next_cursor: null } : { ...page, conversations };
  });
  const [first = NO_PAGE, ...rest] = pages;
  const total = first.total && {
    ...first.total,
    count: gone === null ? 0 : Math.max(0, first.total.count - count),
  };
  return { ...data, pages: [{ ...first, total }, ...rest] };
}
