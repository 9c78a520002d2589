/** Notes, outcomes and call quality; each addition appends to the feed of changes. */
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { NewOutcome, NewQuality } from '@offhook/contract/conversation-list.ts';
import type {
  ConversationNote,
  ConversationOutcome,
  ConversationQuality,
} from '@offhook/contract/conversations.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import { ServiceError } from '../../../core/errors.ts';
import { say } from '../../../core/said.ts';
import { historyOf, historySince, reaches } from '../../../rights/rights.ts';
import type { AuditEntry } from '../../../ports/audit.ts';
import type { Caller } from '../../../ports/http.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Actor } from '../../../ports/operations.ts';
import type { Common } from '../../../ports/common.ts';
import type { Store } from '../../../ports/store.ts';
import { talkersOf } from '../record/figures.ts';
import type { ConversationRecord } from '../record/record.ts';
import { touchConversations } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';
import { conversationByCall } from './read.ts';
import { callsOfRecord, noteOnWire, outcomeOnWire, qualityOnWire } from './view.ts';

export type NotesDeps = Common<'audit' | 'clock' | 'store'>;
/**
 * Notes and outcomes of conversations that the actor may see; each is published in the feed of changes and recorded in
 * the audit trail (without its text). All throw `not_found` and `store_unavailable`.
 */
export interface Notes {
  /** Throws `forbidden` and `limit_reached`. */
  add(actor: Actor, id: string, text: string): Promise<z.infer<typeof ConversationNote>>;
  /** Own notes; a supervisor any. Throws `forbidden`. */
  remove(actor: Actor, id: string, note: number): Promise<void>;
  /** Replaces the previous outcome. Throws `forbidden`. */
  setOutcome(
    actor: Actor,
    id: string,
    outcome: z.output<typeof NewOutcome>,
  ): Promise<z.infer<typeof ConversationOutcome>>;
}
const MAX_NOTES = 200;
/** The name of an API key is no extension, though it may look like one. */
const nameOf = ({ key, extension, username }: Caller): string => (key === null ? extension : username);

/** Throws `forbidden` if extensions talked and none of them is the caller's: a person whose phone only rang may read. */
function checkTalked(caller: Caller, record: ConversationRecord): void {
  const talkers = talkersOf(record);
  const own = historyOf(caller, 'write');
  if (talkers.length > 0 && !talkers.some((extension) => reaches(own, extension)))
    throw new ServiceError(
      'forbidden',
      'only those who talked in the conversation can add a note or set its outcome',
    );
}

export function createNotes({ store, audit, clock }: NotesDeps): Notes {
  /** Changes a conversation that the actor may see, appends it to the feed and then records it in the audit trail. */
  async function change<R>(
    { caller, ip }: Actor,
    id: string,
    action: string,
    work: (
      db: Kysely<Tables>,
      calls: readonly string[],
      record: ConversationRecord,
    ) => Promise<readonly [R, NonNullable<AuditEntry['detail']>]>,
  ): Promise<R> {
    const { root, result, detail } = await store.transaction<Tables, Changed<R>>(async (db) => {
      const found = await conversationByCall(db, id, historyOf(caller, 'write'), historySince(caller));
      if (found === null) throw new ServiceError('not_found', 'there is no such conversation');
      const [done, about] = await work(db, callsOfRecord(found.record), found.record);
      await touchConversations(db, [found.row.root]);
      return { root: found.row.root, result: done, detail: about };
    });
    // Not in the same transaction: the audit trail may be in another database than the records.
    await audit.record({ action, actor: nameOf(caller), object: root, outcome: 'ok', ip, detail });
    return result;
  }

  return {
    add: (actor, id, text) =>
      change(actor, id, 'conversation.note', async (db, calls, record) => {
        checkTalked(actor.caller, record);
        const { n } = await db
          .selectFrom('conversation_notes')
          .select((e) => e.fn.countAll<number>().as('n'))
          .where('call', 'in', calls)
          .executeTakeFirstOrThrow();
        if (Number(n) >= MAX_NOTES)
          throw new ServiceError('limit_reached', say`a conversation has ${MAX_NOTES} notes at most`);
        const note = await db
          .insertInto('conversation_notes')
          .values({ call: calls[0]!, at_ms: clock.now(), by: nameOf(actor.caller), text })
          .returningAll()
          .executeTakeFirstOrThrow();
        return [noteOnWire(note), { note: Number(note.id) }];
      }),
    remove: (actor, id, note) =>
      change(actor, id, 'conversation.note_removed', async (db, calls) => {
        const found = await db
          .selectFrom('conversation_notes')
          .selectAll()
          .where('id', '=', note)
          .where('call', 'in', calls)
          .executeTakeFirst();
        if (found === undefined) throw new ServiceError('not_found', 'there is no such note');
        const { caller } = actor;
        if (
          found.by !== nameOf(caller) &&
          !(caller.key === null && includesLevel(caller.level, 'supervisor'))
        )
          throw new ServiceError('forbidden', "changing another person's note needs the level supervisor");
        await db.deleteFrom('conversation_notes').where('id', '=', note).execute();
        return [undefined, { note, by: found.by }];
      }),
    setOutcome: (actor, id, { code, text }) =>
      change(actor, id, 'conversation.outcome', async (db, calls, record) => {
        checkTalked(actor.caller, record);
        const outcome = { call: calls[0]!, code, text, at_ms: clock.now(), by: nameOf(actor.caller) };
        // Conversations merged later may have several outcomes; only the new one remains.
        await db.deleteFrom('conversation_outcomes').where('call', 'in', calls).execute();
        await db.insertInto('conversation_outcomes').values(outcome).execute();
        return [outcomeOnWire(outcome), { code }];
      }),
  };
}
interface Changed<R> {
  readonly root: string;
  readonly result: R;
  readonly detail: NonNullable<AuditEntry['detail']>;
}

/** Limits per conversation: after many transfers, one person's reports must leave room for the others'. */
const MAX_REPORTS = 50;
const MAX_OF_A_PERSON = 10;
const KEY = ['call', 'extension', 'leg_id'] as const;

/** Call quality reported by phones of a call; appended to the feed of changes. */
export interface Quality {
  /**
   * `call`: id of any call of an open or finished conversation. Throws `not_found`, `forbidden` (the caller was not in
   * it), `limit_reached` and `store_unavailable`.
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
          throw new ServiceError('forbidden', 'only a participant of the call can report its quality');
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
