/** Settles visits that ended during an absence: their outcome comes from the call records, once these are read. */
import type { Kysely } from 'kysely';
import { nodeOf } from '@offhook/contract/ids.ts';
import type { DomainEvent, EventData } from '@offhook/contract/events.ts';
import { rfc3339 } from '../../../core/clock.ts';
import { waitedBetween } from '../../../pbx/state.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Store } from '../../../ports/store.ts';
import { BUILT, readRecord } from '../store/packs.ts';
import type { ConversationRecord, RecordedVisit } from '../record/record.ts';
import type { Tables } from '../store/tables.ts';
import { concerns } from './gaps.ts';
import type { Absence } from './gaps.ts';
import { keepFinding } from './findings.ts';
import type { Finding } from './findings.ts';

type Outcome = EventData<'queue.caller_settled'>['outcome'];
/** A rejected caller never waited; a waiting caller has no outcome yet. */
const OUTCOMES: Readonly<Record<RecordedVisit['outcome'], Outcome | null>> = {
  answered: 'answered',
  abandoned: 'abandoned',
  timeout: 'flowed_out',
  exit_key: 'flowed_out',
  empty_leave: 'flowed_out',
  callback: 'flowed_out',
  transferred_out: 'flowed_out',
  full: null,
  empty_join: null,
  waiting: null,
};
/** An absence whose visits may lack an outcome. `known`: visits whose start an event reported, as queue and leg. */
export interface Unsettled extends Absence {
  readonly known: readonly string[];
}
const waitOf = ({ queue, leg_id }: { readonly queue: string; readonly leg_id: string }): string =>
  `${queue} ${leg_id}`;
/** Time at which an event reported the end of a visit, by queue and call. */
export type Heard = readonly [visit: string, at: number];
const PAGE = 200;
const EVERY_MS = 2_000;
const KEPT = 100;
const HEARD_KEPT = 1_000;
/** The times of a visit in the journal and in the call records differ by less, in ms. */
const SOON_MS = 2_000;

/**
 * Visits of a conversation that ended in the absence. `others`: nodes of the site's other engines; `heard`: visits whose
 * end an event reported, although one of their engines was away.
 */
export function settledIn(
  record: ConversationRecord,
  absence: Unsettled,
  at: number,
  others: readonly string[],
  heard: ReadonlyMap<string, readonly number[]>,
): readonly Finding[] {
  const calls = [record.id, ...record.merged_from];
  return record.visits.flatMap((visit): Finding[] => {
    const { queue, leg_id, from, to, outcome: became, agent_leg, offers } = visit;
    // A queue has the engine of its members. Without an offer it may be any engine of the conversation.
    const agent = agent_leg ?? offers[0]?.leg_id;
    const ids = agent === undefined ? [...calls, ...record.legs.map((leg) => leg.leg_id)] : [agent];
    if (!ids.some((id) => concerns(absence, nodeOf(id), others))) return [];
    const outcome = OUTCOMES[became];
    // An event names the leg that joined; after a transfer another leg waited instead.
    const joined = [leg_id, ...waitedIn(record, visit)].find((id) =>
      absence.known.includes(waitOf({ queue, leg_id: id })),
    );
    const told = joined !== undefined;
    const inside = told
      ? to >= absence.from - SOON_MS && to <= absence.to + SOON_MS
      : from >= absence.from && to <= absence.to;
    if (outcome === null || !inside) return [];
    const ends = calls.flatMap((call) => heard.get(`${queue} ${call}`) ?? []);
    if (!told && ends.some((end) => Math.abs(end - to) < SOON_MS)) return [];
    // After a loss of the engine, its records do not show whether the caller gave up.
    if (outcome === 'abandoned' && record.ended_by === 'engine_lost') return [];
    const data = {
      call_id: record.id,
      queue,
      leg_id: joined ?? leg_id,
      joined_at: rfc3339(from),
      outcome,
      told,
    };
    return [{ kind: 'visit', at, data: { ...data, ...waitedBetween(from, to) } }];
  });
}

/** Legs that waited in the queue during this visit. */
const waitedIn = ({ legs }: ConversationRecord, { queue, from, to }: RecordedVisit): readonly string[] =>
  legs.flatMap(({ leg_id, segments }) =>
    segments.some((s) => s.state === 'queued' && s.queue === queue && s.from < to && s.to > from)
      ? leg_id
      : [],
  );

