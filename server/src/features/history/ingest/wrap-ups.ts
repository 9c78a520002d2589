import { setImmediate } from 'node:timers/promises';
import type { AgentSummary } from '@offhook/contract/agents.ts';
import type { DomainEvent } from '@offhook/contract/events.ts';
import type { JournalReader, JournalRow } from '../../../ports/journal-store.ts';
import type { Store } from '../../../ports/store.ts';
import { insertAll, readFact, rootsOf, touchConversations, writeFact } from '../store/store.ts';
import type { Tables } from '../store/tables.ts';

type WrapUp = Tables['conversation_wrap_ups'];
/** `deadline_ms` is missing in a position of an earlier version. */
type Begun = Omit<WrapUp, 'to_ms'> & { readonly deadline_ms?: number };
/** Position in the journal, and the wrap-ups that are open at it. */
interface Place {
  readonly epoch: string;
  readonly seq: number;
  readonly begun: readonly Begun[];
}
const PAGE = 500;
/** Journal rows without a wrap-up after which the position is stored; a restart reads the rows since then again. */
const SAVE_EVERY = 5_000;

/** Copies agents' wrap-ups from the journal, the only place that has them, to the conversations they belong to. */
export function createWrapUps(deps: {
  readonly store: Store;
  readonly journal: JournalReader;
  readonly eventOf: (row: JournalRow) => DomainEvent;
}) {
  const { store, journal, eventOf } = deps;
  let place: Place | null = null;
  /** Position that is stored, or where reading began. */
  let kept = 0;

  async function begin(): Promise<Place> {
    const text = await readFact(store.db<Tables>(), 'wrap_ups');
    const known = text === null ? null : (JSON.parse(text) as Place);
    if (known?.epoch === journal.epoch) return known;
    return { epoch: journal.epoch, seq: journal.tail - 1, begun: [] };
  }
  async function keep(over: readonly WrapUp[], next: Place): Promise<void> {
    await store.transaction<Tables, void>(async (db) => {
      await insertAll(over, (some) =>
        db
          .insertInto('conversation_wrap_ups')
          .values(some)
          .onConflict((c) => c.doNothing())
          .execute(),
      );
      const calls = over.map((w) => w.call);
      await touchConversations(db, await rootsOf(db, calls));
      await writeFact(db, 'wrap_ups', JSON.stringify(next));
    });
  }
  return {
    /** Stores the wrap-ups that the journal got since the last call. Throws `store_unavailable`. */
    async catchUp(): Promise<void> {
      if (place === null) {
        place = await begin();
        kept = place.seq;
      }
      for (let at = Math.max(place.seq, journal.tail - 1); ;) {
        const rows = journal.read(at, PAGE);
        const last = rows.at(-1);
        if (last === undefined) return;
        const { over, begun } = wrapUpsIn(rows, place.begun, eventOf);
        const next: Place = { epoch: place.epoch, seq: last.seq, begun };
        if (over.length > 0 || last.seq - kept >= SAVE_EVERY) {
          await keep(over, next);
          kept = last.seq;
        }
        place = next;
        at = last.seq;
        await setImmediate();
      }
    },
  };
}

function wrapUpsIn(
  rows: readonly JournalRow[],
  before: readonly Begun[],
  eventOf: (row: JournalRow) => DomainEvent,
): { readonly over: readonly WrapUp[]; readonly begun: readonly Begun[] } {
  const begun = new Map(before.map((b) => [b.extension, b]));
  const over: WrapUp[] = [];
  for (const row of rows) {
    if (!row.type.startsWith('agent.')) continue;
    const event = eventOf(row);
    const { extension, agent } = event.data as { extension: string; agent: AgentSummary };
    const lasting = begun.get(extension);
    // An agent without a reachable device stays in its wrap-up.
    const stays = agent.engagement === 'wrap_up' || agent.engagement === 'unreachable';
    if (lasting !== undefined && (!stays || event.type === 'agent.wrap_up')) {
      const { deadline_ms = Infinity, ...wrapUp } = lasting;
      // Its end may be reported later, as after an absence of the engine.
      over.push({ ...wrapUp, to_ms: Math.max(Math.min(event.at, deadline_ms), wrapUp.from_ms) });
      begun.delete(extension);
    } else if (lasting !== undefined && event.type === 'agent.wrap_up_extended')
      begun.set(extension, { ...lasting, deadline_ms: Date.parse(event.data.deadline) });
    if (event.type !== 'agent.wrap_up') continue;
    const { call_id, queue, deadline } = event.data;
    if (!call_id) continue;
    const from_ms = Math.min(event.at, Date.parse(agent.since));
    begun.set(extension, { call: call_id, extension, queue, from_ms, deadline_ms: Date.parse(deadline) });
  }
  return { over, begun: [...begun.values()] };
}
