import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EVENT_DATA } from '@offhook/contract/events.ts';
import type { EventType } from '@offhook/contract/events.ts';
import type { Site } from './site.ts';
import { GiveUp, PATIENCE_MS, until } from './until.ts';

export interface JournalEvent {
  readonly seq: number;
  readonly type: EventType;
  readonly subject: string;
  readonly time: string;
  readonly observed: 'live' | 'resync';
  readonly caused_by?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** All journal events of a site, read beside the running service; each is checked against the contract. */
export function readJournal(site: Site): JournalEvent[] {
  const db = readDatabase(path.join(site.dataDir, 'journal.db'));
  try {
    return db
      .prepare('select json from journal order by seq')
      .all()
      .map((row) => {
        const event = JSON.parse(String(row['json'])) as JournalEvent;
        EVENT_DATA[event.type].parse(event.data);
        return event;
      });
  } finally {
    db.close();
  }
}

/** Opens a database of a running site; it is locked for a moment while another process opens or recovers it. */
export const readDatabase = (file: string): DatabaseSync =>
  new DatabaseSync(file, { readOnly: true, timeout: PATIENCE_MS });

/**
 * The events of a journal in which every call has its end, read without a hole and with nothing reported twice. History
 * and journal follow different records of the engine, so a call may be in the history a moment before its end is here.
 */
export function wholeJournal(site: Site): Promise<JournalEvent[]> {
  let open: string[] = [];
  return until(
    'the end of every call in the journal',
    () => {
      const events = readJournal(site);
      const { broken, unended } = journalFaults(events);
      if (broken.length > 0) throw new GiveUp(`the journal is broken: ${broken.join('; ')}`);
      open = unended;
      return open.length === 0 && events;
    },
    { seen: () => ({ open }) },
  );
}

/** Faults of a journal: `broken` (a hole, a call reported twice) stays, `unended` lists the calls whose end may still come. */
function journalFaults(events: readonly JournalEvent[]): { broken: string[]; unended: string[] } {
  const broken: string[] = [];
  events.forEach((event, i) => {
    if (i > 0 && event.seq !== events[i - 1]!.seq + 1) broken.push(`a hole before seq ${event.seq}`);
  });
  const calls = new Map<string, { started: number; ended: number }>();
  for (const { type, data } of events) {
    if (type !== 'call.started' && type !== 'call.ended') continue;
    const id = String(data['call_id']);
    const seen = calls.get(id) ?? { started: 0, ended: 0 };
    seen[type === 'call.started' ? 'started' : 'ended'] += 1;
    calls.set(id, seen);
  }
  const unended: string[] = [];
  for (const [id, { started, ended }] of calls) {
    if (started !== 1 || ended > 1)
      broken.push(`call ${id} started ${started} times and ended ${ended} times`);
    else if (ended === 0) unended.push(id);
  }
  return { broken, unended };
}
