/** Type of an operation; `operations/<area>.ts` holds one for every endpoint. */
import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';
import type { Level } from './ids.ts';
import type { Scope } from './keys.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A body without a schema: a file, or a message whose signature covers its bytes. */
export type FileBody = 'audio' | 'customers' | 'message';
export const isFileBody = (takes: string | undefined): takes is FileBody =>
  takes === 'audio' || takes === 'customers' || takes === 'message';

/** Refusals of every command that the engine confirms. */
export const COMMAND_ERRORS = [
  'too_many_requests',
  'engine_refused',
  'engine_unavailable',
  'node_not_active',
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
  /** A command may omit `extension`, which then is the caller's own. */
  readonly own?: true;

  /** Audit actions of a success; none for operations without a relevant change. */
  readonly audit?: string | readonly string[];

  readonly level: Level;
  /** An API key with this scope may call it at any level; without a scope no API key may. `any`: each key may. */
  readonly scope?: Scope | 'any';
  /** On a public endpoint: a session that is presented changes the reply. */
  readonly identify?: true;
  /** On a public endpoint: the handler reads the session itself. */
  readonly credential?: true;
  /** Allowed before a person has set up the second factor that the site requires. */
  readonly setup?: true;
  /** The body has a password, which every repeat must prove again: `Idempotency-Key` has no effect. */
  readonly proves?: true;
  /**
   * Requires a session confirmed in the last five minutes: always, or if this returns true for the body, which
   * is not validated yet. Otherwise it refuses with `confirmation_required`.
   */
  readonly confirm?: true | ((body: unknown, headers?: Headers) => boolean);
  /**
   * Rate limit of writes that other clients are notified of: `own` concerns the caller and is bounded for every person; `any` is not
   * bounded for supervisors, who write many at once. API keys have neither limit.
   */
  readonly paced?: 'own' | 'any';
  /** Refusals count against the caller's limit, as those of every command do. */
  readonly bounded?: true;
  /** The client allows it as much time as a download. */
  readonly slow?: true;

  readonly params?: z.ZodObject;
  readonly query?: z.ZodType;
  /** A strict object under `/api/v1`; omitted for a write without fields. */
  readonly body?: z.ZodType;
  /** The handler validates the body and reports each finding. */
  readonly unchecked?: true;
  /**
   * `form`: form encoding beside JSON, unknown fields ignored. `merge_patch`: its type beside JSON. `audio`: a sound and nothing
   * else, which has no schema. `customers`: a CSV or vCard file and nothing else.
   * `message`: JSON or a form as another system sends it, which the handler reads.
   */
  readonly takes?: 'form' | 'merge_patch' | FileBody;
  /** Most bytes of a REST body, 64 KiB by default. A frame has its own limit. */
  readonly bodyBytes?: number;
  /** Body of a success; omitted for an endpoint that is not request and reply. */
  readonly reply?: z.ZodType;
  /** Status of a success; 200 by default. */
  readonly status?: 200 | 201 | 202;
  /** Bodies of other statuses that are no problems. */
  readonly others?: Readonly<Record<number, z.ZodType>>;
  /** The reply is sent as a file. */
  readonly file?: true;
  /** Media types of a reply that is not JSON. */
  readonly produces?: readonly string[];
  /** Not a tool of the MCP server: only a person may run it, or its reply has a secret. */
  readonly tool?: false;
  /** Replies carry an `ETag`. `held`: reads `If-None-Match`. `match`: reads `If-Match`. `replace`: reads both. */
  readonly etag?: 'sent' | 'held' | 'match' | 'replace';
  /** Takes WebSocket upgrades. */
  readonly upgrade?: true;
  /** Error codes beside those implied by its level, its body and its action. */
  readonly errors: readonly ErrorCode[];
}
/** Operations by the name of the client's method. */
export type Area = Readonly<Record<string, Operation>>;
/** Gives each operation its exact type, and the tag that all operations of an area have. */
export const area = <const A extends Readonly<Record<string, Omit<Operation, 'tag'>>>>(
  tag: string,
  operations: A,
) =>
  Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => [name, { ...operation, tag }]),
  ) as {
    readonly [K in keyof A]: A[K] & { readonly tag: string };
  };
