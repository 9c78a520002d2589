import type { Clock } from '../../ports/clock.ts';
import type { Directory as SiteDirectory } from '../../ports/directory.ts';
import type { ConnectorFailure } from './format/requests.ts';
import type { ConnectorSession, ConnectorUser, PersonView } from './format/session.ts';

/** Times for which the list of a system's users is reused, and for which a list that failed is not read again. */
const USERS_MS = 3_600_000;
const FAILED_MS = 60_000;

type Users = ReadonlyMap<string, ConnectorUser>;
const NO_USERS: Users = new Map();

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
  /** As `userOf`; the failure if the list of users would perhaps be read later. */
  findUser(
    connector: number,
    session: ConnectorSession,
    person: PersonView,
    signal: AbortSignal,
  ): Promise<ConnectorUser | ConnectorFailure | null>;
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
  /** `users`: null if the list never came. */
  const known = new Map<number, { readonly until: number; readonly users: Users | null }>();
  async function usersOf(
    connector: number,
    session: ConnectorSession,
    signal: AbortSignal,
  ): Promise<Users | ConnectorFailure> {
    const kept = known.get(connector);
    const left = kept === undefined ? 0 : kept.until - clock.now();
    // A longer time means that the clock was set back.
    if (kept !== undefined && left > 0 && left <= USERS_MS) return kept.users ?? NO_USERS;
    if (session.users === null) return NO_USERS;
    const listed = await session.users(signal);
    if (listed.kind !== 'done') {
      const users = kept?.users ?? null;
      if (users === null && (listed.kind === 'unsent' || listed.kind === 'disconnected')) return listed;
      known.set(connector, { until: clock.now() + FAILED_MS, users });
      return users ?? NO_USERS;
    }
    const users = new Map(
      listed.value.flatMap((user) => (user.email === null ? [] : [[user.email.toLowerCase(), user]])),
    );
    known.set(connector, { until: clock.now() + USERS_MS, users });
    return users;
  }
  const findUser: Directory['findUser'] = async (connector, session, { email }, signal) => {
    if (session.users === null || email === '') return null;
    const users = await usersOf(connector, session, signal);
    return 'kind' in users ? users : (users.get(email.toLowerCase()) ?? null);
  };
  return {
    person(extension) {
      const person = extension === null ? undefined : directory.byExtension(extension);
      return person === undefined
        ? null
        : { extension: person.extension, name: person.name, email: person.email ?? '' };
    },
    findUser,
    async userOf(connector, session, person, signal) {
      const found = await findUser(connector, session, person, signal);
      return found !== null && 'kind' in found ? null : found;
    },
    async emailOf(connector, session, user, signal) {
      const users = await usersOf(connector, session, signal);
      return 'kind' in users ? null : ([...users.values()].find(({ id }) => id === user)?.email ?? null);
    },
    forget: (connector) => void known.delete(connector),
  };
}
