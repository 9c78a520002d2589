import { createHmac, hkdfSync } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createIndex, createTable } from '../core/schema.ts';
import { ServiceError, effectOf } from '../core/errors.ts';
import { seal, unseal } from '../core/seal.ts';
import type { Clock } from '../ports/clock.ts';
import type { App } from '../ports/http.ts';
import type { Migration, Store } from '../ports/store.ts';
import { isRepeatable } from './openapi-headers.ts';

const KEEP_MS = 24 * 3600 * 1000;
const MAX_PER_PERSON = 1_000;
const MAX_BODY = 256 * 1024;
const PURGE_EVERY_MS = 60_000;
/** Rows deleted per statement; other writes run between two statements. */
const PURGE_ROWS = 500;
/**
 * Statuses after which the same key may try again, unless the error is marked as uncertain. 500 and 504 are not among them:
 * the command may have run, and the same key must not run it twice.
 */
const UNDECIDED = new Set([408, 429, 503]);
/** Status after which the same key may try again if the change had not begun. */
const NO_ANSWER = 504;

export interface StoredReply {
  readonly status: number;
  readonly content_type: string;
  readonly body: Buffer;
}
export interface IdempotencyRow {
  readonly fingerprint: string;
  /** Null until the first attempt has ended, and if its stored reply can no longer be decrypted. */
  readonly reply: StoredReply | null;
}
/** Keeps keys and their replies for 24 hours. */
export interface IdempotencyStore {
  /** A keyed hash of this site: bodies hold passwords, and a plain hash would allow guessing them. */
  digest(text: string): string;
  find(id: string, key: string): Promise<IdempotencyRow | undefined>;
  begin(id: string, person: number, fingerprint: string): Promise<void>;
  finish(id: string, key: string, reply: StoredReply): Promise<void>;
  forget(id: string): Promise<void>;
  /** Deletes entries older than 24 hours. */
  purge(): Promise<void>;
}

interface Tables {
  http_idempotency: {
    id: string;
    person_id: number;
    fingerprint: string;
    created_at: number;
    status: number | null;
    content_type: string | null;
    body: Uint8Array | null;
  };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-idempotency',
    async up(db) {
      await createTable(db.schema)`http_idempotency (
        id text primary key, person_id integer not null, fingerprint text not null, created_at integer not null,
        status integer, content_type text, body blob)`;
      await createIndex(db.schema)`http_idempotency_person on http_idempotency (person_id, created_at)`;
      await createIndex(db.schema)`http_idempotency_age on http_idempotency (created_at)`;
    },
  },
];

/**
 * Keeps keys and replies in the relational store. A reply can hold a secret, so it is encrypted with the site's key,
 * which is kept in another file, and with the client's key, of which only a hash is stored: even the database and that
 * file together do not suffice to decrypt it.
 */
export async function createIdempotencyStore(
  store: Store,
  clock: Clock,
  siteKey: Buffer,
): Promise<IdempotencyStore> {
  await store.migrate('http', migrations);
  const hashing = Buffer.from(hkdfSync('sha256', siteKey, '', 'offhook idempotency hash', 32));
  const sealingKey = (key: string, id: string): Buffer =>
    Buffer.from(
      hkdfSync('sha256', Buffer.concat([siteKey, Buffer.from(key)]), id, 'offhook idempotency', 32),
    );
  const db = store.db<Tables>();
  return {
    digest: (text) => createHmac('sha256', hashing).update(text).digest('base64url'),
    async find(id, key) {
      const row = await db
        .selectFrom('http_idempotency')
        .selectAll()
        .where('id', '=', id)
        .where('created_at', '>', clock.now() - KEEP_MS)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { fingerprint, status, content_type, body } = row;
      if (status === null || body === null) return { fingerprint, reply: null };
      const opened = unseal(sealingKey(key, id), Buffer.from(body));
      const reply = opened && { status, content_type: content_type ?? '', body: opened };
      return { fingerprint, reply };
    },
    async begin(id, person, fingerprint) {
      const now = clock.now();
      const kept = db
        .selectFrom('http_idempotency')
        .select('id')
        .where('person_id', '=', person)
        .orderBy('created_at', 'desc')
        .limit(MAX_PER_PERSON - 1);
      await db
        .deleteFrom('http_idempotency')
        .where('person_id', '=', person)
        .where('id', 'not in', kept)
        .execute();
      await db.deleteFrom('http_idempotency').where('id', '=', id).execute();
      await db
        .insertInto('http_idempotency')
        .values({
          id,
          person_id: person,
          fingerprint,
          created_at: now,
          status: null,
          content_type: null,
          body: null,
        })
        .execute();
    },
    async finish(id, key, reply) {
      await db
        .updateTable('http_idempotency')
        .set({
          status: reply.status,
          content_type: reply.content_type,
          body: seal(sealingKey(key, id), reply.body),
        })
        .where('id', '=', id)
        .execute();
    },
    async forget(id) {
      await db.deleteFrom('http_idempotency').where('id', '=', id).execute();
    },
    async purge() {
      let deleted = PURGE_ROWS;
      while (deleted >= PURGE_ROWS) {
        const old = db
          .selectFrom('http_idempotency')
          .select('id')
          .where('created_at', '<=', clock.now() - KEEP_MS)
          .limit(PURGE_ROWS);
        const { numDeletedRows } = await db
          .deleteFrom('http_idempotency')
          .where('id', 'in', old)
          .executeTakeFirst();
        deleted = Number(numDeletedRows);
        await setImmediate();
      }
    },
  };
}

