import type { Generated, Kysely, Selectable, Transaction } from 'kysely';
import { createIndex, createTable } from '../../core/schema.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Migration, Store } from '../../ports/store.ts';
import { networkOf } from '../../core/networks.ts';
import type { Changes } from './cache.ts';
import { hashOf } from './tokens.ts';

export interface SessionTables {
  sessions: {
    id: Generated<number>;
    person_id: number;
    device_name: string | null;
    platform: string | null;
    /** Address of the sign-in; null for sessions older than this column. */
    address: string | null;
    created_at: number;
    last_used_at: number;
    /** End of the absolute life. */
    ends_at: number;
    ended_at: number | null;
    ended_by: string | null;
    /** Account at the company's provider (`sub`) by which the session began; null for a session that began otherwise. */
    company_sub: string | null;
    /** Session of the provider (`sid`) that opened this one; null where the provider names none. */
    company_sid: string | null;
  };
  /** Logouts of the provider that were carried out, while their tokens could be sent again. */
  company_logouts: { id: string; until: number };
  session_tokens: {
    /** SHA-256 of the token, base64url. */
    hash: string;
    session_id: number;
    /** Token that this one replaced by a refresh. */
    parent: string | null;
    /** 1 once it was used. */
    confirmed: number;
    created_at: number;
    /** Time of the first use of its replacement. */
    retired_at: number | null;
  };
  credentials: { person_id: number; password: string; changed_at: number };
}
export type SessionRow = Selectable<SessionTables['sessions']>;
export type TokenRow = SessionTables['session_tokens'];
export interface NewSession {
  readonly person_id: number;
  readonly device_name: string | null;
  readonly platform: string | null;
  readonly address: string | null;
  readonly at: number;
  readonly ends_at: number;
  readonly hash: string;
  /** Stored password hash that was proven; no session is opened if it has changed since. Null for a proof without a password. */
  readonly proven: string | null;
  /** Session whose code opens this one; no session is opened if it has ended. */
  readonly by_session?: number | undefined;
  /** Account at the company's provider that was proven. */
  readonly company?: CompanyAccount | undefined;
}
export interface CompanyAccount {
  readonly sub: string;
  readonly sid: string | null;
}
/** A session of the provider, all sessions of an account there, or one session of one account. */
export type CompanyLogout =
  | { readonly sub: string; readonly sid?: string | undefined }
  | { readonly sid: string; readonly sub?: string | undefined };
/** A session that a statement ended. */
export type EndedSession = Pick<SessionRow, 'id' | 'person_id'>;

export interface NewPassword {
  /** Stored hash of the password that was proven; nothing changes if it has changed since. */
  readonly proven?: string;
  /** True for the same password with another hash. */
  readonly keepsSessions?: boolean;
  /** Adds its rows in the same transaction. */
  readonly note?: (trx: Transaction<SessionTables>) => Promise<void>;
}

export const migrations: readonly Migration[] = [
  {
    id: '0100-sessions',
    async up(db) {
      await createTable(db.schema)`sessions (
        id integer primary key autoincrement, person_id integer not null, device_name text, platform text,
        address text, created_at integer not null, last_used_at integer not null, ends_at integer not null,
        ended_at integer, ended_by text)`;
      await createIndex(db.schema)`sessions_person on sessions (person_id, ended_at)`;
      await createTable(db.schema)`session_tokens (
        hash text primary key, session_id integer not null, parent text, confirmed integer not null,
        created_at integer not null, retired_at integer)`;
      await createIndex(db.schema)`session_tokens_session on session_tokens (session_id)`;
      await createTable(db.schema)`credentials (
        person_id integer primary key, password text not null, changed_at integer not null)`;
    },
  },
  {
    id: '0110-company-logout',
    async up(db) {
      await db.schema.alterTable('sessions').addColumn('company_sub', 'text').execute();
      await db.schema.alterTable('sessions').addColumn('company_sid', 'text').execute();
      await createIndex(db.schema)`sessions_company_sub on sessions (company_sub)`;
      await createIndex(db.schema)`sessions_company_sid on sessions (company_sid)`;
      await createTable(db.schema)`company_logouts (id text primary key, until integer not null)`;
    },
  },
];
const MAX_TOKENS = 8;
const MAX_SESSIONS = 100;
/** Time for which an ended session stays readable for support, and the number of these of one person. */
const KEEP_ENDED_MS = 30 * 86_400_000;
const KEEP_ENDED = 500;

