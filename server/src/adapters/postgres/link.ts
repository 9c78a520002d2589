import { Client, Pool } from 'pg';
import type { PoolClient, QueryResult } from 'pg';
import { ServiceError } from '../../core/errors.ts';
import { writeQueue } from '../../core/queue.ts';
import { isLost, refusal, unavailable } from './errors.ts';
import { ANSWER_MS, applicationName, clientConfig, placeOf } from './settings.ts';

/** Ten sessions at most, with the writing one. */
const READERS = 9;
/** Limit for a write to wait behind other writes of this process. */
const TURN_WAIT_MS = 5_000;
/** Limit of the search for the result of a commit whose answer was lost, and the pause between two attempts. */
const SETTLE_MS = 2_500;
const SETTLE_AGAIN_MS = 100;
/**
 * Bounds of the pause after a lost connection, which lasts as long as the failed attempt took: readers do not all wait
 * for a server that hangs, and one that refuses at once, e.g. during its start, is asked again soon.
 */
const REST_MS = { least: 100, most: 1_000 } as const;
/** First half of the advisory lock's number, the letters OFHK; the second is the schema. */
const LOCK = 0x4f46484b;

export interface Answer<R = Record<string, unknown>> {
  readonly rows: R[];
  readonly command: string;
  readonly affected: number;
}
/** A writing session, or a reading one for several statements. */
export type Session = Client | PoolClient;
/** A transaction that has begun: its number, and the start of the server, which numbers them. */
export interface Begun {
  readonly xid: string;
  readonly server: string;
}
/** The log under which a process writes. */
export interface Term {
  readonly term: number;
  /** Id of its holder: a database that lost its newest rows assigns a term a second time. */
  readonly holder: string;
}

const inputValue = (value: unknown): unknown => {
  if (typeof value === 'boolean') return Number(value);
  // PostgreSQL's text cannot hold NUL; a call record with one must not block all later ones.
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;
};

/**
 * The connections to one database: several reading ones and one for writing. The writing one holds the advisory lock of the
 * schema while it is open, so that two services never write the same records, and so that an abandoned session has ended before
 * the next one begins.
 */
