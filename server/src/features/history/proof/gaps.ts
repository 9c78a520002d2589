/** Times without engine events, and channels of the engine that neither the call records nor the journal have. */
import type { Kysely } from 'kysely';
import { nodeOf } from '@offhook/contract/ids.ts';
import type { JournalRow } from '../../../ports/journal-store.ts';
import { inChunks } from '../store/store.ts';
import { BUILT, recordsOf } from '../store/packs.ts';
import { NO_SIP } from '../store/tables.ts';
import type { Tables } from '../store/tables.ts';

/** Milliseconds since 1970. */
interface Span {
  readonly from: number;
  readonly to: number;
}
/** `node`: node of the engine; without it, that of the leading node. One that left the site counts as a former leading node. */
export interface Absence extends Span {
  readonly node?: string;
}
export interface LostChannels extends Span {
  /** Node of the engine that numbered them; for an absence of the leading node, also that of a former one. */
  readonly node: string;
  readonly channels: number;
}
/** Start of an absence that lasts, by node; null for the engine of the leading node. */
export type Lasting = readonly [node: string | null, from: number];
/** An engine that was linked before, with the start of its absence if it is not linked since a start of the service. */
export type Linked = readonly [node: string | null, from: number | null];
const KEPT = 200;
/** A lost link is reported after at most this silence of its engine (`SILENCE_MS` of the connection, and one tick). */
const UNNOTICED_MS = 10_000;

/**
 * Events caused by the engine; others are also published while the link is down, e.g. findings of the history, and extensions
 * that an apply deletes.
 */
const HEARD = /^(engine|call|offer)\.|^(agent|presence)\.(?!removed)|^queue\.caller_(?!settled)/;
export const isHeard = ({ type }: { readonly type: string }): boolean => HEARD.test(type);
/** After a failover the leading node has another name, so null stands for its engine. */
const engineOf = (node: string | undefined, others: readonly string[]): string | null =>
  node !== undefined && others.includes(node) ? node : null;
/** True if the absence is one of the engine of this node. */
export const concerns = ({ node: away }: Absence, node: string, others: readonly string[]): boolean =>
  engineOf(away, others) === engineOf(node, others);
/** True if an engine with one of these ids was away during a part of the interval. */
export const overlapsWith = (
  absence: Absence,
  span: Span,
  ids: readonly string[],
  others: readonly string[],
): boolean =>
  absence.from <= span.to &&
  absence.to >= span.from &&
  ids.some((id) => concerns(absence, nodeOf(id), others));

export interface AbsencesOptions {
  readonly known?: readonly Absence[];
  readonly lasting?: readonly Lasting[];
  /** By default each engine of the site was linked before. */
  readonly linked?: readonly Linked[] | undefined;
  /** Time of the newest event of the engines before the given ones. */
  readonly heard?: number | null;
  /** Newest row of the journal from before the start of this process. */
  readonly head?: number;
  /** Nodes of the site's other engines. */
  readonly others?: readonly string[];
}
/**
 * An absence of an engine lasts from the newest event before its link or the service was lost to its next link. At a
 * site with several engines that event may be one of another engine, so the absence begins up to 10 s before it. The
 * link is reported when the engine's state was read; not every link is followed by an `engine.resynced` of its own.
 */
