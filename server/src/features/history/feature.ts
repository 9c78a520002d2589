import { randomBytes } from 'node:crypto';
import type { DomainEvent } from '@offhook/contract/events.ts';
import { e164In } from '../../numbers/e164.ts';
import { messageOf } from '../../core/errors.ts';
import { LONGEST_RETRY_MS, untilDone } from '../../core/retry.ts';
import type { CallRecords } from '../../ports/call-records.ts';
import type { Conversations, RecordingIndex } from '../../ports/conversations.ts';
import type { JournalReader, JournalRow } from '../../ports/journal-store.ts';
import type { Common } from '../../ports/common.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Store } from '../../ports/store.ts';
import { createNotes, createQuality } from './query/annotate.ts';
import type { Notes, Quality } from './query/annotate.ts';
import { createConversationReader } from './query/service.ts';
import type { ConversationReader } from './query/service.ts';
import { createHistoryData } from './erasure/personal-data.ts';
import { readFact, writeFact } from './store/store.ts';
import { Ingest } from './ingest/ingest.ts';
import { createKnownConversations } from './query/read.ts';
import { Prover } from './proof/prover.ts';
import { createPublisher } from './ingest/publish.ts';
import { createHistoryService } from './query/history-service.ts';
import type { HistoryService } from './query/history-service.ts';
import { migrations } from './store/migrations.ts';
import type { Tables } from './store/tables.ts';
import { createWrapUps } from './ingest/wrap-ups.ts';

export interface HistoryDeps extends Common<'audit' | 'clock' | 'directory' | 'log' | 'store'> {
  /** Name of this node; null where the site has only one. */
  readonly node?: string | null;
  /** The site's zone, for `calldate`. */
  readonly zone: string;
  readonly records: CallRecords;
  /** Call records of the site's other engines, by node. */
  readonly others?: ReadonlyMap<string, CallRecords>;
  readonly recordings: RecordingIndex;
  /** Country of the site (config.ts), or empty. */
  readonly country: string;
  readonly journal: JournalReader;
  /** Epoch of the feed of changes; the journal's where the store has lost nothing. */
  readonly feedEpoch: string;
  readonly eventOf: (row: JournalRow) => DomainEvent;
  /** Commits events `conversation.*`; first called after `begin`. */
  readonly publish: (events: readonly DomainEvent[]) => void;
  /** True when each published event is committed or was given up. */
  readonly settled: () => boolean;
}
/** Stores call records and builds from them a record of each conversation and a row for each person in it. */
export interface History extends HistoryService, AsyncDisposable {
  readonly conversations: ConversationReader;
  readonly notes: Notes;
  readonly quality: Quality;
  readonly known: Conversations;
  /** Starts reading and publishing; call it once every part of the feature exists. */
  begin(): void;
  /** Comparison of the call records with the journal. */
  readonly proof: Pick<Prover, 'figures' | 'completed'>;
  /** Personal data in the history, for export and erasure. */
  readonly data: PersonalData;
  /** Call it with every committed event, in order. A restart of an engine ends its conversations from before. */
  onDomainEvent(event: DomainEvent): void;
  /** Stops reading; waits for writes in progress. */
  close(): Promise<void>;
}

/** The first run waits until the start is over and missed call records have been read. */
const FIRST_TIDY_MS = 60_000;
const TIDY_MS = 3_600_000;
const TELL_MS = 1_000;

