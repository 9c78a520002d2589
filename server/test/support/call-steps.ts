/** Steps of call control: REST requests and the resulting journal events. */
import path from 'node:path';
import type { CallOperation } from '@offhook/contract/call-control.ts';
import { OperationReply } from '@offhook/contract/call-control.ts';
import { Problem } from '@offhook/contract/errors.ts';
import { Envelope } from '@offhook/contract/events.ts';
import { ApiError } from './api.ts';
import { RecordingsReply } from '@offhook/contract/recordings.ts';
import type { Recording } from '@offhook/contract/recordings.ts';
import type { Person } from './api.ts';
import { readDatabase } from './journal.ts';
import type { Site } from './site.ts';
import { PATIENCE_MS, until } from './until.ts';

export interface Answer {
  readonly status: number;
  readonly operation: CallOperation;
  /** For a transfer to a parking number. */
  readonly slot: string | null;
}
/** `POST /api/v1/calls<path>`; throws `ApiError` if refused. */
export async function ask(site: Site, person: Person, to: string, body: object = {}): Promise<Answer> {
  const response = await fetch(`${site.base}/api/v1/calls${to}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const json: unknown = await response.json();
  if (response.ok) {
    const { operation } = OperationReply.parse(json);
    return { status: response.status, operation, slot: (json as { slot?: string | null }).slot ?? null };
  }
  const { code, detail } = Problem.parse(json);
  throw new ApiError(response.status, code, detail);
}

/** The recordings of a call that this person may see, newest first. */
export async function recordingsOf(site: Site, person: Person, call: string): Promise<Recording[]> {
  const response = await fetch(`${site.base}/api/v1/recordings?conversation=${encodeURIComponent(call)}`, {
    headers: { authorization: `Bearer ${person.token}` },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  return RecordingsReply.parse(await response.json()).recordings;
}

export type StreamEvent = Envelope & { readonly data: Readonly<Record<string, unknown>> };
/** Every event of the journal of these types, oldest first. */
export function eventsOf(site: Site, ...types: string[]): StreamEvent[] {
  const db = readDatabase(path.join(site.dataDir, 'journal.db'));
  try {
    const rows = db.prepare('select json from journal order by seq').all() as { json: string }[];
    return rows
      .map((row) => Envelope.parse(JSON.parse(row.json)) as StreamEvent)
      .filter((event) => types.length === 0 || types.includes(event.type));
  } finally {
    db.close();
  }
}
/**
 * Calls that began and that ended. A part at another engine that was heard first began as a call of its own, which ended as merged: which
 * engine is heard first is chance.
 */
export function callsIn(site: Site): { readonly began: number; readonly ended: number } {
  const ends = eventsOf(site, 'call.ended');
  const merged = ends.filter(({ data }) => data['reason'] === 'merged').length;
  return { began: eventsOf(site, 'call.started').length - merged, ended: ends.length - merged };
}
/** The first event of this type caused by the operation. */
export const doneBy = (site: Site, operation: CallOperation, type: string): Promise<StreamEvent> =>
  until(
    `${type} caused by ${operation.action} ${operation.id}`,
    () => eventsOf(site, type).find((e) => e.caused_by === operation.id),
    {
      seen: () =>
        eventsOf(site)
          .slice(-8)
          .map((e) => [e.type, e.caused_by, e.data]),
    },
  );
