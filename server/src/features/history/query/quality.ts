import type { z } from 'zod';
import type { NewQuality } from '@offhook/contract/conversation-list.ts';
import type { ConversationQuality } from '@offhook/contract/conversations.ts';
import { ServiceError } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import { historyOf, historySince } from '../../../rights/rights.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Caller } from '../../../ports/http.ts';
import type { Store } from '../../../ports/store.ts';
import { touchConversations } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import { conversationByCall } from './read.ts';
import { callsOfRecord, qualityOnWire } from './view.ts';

/** Of one conversation: it may go through many hands, and one of them is not to leave the others without a place. */
const MAX_REPORTS = 50;
const MAX_OF_A_PERSON = 10;
const KEY = ['call', 'extension', 'leg_id'] as const;

/** What phones measured of the calls they were in; it comes in the feed of changes. */
export interface Quality {
  /**
   * `call` is the id of any call of a conversation that goes on or is over. Throws `not_found`, `forbidden` (to who was not
   * in it), `limit_reached` and `store_unavailable`.
   */
  report(caller: Caller, call: string, report: NewQuality): Promise<z.infer<typeof ConversationQuality>>;
}

export function createQuality({ store, clock }: { readonly store: Store; readonly clock: Clock }): Quality {
  return {
    report: (caller, call, { leg_id = '', device, ...figures }) =>
      store.transaction<Tables, z.infer<typeof ConversationQuality>>(async (db) => {
        const found = await conversationByCall(db, call, historyOf(caller), historySince(caller));
        if (found === null) throw new ServiceError('not_found', 'there is no such conversation');
        const { row, record } = found;
        const { extension } = caller;
        if (!record.legs.some((leg) => leg.participant.extension === extension))
          throw new ServiceError('forbidden', 'only who was in the call says how it sounded');
        const report = {
          call,
          extension,
          leg_id,
          at_ms: clock.now(),
          device,
          figures: JSON.stringify(figures),
        };
        await db
          .insertInto('conversation_quality')
          .values(report)
          .onConflict((c) => c.columns(KEY).doUpdateSet({ ...report }))
          .execute();
        const all = await db
          .selectFrom('conversation_quality')
          .select('extension')
          .where('call', 'in', callsOfRecord(record))
          .execute();
        const own = all.filter((row) => row.extension === extension).length;
        if (all.length > MAX_REPORTS || own > MAX_OF_A_PERSON)
          throw new ServiceError(
            'limit_reached',
            say`a conversation has ${MAX_REPORTS} reports at most, and ${MAX_OF_A_PERSON} of one person`,
          );
        await touchConversations(db, [row.root]);
        return qualityOnWire(report);
      }),
  };
}