/** Runs the migrations. */
export async function createHistory(deps: HistoryDeps): Promise<History> {
  const { store, clock, directory, records } = deps;
  const log = deps.log.child({ part: 'history' });
  await store.migrate('history', migrations);
  const e164 = e164In(deps.country);
  const ingest = new Ingest({
    store,
    directory,
    clock,
    log,
    e164,
    node: deps.node,
    others: [...(deps.others?.keys() ?? [])],
  });
  const reading = { ...deps, cursor_key: cursorKeyOf(store) };
  const publisher = createPublisher({ ...deps, log });
  const wrapUps = createWrapUps(deps);
  const prover = new Prover({
    ...deps,
    log,
    ingest,
    others: [...(deps.others?.keys() ?? [])],
    caughtUpAt(node) {
      const source = node === undefined ? records : deps.others?.get(node);
      // The records of an engine whose reader reports no end count as read, so that they hold up nothing.
      if (node !== undefined && source?.caughtUpAt === undefined) return clock.now();
      return source?.caughtUpAt?.() ?? null;
    },
  });
  const stop = new AbortController();
  const { signal } = stop;

  const persist = (what: string, work: () => Promise<unknown>): Promise<boolean> =>
    untilDone(what, work, { clock, log, signal });
  async function read(source: CallRecords, node?: string): Promise<void> {
    let from = null as Awaited<ReturnType<typeof ingest.checkpoint>>;
    await persist('reading the checkpoint', async () => {
      if (node === undefined) await publisher.begin();
      from = await ingest.checkpoint(node);
    });
    while (!signal.aborted) {
      try {
        for await (const batch of source.read(from, signal)) {
          if (!(await persist('storing call records', () => ingest.store(batch, node)))) return;
          from = batch.checkpoint;
          publisher.knock();
        }
      } catch (error) {
        log.error({ error: messageOf(error) }, 'call records could not be read; reading starts again');
        await clock.sleep(LONGEST_RETRY_MS, signal).catch(() => {});
      }
    }
  }
  async function tidy(): Promise<void> {
    for (let ms = FIRST_TIDY_MS; ; ms = TIDY_MS) {
      await clock.sleep(ms, signal).catch(() => {});
      if (signal.aborted) return;
      await persist('tidying', () => ingest.tidy());
    }
  }
  async function tell(): Promise<void> {
    for (;;) {
      await clock.sleep(TELL_MS, signal).catch(() => {});
      if (signal.aborted) return;
      await persist('telling conversations that go on', () => ingest.tellDue());
      if ((deps.others?.size ?? 0) > 0)
        await persist('closing what another engine left open', () => ingest.closeHalves());
      await persist('storing wrap-ups', () => wrapUps.catchUp());
      publisher.knock();
    }
  }
  async function prove(): Promise<void> {
    for (;;) {
      await clock.sleep(TELL_MS, signal).catch(() => {});
      if (signal.aborted) return;
      await persist('comparing call records with the journal', () => prover.catchUp());
    }
  }
  let boots: Promise<unknown> = Promise.resolve();
  let running: Promise<unknown> | undefined;
  const close = async (): Promise<void> => {
    stop.abort();
    await Promise.all([running, boots]);
  };
  return {
    ...createHistoryService(reading),
    conversations: createConversationReader(reading),
    notes: createNotes(deps),
    quality: createQuality(deps),
    known: createKnownConversations(store, publisher.knock),
    begin() {
      running ??= Promise.all([
        read(records),
        ...Array.from(deps.others ?? [], ([node, source]) => read(source, node)),
        tell(),
        prove(),
        tidy(),
        publisher.run(signal),
      ]);
    },
    proof: prover,
    data: createHistoryData({ ...deps, log, e164 }),
    onDomainEvent(event) {
      publisher.onDomainEvent(event);
      if (event.type !== 'engine.link_up') return;
      const other = deps.others?.has(event.data.node) === true ? event.data.node : undefined;
      // Engines of two leading nodes may have started in the same second, so the id of their starts contains the node.
      const ofLeader = other === undefined && deps.node != null;
      const boot_id = ofLeader ? `${deps.node} ${event.data.boot_id}` : event.data.boot_id;
      boots = boots.then(() =>
        persist('closing the conversations of an earlier life of the engine', () =>
          ingest.engineBooted(boot_id, event.at, other),
        ),
      );
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Read on the first list request: the store may not be available when the service starts. */
function cursorKeyOf(store: Store): () => Promise<Buffer> {
  let key: Buffer | undefined;
  return async () =>
    (key ??= await store.transaction<Tables, Buffer>(async (db) => {
      const known = await readFact(db, 'cursor_key');
      if (known !== null) return Buffer.from(known, 'base64url');
      const fresh = randomBytes(32);
      await writeFact(db, 'cursor_key', fresh.toString('base64url'));
      return fresh;
    }));
}
