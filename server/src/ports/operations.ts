import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import type { Level } from '@offhook/contract/ids.ts';
import type { Scope } from '@offhook/contract/keys.ts';
import type { Caller } from './http.ts';

/** Who runs an operation, and from where. */
export interface Actor {
  readonly caller: Caller;
  readonly ip: string | null;
}
/**
 * A write that others hear of: `own` is of oneself and bounded for every person; `any` may be of others, and supervisors do many of
 * those at once. API keys are bounded in neither: integrations write in bulk.
 */
export type Paced = 'own' | 'any';
/** `body` is looked at before its schema has checked it. */
export type Confirm = true | ((body: unknown, headers?: IncomingHttpHeaders) => boolean);
/**
 * One thing that can be asked for, the same by REST and as a `command` frame of the stream: one schema, one level, one
 * handler. By REST the path's `:names` come from the address and the rest from the body; a command's `data` holds both.
 */
export interface Operation<
  P extends z.ZodObject = z.ZodObject,
  B extends z.ZodType = z.ZodType,
  R = unknown,
> {
  /** Name of the command, `<noun>.<verb>`, e.g. `agents.pause`. */
  readonly action: string;
  /** Another name of the command. */
  readonly alias?: string;
  /** A command may leave `extension` out of its data: it is then the caller's own. */
  readonly own?: boolean;
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** e.g. `/api/v1/agents/:extension/pause`. */
  readonly path: string;
  readonly level: Exclude<Level, 'public'>;
  readonly scope?: Scope;
  readonly paced?: Paced;
  /**
   * Asks a person to have proven in the last five minutes who they are: `true` always, else where the body calls for it. API keys
   * are not asked. Then it throws `confirmation_required` too.
   */
  readonly confirm?: Confirm;
  /** Beside these `too_many_requests`, where too many commands of the caller were refused. */
  readonly errors: readonly ErrorCode[];
  readonly summary: string;
  readonly tag: string;
  /** The path's parameters; `z.strictObject({})` where there are none. */
  readonly params: P;
  /** A strict object; `NoFields` where there are none, and for DELETE. */
  readonly body: B;
  readonly reply: z.ZodType<R>;
  /** Bytes the body may have by REST; 64 KiB. A frame has its own bound. */
  readonly bodyBytes?: number;
  /** Status of a success; 200. */
  readonly status?: 200 | 201 | 202;
  /** Throws `ServiceError` with one of `errors`, or one that the level and the body imply. */
  run(actor: Actor, input: { readonly params: z.output<P>; readonly body: z.output<B> }): Promise<R>;
}
/** For lists of operations of different shapes. */
// oxlint-disable-next-line typescript/no-explicit-any -- a list holds operations of every shape; each was checked where it was made
export type AnyOperation = Operation<any, any, any>;
/** Gives `operation` its types from its schemas. */
export type DefineOperation = <P extends z.ZodObject, B extends z.ZodType, R>(
  operation: Operation<P, B, R>,
) => AnyOperation;

/** Runs an operation by its name, as a command frame does. */
export interface Commands {
  /**
   * Checks level, scope and `data` as REST does. Throws `unknown_action`, `forbidden`, `invalid_request`, or what the
   * operation throws. `key`: as the header `Idempotency-Key`.
   */
  run(actor: Actor, action: string, data: unknown, key?: string): Promise<unknown>;
}
