import type {
  FastifyInstance,
  FastifyBaseLogger,
  FastifyReply,
  FastifyRequest,
  RawServerDefault,
} from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import type { Level } from '@offhook/contract/ids.ts';
import type { Scope } from '@offhook/contract/keys.ts';
import type { Operation } from '@offhook/contract/operation.ts';
import type { Principal } from '../rights/rights.ts';
import type { Actor, Command, Paced } from './operations.ts';

/** Who is calling, set before any handler of a level above public runs. */
export interface Caller extends Principal {
  /** 0 for an API key. */
  readonly session_id: number;
  /** The negative id of an API key. */
  readonly person_id: number;
  readonly extension: string;
  /** `key:<name>` for an API key. */
  readonly username: string;
  readonly expires_at: number;
  /** True when it came as a cookie. */
  readonly cookie: boolean;
}
/** An operation that is no command is always a request. */
export interface Exchange extends Actor {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}
/** The caller of a public operation is known only where it identifies one. */
export type PublicExchange = Omit<Exchange, 'caller'> & { readonly caller: Caller | null };
/** A reply that the handler sent itself. */
export type Sent = FastifyReply;
/** What the request presented, not yet looked up. */
export interface Credential {
  readonly token: string;
  readonly cookie: boolean;
}
/** A connection that asked to speak another protocol; the handler takes it with `reply.hijack()`. */
export interface UpgradeRequest {
  readonly socket: Duplex;
  /** First bytes that came with the request. */
  readonly head: Buffer;
  /** Detaches the HTTP response: from now on the handler owns the socket and its errors. */
  take(): Duplex;
}
declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required on every route; the host refuses to register one without it. */
    level?: Level;
    /**
     * An API key with this scope may call the route, whatever its level; without it no API key may. `any`: each key may, and
     * what it meets there is narrowed by its rights.
     */
    scope?: Scope | 'any';
    /** On a public route: `request.caller` is set where a good session is presented, and null otherwise. */
    identify?: boolean;
    /** Codes this route can answer beside those its level and body imply; they become its documented replies. */
    errors?: readonly ErrorCode[];
    /**
     * `form`: takes form encoding beside JSON and ignores unknown fields. `merge_patch`: takes its type beside JSON.
     * `audio`: takes a sound, and nothing else; `request.body` is its `Readable`, null where there is none, of which the
     * handler reads `bodyBytes` at most.
     */
    body?: 'json' | 'form' | 'merge_patch' | 'audio';
    /** What a body that is left out stands for, where no field of it is required; the host sets it. */
    emptyBody?: Record<string, never> | null;
    /** Bytes the body may have, where it is not 64 KiB; more by its head is refused before a byte is read. */
    bodyBytes?: number;
    /** Takes a password: a repeat is proven anew, and `Idempotency-Key` means nothing. */
    proves?: boolean;
    /** As `confirm` of an operation. */
    confirm?: Operation['confirm'];
    /** May be called by who still has to set up a second factor that the site asks for. */
    setup?: boolean;
    /** Throws the 429 of a caller who may not run this now: once for each attempt, before its `Idempotency-Key` begins. */
    permit?: (caller: Caller) => void;
    /** The operation whose route this is; it can be asked for by a `command` frame too. */
    operation?: Command;
    /**
     * The replies carry an `ETag`. `held`: `If-None-Match` is read. `match`: `If-Match` is read. `replace`: both are.
     */
    etag?: 'sent' | 'held' | 'match' | 'replace';
    /** This path takes WebSocket upgrades (GET only); on every other path an upgrade is 404. */
    upgrade?: boolean;
  }
  interface FastifyInstance {
    /**
     * Throws `too_many_requests` where this person or key had too many commands refused, or published too many writes where
     * the command is `paced`, by whichever door it came. Before every `bounded`.
     */
    permit(caller: Caller, paced?: Paced): void;
    /** Runs a command and counts it where it is refused; throws `too_many_requests` instead where there were too many. */
    bounded<T>(caller: Caller, run: () => Promise<T>): Promise<T>;
    /** Throws `confirmation_required` where a person is to prove first who they are. */
    confirmed(caller: Caller): void;
    /** Throws `second_factor_required` where a person has none and the site asks for one. */
    admitted(caller: Caller): void;
  }
  interface FastifyRequest {
    /** Null only on public routes. */
    caller: Caller | null;
    /** Set when the client asked for a WebSocket. */
    upgrade: UpgradeRequest | null;
    /** The bearer token or session cookie; null when there is none, or more than one. */
    credential(): Credential | null;
    /** The origin this service has for the client, e.g. `https://pbx.example.com`: the public one, else the request's own. */
    ownOrigin(): string;
    /** True when the request's `Origin` is the service's own. */
    sameOrigin(): boolean;
    /** Throws `ServiceError('not_authenticated')`; for handlers of a level above public. */
    person(): Caller;
    /**
     * The caller as of now, for a handler that waited; throws what the request would be refused with if it came now.
     */
    personNow(): Promise<Caller>;
  }
  interface FastifyReply {
    /** Answers 304 with this tag: what the client holds is what it would be given. Nothing else may be sent. */
    notModified(etag: string): void;
  }
}
/** What a feature's routes.ts is given. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;
/**
 * Finds the session behind a bearer token or cookie value; null when unknown, expired or revoked. What is in memory is
 * answered at once: most requests wait for nothing.
 */
export interface Authenticator {
  authenticate(token: string): Caller | null | Promise<Caller | null>;
}
