import { setImmediate as breathe } from 'node:timers/promises';
import { rfc3339 } from '../../core/clock.ts';
import { lengthOf } from '../../core/page.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import { personScope } from './calls.ts';
import type { CallbackRow, CallbackStore, Changed } from './store.ts';

/** Callbacks read at once. */
const SCAN = 500;
type Written = Pick<CallbackRow, 'taken_by' | 'contact_by' | 'closed_by' | 'closed_note'>;

/** Callbacks of a number, those of an extension, and those that a person took or closed, or whose note has the subject. */
export function personalDataOf(
  store: CallbackStore,
  changed: (changed: readonly Changed[]) => Promise<void>,
): PersonalData {
  const isOwn = (subject: Subject, { number, scope }: CallbackRow): boolean =>
    subject.kind === 'number' ? number === subject.value : scope === personScope(subject.value);
  const isNamed = (subject: Subject, row: CallbackRow): boolean =>
    (subject.kind === 'extension' && [row.taken_by, row.contact_by, row.closed_by].includes(subject.value)) ||
    subject.isIn(row.closed_note ?? '');
  async function* about(subject: Subject, signal: AbortSignal): AsyncGenerator<CallbackRow> {
    for (let after = 0; ;) {
      signal.throwIfAborted();
      const rows = await store.after(after, SCAN);
      yield* rows.filter((row) => isOwn(subject, row) || isNamed(subject, row));
      if (rows.length < SCAN) return;
      after = rows.at(-1)!.id;
      await breathe();
    }
  }
  function without(row: CallbackRow, subject: Subject, placeholder: string): Written {
    const by = (name: string | null): string | null =>
      subject.kind === 'extension' && name === subject.value ? placeholder : name;
    return {
      taken_by: by(row.taken_by),
      contact_by: by(row.contact_by),
      closed_by: by(row.closed_by),
      closed_note: row.closed_note === null ? null : subject.without(row.closed_note, placeholder),
    };
  }
  const counted = (n: number) => (n === 0 ? {} : { callbacks: n });
  return {
    name: 'callbacks',
    count: async (subject, signal) => counted(await lengthOf(about(subject, signal))),
    async erase(subject, placeholder, signal) {
      let n = 0;
      for await (const row of about(subject, signal)) {
        if (isOwn(subject, row)) await store.remove(row);
        else await store.rewrite(row.id, without(row, subject, placeholder));
        await changed([row]);
        n += 1;
      }
      await store.forget(subject.kind, subject.value, placeholder);
      return counted(n);
    },
    async *collect(subject, _usernames, signal) {
      for await (const row of about(subject, signal)) {
        const { id, scope, number, tries, first_at, last_at, taken_by, closed_by, closed_note } = row;
        const times = { first_at: rfc3339(first_at), last_at: rfc3339(last_at) };
        yield {
          kind: 'callback',
          value: { id, scope, number, tries, ...times, taken_by, closed_by, closed_note },
        };
      }
    },
  };
}
