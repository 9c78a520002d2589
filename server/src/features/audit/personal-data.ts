/** Audit trail lines about a subject. An erasure replaces a number; the actor stays until the line is deleted. */
import { setImmediate as yieldLoop } from 'node:timers/promises';
import type { Generated, Kysely, Selectable } from 'kysely';
import { rfc3339 } from '../../core/clock.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { AuditEntry } from '../../ports/audit.ts';
import type { PersonalData } from '../../ports/privacy.ts';

export interface Tables {
  audit: {
    id: Generated<number>;
    at: number;
    action: string;
    actor: string | null;
    object: string | null;
    outcome: AuditEntry['outcome'];
    ip: string | null;
    detail: string;
  };
}
/** Lines per read. */
const SCAN = 500;

async function* all(db: Kysely<Tables>, signal: AbortSignal) {
  for (let after = 0; ;) {
    signal.throwIfAborted();
    const rows = await db
      .selectFrom('audit')
      .selectAll()
      .where('id', '>', after)
      .orderBy('id')
      .limit(SCAN)
      .execute();
    yield* rows;
    if (rows.length < SCAN) return;
    after = rows.at(-1)!.id;
    await yieldLoop();
  }
}
const isAbout = ({ object, detail }: Selectable<Tables['audit']>, subject: Subject): boolean =>
  subject.isIn(object ?? '') || subject.isIn(detail);
export const auditData = (db: Kysely<Tables>): PersonalData => ({
  name: 'audit',
  async count(subject, signal) {
    let audit = 0;
    if (subject.kind === 'extension') return {};
    for await (const row of all(db, signal)) if (isAbout(row, subject)) audit += 1;
    return audit === 0 ? {} : { audit };
  },
  async erase(subject, placeholder, signal) {
    let audit = 0;
    if (subject.kind === 'extension') return {};
    for await (const row of all(db, signal)) {
      if (!isAbout(row, subject)) continue;
      const object = row.object === null ? null : subject.without(row.object, placeholder);
      const detail = subject.without(row.detail, placeholder);
      await db.updateTable('audit').set({ object, detail }).where('id', '=', row.id).execute();
      audit += 1;
    }
    return audit === 0 ? {} : { audit };
  },
  async *collect(subject, usernames, signal) {
    for await (const row of all(db, signal)) {
      // Some lines name the actor by extension, some by user name.
      const did = row.actor === subject.value || usernames.includes(row.actor ?? '');
      if (did || isAbout(row, subject)) {
        yield {
          kind: 'audit',
          value: { ...row, at: rfc3339(row.at), detail: JSON.parse(row.detail) as unknown },
        };
      }
    }
  },
});
