import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { DisplayKey } from '@offhook/contract/boards.ts';
import type { ApiKey, ApiKeyChange, NewApiKey } from '@offhook/contract/keys.ts';
import { KEY_PREFIX, MAX_API_KEYS } from '@offhook/contract/keys.ts';
import { rfc3339, rfc3339OrNull } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import type { Log } from '../../core/log.ts';
import type { CallersShown, KeyRights, Objects } from '../../rights/rights.ts';
import type { Audit, AuditEntry } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Directory } from '../../ports/directory.ts';
import type { DisplayKeys } from '../../ports/display-keys.ts';
import type { Authenticator } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Store } from '../../ports/store.ts';
import { createKeyStore } from './store.ts';
import type { InTransaction, KeyRow } from './store.ts';

const KEY = /^ohk_[A-Za-z0-9_-]{43}$/;
/** What a display on a wall reads of its board's queues and agents. */
const DISPLAY_SCOPES = ['queues:read', 'agents:read'] as const;
const TIDY_EVERY_MS = 1_000;
/** How old the stored time of last use may get. */
const TOUCH_MS = 60_000;
/** Stands for a key that never expires: the last moment a date can be. */
const NEVER = 8_640_000_000_000_000;

type Reach = Pick<KeyRights, 'queues' | 'extensions' | 'board'>;

/** True for what has the shape of an API key; no token of a session has it. */
export const isApiKey = (token: string): boolean => KEY.test(token);

export interface ApiKeysOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly directory: Directory;
  readonly audit: Required<Audit>;
  readonly log: Log;
  /** What displays are shown of a wallboard: its queues, null for all; undefined where there is none of this id. */
  readonly boardShows: (
    board: number,
  ) => { readonly queues: Objects; readonly callers: CallersShown } | undefined;
}
export interface ApiKeys extends Authenticator {
  list(): ApiKey[];
  /** Throws `not_found`. */
  one(id: number): ApiKey;
  /** Throws `invalid_request`, `name_taken`, `limit_reached`, `store_unavailable`; `key` is shown this once. */
  create(actor: Actor, wanted: NewApiKey): Promise<{ api_key: ApiKey; key: string }>;
  /** Throws as `create`, and `not_found`. */
  change(actor: Actor, id: number, wanted: ApiKeyChange): Promise<ApiKey>;
  /** Throws `not_found`, `store_unavailable`. */
  revoke(actor: Actor, id: number): Promise<void>;
  /** What a living key may do now, the same object while it does not change; null for one that is gone or expired. */
  rights(id: number): KeyRights | null;
  /** Called with each key that was revoked, expired or got other rights: what it opened must end or begin anew. */
  onKeyEnded(listener: (keyId: number) => void): () => void;
  readonly display: DisplayKeys;
  /** Tells of keys that expired, and writes when keys were last used. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

export async function createApiKeys(options: ApiKeysOptions): Promise<ApiKeys> {
  const { clock, directory, audit } = options;
  const log = options.log.child({ part: 'api-keys' });
  const store = await createKeyStore(options.store);
  const byId = new Map<number, KeyRow>();
  // The index is by hash: how long a look-up takes says nothing about a key to somebody who can only send keys.
  const byHash = new Map<string, KeyRow>();
  /** The same object while nothing changed, so that readers can tell. */
  const rightsById = new Map<number, KeyRights>();
  const listeners = new Set<(keyId: number) => void>();
  let used = new Map<number, number>();
  const tired = new Set<number>();

  const keep = (row: KeyRow): void => {
    byId.set(row.id, row);
    byHash.set(row.hash, row);
  };
  /** A display key reaches the queues of its board and who may work in them. */
  function reachOf({ board: id, queues, extensions }: KeyRow): Reach {
    if (id === null) return { queues, extensions };
    const shown = options.boardShows(id);
    if (shown === undefined) return { queues: [], extensions: [], board: { id, callers: 'none' } };
    const board = { id, callers: shown.callers };
    if (shown.queues === null) return { queues: null, extensions: null, board };
    const agents = shown.queues.flatMap((name) => directory.queue(name)?.agents ?? []);
    return { queues: shown.queues, extensions: [...new Set(agents)], board };
  }
  const changed = (row: KeyRow): void => {
    const { id, name, scopes } = row;
    keep(row);
    rightsById.set(id, { id, name, scopes, ...reachOf(row) });
  };
  for (const row of await store.all()) changed(row);

