import { setImmediate as yieldLoop } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { AuditRow } from '@offhook/contract/audit.ts';
import type { AuditQuery } from '@offhook/contract/audit.ts';
import { insertOf } from '../../core/inserts.ts';
import { createIndex, createTable } from '../../core/schema.ts';
import { rfc3339 } from '../../core/clock.ts';
import { pageOf } from '../../core/page.ts';
import type { Log } from '../../core/log.ts';
import { messageOf } from '../../core/errors.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Migration, Store } from '../../ports/store.ts';
import { auditData } from './personal-data.ts';
import type { Tables } from './personal-data.ts';
import { createRefusals } from './refusals.ts';

export const migrations: readonly Migration[] = [
  {
    id: '0100-audit',
    async up(db) {
      await createTable(db.schema)`audit (
        id integer primary key autoincrement, at integer not null, action text not null, actor text, object text,
        outcome text not null, ip text, detail text not null)`;
      await createIndex(db.schema)`audit_actor on audit (actor, id)`;
      await createIndex(db.schema)`audit_action on audit (action, id)`;
    },
  },
];
/** Lines are kept for 400 days: a year, and five weeks in which the whole year can still be read. */
const KEEP_MS = 400 * 86_400_000;
const PURGE_EVERY_MS = 3_600_000;
/** Lines per statement. */
const PURGE_AT_ONCE = 1_000;
const FLUSH_EVERY_MS = 10_000;
type Line = Omit<Selectable<Tables['audit']>, 'id'>;

export interface AuditTrail extends Required<Audit> {
  /** Newest first; reads at most `limit` + 1 lines into memory. */
  page(query: AuditQuery): Promise<{ entries: AuditRow[]; next_cursor: string | null }>;
  readonly data: PersonalData;
  close(): Promise<void>;
}
/**
 * The audit trail: rows are only added, and deleted after 400 days. `actor` is stored as the extension where `people`
 * knows the person, and is found by extension and by user name.
 */
export async function createAudit(
  store: Store,
  clock: Clock,
  log: Log,
  people?: Pick<Directory, 'byExtension' | 'byUsername'>,
): Promise<AuditTrail> {
  const find = (who: string) => people?.byExtension(who) ?? people?.byUsername(who);
  const refusals = createRefusals(clock);
  await store.migrate('audit', migrations);
  const db = store.db<Tables>();

  let closed = false;
  /**
   * Deletes from the oldest id on until a page has no old line: no index has the time, and a search for old lines in a trail without
   * any would read all of it.
   */
  async function purge(): Promise<void> {
    for (let deleted = true; deleted && !closed;) {
      const oldest = await db.selectFrom('audit').select('id').orderBy('id').limit(PURGE_AT_ONCE).execute();
      const { numDeletedRows } = await db
        .deleteFrom('audit')
        .where('id', '<=', oldest.at(-1)?.id ?? 0)
        .where('at', '<', clock.now() - KEEP_MS)
        .executeTakeFirst();
      deleted = Number(numDeletedRows) > 0;
      await yieldLoop();
    }
  }
  const timer = setInterval(() => {
    purge().catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'old lines of the audit trail could not be deleted');
    });
  }, PURGE_EVERY_MS);
  timer.unref();
  const flushing = setInterval(() => void flush(), FLUSH_EVERY_MS);
  flushing.unref();

  const insert = insertOf<Tables, Line>((to, lines) => to.insertInto('audit').values(lines));
  const add = (to: Kysely<Tables>, ...entries: readonly AuditEntry[]): Promise<void> =>
    insert(
      to,
      entries.map(({ action, actor, object, outcome, ip, detail = {} }) => ({
        at: clock.now(),
        action,
        actor: actor === null || actor === '' ? null : (find(actor)?.extension ?? actor),
        object,
        outcome,
        ip,
        detail: JSON.stringify(detail),
      })),
    );

  let flushed: Promise<void> = Promise.resolve();
  /** Writes the counted refusals after any write under way; refusals that cannot be written wait for the next flush. */
  const flush = (): Promise<void> => (flushed = flushed.then(writeCounted));
  async function writeCounted(): Promise<void> {
    const lines = refusals.take();
    if (lines.length === 0) return;
    try {
      await store.transaction<Tables, void>(async (trx) => {
        await add(trx, ...lines);
      });
    } catch (error) {
      refusals.giveBack(lines);
      log.warn({ error: messageOf(error) }, 'counted refusals could not be written into the audit trail');
    }
  }

  return {
    data: auditData(db),
    record: (entry) => (refusals.counts(entry) ? Promise.resolve() : add(db, entry)),
    recordIn: (trx, ...entries) => add(trx as unknown as Transaction<Tables>, ...entries),
    async page({ limit = 50, cursor, action, actor, q, from, to }) {
      await flush();
      let query = db
        .selectFrom('audit')
        .selectAll()
        .orderBy('id', 'desc')
        .limit(limit + 1);
      if (cursor !== undefined) query = query.where('id', '<', Number(cursor));
      if (action !== undefined) query = query.where('action', '=', action);
      if (actor !== undefined) {
        // Older lines name some people by their user name.
        const who = find(actor);
        query = query.where('actor', 'in', who === undefined ? [actor] : [who.extension, who.username]);
      }
      if (q !== undefined) {
        const part = `%${q.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`;
        query = query.where((e) =>
          e.or(
            (['action', 'actor', 'object', 'ip', 'detail'] as const).map(
              (column) => sql<boolean>`lower(${e.ref(column)}) like ${part} escape '\\'`,
            ),
          ),
        );
      }
      if (from !== undefined) query = query.where('at', '>=', Date.parse(from));
      if (to !== undefined) query = query.where('at', '<', Date.parse(to));
      const { page, next_cursor } = pageOf(await query.execute(), limit, (row) => row.id);
      const entries = page.map((row) => ({
        ...row,
        at: rfc3339(row.at),
        detail: AuditRow.shape.detail.parse(JSON.parse(row.detail)),
      }));
      return { entries, next_cursor };
    },
    close() {
      closed = true;
      clearInterval(timer);
      clearInterval(flushing);
      return flush();
    },
  };
}
