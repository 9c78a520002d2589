import type { Clock } from '../../ports/clock.ts';
import type { Directory as SiteDirectory } from '../../ports/directory.ts';
import type { ConnectorFailure } from './format/requests.ts';
import type { ConnectorSession, ConnectorUser, PersonView } from './format/session.ts';

/** Times for which the list of a system's users is reused, and for which a list that failed is not read again. */
const USERS_MS = 3_600_000;
const FAILED_MS = 60_000;
/** Longest time for which entries wait for a first list; then they have no user until the system gives its list. */
const WAIT_MS = 3_600_000;

type Users = ReadonlyMap<string, ConnectorUser>;
const NO_USERS: Users = new Map();
/** The list of users of a system, and the result of the last read. */
interface Known {
  /** Time until which the list is not read again. */
  readonly until: number;
  /** The last complete list; null if none came. */
  readonly users: Users | null;
  /** Why entries wait for a list; null if they do not wait. */
  readonly failure: ConnectorFailure | null;
  /** Time of the first of the reads that failed one after the other; null after a list. */
  readonly since: number | null;
  /** True if the caller ended the read, which shows nothing about the system. */
  readonly cut: boolean;
}

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
  /** As `userOf`; the failure while an entry should wait for the list of users. */
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
  const known = new Map<number, Known>();
  /** `waits`: the caller waits for the list, so it reads the list again if another caller ended the last read. */
  async function usersOf(
    connector: number,
    session: ConnectorSession,
    signal: AbortSignal,
    waits = false,
  ): Promise<Users | ConnectorFailure> {
    if (session.users === null) return NO_USERS;
    const kept = known.get(connector);
    const left = kept === undefined ? 0 : kept.until - clock.now();
    // A longer time means that the clock was set back.
    if (kept !== undefined && left > 0 && left <= USERS_MS && !(waits && kept.cut && kept.users === null)) {
      if (kept.failure === null) return kept.users ?? NO_USERS;
      return { ...kept.failure, retry_after_seconds: Math.ceil(left / 1_000) };
    }
    const listed = await session.users(signal);
    const now = clock.now();
    if (listed.kind === 'done') {
      const users = new Map(
        listed.value.flatMap((user) => (user.email === null ? [] : [[user.email.toLowerCase(), user]])),
      );
      known.set(connector, { until: now + USERS_MS, users, failure: null, since: null, cut: false });
      return users;
    }
    const cut = signal.aborted;
    const users = kept?.users ?? null;
    // A later time than now means that the clock was set back.
    const before = kept?.since ?? null;
    const since = before !== null && before <= now ? before : cut ? null : now;
    const isAwaited = !cut && users === null && listed.kind !== 'refused' && now - (since ?? now) < WAIT_MS;
    const failure = isAwaited
      ? { ...listed, retry_after_seconds: Math.max(listed.retry_after_seconds ?? 0, FAILED_MS / 1_000) }
      : null;
    known.set(connector, { until: now + FAILED_MS, users, failure, since, cut });
    return failure ?? users ?? NO_USERS;
  }
  async function find(
    connector: number,
    session: ConnectorSession,
    { email }: PersonView,
    signal: AbortSignal,
    waits: boolean,
  ): Promise<ConnectorUser | ConnectorFailure | null> {
    if (email === '') return null;
    const users = await usersOf(connector, session, signal, waits);
    return 'kind' in users ? users : (users.get(email.toLowerCase()) ?? null);
  }
  return {
    person(extension) {
      const person = extension === null ? undefined : directory.byExtension(extension);
      return person === undefined
        ? null
        : { extension: person.extension, name: person.name, email: person.email ?? '' };
    },
    findUser: (connector, session, person, signal) => find(connector, session, person, signal, true),
    async userOf(connector, session, person, signal) {
      const user = await find(connector, session, person, signal, false);
      return user !== null && 'kind' in user ? null : user;
    },
    async emailOf(connector, session, user, signal) {
      const users = await usersOf(connector, session, signal);
      return 'kind' in users ? null : ([...users.values()].find(({ id }) => id === user)?.email ?? null);
    },
    forget: (connector) => void known.delete(connector),
  };
}