  const expired = (row: KeyRow): boolean => row.expires_at !== null && clock.now() >= row.expires_at;
  const find = (id: number): KeyRow => {
    const row = byId.get(id);
    if (row === undefined) throw new ServiceError('not_found', 'there is no such API key');
    return row;
  };
  const ended = (id: number): void => {
    for (const listener of listeners) {
      try {
        listener(id);
      } catch (error) {
        log.error({ error: messageOf(error) }, 'a listener for ended keys failed');
      }
    }
  };
  /** One change after the other, so that what was checked still holds when it is written. */
  const changes = new Queue();
  /** Display keys that reach something else than before begin anew. */
  function follow(of: (row: KeyRow) => boolean): void {
    for (const row of byId.values()) {
      if (row.board === null || !of(row)) continue;
      const { queues, extensions, board } = rightsById.get(row.id)!;
      if (JSON.stringify(reachOf(row)) === JSON.stringify({ queues, extensions, board })) continue;
      changed(row);
      ended(row.id);
    }
  }
  const stopFollowing = directory.onChange(() => follow(() => true));
  const told =
    (actor: Actor, action: string, row: Pick<KeyRow, 'name' | 'scopes' | 'expires_at'>) =>
    (id: number): InTransaction =>
    (trx) => {
      const entry: AuditEntry = {
        action,
        actor: actor.caller.extension,
        object: `key:${id}`,
        outcome: 'ok',
        ip: actor.ip,
        detail: {
          name: row.name,
          scopes: row.scopes.join(' '),
          expires_at: rfc3339OrNull(row.expires_at),
        },
      };
      return audit.recordIn(trx, entry);
    };
  function check(wanted: Pick<ApiKeyChange, 'name' | 'queues' | 'extensions'>, own: number | null): void {
    for (const row of byId.values()) {
      if (row.id !== own && row.name === wanted.name) {
        throw new ServiceError('name_taken', say`another API key is called ${wanted.name}`);
      }
    }
    const queue = wanted.queues?.find((name) => directory.queue(name) === undefined);
    if (queue !== undefined)
      throw new ServiceError('invalid_request', say`queues: there is no queue ${queue}`);
    const unknown = wanted.extensions?.find((name) => directory.byExtension(name) === undefined);
    if (unknown !== undefined) {
      throw new ServiceError('invalid_request', say`extensions: there is no extension ${unknown}`);
    }
  }
  function expiry(text: string | null): number | null {
    if (text === null) return null;
    const at = Date.parse(text);
    if (!(at > clock.now())) throw new ServiceError('invalid_request', 'expires_at: it is in the past');
    return at;
  }
  const displayed = (row: KeyRow): DisplayKey => ({
    id: row.id,
    name: row.name,
    created_at: rfc3339(row.created_at),
    created_by: row.created_by,
    expires_at: rfc3339OrNull(row.expires_at),
    last_used_at: rfc3339OrNull(row.last_used_at),
  });
  const shown = (row: KeyRow): ApiKey => ({
    ...displayed(row),
    scopes: [...row.scopes],
    ...copied(reachOf(row)),
    board: row.board,
  });

  async function add(
    actor: Actor,
    wanted: NewApiKey & Pick<KeyRow, 'board'>,
  ): Promise<{ row: KeyRow; key: string }> {
    check(wanted, null);
    if (byId.size >= MAX_API_KEYS) {
      throw new ServiceError('limit_reached', say`a site has at most ${MAX_API_KEYS} API keys; revoke one`);
    }
    const key = KEY_PREFIX + randomBytes(32).toString('base64url');
    const fresh = {
      ...wanted,
      hash: hash('sha256', key, 'base64url'),
      created_at: clock.now(),
      created_by: actor.caller.extension,
      expires_at: expiry(wanted.expires_at),
      last_used_at: null,
    };
    const row = await store.add(fresh, told(actor, 'api_key.created', fresh));
    changed(row);
    return { row, key };
  }
  async function revoke(actor: Actor, row: KeyRow): Promise<void> {
    const { id } = row;
    await store.remove(id, told(actor, 'api_key.revoked', row)(id));
    byId.delete(id);
    byHash.delete(row.hash);
    rightsById.delete(id);
    used.delete(id);
    tired.delete(id);
    ended(id);
  }
  const ofBoard = (board: number): KeyRow[] => [...byId.values()].filter((row) => row.board === board);
  const display: DisplayKeys = {
    list: (board) =>
      ofBoard(board)
        .toSorted((a, b) => a.id - b.id)
        .map(displayed),
    create: (actor, board, wanted) =>
      changes.run(async () => {
        const { row, key } = await add(actor, {
          ...wanted,
          scopes: [...DISPLAY_SCOPES],
          queues: null,
          extensions: null,
          board,
        });
        return { display_key: displayed(row), key };
      }),
    revoke: (actor, board, id) =>
      changes.run(async () => {
        const row = ofBoard(board).find((one) => one.id === id);
        if (row === undefined) throw new ServiceError('not_found', 'the board has no such display key');
        await revoke(actor, row);
      }),
    revokeAll: (actor, board) =>
      changes.run(async () => {
        for (const row of ofBoard(board)) await revoke(actor, row);
      }),
    boardChanged: (board) => follow((row) => row.board === board),
  };