/** Throws `invalid_credentials` if the password was changed after `proven`, its stored hash, was checked. */
async function checkProven(trx: Kysely<SessionTables>, personId: number, proven: string): Promise<void> {
  const credential = await trx
    .selectFrom('credentials')
    .select('password')
    .where('person_id', '=', personId)
    .executeTakeFirst();
  if (credential?.password !== proven) {
    throw new ServiceError('invalid_credentials', 'the password was changed meanwhile');
  }
}
/**
 * Throws `sign_in_code_invalid` if the session that created the code has ended. A logout of all sessions of its account ends the
 * new one of the same person too; one of the creator's browser alone does not.
 */
async function companyOfCreator(
  trx: Kysely<SessionTables>,
  { person_id, at }: NewSession,
  id: number,
): Promise<CompanyAccount | undefined> {
  const live = await trx
    .selectFrom('sessions')
    .select(['person_id', 'company_sub'])
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .where('ends_at', '>', at)
    .executeTakeFirst();
  if (live === undefined)
    throw new ServiceError('sign_in_code_invalid', 'this code is unknown, was used, or has expired');
  const { company_sub: sub } = live;
  return sub === null || live.person_id !== person_id ? undefined : { sub, sid: null };
}
/** Deletes the older ended sessions of a program that signs in for each request. */
async function dropEnded(trx: Kysely<SessionTables>, personId: number): Promise<void> {
  const ended = trx
    .selectFrom('sessions')
    .select('id')
    .where('person_id', '=', personId)
    .where('ended_at', 'is not', null);
  // Most sign-ins have none to delete, and this statement costs less than the two below.
  const oldest = await ended.orderBy('id', 'desc').offset(KEEP_ENDED).limit(1).executeTakeFirst();
  if (oldest === undefined) return;
  const old = ended.where('id', '<=', oldest.id);
  await trx.deleteFrom('session_tokens').where('session_id', 'in', old).execute();
  await trx.deleteFrom('sessions').where('id', 'in', old).execute();
}

/** Adds a token to a session that has some; returns the tokens of the session beyond eight that were dropped. */
async function addToken(
  trx: Kysely<SessionTables>,
  token: Pick<TokenRow, 'hash' | 'session_id' | 'parent' | 'confirmed' | 'created_at'>,
): Promise<string[]> {
  const { newest } = await trx
    .selectFrom('session_tokens')
    .select((e) => e.fn.max('created_at').as('newest'))
    .where('session_id', '=', token.session_id)
    .executeTakeFirstOrThrow();
  // Tokens of one millisecond keep their order too.
  const created_at = Math.max(token.created_at, Number(newest ?? 0) + 1);
  await trx
    .insertInto('session_tokens')
    .values({ ...token, created_at, retired_at: null })
    .execute();
  const all = await trx
    .selectFrom('session_tokens')
    .select('hash')
    .where('session_id', '=', token.session_id)
    .where('hash', 'not in', [token.hash, token.parent ?? ''])
    .orderBy('created_at', 'desc')
    .execute();
  const dropped = all.slice(MAX_TOKENS - 2).map((row) => row.hash);
  if (dropped.length > 0) await trx.deleteFrom('session_tokens').where('hash', 'in', dropped).execute();
  return dropped;
}

/** Tables of sessions and passwords. Every method throws `store_unavailable` if the database fails. */
export class SessionStore {
  readonly #store: Store;
  readonly #db: Kysely<SessionTables>;

