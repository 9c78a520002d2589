import type { FastifyInstance, FastifyBaseLogger, RawServerDefault } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { ErrorCode } from '@offhook/contract/errors.ts';
import type { Level, PersonLevel } from '@offhook/contract/ids.ts';

/** Who is calling, set before any handler of a level above public runs. */
export interface Caller {
  readonly session_id: number;
  readonly person_id: number;
  readonly extension: string;
  readonly username: string;
  readonly level: PersonLevel;
  readonly expires_at: number;
  /** True when it came as a cookie. */
  readonly cookie: boolean;
}
declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required on every route; the host refuses to register one without it. */
    level?: Level;
    /** Codes this route can answer beside those its level and body imply; they become its documented replies. */
    errors?: readonly ErrorCode[];
    /** `form`: takes form encoding beside JSON and ignores unknown fields. */
    body?: 'json' | 'form';
  }
  interface FastifyRequest {
    /** Null only on public routes. */
    caller: Caller | null;
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
/** Finds the session behind a bearer token or cookie value; null when unknown, expired or revoked. */
export interface Authenticator {
  authenticate(token: string): Promise<Caller | null>;
}
