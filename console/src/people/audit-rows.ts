/** Reads the lines of the audit trail that match a filter, up to the limit of a file. */
import type { Client } from '@offhook/client';
import type { AuditRow } from '@offhook/contract/audit.ts';

/** A longer interval is exported in parts. */
export const MOST_ROWS = 20_000;
const PAGE = 200;
const MINUTE_MS = 60_000;

export type AuditFilter = Parameters<Client['audit']>[0];
export interface AuditRows {
  /** Newest first. */
  readonly rows: readonly AuditRow[];
  /** `to` of a filter for the older lines that were not read, a whole minute as in its field; null if all were read. */
  readonly older: string | null;
}
export async function readAudit(client: Pick<Client, 'audit'>, filter: AuditFilter): Promise<AuditRows> {
  const rows: AuditRow[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await client.audit({ ...filter, limit: PAGE, cursor });
    rows.push(...page.entries);
    const last = rows.at(-1);
    if (page.next_cursor === null || last === undefined) return { rows, older: null };
    if (rows.length >= MOST_ROWS) {
      // `to` is exclusive: lines of the same minute are in both files, and none is lost.
      const minute = Math.floor(Date.parse(last.at) / MINUTE_MS) + 1;
      return { rows, older: new Date(minute * MINUTE_MS).toISOString() };
    }
    cursor = page.next_cursor;
  }
}
