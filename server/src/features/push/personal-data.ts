import { rfc3339 } from '../../core/clock.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { DeviceRow } from './tables.ts';

/** Push registrations of the person with an extension. No number occurs in one. */
export function personalDataOf(deps: {
  /** Registrations of the person with this extension. */
  readonly registered: (extension: string) => readonly DeviceRow[];
  readonly forget: (sessions: readonly number[]) => Promise<void>;
}): PersonalData {
  const about = ({ kind, value }: Subject): readonly DeviceRow[] =>
    kind === 'extension' ? deps.registered(value) : [];
  const places = (n: number) => (n === 0 ? {} : { push_registrations: n });
  return {
    name: 'push',
    count: (subject) => Promise.resolve(places(about(subject).length)),
    async erase(subject, _placeholder, signal) {
      signal.throwIfAborted();
      const rows = about(subject);
      await deps.forget(rows.map(({ session_id }) => session_id));
      return places(rows.length);
    },
    async *collect(subject) {
      for (const { platform, token, app_id, environment, created_at } of about(subject)) {
        const value = { platform, token, app_id, environment, registered_at: rfc3339(created_at) };
        yield { kind: 'push_registration', value };
      }
    },
  };
}
