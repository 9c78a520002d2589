/** Finds, counts and erases personal data in the history, for features/privacy. */
import { setImmediate as turn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Subject } from '../../../numbers/subject.ts';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import type { PersonalData, Places } from '../../../ports/privacy.ts';
import type { Store } from '../../../ports/store.ts';
import { detailsOf, rowsOf } from '../query/read.ts';
import { readPlaces } from '../query/sources.ts';
import type { Place } from '../query/sources.ts';
import { readRecord, unpack } from '../store/packs.ts';
import type { Tables } from '../store/tables.ts';
import type { TellDeps } from '../ingest/tell.ts';
import { holds } from '../store/eraser.ts';
import { callsOf, eraseConversation } from './one.ts';

/** Conversations read before yielding to the event loop. */
const AT_ONCE = 50;
const TERMS_AT_ONCE = 500;

export interface HistoryDataDeps extends TellDeps {
  readonly store: Store;
  readonly recordings: RecordingIndex;
}
type Db = Kysely<Tables>;
function tally() {
  const places = new Map<string, number>();
  return {
    add: (place: string, n: number): void => {
      if (n > 0) places.set(place, (places.get(place) ?? 0) + n);
    },
    places: (): Places => Object.fromEntries(places),
  };
}
/** All conversations by their roots, a few at a time. */
async function* allRoots(db: Db, signal: AbortSignal): AsyncGenerator<readonly string[]> {
  for (let after = ''; ;) {
    signal.throwIfAborted();
    const rows = await db
      .selectFrom('history_conversations')
      .select('root')
      .where('root', '>', after)
      .orderBy('root')
      .limit(AT_ONCE)
      .execute();
    if (rows.length === 0) return;
    yield rows.map((row) => row.root);
    after = rows.at(-1)!.root;
    await turn();
  }
}
/** Rows of these conversations in every table, with the texts to search. */
async function rowsAbout(db: Db, roots: readonly string[], { kind }: Subject) {
  const ofRoots = db.selectFrom('history_calls').select('call').where('root', 'in', roots);
  const calls = await db.selectFrom('history_calls').selectAll().where('root', 'in', roots).execute();
  const rootOf = new Map(calls.map(({ call, root }) => [call, root]));
  const at = (call: string): string => rootOf.get(call) ?? call;
  const added = await Promise.all([
    db.selectFrom('history_loose').select(['call', 'records']).where('call', 'in', ofRoots).execute(),
    db.selectFrom('history_packs').selectAll().where('root', 'in', roots).execute(),
    db.selectFrom('history_rows').selectAll().where('root', 'in', roots).execute(),
    db
      .selectFrom('conversations')
      .select(['id', 'root', 'search', 'cells', 'record'])
      .where('root', 'in', roots)
      .execute(),
    db.selectFrom('conversation_notes').selectAll().where('call', 'in', ofRoots).execute(),
    db.selectFrom('conversation_outcomes').selectAll().where('call', 'in', ofRoots).execute(),
    db.selectFrom('conversation_wrap_ups').selectAll().where('call', 'in', ofRoots).execute(),
    db.selectFrom('conversation_quality').selectAll().where('call', 'in', ofRoots).execute(),
  ]);
  const [loose, packs, rows, conversations, notes, outcomes, wrapUps, quality] = added;
  const keys = await db
    .selectFrom('conversation_keys')
    .innerJoin('conversations', 'conversations.id', 'conversation_keys.conversation')
    .select(['conversations.root', 'conversation_keys.kind', 'conversation_keys.value'])
    .where('conversations.root', 'in', roots)
    .execute();
  const people = new Set(['person', 'agent', 'number']);
  // In free text, the digits of an extension are usually a time or a price.
  const written = ({ text, by }: { readonly text: string | null; readonly by: string }) =>
    kind === 'extension' ? by : [text, by];
  return [
    ...loose.map((r) => ({ place: 'history_loose', root: at(r.call), value: unpack<unknown>(r.records) })),
    ...packs.map((r) => ({ place: 'history_packs', root: r.root, value: unpack<unknown>(r.records) })),
    ...rows.map((r) => ({
      place: 'history_rows',
      root: r.root,
      value: [r.extension, r.party, r.party_name, r.search, r.channel, r.dstchannel],
    })),
    ...conversations.map((r) => ({
      place: 'conversations',
      root: r.root,
      value: [readRecord(r.record), r.search, JSON.parse(r.cells)],
    })),
    ...keys
      .filter((r) => people.has(r.kind))
      .map((r) => ({ place: 'conversation_keys', root: r.root, value: r.value })),
    ...notes.map((r) => ({ place: 'conversation_notes', root: at(r.call), value: written(r) })),
    ...outcomes.map((r) => ({ place: 'conversation_outcomes', root: at(r.call), value: written(r) })),
    ...wrapUps.map((r) => ({ place: 'conversation_wrap_ups', root: at(r.call), value: r.extension })),
    ...quality.map((r) => ({ place: 'conversation_quality', root: at(r.call), value: r.extension })),
  ];
}
/** Malformed lines about the subject; each is deleted whole. */
async function malformedAbout(db: Db, subject: Subject): Promise<readonly number[]> {
  const lines = await db.selectFrom('history_malformed').select(['id', 'line']).execute();
  return lines.filter(({ line }) => subject.isIn(line)).map(({ id }) => id);
}