export class Link {
  readonly place: string;
  readonly writes = writeQueue(TURN_WAIT_MS);
  readonly #url: string;
  readonly #name = applicationName();
  readonly #readers: Pool;
  #writer: Client | undefined;
  readonly #term: () => Term | null;
  #refused: { readonly error: ServiceError; readonly until: number } | undefined;
  /** `term`: that of the site's log under which this process writes; null before it took the log, or for records alone. */
  constructor(url: string, term: () => Term | null = () => null) {
    this.#term = term;
    this.#url = url;
    this.place = placeOf(url);
    this.#readers = new Pool({
      ...clientConfig(url, this.#name, 'reading'),
      max: READERS,
      idleTimeoutMillis: 60_000,
    });
    // Errors of an idle session are reported to its next user.
    this.#readers.on('error', () => {});
    this.#readers.on('connect', (client) => client.on('error', () => {}));
  }
  /** Runs one statement, and closes the session if it takes longer than `patience` milliseconds. */
  async ask<R extends object = Record<string, unknown>>(
    session: Session,
    text: string,
    values: readonly unknown[] = [],
    patience = ANSWER_MS,
  ): Promise<Answer<R>> {
    const began = performance.now();
    // Ending a session during a statement closes its connection.
    const timer = setTimeout(() => void Promise.resolve(session.end()).catch(() => {}), patience);
    try {
      const answer: QueryResult<R> | QueryResult<R>[] = await session.query(text, values.map(inputValue));
      // Several statements in one text have several results.
      const result = Array.isArray(answer) ? answer.at(-1)! : answer;
      this.#refused = undefined;
      return { rows: result.rows ?? [], command: result.command, affected: result.rowCount ?? 0 };
    } catch (error) {
      throw this.#failed(error, began);
    } finally {
      clearTimeout(timer);
    }
  }
  /** Runs `work` with a reading session; the session is closed when `work` fails. */
  async reading<R>(work: (session: Session) => Promise<R>): Promise<R> {
    const session = await this.reader();
    try {
      const result = await work(session);
      session.release();
      return result;
    } catch (error) {
      session.release(error instanceof ServiceError);
      throw error;
    }
  }
  async reader(): Promise<PoolClient> {
    this.#rested();
    const { totalCount, idleCount } = this.#readers;
    const began = performance.now();
    try {
      return await this.#readers.connect();
    } catch (error) {
      // With all sessions in use, a timeout does not mean that the server is lost.
      const busy = totalCount >= READERS && idleCount === 0;
      throw busy
        ? refusal(`${this.place}: all ${READERS} sessions are busy`, error)
        : this.#failed(error, began);
    }
  }
  /** Call it only with the lock of `writes`. */
  async writer(): Promise<Client> {
    if (this.#writer !== undefined) return this.#writer;
    this.#rested();
    const client = new Client(clientConfig(this.#url, this.#name, 'writing'));
    client.on('error', () => this.drop(client));
    client.on('end', () => this.drop(client));
    const began = performance.now();
    try {
      await client.connect();
    } catch (error) {
      throw this.#failed(error, began);
    }
    try {
      await this.#lock(client);
    } catch (error) {
      this.drop(client);
      throw error;
    }
    return (this.#writer = client);
  }
  /** Begins a transaction. Its number is requested now, because its commit may lose its answer. */
  async begin(session: Session): Promise<Begun> {
    return (await this.ask<Begun>(session, BEGIN)).rows[0]!;
  }
  /**
   * True if this transaction was committed although the answer was lost. False if it was not, and if the result cannot be known
   * now: the server is still away, or another one answers, which numbers its transactions itself. Call it only with the lock of
   * `writes`.
   */
  async isCommitted({ xid, server }: Begun): Promise<boolean> {
    const until = performance.now() + SETTLE_MS;
    for (;;) {
      try {
        // A new writing session begins after the end of the former one, so the result is final.
        const [found] = (await this.ask<Begun & { status: string }>(await this.writer(), RESULT, [xid])).rows;
        return found?.server === server && found.status === 'committed';
      } catch (error) {
        if (!(error instanceof ServiceError) || performance.now() > until) return false;
      }
      await new Promise((resolve) => setTimeout(resolve, SETTLE_AGAIN_MS));
    }
  }
  /** Closes a writing session: the server rolls back uncommitted work. */
  drop(client: Session): void {
    if (this.#writer === client) this.#writer = undefined;
    void Promise.resolve(client.end()).catch(() => {});
  }
  async close(): Promise<void> {
    await this.#writer?.end();
    await this.#readers.end();
  }
  #rested(): void {
    if (this.#refused !== undefined && performance.now() < this.#refused.until) throw this.#refused.error;
  }
  #failed(error: unknown, began: number): unknown {
    const cause = unavailable(error, this.place);
    if (cause instanceof ServiceError && isLost(error)) {
      const now = performance.now();
      const rest = Math.min(REST_MS.most, Math.max(REST_MS.least, now - began));
      this.#refused = { error: cause, until: now + rest };
    }
    return cause;
  }
  async #leads(client: Client, { term, holder }: Term): Promise<boolean> {
    const [log] = (await this.ask<Term>(client, 'select term, holder from offhook_log')).rows;
    return log?.term === term && log.holder === holder;
  }
  async #lock(client: Client): Promise<void> {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const [taken] = (await this.ask<Taken>(client, TAKE_LOCK, [LOCK])).rows;
      if (taken?.encoding !== 'UTF8') {
        throw refusal(`${this.place}: its encoding is ${taken?.encoding}; it must be UTF8`);
      }
      const term = this.#term();
      // Checked after the lock is taken, so that no former writer of the site commits after this one begins to read.
      if (term !== null && !(await this.#leads(client, term)))
        throw refusal(`${this.place}: another process took the log of this site`);
      if (taken.got) return;
      const holders = (await this.ask<Holder>(client, HOLDERS, [LOCK])).rows;
      const other = holders.find((holder) => holder.name !== this.#name);
      // The process that took the log ends the sessions of the former writer, which may be frozen or cut off.
      if (other !== undefined && term === null) {
        throw refusal(`${this.place}: another Offhook (${other.name}, from ${other.address}) writes there`);
      }
      // Ends an abandoned session, e.g. of a server that hung, and waits for it: it may still commit.
      for (const { pid } of holders) await this.ask(client, 'select pg_terminate_backend($1)', [pid]);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw refusal(`${this.place}: an earlier session of this service does not end`);
  }
}

interface Taken {
  readonly got: boolean;
  readonly encoding: string;
}
interface Holder {
  readonly pid: number;
  readonly name: string;
  readonly address: string;
}
const TAKE_LOCK = `select pg_try_advisory_lock($1, hashtext(coalesce(current_schema(), ''))) as got,
  current_setting('server_encoding') as encoding`;
const SERVER = 'pg_postmaster_start_time()::text as server';
const BEGIN = `begin; select pg_current_xact_id()::text as xid, ${SERVER}`;
const RESULT = `select pg_xact_status($1::xid8) as status, ${SERVER}`;
const HOLDERS = `select a.pid, a.application_name as name, coalesce(host(a.client_addr), 'this machine') as address
  from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'advisory' and l.granted and l.classid = $1::bigint::oid
    and l.database = (select oid from pg_database where datname = current_database())
    and l.objid = (hashtext(coalesce(current_schema(), ''))::bigint & 4294967295)::oid`;
