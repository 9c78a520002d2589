import fs from 'node:fs';
import type { Log } from '../../core/log.ts';
import type { CopyFile, JournalRow, KeptCopy } from '../../ports/journal-store.ts';
import { DamagedDatabaseError, checkDatabase } from './database.ts';
import { checksOf, metaOf, moveAside, openJournalFile } from './journal-file.ts';
import { openSqliteJournal } from './journal.ts';

/** The copy of a site's log in the journal's file: what is written there without a server becomes the copy, and back. */
export function sqliteCopyFile(file: string, options: { log: Log; site: string }): CopyFile {
  return {
    kept: () => readKept(file, options.site),
    discard(why) {
      options.log.error({ file, kept: moveAside(file, why) }, 'the copy of the log is replaced by a new one');
    },
    open: (copyOf) => openSqliteJournal(file, { ...options, copyOf }),
  };
}

function readKept(file: string, site: string): KeptCopy | null {
  if (!fs.existsSync(file)) return null;
  try {
    checkDatabase(file);
  } catch (error) {
    // Opening it moves it aside.
    if (error instanceof DamagedDatabaseError) return null;
    throw error;
  }
  const db = openJournalFile(file);
  const meta = metaOf(db);
  const epoch = meta.get('epoch');
  if (epoch === undefined || (meta.get('site') ?? site) !== site) {
    db.close();
    return null;
  }
  const [began, trimmed] = [Number(meta.get('began') ?? 1), Number(meta.get('trimmed') ?? 0)];
  const last = Number(db.run('select max(seq) as last from journal', []).rows[0]?.['last'] ?? 0);
  const checks = checksOf(db);
  const rows = db.prepare(
    'select seq, type, subject, at, topics, json from journal where seq > ? order by seq limit ?',
  );
  return {
    epoch,
    began,
    head: Math.max(last, trimmed, began - 1),
    checkAt: (seq) => checks.check(seq, { seq: trimmed, check: meta.get('trimmed_check') ?? '' }) || null,
    read: (after, limit) => rows.all(after, limit) as unknown as JournalRow[],
    [Symbol.dispose]: () => db.close(),
  };
}