/** Ids of search terms about the subject. */
async function* termsAbout(db: Db, subject: Subject, signal: AbortSignal): AsyncGenerator<readonly number[]> {
  for (let after = 0; ;) {
    signal.throwIfAborted();
    const rows = await db
      .selectFrom('conversation_terms')
      .selectAll()
      .where('id', '>', after)
      .orderBy('id')
      .limit(TERMS_AT_ONCE)
      .execute();
    const found = rows.filter(({ value, text }) => subject.isIn(value) || subject.isIn(text));
    if (found.length > 0) yield found.map(({ id }) => id);
    if (rows.length < TERMS_AT_ONCE) return;
    after = rows.at(-1)!.id;
    await turn();
  }
}

export function createHistoryData(deps: HistoryDataDeps): PersonalData {
  const { store, recordings } = deps;
  const db = store.db<Tables>();

  return {
    name: 'history',
    async count(subject, signal) {
      const { add, places } = tally();
      for await (const roots of allRoots(db, signal)) {
        for (const { place, value } of await rowsAbout(db, roots, subject))
          if (holds(value, subject)) add(place, 1);
      }
      for await (const ids of termsAbout(db, subject, signal)) add('conversation_terms', ids.length);
      add('history_malformed', (await malformedAbout(db, subject)).length);
      return places();
    },
    async erase(subject, placeholder, signal) {
      const { add, places } = tally();
      for await (const roots of allRoots(db, signal)) {
        const about = (await rowsAbout(db, roots, subject)).filter(({ value }) => holds(value, subject));
        for (const root of new Set(about.map((row) => row.root))) {
          signal.throwIfAborted();
          // First, so that a conversation marked as erased has no recording left.
          const gone = await recordings.erase(await callsOf(db, root));
          add('recordings', gone.erased);
          await store.transaction<Tables, void>((trx) =>
            eraseConversation(trx, root, subject, placeholder, deps, add),
          );
          await turn();
        }
      }
      for await (const ids of termsAbout(db, subject, signal)) {
        await db.deleteFrom('conversation_terms').where('id', 'in', ids).execute();
        add('conversation_terms', ids.length);
      }
      const lines = await malformedAbout(db, subject);
      if (lines.length > 0) await db.deleteFrom('history_malformed').where('id', 'in', lines).execute();
      add('history_malformed', lines.length);
      return places();
    },
    async *collect(subject, _usernames, signal) {
      const kind = subject.kind === 'number' ? 'number' : 'person';
      const keys = subject.spellings.map((value) => ({ kind, value }) as const);
      for (let after: Place | null = null; ;) {
        signal.throwIfAborted();
        const cut = { from_ms: null, to_ms: null, after, limit: AT_ONCE };
        const places: readonly Place[] = await readPlaces(db, { keys }, cut);
        const rows = await rowsOf(
          db,
          places.map((place) => place.id),
        );
        for (const value of await detailsOf(db, deps, rows)) yield { kind: 'conversation', value };
        if (places.length < AT_ONCE) return;
        after = places.at(-1)!;
        await turn();
      }
    },
  };
}
