/**
 * Credentials of the callers of a web node: the leading node checks them, and the database of the site has those that ended
 * since.
 */
import { hash } from 'node:crypto';
import { ConsoleSettings } from '@offhook/contract/console-settings.ts';
import { includesLevel } from '@offhook/contract/ids.ts';
import type { Caller, Authenticator } from '../ports/http.ts';
import type { Directory } from '../ports/directory.ts';
import type { Common } from '../ports/common.ts';
import type { Store } from '../ports/store.ts';
import type { Credentials } from '../ports/stream.ts';
import type { RemoteTickets } from '../delivery/tickets.ts';
import type { CallerAnswer, NodeCall } from './node-calls.ts';

/** Time for which an answer of the leading node is reused, and a longer one while that node does not answer, in ms. */
const FRESH_MS = 10_000;
const KEPT_MS = 60_000;
const MOST_KEPT = 20_000;
/** Sessions in one question to the database. */
const SESSIONS_AT_ONCE = 500;

interface Tables {
  sessions: { id: number; ended_at: number | null };
  api_keys: {
    id: number;
    scopes: string;
    queues: string | null;
    extensions: string | null;
    expires_at: number | null;
    board: number | null;
  };
  boards: { id: number; version: number };
  console_settings: { id: number; value: string };
}
type Key = NonNullable<Caller['key']>;
/** True where the key has the rights of its row; its expiry is checked apart. */
const isSame = (key: Key, row: Pick<Tables['api_keys'], 'scopes' | 'queues' | 'extensions'>): boolean =>
  (['scopes', 'queues', 'extensions'] as const).every(
    (name) => JSON.stringify(key[name]) === JSON.stringify(JSON.parse(row[name] ?? 'null')),
  );
export interface WebCredentialsDeps extends Common<'clock' | 'directory'> {
  readonly ask: (call: NodeCall) => Promise<unknown>;
  readonly db: ReturnType<typeof tablesOf>;
}
export const tablesOf = (store: Pick<Store, 'db'>) => store.db<Tables>();

export class WebCredentials implements Authenticator, Credentials, RemoteTickets {
  readonly #deps: WebCredentialsDeps;
  /** Answers by the hash of their token, oldest first. */
  readonly #kept = new Map<string, CallerAnswer & { readonly caller: Caller; readonly at: number }>();
  readonly #lacking = new WeakSet<Caller>();
  /** Objects that each display key may read, as one text. */
  #displays: ReadonlyMap<number, string> = new Map();
  readonly #sessionEnded = new Set<(id: number) => void>();
  readonly #keyEnded = new Set<(id: number) => void>();
  readonly #factorRequired = new Set<(of: (caller: Caller) => boolean) => void>();
  /** Level from which a second factor is required; undefined before the first look. */
  #required: ConsoleSettings['second_factor'];
  #people: ReadonlyMap<number, ReturnType<Directory['people']>[number]> = new Map();
  #peopleAt = -1;

