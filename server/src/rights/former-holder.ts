import type { Envelope } from '@offhook/contract/events.ts';
import type { Bounds } from './hearing.ts';

/** Fields of a journal row that give the start of its subject. */
interface Row {
  readonly type: string;
  readonly at: number;
  readonly json: string;
}
const began = new WeakMap<Row, number>();

/**
 * Start of a row's subject, ms since 1970: notes and recordings are added to conversations that ended long
 * ago. All other events start at their own time.
 */
function beganAt(row: Row): number {
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
 * True for a row from before the reader may receive any of its names: from the extension's previous holder,
 * or from before the person existed. `names` are the topics of the row, `heard` the reader's subscriptions.
 */
export function isFromBefore(
  row: Row,
  names: readonly string[],
  heard: ReadonlySet<string>,
  bounds: Bounds,
): boolean {
  if (bounds.size === 0) return false;
  let at = -1;
  for (const name of names) {
    if (!heard.has(name)) continue;
    const since = bounds.get(name);
    if (since === undefined) return false;
    if (at < 0) at = beganAt(row);
    if (at >= since) return false;
  }
  return at >= 0;
}