export function createAbsences({
  known = [],
  lasting = [],
  heard = null,
  head = Infinity,
  others = [],
  linked: linkedBefore = [null, ...others].map((node): Linked => [node, null]),
}: AbsencesOptions = {}) {
  const found = [...known];
  const isOfSite = ([node]: Linked): boolean => node === null || others.includes(node);
  const away = new Map(lasting.filter(isOfSite));
  const linked = new Map(linkedBefore.filter(isOfSite));
  const unnoticed = others.length > 0 ? UNNOTICED_MS : 0;
  /** Time of the newest link of each engine since the start of this process. */
  const links = new Map<string | null, number>();
  let begun = false;
  let newest = heard;
  const silentSince = (node: string | null, heardAt: number): number =>
    Math.max(links.get(node) ?? -Infinity, heardAt - unnoticed);
  return {
    /** The newest absences that ended. */
    get found(): readonly Absence[] {
      return found;
    },
    get lasting(): readonly Lasting[] {
      return [...away];
    },
    get linked(): readonly Linked[] {
      return [...linked];
    },
    /**
     * Accepts every event, in order; returns the absence that the event ends. The first link of an engine returns none: before
     * it, the service received no event of this engine, so no visit lacks its end.
     */
    take({ seq, type, subject, at }: Pick<JournalRow, 'seq' | 'type' | 'subject' | 'at'>): Absence | null {
      if (!begun && seq > head) {
        begun = true;
        // A killed service writes no `engine.link_down`.
        if (newest !== null)
          for (const [node, from] of linked) linked.set(node, from ?? silentSince(node, newest));
        links.clear();
      }
      const before = newest;
      if (isHeard({ type })) newest = Math.max(newest ?? at, at);
      if (type !== 'engine.link_down' && type !== 'engine.link_up') return null;
      const name = subject.slice('engine/'.length);
      const node = engineOf(name, others);
      const isFirst = !linked.has(node);
      const since = away.get(node) ?? linked.get(node) ?? silentSince(node, before ?? at);
      const from = isFirst && type === 'engine.link_up' ? 0 : since;
      linked.set(node, null);
      if (type === 'engine.link_down') {
        away.set(node, from);
        return null;
      }
      away.delete(node);
      links.set(node, at);
      const absence = absenceOf(name, Math.min(from, at), at);
      found.push(absence);
      if (found.length > KEPT) found.shift();
      return isFirst ? null : absence;
    },
    /** True if an engine with one of these ids was away during a part of the interval. */
    overlaps(span: Span, ids: readonly string[]): boolean {
      const lasting = [...linked, ...away].flatMap(([node, from]) =>
        from === null ? [] : absenceOf(node, from, Infinity),
      );
      return [...found, ...lasting].some((absence) => overlapsWith(absence, span, ids, others));
    },
  };
}
export type Absences = ReturnType<typeof createAbsences>;
const absenceOf = (node: string | null, from: number, to: number): Absence => ({
  from,
  to,
  ...(node === null ? {} : { node }),
});

/** Ids have the second of their channel, also those that the service chooses. */
const CHANNEL = /[:-](\d{9,12})\.\d{1,12}$/;
/**
 * Known channels, each with its number among the SIP channels of its engine: `NO_SIP` without one, null if the number is
 * unknown because no call record has its start.
 */
export type Channels = ReadonlyMap<string, number | null>;
/**
 * Finds unrecorded channels: an engine numbers its SIP channels consecutively, so a missing number between two known ones
 * is an unrecorded channel, unless it is that of a known channel of that time. The number in an id proves nothing: the
 * engine also uses one for each hint that it creates from a pattern, and two for each conference. Null while no SIP channel
 * after the absence is recorded. `channels`: all known ones around the absence; `others`: nodes of the site's other engines.
 */
export function lostIn(
  absence: Absence,
  channels: Channels,
  others: readonly string[],
): readonly LostChannels[] | null {
  // After a failover the leading node has another name, and its engine numbers channels anew.
  const lost = [...Map.groupBy(channels, ([id]) => nodeOf(id))]
    .filter(([node]) => concerns(absence, node, others))
    .map(([node, own]) => lostAt(absence, node, own))
    .filter((one) => one !== null);
  return lost.length === 0 ? null : lost.flat();
}
/** Unrecorded channels among those of the engine of one node. */
function lostAt(
  absence: Absence,
  node: string,
  channels: Iterable<readonly [string, number | null]>,
): readonly LostChannels[] | null {
  const known = new Map<number, number>();
  const unknown: number[] = [];
  for (const [id, serial] of channels) {
    const second = CHANNEL.exec(id)?.[1];
    if (second === undefined || serial === NO_SIP) continue;
    const at = Number(second) * 1000;
    if (serial === null) unknown.push(at);
    else known.set(serial, Math.max(known.get(serial) ?? at, at));
  }
  const serials = [...known].sort((a, b) => a[0] - b[0]);
  if (!serials.some(([, at]) => at >= absence.to - 1000)) return null;
  return serials.flatMap(([serial, at], i) => {
    const before = serials[i - 1];
    if (before === undefined) return [];
    const missing = serial - before[0] - 1;
    const outside = at + 1000 <= absence.from || before[1] > absence.to || at < before[1];
    if (missing === 0 || outside) return [];
    // A channel has its number a moment before its second.
    const ours = unknown.filter((second) => second >= before[1] - 1000 && second <= at + 1000).length;
    return missing > ours ? [{ node, from: before[1], to: at + 1000, channels: missing - ours }] : [];
  });
}

/** Storage time of a test call's channel; except at idle sites, an absence is compared sooner. */
const KEEP_MS = 7 * 86_400_000;