  constructor(deps: WebCredentialsDeps) {
    this.#deps = deps;
  }
  async authenticate(token: string): Promise<Caller | null> {
    const key = hash('sha256', token, 'base64url');
    const kept = this.#kept.get(key);
    const now = performance.now();
    // An answer that lacks the second factor is not reused, so that a caller who sets it up is admitted at once.
    if (kept !== undefined && !kept.lacks && now - kept.at < FRESH_MS) return this.#current(kept);
    let answer: CallerAnswer;
    try {
      answer = await this.#ask({ op: 'authenticate', token });
    } catch (error) {
      // Without a leading node, credentials can be revoked only in the database, which this node reads each second.
      if (kept === undefined || this.#kept.get(key) !== kept || now - kept.at > KEPT_MS) throw error;
      return this.#current(kept);
    }
    this.#kept.delete(key);
    const { caller, lacks } = answer;
    if (caller === null) return null;
    if (this.#kept.size >= MOST_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    const found = { caller, lacks, at: performance.now() };
    this.#kept.set(key, found);
    return this.#current(found);
  }
  lacksFactor(caller: Caller): boolean {
    return this.#lacking.has(caller);
  }
  async redeem(ticket: string): Promise<Caller | null> {
    const { caller } = await this.#ask({ op: 'redeem', ticket });
    return caller === null ? null : this.#current({ caller, lacks: false });
  }
  async use(caller: Caller): Promise<number | null> {
    return ((await this.#deps.ask({ op: 'use', caller })) as { until: number | null }).until;
  }
  onSessionEnded(listener: (id: number) => void): () => void {
    this.#sessionEnded.add(listener);
    return () => void this.#sessionEnded.delete(listener);
  }
  onKeyEnded(listener: (id: number) => void): () => void {
    this.#keyEnded.add(listener);
    return () => void this.#keyEnded.delete(listener);
  }
  /** Calls `listener` with the callers who may lack a second factor that is required from now on. */
  onFactorRequired(listener: (of: (caller: Caller) => boolean) => void): () => void {
    this.#factorRequired.add(listener);
    return () => void this.#factorRequired.delete(listener);
  }
  /** Reads what has ended in the database; `open` are the callers of the open streams. */
  async look(open: Iterable<Caller>): Promise<void> {
    const kept = [...this.#kept.values()].map(({ caller }) => caller);
    const callers = [...open, ...kept];
    const ids = callers.flatMap(({ key, session_id }) => (key === null ? session_id : []));
    await this.#lookSessions([...new Set(ids)]);
    await this.#lookKeys(new Set(callers.flatMap(({ key }) => key ?? [])));
    await this.#lookFactor();
  }

  /** The answer of the leading node; requested again if the board of the display changed meanwhile. */
  async #ask(call: NodeCall): Promise<CallerAnswer> {
    for (;;) {
      const before = this.#displays;
      const answer = (await this.#deps.ask(call)) as CallerAnswer;
      const key = answer.caller?.key;
      if (key === null || key === undefined) return answer;
      // A display key that is not read yet would seem changed at the next look, which would end its streams.
      if (key.board !== undefined && !before.has(key.id)) await this.#readDisplay(key.id);
      if (call.op !== 'authenticate' || before.get(key.id) === this.#displays.get(key.id)) return answer;
    }
  }
  /** The caller with the rights that this node knows; it may be a moment behind, and then its streams follow. */
  #current({ caller, lacks }: CallerAnswer & { readonly caller: Caller }): Caller | null {
    if (caller.expires_at <= this.#deps.clock.now()) return null;
    const now = caller.key === null ? this.#personNow(caller) : caller;
    if (now !== null && lacks) this.#lacking.add(now);
    return now;
  }
  #personNow(caller: Caller): Caller | null {
    const { directory } = this.#deps;
    if (this.#peopleAt !== directory.version) {
      this.#peopleAt = directory.version;
      this.#people = new Map(directory.people().map((one) => [one.id, one]));
    }
    const who = this.#people.get(caller.person_id);
    if (who === undefined || !who.active) return null;
    const { extension, level, username } = who;
    return {
      ...caller,
      extension,
      level,
      username,
      since_ms: directory.heldSince?.(extension) ?? 0,
      known_ms: directory.knownSince?.(who.id) ?? 0,
    };
  }
  async #lookSessions(ids: readonly number[]): Promise<void> {
    for (let at = 0; at < ids.length; at += SESSIONS_AT_ONCE) {
      const some = ids.slice(at, at + SESSIONS_AT_ONCE);
      const rows = await this.#deps.db
        .selectFrom('sessions')
        .select('id')
        .where('id', 'in', some)
        .where('ended_at', 'is', null)
        .execute();
      const live = new Set(rows.map(({ id }) => id));
      for (const id of some) {
        if (live.has(id)) continue;
        this.#forget((caller) => caller.key === null && caller.session_id === id);
        for (const listener of this.#sessionEnded) listener(id);
      }
    }
  }
  async #lookFactor(): Promise<void> {
    const row = await this.#deps.db.selectFrom('console_settings').select('value').executeTakeFirst();
    const { second_factor: now = 'off' } =
      row === undefined ? {} : ConsoleSettings.parse(JSON.parse(row.value));
    const before = this.#required;
    this.#required = now;
    if (before === undefined || before === now || now === 'off') return;
    const concerned = ({ key, level }: Caller): boolean => key === null && includesLevel(level, now);
    // The leading node knows who has set it up, and is asked again.
    this.#forget(concerned);
    for (const listener of this.#factorRequired) listener(concerned);
  }
  async #lookKeys(held: ReadonlySet<Key>): Promise<void> {
    const rows = await this.#keys().execute();
    const before = this.#displays;
    this.#displays = new Map(this.#shownBy(rows));
    const byId = new Map(rows.map((row) => [row.id, row]));
    const ended = new Set<number>();
    const now = this.#deps.clock.now();
    for (const key of held) {
      const row = byId.get(key.id);
      const same =
        row !== undefined &&
        (row.expires_at === null || row.expires_at > now) &&
        (row.board === null ? isSame(key, row) : before.get(key.id) === this.#displays.get(key.id));
      if (!same) ended.add(key.id);
    }
    for (const id of ended) {
      this.#forget(({ key }) => key?.id === id);
      for (const listener of this.#keyEnded) listener(id);
    }
  }
  #keys() {
    return this.#deps.db
      .selectFrom('api_keys as k')
      .leftJoin('boards as b', 'b.id', 'k.board')
      .select(['k.id', 'k.scopes', 'k.queues', 'k.extensions', 'k.expires_at', 'k.board', 'b.version']);
  }
  /** A display key reaches the queues of its board and their agents. */
  #shownBy(rows: readonly { readonly id: number; readonly board: number | null }[]) {
    const { version } = this.#deps.directory;
    return rows.flatMap((row) =>
      row.board === null ? [] : [[row.id, JSON.stringify([row, version])] as const],
    );
  }
  /** Reads one display key. Others keep their old state, so that the next look still finds their changes. */
  async #readDisplay(id: number): Promise<void> {
    const rows = await this.#keys().where('k.id', '=', id).execute();
    this.#displays = new Map([...this.#displays, ...this.#shownBy(rows)]);
  }
  #forget(of: (caller: Caller) => boolean): void {
    for (const [token, { caller }] of this.#kept) if (of(caller)) this.#kept.delete(token);
  }
}
