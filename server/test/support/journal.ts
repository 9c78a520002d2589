import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EVENT_DATA } from '@offhook/contract/events.ts';
import type { EventType } from '@offhook/contract/events.ts';
import type { Site } from './site.ts';

export interface JournalEvent {
  readonly seq: number;
  readonly type: EventType;
  readonly subject: string;
  readonly observed: 'live' | 'resync';
  readonly caused_by?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** All journal events of a site, read beside the running service; each is checked against the contract. */
export function readJournal(site: Site): JournalEvent[] {
  const db = new DatabaseSync(path.join(site.dataDir, 'journal.db'), { readOnly: true });
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

/** Violations in a journal at rest: gaps, and calls reported twice or left open. */
export function journalFaults(events: readonly JournalEvent[]): string[] {
  const faults: string[] = [];
  events.forEach((event, i) => {
    if (i > 0 && event.seq !== events[i - 1]!.seq + 1) faults.push(`a hole before seq ${event.seq}`);
  });
  const calls = new Map<string, { started: number; ended: number }>();
  for (const { type, data } of events) {
    if (type !== 'call.started' && type !== 'call.ended') continue;
    const id = String(data['call_id']);
    const seen = calls.get(id) ?? { started: 0, ended: 0 };
    seen[type === 'call.started' ? 'started' : 'ended'] += 1;
    calls.set(id, seen);
  }
  for (const [id, { started, ended }] of calls) {
    if (started !== 1 || ended !== 1)
      faults.push(`call ${id} started ${started} times and ended ${ended} times`);
  }
  return faults;
}
