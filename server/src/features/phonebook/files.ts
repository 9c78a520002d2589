import type { ImportQuery, ImportReply, PhonebookExportQuery } from '@offhook/contract/phonebook-files.ts';
import { audited } from '../../commands/audited.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queue } from '../../core/queue.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Changes } from './changes.ts';
import type { PhonebookStore } from './store.ts';
import { personOf } from './access.ts';
import { checkRows, fileReader } from './import.ts';
import { textOf } from './file-text.ts';
import type { Room } from './room.ts';

export type FileKind = 'csv' | 'vcard';
/** Customers as files. Every method throws `store_unavailable`, and `forbidden` for a list that the caller may not read or change. */
export interface PhonebookFiles {
  /** Throws `invalid_request` for a file that cannot be read, `limit_reached`; nothing is stored then. */
  import(
    actor: Actor,
    bytes: Buffer,
    kind: FileKind,
    query: ImportQuery,
  ): Promise<Omit<ImportReply, 'success'>>;
  export(actor: Actor, query: PhonebookExportQuery): Promise<AsyncIterable<string>>;
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
      await audit.record({
        action: 'phonebook.exported',
        actor: actor.caller.username,
        object: `phonebook:${list}`,
        outcome: 'ok',
        ip: actor.ip,
        detail: { format },
      });
      const { exportOf } = await import('./export.ts');
      return exportOf(store, person, format);
    },
  };
}
