/** The shape of an operation; `operations/<area>.ts` holds one for every endpoint. */
import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';
import type { Level } from './ids.ts';
import type { Scope } from './keys.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Refusals of every command that the engine confirms. */
export const COMMAND_ERRORS = [
  'too_many_requests',
  'engine_refused',
  'engine_unavailable',
  'store_unavailable',
  'overloaded',
  'engine_timeout',
] as const satisfies readonly ErrorCode[];

/**
 * One endpoint. The REST route, the `command` frame, the OpenAPI document and the method of the client are derived from it; the
 * server adds only the handler.
 */
export interface Operation {
  readonly method: Method;
  /** `:names` are fields of `params`, in the same order. */
  readonly path: `/${string}`;
  /** Area of the OpenAPI document. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;

  /** Name of the `command` frame, `<noun>.<verb>`; an operation without one has REST only. */
  readonly action?: string;
  /** Another name of the command. */
  readonly alias?: string;
  /** A command may omit `extension`: it is then the caller's own. */
  readonly own?: true;

  /** Actions of the audit trail that a success is recorded as; none where it changes nothing of weight. */
  readonly audit?: string | readonly string[];

  readonly level: Level;
  /** An API key with this scope may call it whatever its level; without a scope no API key may. `any`: each key may. */
  readonly scope?: Scope | 'any';
  /** On a public endpoint: a session that is presented changes the reply. */
  readonly identify?: true;
  /** On a public endpoint: the handler reads the session itself. */
  readonly credential?: true;
  /** Open to a person who still has to set up a second factor that the site requires. */
  readonly setup?: true;
  /** Takes a password: a repeat is proven again, so `Idempotency-Key` has no effect. */
  readonly proves?: true;
  /**
   * Requires a person to have confirmed the session in the last five minutes: always, or where this is true of the body, which
   * is not validated yet. Then it can refuse with `confirmation_required`.
   */
  readonly confirm?: true | ((body: unknown, headers?: Headers) => boolean);
  /**
   * Rate limit of writes that other clients are notified of: `own` is of oneself and bounded for every person; `any` is not
   * bounded for supervisors, who write many at once. API keys have neither limit.
   */
  readonly paced?: 'own' | 'any';
  /** Refusals count against the caller's limit, as those of every command do. */
  readonly bounded?: true;
  /** The client allows it as much time as a download. */
  readonly slow?: true;

  readonly params?: z.ZodObject;
  readonly query?: z.ZodType;
  /** A strict object under `/api/v1`; omitted where a write takes no fields. */
  readonly body?: z.ZodType;
  /** The handler validates the body, and names each finding. */
  readonly unchecked?: true;
  /**
   * `form`: form encoding beside JSON, unknown fields ignored. `merge_patch`: its type beside JSON. `audio`: a sound and nothing
   * else, which has no schema.
   */
  readonly takes?: 'form' | 'merge_patch' | 'audio';
  /** Bytes the body may have by REST; 64 KiB. A frame has its own limit. */
  readonly bodyBytes?: number;
  /** Body of a success; omitted where the endpoint is no request and reply. */
  readonly reply?: z.ZodType;
  /** Status of a success; 200. */
  readonly status?: 200 | 201 | 202;
  /** Bodies of other statuses that are no errors. */
  readonly others?: Readonly<Record<number, z.ZodType>>;
  /** The reply is sent as a file. */
  readonly file?: true;
  /** Media types of the reply where it is not JSON. */
  readonly produces?: readonly string[];
  /** Replies carry an `ETag`. `held`: reads `If-None-Match`. `match`: reads `If-Match`. `replace`: reads both. */
  readonly etag?: 'sent' | 'held' | 'match' | 'replace';
  /** Takes WebSocket upgrades. */
  readonly upgrade?: true;
  /** Codes it can refuse with beside those that its level, its body and being a command imply. */
  readonly errors: readonly ErrorCode[];
}
/** Operations by the name of the client's method. */
export type Area = Readonly<Record<string, Operation>>;
/** Gives each operation its exact type. */
export const area = <const A extends Area>(operations: A): A => operations;