/** Keeps absences with unsettled visits and settles them as the conversations of that time end. */
export function createSettler({
  store,
  clock,
  others,
}: {
  readonly store: Store;
  readonly clock: Clock;
  readonly others: readonly string[];
}) {
  const db = store.db<Tables>();
  let unsettled: readonly Unsettled[] = [];
  /** Visits reported by events as open, and those that a resync ended without knowing the outcome, with its time. */
  const open = new Set<string>();
  const ended = new Map<string, number>();
  /** Ends of the newest visits that events reported while another engine may have been away; see `Heard`. */
  const heard = new Map<string, readonly number[]>();
  let lookedAt = -Infinity;
  /** Newest change read for each absence. */
  const read = new WeakMap<Unsettled, number>();

  async function settle(absence: Unsettled): Promise<boolean> {
    const at = clock.now();
    const whole = !(await goesOn(db, absence));
    const findings: Finding[] = [];
    let after = read.get(absence) ?? 0;
    for (let all = false; !all;) {
      const rows = await changedIn(db, absence, after);
      all = rows.length < PAGE;
      for (const { change, state, record } of rows) {
        after = Number(change);
        if (state !== 'open') findings.push(...settledIn(readRecord(record), absence, at, others, heard));
      }
    }
    const { node, from, to } = absence;
    const data = { ...(node === undefined ? {} : { node }), from: rfc3339(from), to: rfc3339(to) };
    if (whole) findings.push({ kind: 'settled', at, data });
    await store.transaction<Tables, void>(async (trx) => {
      for (const finding of findings) await keepFinding(trx, finding);
    });
    read.set(absence, after);
    return whole;
  }
  function hear(visit: string, at: number): void {
    if (others.length === 0) return;
    // A call can visit a queue several times; rows that are read again report no other end.
    const ends = heard.get(visit) ?? [];
    heard.delete(visit);
    heard.set(visit, ends.includes(at) ? ends : [...ends, at]);
    for (const oldest of heard.keys()) {
      if (heard.size <= HEARD_KEPT) return;
      heard.delete(oldest);
    }
  }
  return {
    begin(known: readonly Unsettled[], ends: readonly Heard[]): void {
      unsettled = known;
      for (const [visit, at] of ends) hear(visit, at);
    },
    get unsettled() {
      return unsettled;
    },
    get heard(): readonly Heard[] {
      return [...heard].flatMap(([visit, ends]) => ends.map((at): Heard => [visit, at]));
    },
    /** Call with every event of callers in queues, in order; other events are ignored. */
    take(event: DomainEvent): void {
      if (event.type === 'queue.caller_joined') open.add(waitOf(event.data));
      else if (event.type === 'queue.caller_left' || event.type === 'queue.caller_abandoned') {
        const wait = waitOf(event.data);
        open.delete(wait);
        if (event.observed !== 'resync') {
          hear(`${event.data.queue} ${event.data.call_id}`, event.at);
          return;
        }
        ended.set(wait, event.at);
        // The resync follows the link that ended the newest absence.
        const newest = unsettled.at(-1);
        if (newest !== undefined && !newest.known.includes(wait))
          unsettled = [...unsettled.slice(0, -1), { ...newest, known: [...newest.known, wait] }];
      }
    },
    add(absence: Absence): void {
      for (const [wait, at] of ended) if (at < absence.from) ended.delete(wait);
      const known = [...new Set([...open, ...ended.keys()])];
      unsettled = [...unsettled, { ...absence, known }].slice(-KEPT);
    },
    /**
     * Settles absences that ended before the call records of their engine were complete (`untilOf`, in ms); true if one is
     * now complete. Throws `store_unavailable`.
     */
    async catchUp(untilOf: (node?: string) => number): Promise<boolean> {
      const now = clock.now();
      const due = unsettled.filter((a) => a.to <= untilOf(a.node));
      if (due.length === 0 || (now - lookedAt < EVERY_MS && now >= lookedAt)) return false;
      lookedAt = now;
      let news = false;
      for (const absence of due) {
        if (!(await settle(absence))) continue;
        unsettled = unsettled.filter((a) => a !== absence);
        news = true;
      }
      return news;
    },
  };
}

/** True if a conversation of that time is open or not built yet. */
async function goesOn(db: Kysely<Tables>, absence: Absence): Promise<boolean> {
  const open = await db
    .selectFrom('history_conversations')
    .leftJoin('conversations', 'conversations.root', 'history_conversations.root')
    .select('history_conversations.root')
    .where('history_conversations.built', '=', BUILT.no)
    .where((e) => e.or([e('started_ms', 'is', null), e('started_ms', '<=', absence.to)]))
    .limit(1)
    .execute();
  return open.length > 0;
}
const changedIn = (db: Kysely<Tables>, absence: Absence, after: number) =>
  db
    .selectFrom('conversations')
    .select(['change', 'state', 'record'])
    .where('change', '>', after)
    .where('started_ms', '<=', absence.to)
    .where('ended_ms', '>=', absence.from - SOON_MS)
    .orderBy('change')
    .limit(PAGE)
    .execute();