/** An attempt that is under way. */
interface Running {
  readonly fingerprint: string;
  readonly ended: Promise<StoredReply | null>;
}
/** First attempt with a key; `end` must be called with its reply. Never throws. */
export interface Attempt {
  end(answer: {
    readonly status: number;
    readonly content_type: string;
    readonly body: Buffer | null;
    /** `effectOf` the error of a failure. */
    readonly effect: boolean | undefined;
  }): Promise<void>;
}
/** Handles repeated requests, by REST and as command frames. */
export interface Repeats {
  /**
   * The reply of an earlier attempt, or the attempt to make now. `permit` may reject a new attempt by throwing, which
   * leaves the key unused. Throws `invalid_request`, `idempotency_conflict` or `store_unavailable`.
   */
  begin(repeat: Repeat, permit: () => void): Promise<StoredReply | Attempt>;
}
export interface Repeat {
  readonly person: number;
  /** Path of `addressOf`, and the query of a REST request as sent. */
  readonly address: string;
  readonly key: unknown;
  readonly body: unknown;
}
/** Path of an operation with its parameters encoded, so that REST and command frames name a request alike. */
export const addressOf = (path: string, params: Readonly<Record<string, string | number>>): string =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')));
declare module 'fastify' {
  interface FastifyInstance {
    repeats: Repeats;
  }
}

/** A key is scoped to its person, so that a person never receives the reply to another person's request. */
function createRepeats(store: IdempotencyStore | undefined): Repeats {
  const running = new Map<string, Running>();
  return {
    async begin({ person, address, key, body }, permit) {
      if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
        throw new ServiceError(
          'invalid_request',
          'Idempotency-Key: must be 1 to 255 printable characters without spaces',
        );
      }
      if (store === undefined) {
        throw new ServiceError(
          'store_unavailable',
          'the results of repeated requests cannot be stored now; try again later',
        );
      }
      const id = store.digest(JSON.stringify([person, address, key]));
      const fingerprint = store.digest(JSON.stringify(isEmpty(body) ? null : body));
      for (;;) {
        const other = running.get(id);
        if (other === undefined) break;
        sameBody(other.fingerprint, fingerprint);
        const result = await other.ended;
        if (result !== null) return result;
      }
      const { promise, resolve } = Promise.withResolvers<StoredReply | null>();
      const done = (reply: StoredReply | null): void => {
        running.delete(id);
        resolve(reply);
      };
      running.set(id, { fingerprint, ended: promise });
      try {
        const row = await store.find(id, key);
        if (row !== undefined) {
          sameBody(row.fingerprint, fingerprint);
          if (row.reply === null) {
            throw new ServiceError(
              'idempotency_conflict',
              'Idempotency-Key: the first attempt was interrupted or its stored reply is unreadable, so its result is unknown; check the state, then use a new key',
            );
          }
          done(row.reply);
          return row.reply;
        }
        permit();
        await store.begin(id, person, fingerprint);
      } catch (error) {
        done(null);
        throw error;
      }
      return {
        async end({ status, content_type, body: answered, effect }) {
          const isUndone =
            effect !== true && (UNDECIDED.has(status) || (effect === false && status === NO_ANSWER));
          const kept =
            isUndone || answered === null || answered.length > MAX_BODY
              ? null
              : { status, content_type, body: answered };
          try {
            if (kept !== null) await store.finish(id, key, kept);
            else if (isUndone) await store.forget(id);
          } catch {
            // The request took effect and its reply is sent; a repeat is answered with an unknown outcome.
          } finally {
            done(kept);
          }
        },
      };
    },
  };
}
/** A missing body and an empty object mean the same. */
const isEmpty = (body: unknown): boolean =>
  body === null || body === undefined || (typeof body === 'object' && Object.keys(body).length === 0);
