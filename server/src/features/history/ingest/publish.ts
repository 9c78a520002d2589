/**
 * Events of conversations, each once and in the order of their changes.
 *
 *   change and its outbox row, in one transaction ──> published ──> committed in the journal ──> row deleted
 *
 * After a crash the newest change in the journal is the position to continue from: no event is lost or doubled.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { messageOf } from '../../../core/errors.ts';
import type { RecordingIndex } from '../../../ports/conversations.ts';
import type { Directory } from '../../../ports/directory.ts';
import type { JournalReader, JournalRow } from '../../../ports/journal-store.ts';
import type { Common } from '../../../ports/common.ts';
import { readAnnotations } from '../query/annotations.ts';
import { summaryOf } from '../query/view.ts';
import { readFact, writeFact } from '../store/store.ts';
import { readRecord } from '../store/packs.ts';
import type { OutboxRow, Tables } from '../store/tables.ts';

export interface PublisherDeps extends Common<'clock' | 'log' | 'publish' | 'store'> {
  readonly journal: JournalReader;
  readonly eventOf: (row: JournalRow) => DomainEvent;
  readonly recordings: Pick<RecordingIndex, 'withRecording'>;
  readonly directory: Pick<Directory, 'queue'>;
  /** True when each published event is committed or was given up. */
  readonly settled: () => boolean;
}
export interface Publisher {
  /** Call it with every committed event. */
  onDomainEvent(event: DomainEvent): void;
  /** Wakes the publisher: the outbox may have new rows. */
  readonly knock: () => void;
  /** Reads the position from the journal; call it once, before any change. Throws `store_unavailable`. */
  begin(): Promise<void>;
  /** Publishes until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/** Limit of events published at once; the next page waits until these are committed. */
const PAGE = 200;
const RETRY_MS = 1_000;
/** Interval of checks, while the journal rejects events, whether it has dropped the pending ones. */
const ASK_MS = 250;
const SAVE_EVERY_MS = 1_000;

interface Published {
  readonly epoch: string;
  readonly seq: number;
  readonly change: number;
}
const changeOf = (event: DomainEvent): number | null =>
  event.type.startsWith('conversation.')
    ? (event.data as { conversation: ConversationSummary }).conversation.change
    : null;

export function createPublisher(deps: PublisherDeps): Publisher {
  const { store, journal, clock, log } = deps;
  const db = store.db<Tables>();
  let newest = 0;
  let saved = 0;
  let savedAt = clock.now();
  let knocked = Promise.withResolvers<void>();
  let committed = Promise.withResolvers<void>();

  async function save(): Promise<void> {
    if (saved === newest) return;
    const place: Published = { epoch: journal.epoch, seq: journal.head, change: newest };
    await store.transaction<Tables, void>(async (trx) => {
      await trx.deleteFrom('conversation_outbox').where('change', '<=', place.change).execute();
      await writeFact(trx, 'published', JSON.stringify(place));
    });
    saved = place.change;
    savedAt = clock.now();
  }
  let beginning: Promise<void> | undefined;
  const begin = (): Promise<void> =>
    (beginning ??= newestPublished(deps).then(
      (found) => {
        newest = Math.max(newest, found);
        saved = found;
      },
      (error: unknown) => {
        beginning = undefined;
        throw error;
      },
    ));
  async function publishNext(signal: AbortSignal): Promise<boolean> {
    const rows = await db
      .selectFrom('conversation_outbox')
      .selectAll()
      .where('change', '>', newest)
      .orderBy('change')
      .limit(PAGE)
      .execute();
    if (rows.length === 0) return false;
    const events = await eventsOf(db, deps, rows);
    const last = events.at(-1);
    if (last === undefined) {
      // All rows were replaced by newer changes, whose events follow.
      newest = rows.at(-1)!.change;
      return true;
    }
    const until = changeOf(last)!;
    deps.publish(events);
    while (newest < until && !signal.aborted) {
      if (deps.settled()) {
        if (newest >= until) break;
        log.warn({ from: newest, until }, 'the journal lost events; they are published again');
        await clock.sleep(RETRY_MS, signal).catch(() => {});
        break;
      }
      await Promise.race([committed.promise, clock.sleep(ASK_MS, signal).catch(() => {})]);
    }
    return true;
  }
  return {
    onDomainEvent(event) {
      const change = changeOf(event);
      if (change === null) return;
      newest = Math.max(newest, change);
      committed.resolve();
      committed = Promise.withResolvers();
    },
    knock: () => knocked.resolve(),
    begin,
    async run(signal) {
      const stopped = new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      while (!signal.aborted) {
        try {
          await begin();
          const more = await publishNext(signal);
          if (clock.now() - savedAt >= SAVE_EVERY_MS || clock.now() < savedAt) await save();
          if (more) continue;
          await Promise.race([knocked.promise, stopped]);
          knocked = Promise.withResolvers();
        } catch (error) {
          log.warn({ error: messageOf(error) }, 'events of conversations wait for the store');
          await clock.sleep(RETRY_MS, signal).catch(() => {});
        }
      }
      await save().catch((error: unknown) => {
        log.warn(
          { error: messageOf(error) },
          'the position of published events was not stored; it will be read from the journal',
        );
      });
    },
  };
}

/** The newest change whose event is in the journal. */
async function newestPublished({ store, journal, eventOf, log }: PublisherDeps): Promise<number> {
  const text = await readFact(store.db<Tables>(), 'published');
  const known = text === null ? null : (JSON.parse(text) as Published);
  const same = known?.epoch === journal.epoch;
  let newest = known?.change ?? 0;
  for (let at = Math.max(same ? known.seq : 0, journal.tail - 1); ;) {
    const rows = journal.read(at, PAGE);
    for (const row of rows) {
      if (row.type.startsWith('conversation.')) newest = Math.max(newest, changeOf(eventOf(row)) ?? 0);
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    at = last.seq;
    await turn();
  }
  await store.transaction<Tables, void>(async (db) => {
    const counter = await db.selectFrom('history_counters').select('value').executeTakeFirst();
    if (Number(counter?.value ?? 0) < newest) {
      // Readers of the feed have seen these positions, so later changes must get higher ones.
      log.warn(
        { newest, stored: counter?.value },
        'the store is older than the journal; changes go on after it',
      );
      await db
        .insertInto('history_counters')
        .values({ name: 'change', value: newest })
        .onConflict((c) => c.column('name').doUpdateSet({ value: newest }))
        .execute();
    }
    const place: Published = { epoch: journal.epoch, seq: journal.head, change: newest };
    await writeFact(db, 'published', JSON.stringify(place));
  });
  return newest;
}

/** The events of these rows in order, without those that a newer change replaces. */
async function eventsOf(
  db: Kysely<Tables>,
  deps: PublisherDeps,
  rows: readonly OutboxRow[],
): Promise<readonly DomainEvent[]> {
  const found = await db
    .selectFrom('conversations')
    .select(['root', 'change', 'revision', 'state', 'erased', 'record'])
    .where('root', 'in', [...new Set(rows.map((row) => row.root))])
    .execute();
  const conversations = new Map(found.map((row) => [row.root, { row, record: readRecord(row.record) }]));
  const records = [...conversations.values()].map((c) => c.record);
  const added = await readAnnotations(db, deps, records);
  return rows.flatMap(({ change, root, kind, revision }): DomainEvent[] => {
    // A merged conversation is reported with the one it became part of.
    const it = conversations.get(root);
    if (it === undefined) return [];
    if (kind === 'updated' && it.row.change > change) return [];
    if (kind === 'finalised' && it.row.revision > revision) return [];
    const conversation = { ...summaryOf(it.row, it.record, added.get(it.record.id)), change };
    return [
      {
        type: `conversation.${kind}`,
        subject: `conversations/${root}`,
        at: deps.clock.now(),
        observed: 'live',
        data: { extensions: conversation.extensions, conversation },
      },
    ];
  });
}