  async function save(): Promise<void> {
    if (used.size === 0) return;
    const portion = used;
    used = new Map();
    try {
      await store.used(portion);
    } catch (error) {
      used = new Map([...portion, ...used]);
      throw error;
    }
  }
  async function tidy(): Promise<void> {
    for (const row of byId.values()) {
      if (!expired(row)) tired.delete(row.id);
      else if (!tired.has(row.id)) {
        tired.add(row.id);
        ended(row.id);
      }
    }
    await changes.run(save);
  }
  const timer = setInterval(() => {
    tidy().catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'when API keys were last used could not be written');
    });
  }, TIDY_EVERY_MS);
  timer.unref();

  return {
    async authenticate(token) {
      if (!isApiKey(token)) return null;
      const digest = hash('sha256', token, 'base64url');
      const row = byHash.get(digest);
      if (row === undefined || !timingSafeEqual(Buffer.from(row.hash), Buffer.from(digest))) return null;
      if (expired(row)) return null;
      const now = clock.now();
      if (now - (row.last_used_at ?? 0) >= TOUCH_MS) {
        keep({ ...row, last_used_at: now });
        used.set(row.id, now);
      }
      return {
        session_id: 0,
        person_id: -row.id,
        extension: '',
        username: `key:${row.name}`,
        level: 'supervisor',
        expires_at: row.expires_at ?? NEVER,
        cookie: false,
        key: rightsById.get(row.id)!,
      };
    },
    list: () => [...byId.values()].toSorted((a, b) => a.id - b.id).map(shown),
    one: (id) => shown(find(id)),
    create: (actor, wanted) =>
      changes.run(async () => {
        const { row, key } = await add(actor, { ...wanted, board: null });
        return { api_key: shown(row), key };
      }),
    change: (actor, id, wanted) =>
      changes.run(async () => {
        const row = find(id);
        const reach = [wanted.scopes, wanted.queues, wanted.extensions];
        if (row.board !== null && reach.some((field) => field !== undefined)) {
          throw new ServiceError('invalid_request', 'what a display key reaches is decided by its wallboard');
        }
        check(wanted, id);
        const next: KeyRow = {
          ...row,
          name: wanted.name ?? row.name,
          scopes: wanted.scopes ?? row.scopes,
          queues: wanted.queues === undefined ? row.queues : wanted.queues,
          extensions: wanted.extensions === undefined ? row.extensions : wanted.extensions,
          expires_at: wanted.expires_at === undefined ? row.expires_at : expiry(wanted.expires_at),
        };
        await store.replace(next, told(actor, 'api_key.changed', next)(id));
        // It may have been used while the change was written.
        changed({ ...next, last_used_at: byId.get(id)?.last_used_at ?? null });
        ended(id);
        return shown(next);
      }),
    revoke: (actor, id) => changes.run(() => revoke(actor, find(id))),
    display,
    rights(id) {
      const row = byId.get(id);
      return row === undefined || expired(row) ? null : rightsById.get(id)!;
    },
    onKeyEnded(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tidy,
    async close() {
      clearInterval(timer);
      stopFollowing();
      await changes.run(save);
    },
  };
}

const copied = ({ queues, extensions }: Pick<KeyRights, 'queues' | 'extensions'>) => ({
  queues: queues === null ? null : [...queues],
  extensions: extensions === null ? null : [...extensions],
});