function sameBody(first: string, second: string): void {
  if (first === second) return;
  throw new ServiceError(
    'idempotency_conflict',
    'Idempotency-Key: already used with another body; use a new key',
  );
}

/**
 * `Idempotency-Key` on every POST below /api/v1 that takes neither a password nor a file: the first attempt runs,
 * repeats get its reply, and another body with the same key gets 409.
 */
export function addIdempotency(app: App, store: IdempotencyStore | undefined): void {
  const repeats = createRepeats(store);
  const attempts = new WeakMap<FastifyRequest, Attempt>();
  const effects = new WeakMap<FastifyRequest, boolean | undefined>();
  app.decorate('repeats', repeats);
  if (store !== undefined) keepPurged(app, store);

  // Added per route instead of for every request: an awaited hook costs as much as half of signing in.
  app.addHook('onRoute', (route) => {
    const config = route.config ?? {};
    const isKeyed = [route.method].flat().some((method) => isRepeatable(method, route.url, config));
    const first = isKeyed ? begin : config.permit && permitted;
    if (first === undefined) return;
    route.preHandler = [first, ...[route.preHandler ?? []].flat()];
    if (first !== begin) return;
    route.onError = [...[route.onError ?? []].flat(), note];
    route.onSend = [...[route.onSend ?? []].flat(), finish];
  });

  function permit(request: FastifyRequest): void {
    request.routeOptions.config.permit?.(request.person());
  }
  function permitted(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
    try {
      permit(request);
    } catch (error) {
      return done(error as Error);
    }
    done();
  }
  async function begin(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const key = request.headers['idempotency-key'];
    if (request.caller === null) return undefined;
    if (key === undefined) return permit(request);
    const { url, body } = request;
    const path = addressOf(request.routeOptions.url!, request.params as Record<string, string | number>);
    const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
    const repeat = { person: request.caller.person_id, address: path + query, key, body };
    const begun = await repeats.begin(repeat, () => permit(request));
    if (!('end' in begun)) return replay(reply, begun);
    attempts.set(request, begun);
    return undefined;
  }

  function note(request: FastifyRequest, _reply: FastifyReply, error: Error, done: () => void): void {
    effects.set(request, effectOf(error));
    done();
  }
  async function finish(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
    const attempt = attempts.get(request);
    if (attempt === undefined) return payload;
    attempts.delete(request);
    const body =
      Buffer.isBuffer(payload) || typeof payload === 'string' ? Buffer.from(payload as string) : null;
    const content_type = String(reply.getHeader('content-type') ?? '');
    await attempt.end({ status: reply.statusCode, content_type, body, effect: effects.get(request) });
    return payload;
  }
}
/** Deletes expired replies also while no key is sent; after a database error the next interval tries again. */
function keepPurged(app: App, store: IdempotencyStore): void {
  let running = false;
  const timer = setInterval(() => {
    if (running) return;
    running = true;
    void store
      .purge()
      .catch(() => undefined)
      .finally(() => (running = false));
  }, PURGE_EVERY_MS);
  timer.unref();
  app.addHook('preClose', (done) => {
    clearInterval(timer);
    done();
  });
}
function replay(reply: FastifyReply, stored: StoredReply): FastifyReply {
  return reply
    .code(stored.status)
    .header('content-type', stored.content_type)
    .header('idempotency-replayed', 'true')
    .send(stored.body);
}
