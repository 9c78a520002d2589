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
import type { FileBody, Operation } from '@offhook/contract/operation.ts';
import type { Principal } from '../rights/rights.ts';
import type { Actor, Command, Paced } from './operations.ts';

/** The caller, set before any handler of a level above public runs. */
export interface Caller extends Principal {
  /** 0 for an API key. */
  readonly session_id: number;
  /** The negative id of an API key. */
  readonly person_id: number;
  readonly extension: string;
  /** `key:<name>` for an API key. */
  readonly username: string;
  readonly expires_at: number;
  /** True when the credential came as a cookie. */
  readonly cookie: boolean;
}
/** An operation without a command name is always an HTTP request. */
export interface Exchange extends Actor {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}
/** A public operation has a caller only if the request identifies one. */
export type PublicExchange = Omit<Exchange, 'caller'> & { readonly caller: Caller | null };
/** A reply that the handler sent itself. */
export type Sent = FastifyReply;
/** Credential of the request, not yet looked up. */
export interface Credential {
  readonly token: string;
  readonly cookie: boolean;
}
/** A connection that asks for another protocol; the handler takes it with `reply.hijack()`. */
export interface UpgradeRequest {
  readonly socket: Duplex;
  /** First bytes that came with the request. */
  readonly head: Buffer;
  /** Detaches the HTTP response: from now on the handler owns the socket and its errors. */
  take(): Duplex;
}
declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required on every route; the host does not register one without it. */
    level?: Level;
    /**
     * An API key with this scope may call the route, whatever its level; without it no API key may. `any`: every key may,
     * limited by its rights.
     */
    scope?: Scope | 'any';
    /** On a public route: `request.caller` is set for a valid session and null otherwise. */
    identify?: boolean;
    /** Error codes of this route beside those its level and body imply; they become its documented replies. */
    errors?: readonly ErrorCode[];
    /**
     * `form`: accepts form encoding beside JSON and ignores unknown fields. `merge_patch`: accepts its type beside JSON.
     * `audio`: accepts only audio; `request.body` is its `Readable`, null without a body, of which the handler reads
     * `bodyBytes` at most. `customers`: accepts CSV and vCard; `request.body` is its bytes.
     */
    body?: 'json' | 'form' | 'merge_patch' | FileBody;
    /** Value of an absent body; undefined where a field is required. Set by the host. */
    emptyBody?: () => Record<string, never> | null | undefined;
    /** Limit of the body in bytes, 64 KiB by default; a larger Content-Length is rejected before a byte is read. */
    bodyBytes?: number;
    /** Takes a password: a repeat checks it again, and `Idempotency-Key` is ignored. */
    proves?: boolean;
    /** As `confirm` of an operation. */
    confirm?: Operation['confirm'];
    /** Allowed for a person who still has to set up the second factor the site requires. */
    setup?: boolean;
    /** Throws `too_many_requests` where the caller exceeds its rate: once per attempt, before its `Idempotency-Key` begins. */
    permit?: (caller: Caller) => void;
    /** Operation of this route; a `command` frame can run it too. */
    operation?: Command;
    /** Replies carry an `ETag`. `held`: reads `If-None-Match`. `match`: reads `If-Match`. `replace`: reads both. */
    etag?: 'sent' | 'held' | 'match' | 'replace';
    /** As `Served.tags`; a request that names this tag is answered with 304 before the framework sees it. */
    held?: (caller: Caller) => string;
    /** This path accepts WebSocket upgrades (GET only); every other path answers an upgrade with 404. */
    upgrade?: boolean;
  }
  interface FastifyInstance {
    /**
     * Throws `too_many_requests` where too many commands of this person or key were rejected, or for a `paced` command where it
     * published too many writes, over REST and stream together. Called before every `bounded`.
     */
    permit(caller: Caller, paced?: Paced): void;
    /** Runs a command and counts its rejection; throws `too_many_requests` instead where there were too many. */
    bounded<T>(caller: Caller, run: () => Promise<T>): Promise<T>;
    /** Resolves once all events so far are recorded; null without a wait. Called before a write is answered. */
    recorded(): Promise<void> | null;
    /** Throws `confirmation_required` where the person has to confirm the session first. */
    confirmed(caller: Caller): void;
    /** Throws `second_factor_required` where the site requires a second factor that the person lacks. */
    admitted(caller: Caller): void;
  }
  interface FastifyRequest {
    /** Null only on public routes. */
    caller: Caller | null;
    /** Set when the client asked for a WebSocket. */
    upgrade: UpgradeRequest | null;
    /** The bearer token or session cookie; null without one, or with more than one. */
    credential(): Credential | null;
    /** Origin of this service for the client, e.g. `https://pbx.example.com`: the public one, else that of the request. */
    ownOrigin(): string;
    /** True when the request's `Origin` is the service's own. */
    sameOrigin(): boolean;
    /** Throws `ServiceError('not_authenticated')`; for handlers of a level above public. */
    person(): Caller;
    /** The caller with its current rights, for a handler that waited; throws what a new request would be rejected with. */
    personNow(): Promise<Caller>;
  }
  interface FastifyReply {
    /** Replies 304 with this tag: the client's copy is current. Nothing else may be sent. */
    notModified(etag: string): void;
  }
}
/** Argument of a feature's routes.ts. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;
/**
 * Finds the session of a bearer token or cookie value; null when unknown, expired or revoked. Returns a session in memory
 * synchronously: most requests await nothing.
 */
export interface Authenticator {
  authenticate(token: string): Caller | null | Promise<Caller | null>;
}
