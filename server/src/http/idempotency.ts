import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { App } from '../ports/http.ts';
import type { Migration, Store } from '../ports/store.ts';
import { isRepeatable } from './openapi-headers.ts';

const KEEP_MS = 24 * 3600 * 1000;
const MAX_PER_PERSON = 1_000;
const MAX_BODY = 256 * 1024;
const PURGE_EVERY_MS = 60_000;
/** Rows deleted by one statement, between which others have the database. */
const PURGE_ROWS = 500;
/**
 * Answers that say nothing was decided: the same key may try again. A 504 is none of them: the engine may have done it, so
 * the same key must never do it a second time.
 */
const UNDECIDED = new Set([408, 429, 500, 503]);

export interface StoredReply {
  readonly status: number;
  readonly content_type: string;
  readonly body: Buffer;
}
export interface IdempotencyRow {
  readonly fingerprint: string;
  /** Null while the first attempt has not ended, and where its reply cannot be opened any more. */
  readonly reply: StoredReply | null;
}
/** Where keys are kept for 24 hours with their results. */
export interface IdempotencyStore {
  /** A hash that only this site can make: bodies hold passwords that a plain one would let somebody guess. */
  digest(text: string): string;
  find(id: string, key: string): Promise<IdempotencyRow | undefined>;
  begin(id: string, person: number, fingerprint: string): Promise<void>;
  finish(id: string, key: string, reply: StoredReply): Promise<void>;
  forget(id: string): Promise<void>;
  /** Deletes what is older than 24 hours. */
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
const migrations: readonly Migration[] = [
  {
    id: '0100-idempotency',
    async up(db) {
      await db.schema
        .createTable('http_idempotency')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('person_id', 'integer', (c) => c.notNull())
        .addColumn('fingerprint', 'text', (c) => c.notNull())
        .addColumn('created_at', 'integer', (c) => c.notNull())
        .addColumn('status', 'integer')
        .addColumn('content_type', 'text')
        .addColumn('body', sql`blob`)
        .execute();
      await db.schema
        .createIndex('http_idempotency_person')
        .on('http_idempotency')
        .columns(['person_id', 'created_at'])
        .execute();
      await db.schema
        .createIndex('http_idempotency_age')
        .on('http_idempotency')
        .column('created_at')
        .execute();
    },
  },
];

/**
 * Kept in the relational store. A reply can hold a secret, so it is sealed under the site's key, which lies in another file,
 * and the client's own, of which only a hash is kept: neither the database nor both files alone open it.
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
function seal(key: Buffer, body: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(body), cipher.final(), cipher.getAuthTag()]);
}
/** Null where it was sealed under another key, as after a restore without the site's. */
function unseal(key: Buffer, sealed: Buffer): Buffer | null {
  const cipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
  cipher.setAuthTag(sealed.subarray(-16));
  try {
    return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]);
  } catch {
    return null;
  }
}

/** An attempt that is under way. */
interface Running {
  readonly fingerprint: string;
  readonly ended: Promise<StoredReply | null>;
}
/** The first attempt with a key; `end` must be called with its answer. Never throws. */
export interface Attempt {
  end(answer: {
    readonly status: number;
    readonly content_type: string;
    readonly body: Buffer | null;
  }): Promise<void>;
}
/** Repeated requests of one service, however they come. */
export interface Repeats {
  /**
   * The answer that an earlier attempt was given, or the attempt that shall be made now, which `permit` may refuse by what
   * it throws: a refused one leaves the key as it was. Throws `invalid_request`, `idempotency_conflict` or `store_unavailable`.
   */
  begin(repeat: Repeat, permit: () => void): Promise<StoredReply | Attempt>;
}
export interface Repeat {
  readonly person: number;
  /** What is asked for. */
  readonly address: string;
  readonly key: unknown;
  readonly body: unknown;
}
declare module 'fastify' {
  interface FastifyInstance {
    repeats: Repeats;
  }
}

/** Keys belong to the person, so nobody meets another's results. */
export function createRepeats(store: IdempotencyStore | undefined): Repeats {
  const running = new Map<string, Running>();
  return {
    async begin({ person, address, key, body }, permit) {
      if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
        throw new ServiceError(
          'invalid_request',
          'Idempotency-Key: 1 to 255 printable characters without spaces',
        );
      }
      if (store === undefined) {
        throw new ServiceError('store_unavailable', 'repeated requests are not kept now');
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
              'the first attempt with this key was cut off, or its reply cannot be read any more: its outcome is not known; look first, then use a new key',
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
        async end({ status, content_type, body: answered }) {
          const kept =
            UNDECIDED.has(status) || answered === null || answered.length > MAX_BODY
              ? null
              : { status, content_type, body: answered };
          try {
            if (kept !== null) await store.finish(id, key, kept);
            else if (UNDECIDED.has(status)) await store.forget(id);
          } catch {
            // The effect stands and its answer goes out; a repeat is then told that the outcome is not known.
          } finally {
            done(kept);
          }
        },
      };
    },
  };
}
/** No body and one without fields ask for the same. */
const isEmpty = (body: unknown): boolean =>
  body === null || body === undefined || (typeof body === 'object' && Object.keys(body).length === 0);
function sameBody(first: string, second: string): void {
  if (first === second) return;
  throw new ServiceError('idempotency_conflict', 'this Idempotency-Key was used with another body');
}

/**
 * `Idempotency-Key` on every POST below /api/v1 that takes no password: the first attempt runs, others with the same key get its result, another
 * body is 409.
 */
export function addIdempotency(app: App, store: IdempotencyStore | undefined): void {
  const repeats = createRepeats(store);
  const attempts = new WeakMap<FastifyRequest, Attempt>();
  app.decorate('repeats', repeats);
  if (store !== undefined) keepPurged(app, store);

  // On the routes it is for, and not on every request: a hook that is waited for costs as much as half of signing in.
  app.addHook('onRoute', (route) => {
    const config = route.config ?? {};
    const isKeyed = [route.method].flat().some((method) => isRepeatable(method, route.url, config));
    const first = isKeyed ? begin : config.permit && permitted;
    if (first === undefined) return;
    route.preHandler = [first, ...[route.preHandler ?? []].flat()];
    if (first === begin) route.onSend = [...[route.onSend ?? []].flat(), finish];
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
    const { url: address, body } = request;
    const repeat = { person: request.caller.person_id, address, key, body };
    const begun = await repeats.begin(repeat, () => permit(request));
    if (!('end' in begun)) return replay(reply, begun);
    attempts.set(request, begun);
    return undefined;
  }

  async function finish(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
    const attempt = attempts.get(request);
    if (attempt === undefined) return payload;
    attempts.delete(request);
    const body =
      Buffer.isBuffer(payload) || typeof payload === 'string' ? Buffer.from(payload as string) : null;
    const content_type = String(reply.getHeader('content-type') ?? '');
    await attempt.end({ status: reply.statusCode, content_type, body });
    return payload;
  }
}
/** Deletes old replies also while nobody sends a key; a database that is away is tried again at the next turn. */
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
