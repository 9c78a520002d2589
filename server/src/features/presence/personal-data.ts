import type { Lanes } from '../../commands/lanes.ts';
import { rfc3339OrNull } from '../../core/clock.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Statement } from './store.ts';

/** Personal data in presence notes: a person's own note, and a customer's number in any note. */
export function personalDataOf(deps: {
  readonly statements: ReadonlyMap<string, Statement>;
  readonly lanes: Lanes;
  readonly keep: (extension: string, statement: Statement) => Promise<void>;
}): PersonalData {
  const { statements, lanes, keep } = deps;
  const isAbout = (subject: Subject, extension: string): boolean => {
    const note = statements.get(extension)?.note ?? null;
    if (note === null) return false;
    return subject.kind === 'extension' ? extension === subject.value : subject.isIn(note);
  };
  const found = (subject: Subject): string[] =>
    Array.from(statements.keys()).filter((extension) => isAbout(subject, extension));
  const places = (n: number) => (n === 0 ? {} : { presence_notes: n });
  return {
    name: 'presence',
    count: (subject) => Promise.resolve(places(found(subject).length)),
    async erase(subject, placeholder, signal) {
      const about = found(subject);
      for (const extension of about) {
        signal.throwIfAborted();
        await lanes.run(extension, async () => {
          const statement = statements.get(extension);
          if (statement === undefined || !isAbout(subject, extension)) return;
          const note =
            subject.kind === 'extension' ? null : subject.without(statement.note ?? '', placeholder);
          await keep(extension, { ...statement, note });
        });
      }
      return places(about.length);
    },
    async *collect(subject) {
      for (const extension of found(subject)) {
        const { personal, note, expires_at } = statements.get(extension)!;
        yield {
          kind: 'presence',
          value: { extension, personal, note, expires_at: rfc3339OrNull(expires_at) },
        };
      }
    },
  };
}