/** Stores the SIP channels of test calls: they are in no call record, but the engine numbers them. Idempotent. */
export async function keepTestChannels(
  db: Kysely<Tables>,
  channels: readonly string[],
  now: number,
): Promise<void> {
  if (channels.length === 0) return;
  await inChunks(channels, async (some) => {
    await db
      .insertInto('history_test_channels')
      .values(some.map((channel) => ({ channel, at_ms: now })))
      .onConflict((c) => c.column('channel').doNothing())
      .execute();
    return [];
  });
  await db
    .deleteFrom('history_test_channels')
    .where('at_ms', '<', now - KEEP_MS)
    .execute();
}
export async function testChannels(db: Kysely<Tables>): Promise<readonly string[]> {
  const rows = await db.selectFrom('history_test_channels').select('channel').execute();
  return rows.map((row) => row.channel);
}

const AROUND_MS = 3_600_000;
const PACKS_AT_ONCE = 100;
const recordedChannels = (db: Kysely<Tables>) =>
  db.selectFrom('history_channels').select(['history_channels.channel', 'history_channels.sip_serial']);
/** Channels of the conversations in the call records with a record in the interval or an hour around it. */
async function channelsIn(db: Kysely<Tables>, from: number, to?: number): Promise<Channels> {
  let query = recordedChannels(db)
    .innerJoin('history_calls', 'history_calls.call', 'history_channels.call')
    .innerJoin('history_conversations', 'history_conversations.root', 'history_calls.root')
    .where('history_conversations.last_us', '>=', (from - AROUND_MS) * 1000);
  if (to !== undefined) query = query.where('history_conversations.last_us', '<=', (to + AROUND_MS) * 1000);
  return byId(await query.execute());
}
/** A channel in two calls has its number in one of its rows. */
const byId = (rows: readonly { readonly channel: string; readonly sip_serial: number | null }[]): Channels =>
  new Map(
    rows
      .toSorted((a, b) => Number(a.sip_serial !== null) - Number(b.sip_serial !== null))
      .map((row) => [row.channel, row.sip_serial]),
  );
/** The channels of the journal, with their numbers from the call records. */
async function channelsOf(db: Kysely<Tables>, legs: readonly string[]): Promise<Channels> {
  const rows = await inChunks(legs, (some) =>
    recordedChannels(db).where('history_channels.channel', 'in', some).execute(),
  );
  return new Map([...legs.map((id) => [id, null] as const), ...byId(rows)]);
}
/** Channels of the conversations whose call records are packed, with a record since a time. */
async function packedChannels(db: Kysely<Tables>, from: number): Promise<Channels> {
  const rows = await db
    .selectFrom('history_conversations')
    .select('root')
    .where('built', '=', BUILT.packed)
    .where('last_us', '>=', from * 1000)
    .execute();
  const found = new Map<string, number | null>();
  for (let i = 0; i < rows.length; i += PACKS_AT_ONCE) {
    const roots = rows.slice(i, i + PACKS_AT_ONCE).map(({ root }) => root);
    for (const { channel, sip_serial } of [...(await recordsOf(db, roots)).values()].flat())
      if (sip_serial !== undefined) found.set(channel, sip_serial ?? NO_SIP);
      else if (!found.has(channel)) found.set(channel, null);
  }
  return found;
}
/** Channels that began up to a time. Of two that begin at once, the engine may write the record of either first. */
const begunBy = (until: number, channels: Channels): Channels =>
  new Map([...channels].filter(([id]) => Number(CHANNEL.exec(id)?.[1]) * 1000 <= until));
/**
 * Gaps of an absence; null until a later channel is recorded. `legs`: channels of the journal; `tests`: of test calls;
 * `others`: nodes of the site's other engines; `until`: time until which the call records are complete, in ms.
 */
export async function gapsOf(
  db: Kysely<Tables>,
  absence: Absence,
  legs: Iterable<string>,
  tests: () => Promise<readonly string[]>,
  others: readonly string[],
  until: number,
): Promise<readonly LostChannels[] | null> {
  const around = await channelsIn(db, absence.from, absence.to);
  const unread = [...legs].filter((id) => !around.has(id));
  const known = begunBy(until, new Map([...around, ...(await channelsOf(db, unread))]));
  const missing = lostIn(absence, known, others);
  if (missing === null || missing.length === 0) return missing;
  // Beside a call of many hours, at an idle site or after days of absence, a gap is longer than what was read.
  const from = Math.min(...missing.map((gap) => gap.from));
  const tested = (await tests()).map((id) => [id, null] as const);
  const longer = new Map([...tested, ...(await packedChannels(db, from)), ...(await channelsIn(db, from))]);
  const left = lostIn(absence, new Map([...begunBy(until, longer), ...known]), others) ?? [];
  return left.filter((one) =>
    missing.some((gap) => gap.node === one.node && gap.from <= one.from && one.to <= gap.to),
  );
}
