import type { z } from 'zod';
import type { Language } from '@offhook/contract/errors.ts';
import type { Level } from '@offhook/contract/ids.ts';
import type { Area, Operation } from '@offhook/contract/operation.ts';
import type { Caller, Exchange, PublicExchange, Sent } from './http.ts';

export type Paced = NonNullable<Operation['paced']>;
/** The caller of an operation and its network address. */
export interface Actor {
  readonly caller: Caller;
  readonly ip: string | null;
  /** Language of texts in the reply; English by default. */
  readonly language?: Language;
}
type Given<O, F extends string> = O extends { readonly [K in F]: infer S extends z.ZodType }
  ? z.output<S>
  : null;
interface Received<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
}
/** The validated input; null where the operation has none. */
export type Input<O> = Received<Given<O, 'params'>, Given<O, 'query'>, Given<O, 'body'>>;
/** The host adds `success`, so a reply of nothing else is given as undefined. */
type Bare<R> = R extends { readonly success: true }
  ? keyof R extends 'success'
    ? R | void
    : Omit<R, 'success'> & { readonly success?: true }
  : R;
export type ReplyOf<O> = O extends { readonly reply: infer S extends z.ZodObject }
  ? Bare<z.output<S>>
  : O extends { readonly reply: infer S extends z.ZodType }
    ? z.output<S>
    : unknown;
/**
 * Handler of an operation. A command also runs on the stream, so it gets the actor only; any other operation gets the HTTP
 * exchange and may send the reply itself (`Sent`).
 */
export type Handler<O> = O extends { readonly action: string }
  ? (actor: Actor, input: Input<O>) => Promise<ReplyOf<O>>
  : (
      exchange: O extends { readonly level: 'public' } ? PublicExchange : Exchange,
      input: Input<O>,
    ) => ReplyOf<O> | Sent | Promise<ReplyOf<O> | Sent>;
/** Operations of one area of the contract with their handlers. */
export interface Served<A extends Area> {
  readonly operations: A;
  /** Each throws `ServiceError` with one of the operation's `errors`, or one that its level and body imply. */
  readonly handlers: { readonly [K in keyof A]: Handler<A[K]> };
  /**
   * `ETag` that a read without a query would have now for this caller, who has the operation's level: cheap, and the same
   * that its handler sends.
   */
  readonly tags?: { readonly [K in keyof A]?: (caller: Caller) => string };
}
/** Any `Served`; each was type-checked where it was made. */
export interface AnyServed {
  readonly operations: Area;
  // oxlint-disable-next-line typescript/no-explicit-any -- handlers of every shape
  readonly handlers: Readonly<Record<string, (who: any, input: any) => unknown>>;
  readonly tags?: Readonly<Record<string, ((caller: Caller) => string) | undefined>>;
}

/** Operation as `command` frames and their document read it. */
export interface Command {
  readonly action: string;
  readonly level: Level;
  readonly summary: string;
  readonly params: z.ZodType;
  readonly body: z.ZodType;
  readonly reply: z.ZodType;
}

/** Runs an operation by name, as a command frame does. */
export interface Commands {
  /**
   * Checks level, scope and `data` as REST does. Throws `unknown_action`, `forbidden`, `invalid_request`, or what the
   * operation throws. `key`: as the header `Idempotency-Key`.
   */
  run(actor: Actor, action: string, data: unknown, key?: string): Promise<unknown>;
}
