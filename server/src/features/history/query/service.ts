import type {
  ConversationChangesQuery,
  ConversationChangesReply,
  ConversationReply,
  ConversationsQuery,
  ConversationsReply,
} from '@offhook/contract/conversation-list.ts';
import type { z } from 'zod';
import { ServiceError } from '../../../core/errors.ts';
import { asSaid, say } from '../../../core/said.ts';
import type { Said } from '../../../core/said.ts';
import { historyOf, historySince } from '../../../rights/rights.ts';
import type { Principal } from '../../../rights/rights.ts';
import type { Store } from '../../../ports/store.ts';
import { readCursor, writeCursor, invalid } from './paging.ts';
import type { ListIdentity } from './paging.ts';
import type { Tables } from '../store/tables.ts';
import { newestChange } from '../store/store.ts';
import type { Owners } from './annotations.ts';
import { readChanges } from './changes.ts';
import { findConversations } from './find.ts';
import { conversationByCall, detailsOf, rowsOf, summariesOf } from './read.ts';
import { searchSource } from './terms.ts';
import { wantedOf } from './find.ts';

export interface ConversationDeps extends Owners {
  readonly store: Store;
  /** Signs cursors. */
  readonly cursor_key: () => Promise<Buffer>;
  /** Country of the site, for numbers in a query. */
  readonly country: string;
  readonly feedEpoch: string;
}
/** Conversations that the reader may not see are reported as missing. All throw `store_unavailable`. */
export interface ConversationReader {
  /** Throws `invalid_request` (range, cursor). */
  list(reader: Principal, query: ConversationsQuery): Promise<z.infer<typeof ConversationsReply>>;
  /** By the id of any of its calls. Throws `not_found`. */
  one(reader: Principal, id: string): Promise<z.infer<typeof ConversationReply>>;
  changes(
    reader: Principal,
    query: ConversationChangesQuery,
  ): Promise<z.infer<typeof ConversationChangesReply>>;
}
const LIST_LIMIT = 50;
const CHANGES_LIMIT = 200;

/** Reader and filters of a list: a cursor of another reader or list is rejected. */
const identityOf = (reader: Principal, query: ConversationsQuery): ListIdentity => {
  const { limit: _limit, cursor: _cursor, ...filters } = query;
  const sorted = Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return ['conversations', reader.extension, reader.key?.id ?? null, JSON.stringify(sorted)];
};

const positionUnknown = (why: Said | string): ServiceError =>
  new ServiceError('position_unknown', say`${asSaid(why)}; read the changes from the beginning`);

/** Separates epoch and change in a cursor; no epoch contains it. */
const BETWEEN = ':';
/** Position after which changes are read; a cursor consists of epoch and change. */
function positionOf({ cursor, since, epoch }: ConversationChangesQuery): {
  readonly since: number;
  readonly epoch: string | undefined;
} {
  if (cursor === undefined) return { since: since ?? 0, epoch };
  if (since !== undefined || epoch !== undefined) {
    throw invalid('cursor: cannot be used with since or epoch');
  }
  const at = cursor.lastIndexOf(BETWEEN);
  const change = cursor.slice(at + 1);
  if (at < 1 || !/^(0|[1-9]\d{0,14})$/.test(change)) throw invalid('cursor: must be a cursor of this list');
  return { since: Number(change), epoch: cursor.slice(0, at) };
}

export function createConversationReader(deps: ConversationDeps): ConversationReader {
  const { store, cursor_key, feedEpoch } = deps;
  const success = true as const;

  return {
    async list(reader, query) {
      const asked = await wantedOf(deps, reader, query);
      const list = identityOf(reader, query);
      const at = query.cursor === undefined ? null : readCursor(await cursor_key(), query.cursor, list);
      if (query.cursor !== undefined && at === null) throw invalid('cursor: must be a cursor of this list');
      const after = at && { started_ms: at.at, id: at.id };
      const db = store.db<Tables>();
      const { contains, sources } = asked;
      const named = contains === '' ? null : await searchSource(db, contains, asked);
      const wanted = named === null ? asked : { ...asked, sources: [...sources, named] };
      const page = { limit: query.limit ?? LIST_LIMIT, after, count: after === null };
      const { places, next, total } = await findConversations(db, wanted, page);
      const rows = await rowsOf(
        db,
        places.map((place) => place.id),
      );
      return {
        success,
        conversations: await summariesOf(db, deps, rows),
        next_cursor: next && writeCursor(await cursor_key(), { at: next.started_ms, id: next.id }, list),
        total,
      };
    },
    async one(reader, id) {
      const db = store.db<Tables>();
      const found = await conversationByCall(db, id, historyOf(reader), historySince(reader));
      if (found === null) throw new ServiceError('not_found', 'there is no such conversation');
      const [conversation] = await detailsOf(db, deps, [found.row]);
      return { success, conversation: conversation! };
    },
    async changes(reader, asked) {
      const { limit = CHANGES_LIMIT, detail } = asked;
      const { since, epoch } = positionOf(asked);
      const isCursor = asked.cursor !== undefined;
      const db = store.db<Tables>();
      if (epoch !== undefined && epoch !== feedEpoch) {
        throw positionUnknown(
          isCursor ? 'cursor: belongs to another epoch' : say`epoch: must be ${feedEpoch}, the current one`,
        );
      }
      if (since > 0) {
        const newest = await newestChange(db);
        if (since > newest)
          throw positionUnknown(say`${isCursor ? 'cursor' : 'since'}: the newest change is ${newest}`);
      }
      const query = { since, limit, detail: detail === 'true' };
      const seen = { within: historyOf(reader), since_ms: historySince(reader) };
      const read = await readChanges(db, deps, seen, query);
      const cursor = `${feedEpoch}${BETWEEN}${read.since}`;
      return { success, ...read, cursor, epoch: feedEpoch };
    },
  };
}
