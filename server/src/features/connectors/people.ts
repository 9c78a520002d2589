import type { Clock } from '../../ports/clock.ts';
import type { Directory as SiteDirectory } from '../../ports/directory.ts';
import type { ConnectorSession, ConnectorUser, PersonView } from './format/session.ts';

/** Time for which the list of a system's users is reused. */
const USERS_MS = 3_600_000;

/** People of the site, and the users of other systems with the same e-mail. */
export interface Directory {
  person(extension: string | null): PersonView | null;
  /** User with the person's e-mail; null if the system has none, or does not list its users now. */
  userOf(
    connector: number,
    session: ConnectorSession,
    person: PersonView,
    signal: AbortSignal,
  ): Promise<ConnectorUser | null>;
  /** E-mail of a user of the system in its own spelling; null if it has none. */
  emailOf(
    connector: number,
    session: ConnectorSession,
    user: string,
    signal: AbortSignal,
  ): Promise<string | null>;
  /** Drops the list of users of a connector. */
  forget(connector: number): void;
}
export function createPeople(directory: Pick<SiteDirectory, 'byExtension'>, clock: Clock): Directory {
  const known = new Map<
    number,
    { readonly at: number; readonly users: ReadonlyMap<string, ConnectorUser> }
  >();
  async function usersOf(connector: number, session: ConnectorSession, signal: AbortSignal) {
    const kept = known.get(connector);
    const age = kept === undefined ? Infinity : clock.now() - kept.at;
    if (kept !== undefined && age >= 0 && age < USERS_MS) return kept.users;
    const listed = await session.users?.(signal);
    if (listed?.kind !== 'done') return kept?.users;
    const users = new Map(
      listed.value.flatMap((user) => (user.email === null ? [] : [[user.email.toLowerCase(), user]])),
    );
    known.set(connector, { at: clock.now(), users });
    return users;
  }
  return {
    person(extension) {
      const person = extension === null ? undefined : directory.byExtension(extension);
      return person === undefined
        ? null
        : { extension: person.extension, name: person.name, email: person.email ?? '' };
    },
    async userOf(connector, session, { email }, signal) {
      if (session.users === null || email === '') return null;
      return (await usersOf(connector, session, signal))?.get(email.toLowerCase()) ?? null;
    },
    async emailOf(connector, session, user, signal) {
      const users = await usersOf(connector, session, signal);
      return [...(users?.values() ?? [])].find(({ id }) => id === user)?.email ?? null;
    },
    forget: (connector) => void known.delete(connector),
  };
}
