import type { ImportQuery, ImportReply, PhonebookExportQuery } from '@offhook/contract/phonebook-files.ts';
import { AuditedReads } from '../../commands/audited-reads.ts';
import { audited } from '../../commands/audited.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import { createShares } from '../../core/shares.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Changes } from './changes.ts';
import type { PhonebookStore } from './store.ts';
import { personOf } from './access.ts';
import { checkRows, fileReader } from './import.ts';
import { textOf } from './file-text.ts';
import type { Room } from './room.ts';

/** Limits of exports that are being sent, of one person or API key and of the site, which keeps one free. */
const MOST_OWN_EXPORTS = 2;
const MOST_EXPORTS = 16;
const RETRY_SECONDS = 10;

export type FileKind = 'csv' | 'vcard';
/** A file that is being written while it is sent. */
export interface ExportedFile {
  readonly pieces: AsyncIterable<string>;
  /** Ends the file and, once no more of it is being written, its share of the exports. Call it when the response is closed. */
  end(): void;
}
/** Customers as files. Every method throws `store_unavailable`, and `forbidden` for a list that the caller may not read or change. */
export interface PhonebookFiles {
  /** Throws `invalid_request` for a file that cannot be read, `limit_reached`; nothing is stored then. */
  import(
    actor: Actor,
    bytes: Buffer,
    kind: FileKind,
    query: ImportQuery,
  ): Promise<Omit<ImportReply, 'success'>>;
  /** Throws `too_many_requests` and `overloaded`. */
  export(actor: Actor, query: PhonebookExportQuery): Promise<ExportedFile>;
}
export interface FilesOptions {
  readonly store: Pick<PhonebookStore, 'named' | 'ofPerson' | 'storeAll' | 'withExternalIds'>;
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'record'>;
  readonly changes: Pick<Changes, 'imported'>;
  readonly e164: (number: string) => string | null;
  readonly isPerson: (extension: string) => boolean;
  readonly room: Room;
  /** Runs one change after the other. */
  readonly writes: Queue;
}
export function createFiles(options: FilesOptions): PhonebookFiles {
  const { store, audit, changes, room } = options;
  const read = fileReader(options);
  const exports = createShares({
    total: MOST_EXPORTS,
    most_own: MOST_OWN_EXPORTS,
    retry_after_seconds: RETRY_SECONDS,
    own: say`too many of your exports of customers are being sent; start this one after they are done`,
    others: say`too many exports of customers are being sent; try again later`,
  });
  const oneAtATime = new Queue();
  const downloads = new AuditedReads({ ...options, since: 'first' });

  return {
    async import(actor, bytes, kind, { list, dry_run, encoding }) {
      const person = personOf(actor.caller, list, 'change');
      const text = textOf(bytes, encoding);
      // Loaded when a file comes: most sites never see one.
      const lines = await (kind === 'csv'
        ? (await import('./csv.ts')).csvLines(text)
        : (await import('./vcard.ts')).vcardLines(text));
      await checkRows(lines);
      const planned = await read(lines, person, null);
      room.check(person, planned.created);
      const reply = { dry_run: dry_run === 'true', ignored: [...lines.ignored] };
      if (reply.dry_run) return { ...planned, ...reply };
      const { created, updated, left_out } = planned;
      const line = {
        action: 'phonebook.imported',
        actor: actor.caller.username,
        object: `phonebook:${list}`,
        ip: actor.ip,
        detail: { format: kind, created, updated, left_out },
      };
      const stored: number[] = [];
      try {
        const done = await audited(audit, line, () =>
          read(lines, person, async (rows) => {
            const added = rows.filter(({ id }) => id === 0).length;
            room.check(person, added);
            stored.push(...(await store.storeAll(rows)).map(({ id }) => id));
            room.count(person, added);
          }),
        );
        return { ...done, ...reply };
      } finally {
        if (stored.length > 0) changes.imported(person, stored);
      }
    },
    async export(actor, { list, format }) {
      const person = personOf(actor.caller, list, 'read');
      const giveBack = exports.take(actor.caller.person_id, 1);
      try {
        await downloads.record(actor.caller, `${list} ${format}`, {
          action: 'phonebook.exported',
          actor: actor.caller.username,
          object: `phonebook:${list}`,
          ip: actor.ip,
          detail: { format },
        });
        const { exportOf } = await import('./export.ts');
        const pieces = exportOf(store, person, format, oneAtATime);
        return {
          pieces,
          end: () =>
            void pieces
              .return(undefined)
              .catch(() => undefined)
              .finally(giveBack),
        };
      } catch (error) {
        giveBack();
        throw error;
      }
    },
  };
}