  private constructor(store: Store) {
    this.#store = store;
    this.#db = store.db<SessionTables>();
  }
  /** Runs the migrations. */
  static async open(store: Store): Promise<SessionStore> {
    await store.migrate('sessions', migrations);
    return new SessionStore(store);
  }

  /** The token with its session, ended or not. */
  async token(hash: string): Promise<{ token: TokenRow; session: SessionRow } | undefined> {
    const token = await this.#db
      .selectFrom('session_tokens')
      .selectAll()
      .where('hash', '=', hash)
      .executeTakeFirst();
    if (token === undefined) return undefined;
    const session = await this.#db
      .selectFrom('sessions')
      .selectAll()
      .where('id', '=', token.session_id)
      .executeTakeFirst();
    return session === undefined ? undefined : { token, session };
  }

  session(id: number): Promise<SessionRow | undefined> {
    return this.#db.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Adds a session with its first token; `crowded`: sessions of this person beyond 100 that it ended. */
  add(session: NewSession): Promise<{ id: number; crowded: number[] }> {
    return this.#store.transaction<SessionTables, { id: number; crowded: number[] }>(async (trx) => {
      if (session.proven !== null) await checkProven(trx, session.person_id, session.proven);
      const company =
        session.by_session === undefined
          ? session.company
          : await companyOfCreator(trx, session, session.by_session);
      const { id } = await trx
        .insertInto('sessions')
        .values({
          person_id: session.person_id,
          device_name: session.device_name,
          platform: session.platform,
          address: session.address,
          created_at: session.at,
          last_used_at: session.at,
          ends_at: session.ends_at,
          ended_at: null,
          ended_by: null,
          company_sub: company?.sub ?? null,
          company_sid: company?.sid ?? null,
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      await trx
        .insertInto('session_tokens')
        .values({
          hash: session.hash,
          session_id: id,
          parent: null,
          confirmed: 1,
          created_at: session.at,
          retired_at: null,
        })
        .execute();
      const others = await trx
        .selectFrom('sessions')
        .select('id')
        .where('person_id', '=', session.person_id)
        .where('ended_at', 'is', null)
        .where('ends_at', '>', session.at)
        .where('id', '!=', id)
        .orderBy('last_used_at', 'desc')
        .execute();
      const crowded = others.slice(MAX_SESSIONS - 1).map((row) => row.id);
      if (crowded.length > 0) {
        await trx
          .updateTable('sessions')
          .set({ ended_at: session.at, ended_by: 'crowded' })
          .where('id', 'in', crowded)
          .execute();
      }
      await dropEnded(trx, session.person_id);
      return { id, crowded };
    });
  }

  /** Adds a token that replaces `parent`; returns the tokens beyond eight that were dropped. */
  rotate(sessionId: number, parent: string, hash: string, at: number): Promise<string[]> {
    return this.#store.transaction<SessionTables, string[]>(async (trx) => {
      const dropped = await addToken(trx, {
        hash,
        session_id: sessionId,
        parent,
        confirmed: 0,
        created_at: at,
      });
      await trx.updateTable('sessions').set({ last_used_at: at }).where('id', '=', sessionId).execute();
      return dropped;
    });
  }

  /** Stores collected uses of sessions and first uses of tokens, which retire their parent tokens. */
  save({ used, tokens }: Changes): Promise<void> {
    return this.#store.transaction<SessionTables, void>(async (trx) => {
      for (const [id, at] of used) {
        await trx.updateTable('sessions').set({ last_used_at: at }).where('id', '=', id).execute();
      }
      for (const { hash, parent, at } of tokens) {
        await trx.updateTable('session_tokens').set({ confirmed: 1 }).where('hash', '=', hash).execute();
        if (parent === null) continue;
        await trx
          .updateTable('session_tokens')
          .set({ retired_at: at })
          .where('hash', '=', parent)
          .where('retired_at', 'is', null)
          .execute();
      }
    });
  }

  live(personId: number, now: number): Promise<SessionRow[]> {
    return this.#db
      .selectFrom('sessions')
      .selectAll()
      .where('person_id', '=', personId)
      .where('ended_at', 'is', null)
      .where('ends_at', '>', now)
      .orderBy('id')
      .execute();
  }

  /** Those of these sessions that have not ended; at most 500 ids. */
  among(ids: readonly number[], now: number): Promise<SessionRow[]> {
    return this.#db
      .selectFrom('sessions')
      .selectAll()
      .where('id', 'in', ids)
      .where('ended_at', 'is', null)
      .where('ends_at', '>', now)
      .execute();
  }

  /**
   * True when the person has signed in from the network of this address, in a live session or one of the newest 500 that ended
   * less than 30 days ago.
   */
  async signedInFrom(personId: number, ip: string): Promise<boolean> {
    const rows = await this.#db
      .selectFrom('sessions')
      .select('address')
      .distinct()
      .where('person_id', '=', personId)
      .where('address', 'is not', null)
      .execute();
    const network = networkOf(ip);
    return rows.some(({ address }) => address !== null && networkOf(address) === network);
  }

  /** Persons with a live session. */
  async peopleWithSessions(now: number): Promise<number[]> {
    const rows = await this.#db
      .selectFrom('sessions')
      .select('person_id')
      .distinct()
      .where('ended_at', 'is', null)
      .where('ends_at', '>', now)
      .execute();
    return rows.map((row) => row.person_id);
  }

  /**
   * Number of live sessions and time of the newest sign-in (ms since 1970), for each of these persons with any. A session
   * without a stored use after `usedAfter` counts as expired.
   */
  async signIns(
    people: readonly number[],
    now: number,
    usedAfter: number,
  ): Promise<ReadonlyMap<number, { readonly live: number; readonly last: number }>> {
    if (people.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('sessions')
      .select((e) => [
        'person_id',
        e.fn.max('created_at').as('last'),
        e.fn
          .countAll<number>()
          .filterWhere('ended_at', 'is', null)
          .filterWhere('ends_at', '>', now)
          .filterWhere('last_used_at', '>', usedAfter)
          .as('live'),
      ])
      .where('person_id', 'in', people)
      .groupBy('person_id')
      .execute();
    return new Map(rows.map(({ person_id, live, last }) => [person_id, { live: Number(live), last }]));
  }

  /**
   * Ends sessions by id, of one person, or both, or those of a logout of the company's provider; resolves with the ids that were
   * live. `note` adds its rows in the same transaction.
   */
  end(
    which: { id?: number; person_id: number } | { id: number } | { company: CompanyLogout },
    why: string,
    at: number,
    note?: (trx: Transaction<SessionTables>, ended: readonly EndedSession[]) => Promise<void>,
  ): Promise<number[]> {
    return this.#store.transaction<SessionTables, number[]>(async (trx) => {
      let query = trx
        .updateTable('sessions')
        .set({ ended_at: at, ended_by: why })
        .where('ended_at', 'is', null)
        .where('ends_at', '>', at);
      if ('id' in which && which.id !== undefined) query = query.where('id', '=', which.id);
      if ('person_id' in which) query = query.where('person_id', '=', which.person_id);
      if ('company' in which) {
        const { sub, sid } = which.company;
        if (sub !== undefined) query = query.where('company_sub', '=', sub);
        if (sid !== undefined) query = query.where('company_sid', '=', sid);
      }
      const ended = await query.returning(['id', 'person_id']).execute();
      await note?.(trx, ended);
      return ended.map(({ id }) => id);
    });
  }

  /** Stores a logout of the provider until `until`; false where it is stored already. Deletes those that are over. */
  static async keepLogout(
    trx: Transaction<SessionTables>,
    jti: string,
    now: number,
    until: number,
  ): Promise<boolean> {
    await trx.deleteFrom('company_logouts').where('until', '<', now).execute();
    const added = await trx
      .insertInto('company_logouts')
      .values({ id: hashOf(jti), until })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    return added !== undefined;
  }

  /** Ends all sessions of these persons in the transaction of a caller; resolves with the ids that were live. */
  async endIn(
    trx: Transaction<SessionTables>,
    people: readonly number[],
    why: string,
    at: number,
  ): Promise<number[]> {
    if (people.length === 0) return [];
    const rows = await trx
      .updateTable('sessions')
      .set({ ended_at: at, ended_by: why })
      .where('person_id', 'in', people)
      .where('ended_at', 'is', null)
      .where('ends_at', '>', at)
      .returning('id')
      .execute();
    return rows.map((row) => row.id);
  }

  /** Number of stored sessions of these persons, ended or not. */
  async countOf(people: readonly number[]): Promise<number> {
    if (people.length === 0) return 0;
    const { n } = await this.#db
      .selectFrom('sessions')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('person_id', 'in', people)
      .executeTakeFirstOrThrow();
    return Number(n);
  }

  /** Stored sessions of these persons, ended or not, oldest first. */
  async allOf(people: readonly number[]): Promise<SessionRow[]> {
    if (people.length === 0) return [];
    return await this.#db
      .selectFrom('sessions')
      .selectAll()
      .where('person_id', 'in', people)
      .orderBy('id')
      .execute();
  }

  /** Deletes all sessions of these persons with their tokens; `live`: ids of those that had not ended. */
  async erase(people: readonly number[]): Promise<{ erased: number; live: number[] }> {
    if (people.length === 0) return { erased: 0, live: [] };
    return await this.#store.transaction<SessionTables, { erased: number; live: number[] }>(async (trx) => {
      const theirs = trx.selectFrom('sessions').select('id').where('person_id', 'in', people);
      await trx.deleteFrom('session_tokens').where('session_id', 'in', theirs).execute();
      const rows = await trx
        .deleteFrom('sessions')
        .where('person_id', 'in', people)
        .returning(['id', 'ended_at'])
        .execute();
      return {
        erased: rows.length,
        live: rows.filter(({ ended_at }) => ended_at === null).map(({ id }) => id),
      };
    });
  }

  async password(personId: number): Promise<string | null> {
    const row = await this.#db
      .selectFrom('credentials')
      .select('password')
      .where('person_id', '=', personId)
      .executeTakeFirst();
    return row?.password ?? null;
  }

  async withPassword(): Promise<ReadonlySet<number>> {
    const rows = await this.#db.selectFrom('credentials').select('person_id').execute();
    return new Set(rows.map((row) => row.person_id));
  }

  /** Sets a password and ends every session of the person; resolves with the ids that were live. */
  setPassword(personId: number, password: string, at: number, given: NewPassword): Promise<number[]> {
    return this.#store.transaction<SessionTables, number[]>(async (trx) => {
      if (given.proven !== undefined) await checkProven(trx, personId, given.proven);
      await trx
        .insertInto('credentials')
        .values({ person_id: personId, password, changed_at: at })
        .onConflict((c) => c.column('person_id').doUpdateSet({ password, changed_at: at }))
        .execute();
      await given.note?.(trx);
      if (given.keepsSessions === true) return [];
      const ended = await trx
        .updateTable('sessions')
        .set({ ended_at: at, ended_by: 'password_changed' })
        .where('person_id', '=', personId)
        .where('ended_at', 'is', null)
        .where('ends_at', '>', at)
        .returning('id')
        .execute();
      return ended.map((row) => row.id);
    });
  }

  /** Deletes sessions that ended more than 30 days ago. */
  async purge(now: number): Promise<void> {
    const before = now - KEEP_ENDED_MS;
    await this.#store.transaction<SessionTables, void>(async (trx) => {
      const old = trx
        .selectFrom('sessions')
        .select('id')
        .where((e) => e.or([e('ends_at', '<', before), e('ended_at', '<', before)]));
      // By the old sessions: PostgreSQL would compare each token with each session that stays.
      await trx.deleteFrom('session_tokens').where('session_id', 'in', old).execute();
      await trx.deleteFrom('sessions').where('id', 'in', old).execute();
    });
  }
}
