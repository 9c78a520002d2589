import { hash, timingSafeEqual } from 'node:crypto';
import type { DisplayKey } from '@offhook/contract/boards.ts';
import type { ApiKey, ApiKeyChange, NewApiKey } from '@offhook/contract/keys.ts';
import { CALL_SCOPES, KEY_PREFIX, MAX_API_KEYS } from '@offhook/contract/keys.ts';
import { randomBytes } from '../../core/chance.ts';
import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import type { CallersShown, KeyRights, Objects } from '../../rights/rights.ts';
import type { Audit } from '../../ports/audit.ts';
import type { DisplayKeys } from '../../ports/display-keys.ts';
import type { Authenticator, Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import { createKeyStore } from './store.ts';
import type { InTransaction, KeyRow, KeyStore } from './store.ts';

const KEY = /^ohk_[A-Za-z0-9_-]{43}$/;
/** Scopes of a display key. */
const DISPLAY_SCOPES = ['queues:read', 'agents:read'] as const;
const TIDY_EVERY_MS = 1_000;
/** Greatest age of the stored time of last use. */
const TOUCH_MS = 60_000;
/** Expiry of a key that never expires: the last moment that a date can hold. */
const NEVER = 8_640_000_000_000_000;

type Reach = Pick<KeyRights, 'queues' | 'extensions' | 'board'>;

/** True for a text with the shape of an API key; no token of a session has it. */
export const isApiKey = (token: string): boolean => KEY.test(token);

export interface ApiKeysOptions extends Common<'clock' | 'directory' | 'log' | 'store'> {
  readonly audit: Required<Audit>;
  /** The queues that a wallboard shows, null for all; undefined where no board has this id. */
  readonly boardShows: (
    board: number,
  ) => { readonly queues: Objects; readonly callers: CallersShown } | undefined;
}

function displayed(row: KeyRow): DisplayKey {
  return {
    id: row.id,
    name: row.name,
    created_at: rfc3339(row.created_at),
    created_by: row.created_by,
    expires_at: rfc3339OrNull(row.expires_at),
    last_used_at: rfc3339OrNull(row.last_used_at),
  };
}

/** Throws `invalid_request` for a key that is limited to some queues and needs its extensions named, too. */
function checkReach({ scopes, queues, extensions }: Pick<KeyRow, 'scopes' | 'queues' | 'extensions'>): void {
  const scope = scopes.find((one) => CALL_SCOPES.has(one));
  if (queues === null || extensions !== null || scope === undefined) return;
  throw new ServiceError(
    'invalid_request',
    say`extensions: ${scope} of a key limited to queues needs named extensions; an empty list means none`,
  );
}

export class ApiKeys implements Authenticator {
  readonly #options: ApiKeysOptions;
  readonly #log: Log;
  readonly #store: KeyStore;
  readonly #byId = new Map<number, KeyRow>();
  // The index is by hash, so that the time of a lookup reveals nothing about a key to a client that can only send keys.
  readonly #byHash = new Map<string, KeyRow>();
  /** The same object while nothing changed, so that readers can compare it by identity. */
  readonly #rightsById = new Map<number, KeyRights>();
  readonly #listeners = new Set<(keyId: number) => void>();
  #used = new Map<number, number>();
  /** Expired keys whose listeners were called. */
  readonly #reported = new Set<number>();
  // Changes run one after the other, so that a check still holds when the change is written.
  readonly #changes = new Queue();
  readonly #stopFollowing: () => void;
  readonly #timer: NodeJS.Timeout;
  readonly display: DisplayKeys = {
    list: (board) =>
      this.#ofBoard(board)
        .toSorted((a, b) => a.id - b.id)
        .map(displayed),
    create: (actor, board, wanted) =>
      this.#changes.run(async () => {
        const { row, key } = await this.#add(actor, {
          ...wanted,
          scopes: [...DISPLAY_SCOPES],
          queues: null,
          extensions: null,
          board,
        });
        return { display_key: displayed(row), key };
      }),
    revoke: (actor, board, id) =>
      this.#changes.run(async () => {
        const row = this.#ofBoard(board).find((one) => one.id === id);
        if (row === undefined) throw new ServiceError('not_found', 'the board has no such display key');
        await this.#revoke(actor, row);
      }),
    revokeAll: (actor, board) =>
      this.#changes.run(async () => {
        for (const row of this.#ofBoard(board)) await this.#revoke(actor, row);
      }),
    boardChanged: (board) => this.#follow((row) => row.board === board),
  };

  /** Runs the migrations and reads the keys. */
  static async open(options: ApiKeysOptions): Promise<ApiKeys> {
    const store = await createKeyStore(options.store);
    return new ApiKeys(options, store, await store.all());
  }
  private constructor(options: ApiKeysOptions, store: KeyStore, rows: readonly KeyRow[]) {
    this.#options = options;
    this.#store = store;
    this.#log = options.log.child({ part: 'api-keys' });
    for (const row of rows) this.#changed(row);
    this.#stopFollowing = options.directory.onChange(() => this.#follow(() => true));
    this.#timer = setInterval(() => {
      this.tidy().catch((error: unknown) => {
        this.#log.warn({ error: messageOf(error) }, 'the last use of API keys could not be stored');
      });
    }, TIDY_EVERY_MS);
    this.#timer.unref();
  }

  authenticate(token: string): Caller | null {
    if (!isApiKey(token)) return null;
    const digest = hash('sha256', token, 'base64url');
    const row = this.#byHash.get(digest);
    if (row === undefined || !timingSafeEqual(Buffer.from(row.hash), Buffer.from(digest))) return null;
    if (this.#expired(row)) return null;
    const now = this.#options.clock.now();
    if (now - (row.last_used_at ?? 0) >= TOUCH_MS) {
      this.#keep({ ...row, last_used_at: now });
      this.#used.set(row.id, now);
    }
    return {
      session_id: 0,
      person_id: -row.id,
      extension: '',
      username: `key:${row.name}`,
      level: 'supervisor',
      expires_at: row.expires_at ?? NEVER,
      cookie: false,
      key: this.#rightsById.get(row.id)!,
    };
  }
  list(): ApiKey[] {
    return [...this.#byId.values()].toSorted((a, b) => a.id - b.id).map((row) => this.#shown(row));
  }
  /** Throws `not_found`. */
  one(id: number): ApiKey {
    return this.#shown(this.#find(id));
  }
  /** Throws `invalid_request`, `name_taken`, `limit_reached`, `store_unavailable`; only this reply contains `key`. */
  create(actor: Actor, wanted: NewApiKey): Promise<{ api_key: ApiKey; key: string }> {
    return this.#changes.run(async () => {
      const { row, key } = await this.#add(actor, { ...wanted, board: null });
      return { api_key: this.#shown(row), key };
    });
  }
  /** Throws as `create`, and `not_found`. */
  change(actor: Actor, id: number, wanted: ApiKeyChange): Promise<ApiKey> {
    return this.#changes.run(async () => {
      const row = this.#find(id);
      const reach = [wanted.scopes, wanted.queues, wanted.extensions];
      if (row.board !== null && reach.some((field) => field !== undefined)) {
        throw new ServiceError(
          'invalid_request',
          'queues, extensions: a display key takes these from its wallboard; change the wallboard',
        );
      }
      this.#check(wanted, id);
      const next: KeyRow = {
        ...row,
        name: wanted.name ?? row.name,
        scopes: wanted.scopes ?? row.scopes,
        queues: wanted.queues === undefined ? row.queues : wanted.queues,
        extensions: wanted.extensions === undefined ? row.extensions : wanted.extensions,
        expires_at: wanted.expires_at === undefined ? row.expires_at : this.#expiry(wanted.expires_at),
      };
      if (reach.some((field) => field !== undefined)) checkReach(next);
      await this.#store.replace(next, this.#entry(actor, 'api_key.changed', next)(id));
      // It may have been used while the change was written.
      this.#changed({ ...next, last_used_at: this.#byId.get(id)?.last_used_at ?? null });
      this.#ended(id);
      return this.#shown(next);
    });
  }
  /** Throws `not_found`, `store_unavailable`. */
  revoke(actor: Actor, id: number): Promise<void> {
    return this.#changes.run(() => this.#revoke(actor, this.#find(id)));
  }
  /** The current rights of a key, the same object while they do not change; null for a revoked or expired key. */
  rights(id: number): KeyRights | null {
    const row = this.#byId.get(id);
    return row === undefined || this.#expired(row) ? null : this.#rightsById.get(id)!;
  }
  /** Called with each key that was revoked, expired or got other rights: its streams must end or begin anew. */
  onKeyEnded(listener: (keyId: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  /** Calls the listeners for keys that expired and writes when keys were last used. */
  async tidy(): Promise<void> {
    for (const row of this.#byId.values()) {
      if (!this.#expired(row)) this.#reported.delete(row.id);
      else if (!this.#reported.has(row.id)) {
        this.#reported.add(row.id);
        this.#ended(row.id);
      }
    }
    await this.#changes.run(() => this.#save());
  }
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopFollowing();
    await this.#changes.run(() => this.#save());
  }

  #keep(row: KeyRow): void {
    this.#byId.set(row.id, row);
    this.#byHash.set(row.hash, row);
  }
  /** A display key reaches the queues of its board and their agents. */
  #reachOf({ board: id, queues, extensions }: KeyRow): Reach {
    if (id === null) return { queues, extensions };
    const shown = this.#options.boardShows(id);
    if (shown === undefined) return { queues: [], extensions: [], board: { id, callers: 'none' } };
    const board = { id, callers: shown.callers };
    if (shown.queues === null) return { queues: null, extensions: null, board };
    const agents = shown.queues.flatMap((name) => this.#options.directory.queue(name)?.agents ?? []);
    return { queues: shown.queues, extensions: [...new Set(agents)], board };
  }
  #changed(row: KeyRow): void {
    const { id, name, scopes } = row;
    this.#keep(row);
    this.#rightsById.set(id, { id, name, scopes, ...this.#reachOf(row) });
  }
  #expired(row: KeyRow): boolean {
    return row.expires_at !== null && this.#options.clock.now() >= row.expires_at;
  }
  #find(id: number): KeyRow {
    const row = this.#byId.get(id);
    if (row === undefined) throw new ServiceError('not_found', 'there is no such API key');
    return row;
  }
  #ended(id: number): void {
    for (const listener of this.#listeners) {
      try {
        listener(id);
      } catch (error) {
        this.#log.error({ error: messageOf(error) }, 'a listener for ended keys failed');
      }
    }
  }
  /** Ends the streams of display keys whose queues or agents changed, so that they begin anew. */
  #follow(of: (row: KeyRow) => boolean): void {
    for (const row of this.#byId.values()) {
      if (row.board === null || !of(row)) continue;
      const { queues, extensions, board } = this.#rightsById.get(row.id)!;
      if (JSON.stringify(this.#reachOf(row)) === JSON.stringify({ queues, extensions, board })) continue;
      this.#changed(row);
      this.#ended(row.id);
    }
  }
  #check(wanted: Pick<ApiKeyChange, 'name' | 'queues' | 'extensions'>, own: number | null): void {
    for (const row of this.#byId.values()) {
      if (row.id !== own && row.name === wanted.name) {
        throw new ServiceError('name_taken', say`another API key is called ${wanted.name}`);
      }
    }
    const queue = wanted.queues?.find((name) => this.#options.directory.queue(name) === undefined);
    if (queue !== undefined)
      throw new ServiceError('invalid_request', say`queues: there is no queue ${queue}`);
    const unknown = wanted.extensions?.find(
      (name) => this.#options.directory.byExtension(name) === undefined,
    );
    if (unknown !== undefined) {
      throw new ServiceError('invalid_request', say`extensions: there is no extension ${unknown}`);
    }
  }
  #expiry(text: string | null): number | null {
    if (text === null) return null;
    const at = Date.parse(text);
    if (!(at > this.#options.clock.now()))
      throw new ServiceError('invalid_request', 'expires_at: must be in the future');
    return at;
  }
  /** The change's audit entry, written in its transaction. */
  #entry(
    actor: Actor,
    action: string,
    row: Pick<KeyRow, 'name' | 'scopes' | 'expires_at'>,
  ): (id: number) => InTransaction {
    const { name, scopes } = row;
    return (id) => (trx) =>
      this.#options.audit.recordIn(trx, {
        action,
        actor: actor.caller.extension,
        object: `key:${id}`,
        outcome: 'ok',
        ip: actor.ip,
        detail: { name, scopes: scopes.join(' '), expires_at: rfc3339OrNull(row.expires_at) },
      });
  }
  #shown(row: KeyRow): ApiKey {
    return {
      ...displayed(row),
      scopes: [...row.scopes],
      ...copied(this.#reachOf(row)),
      board: row.board,
    };
  }
  async #add(actor: Actor, wanted: NewApiKey & Pick<KeyRow, 'board'>): Promise<{ row: KeyRow; key: string }> {
    this.#check(wanted, null);
    checkReach(wanted);
    if (this.#byId.size >= MAX_API_KEYS) {
      throw new ServiceError('limit_reached', say`a site has at most ${MAX_API_KEYS} API keys; revoke one`);
    }
    const key = KEY_PREFIX + randomBytes(32, 'API key').toString('base64url');
    const fresh = {
      ...wanted,
      hash: hash('sha256', key, 'base64url'),
      created_at: this.#options.clock.now(),
      created_by: actor.caller.extension,
      expires_at: this.#expiry(wanted.expires_at),
      last_used_at: null,
    };
    const row = await this.#store.add(fresh, this.#entry(actor, 'api_key.created', fresh));
    this.#changed(row);
    return { row, key };
  }
  async #revoke(actor: Actor, row: KeyRow): Promise<void> {
    const { id } = row;
    await this.#store.remove(id, this.#entry(actor, 'api_key.revoked', row)(id));
    this.#byId.delete(id);
    this.#byHash.delete(row.hash);
    this.#rightsById.delete(id);
    this.#used.delete(id);
    this.#reported.delete(id);
    this.#ended(id);
  }
  #ofBoard(board: number): KeyRow[] {
    return [...this.#byId.values()].filter((row) => row.board === board);
  }
  async #save(): Promise<void> {
    if (this.#used.size === 0) return;
    const portion = this.#used;
    this.#used = new Map();
    try {
      await this.#store.used(portion);
    } catch (error) {
      this.#used = new Map([...portion, ...this.#used]);
      throw error;
    }
  }
}

const copied = ({ queues, extensions }: Pick<KeyRights, 'queues' | 'extensions'>) => ({
  queues: queues === null ? null : [...queues],
  extensions: extensions === null ? null : [...extensions],
});
