import type { Envelope, JournalRow } from '../ports/journal-store.ts';

/** Names of topics that are one person's own. */
const PERSONAL = /^(?:calls\/mine|history\/mine|agents)\//;
const began = new WeakMap<JournalRow, number>();

/**
 * When what a row is about began, ms since 1970: notes and recordings are added to conversations that are long over.
 * Every other event is about its own time.
 */
function beganAt(row: JournalRow): number {
  if (!row.type.startsWith('conversation.')) return row.at;
  let at = began.get(row);
  if (at === undefined) {
    const { data } = JSON.parse(row.json) as Envelope;
    const { conversation } = data as { conversation?: { started_at?: string } };
    const started = Date.parse(conversation?.started_at ?? '');
    began.set(row, (at = Number.isNaN(started) ? row.at : Math.min(started, row.at)));
  }
  return at;
}
/**
 * True for a row that is heard by a personal topic alone and was of the person who had the extension before. `names` are the
 * topics of the row, `heard` those of the reader; `since_ms`: when the reader was given the extension, 0 where nobody had it
 * before or the reader may see all of it.
 */
export function isOfFormerHolder(
  row: JournalRow,
  names: readonly string[],
  heard: ReadonlySet<string>,
  since_ms: number,
): boolean {
  if (since_ms === 0 || names.some((name) => heard.has(name) && !PERSONAL.test(name))) return false;
  return beganAt(row) < since_ms;
}
