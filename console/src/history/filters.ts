/** Filters of the list, stored in the query of the page's address, so that bookmarks and the back button keep them. */
import type { ConversationsQuery } from '@offhook/contract/conversation-list.ts';
import type { ConversationFilter, ConversationSummary } from '@offhook/contract/conversations.ts';

export const PRESETS = ['today', 'yesterday', '7d', '30d'] as const;
export const DIRECTIONS = ['in', 'out', 'internal', 'transit'] as const;
export const DISPOSITIONS = [
  'answered',
  'missed',
  'abandoned_in_queue',
  'voicemail',
  'self_service',
  'failed',
  'blocked',
  'callback_requested',
] as const satisfies readonly ConversationSummary['disposition'][];
export const STATES = ['open', 'final', 'amended'] as const satisfies readonly ConversationSummary['state'][];
/** In the order of their chips. */
export const FILTER_NAMES = [
  'when',
  'from',
  'to',
  'q',
  'number',
  'person',
  'queue',
  'agent',
  'direction',
  'disposition',
  'outcome',
  'recording',
  'state',
] as const;
export type FilterName = (typeof FILTER_NAMES)[number];
/** As in the address; empty texts are left out. `from` and `to` are RFC 3339 and apply without `when`. */
export type Filters = { readonly [K in FilterName]?: string };
/** `mine`: conversations of the own extension without hidden ones; `all`: every conversation, for supervisors. */
export type Scope = 'mine' | 'all';

const one = <T extends string>(words: readonly T[], word: string | undefined): T | undefined =>
  words.find((known) => known === word);
/** Values that the service would refuse are dropped, because an address may be typed by hand. */
const TAKEN: Readonly<Record<FilterName, (word: string) => boolean>> = {
  when: (word) => one(PRESETS, word) !== undefined,
  from: (word) => !Number.isNaN(Date.parse(word)),
  to: (word) => !Number.isNaN(Date.parse(word)),
  q: (word) => /^\P{Cc}{1,64}$/u.test(word),
  number: (word) => /^\P{Cc}{1,64}$/u.test(word),
  person: (word) => /^\d{1,20}$/.test(word),
  queue: (word) => /^[a-z0-9_-]{1,64}$/.test(word),
  agent: (word) => /^\d{1,20}$/.test(word),
  direction: (word) => one(DIRECTIONS, word) !== undefined,
  disposition: (word) => one(DISPOSITIONS, word) !== undefined,
  outcome: (word) => /^[a-z0-9][a-z0-9_-]{0,63}$/.test(word),
  recording: (word) => word === 'true' || word === 'false',
  state: (word) => one(STATES, word) !== undefined,
};
export const isTaken = (name: FilterName, word: string): boolean => TAKEN[name](word);

export function readFilters(search: URLSearchParams): Filters {
  const found: { [K in FilterName]?: string } = {};
  for (const name of FILTER_NAMES) {
    const word = search.get(name)?.trim() ?? '';
    if (word !== '' && isTaken(name, word)) found[name] = word;
  }
  if (found.when !== undefined) {
    delete found.from;
    delete found.to;
  }
  return found;
}
/** Keeps the other parameters of the address. */
export function writeFilters(
  search: URLSearchParams,
  change: { readonly [K in FilterName]?: string | null },
) {
  const next = new URLSearchParams(search);
  for (const [name, word] of Object.entries(change)) {
    if (word === null || word === undefined || word.trim() === '') next.delete(name);
    else next.set(name, word.trim());
  }
  return next;
}

/** Midnight in the reader's zone, `days` after the day of `now`. */
const midnight = (now: number, days: number): string => {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + days).toISOString();
};
export function rangeOf(filters: Filters, now: number): { from?: string; to?: string } {
  switch (one(PRESETS, filters.when)) {
    case 'today':
      return { from: midnight(now, 0) };
    case 'yesterday':
      return { from: midnight(now, -1), to: midnight(now, 0) };
    case '7d':
      return { from: midnight(now, -6) };
    case '30d':
      return { from: midnight(now, -29) };
    case undefined: {
      const { from, to } = filters;
      return {
        ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
        ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
      };
    }
  }
}
/** Filters of an export. */
export function exportFilterOf(filters: Filters, scope: Scope, extension: string, now: number) {
  const { q, number, queue, agent } = filters;
  const person = filters.person ?? (scope === 'mine' ? extension : undefined);
  const direction = one(DIRECTIONS, filters.direction);
  const disposition = one(DISPOSITIONS, filters.disposition);
  const all = { q, number, queue, agent, person, direction, disposition, ...rangeOf(filters, now) };
  return Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== undefined),
  ) as ConversationFilter;
}
/** Filters of the list that an export does not have. */
export const beyondExport = (filters: Filters): readonly FilterName[] =>
  (['outcome', 'recording', 'state'] as const).filter((name) => filters[name] !== undefined);

export type ListQuery = Omit<ConversationsQuery, 'has_recording' | 'own' | 'limit' | 'cursor'> & {
  readonly has_recording?: boolean;
  readonly own?: true;
};
export function queryOf(filters: Filters, scope: Scope, extension: string, now: number): ListQuery {
  const state = one(STATES, filters.state);
  return {
    ...exportFilterOf(filters, 'all', extension, now),
    ...(scope === 'mine' ? { own: true as const } : {}),
    ...(state === undefined ? {} : { state }),
    ...(filters.outcome === undefined ? {} : { outcome: filters.outcome }),
    ...(filters.recording === undefined ? {} : { has_recording: filters.recording === 'true' }),
  };
}
