import type { FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { includesLevel } from '@offhook/contract/ids.ts';
import type { Level } from '@offhook/contract/ids.ts';
import type { Scope } from '@offhook/contract/keys.ts';
import type { ErrorCode, Problem } from '@offhook/contract/errors.ts';
import { isFileBody } from '@offhook/contract/operation.ts';
import type { Operation } from '@offhook/contract/operation.ts';
import { NoFields } from '@offhook/contract/session.ts';
import { checkInput, inputValidator } from '../core/check-input.ts';
import { ServiceError, effectOf, markUncertain, problemOf } from '../core/errors.ts';
import { say } from '../core/said.ts';
import { languageOf } from '../core/words.ts';
import type { App, Caller } from '../ports/http.ts';
import type { Actor, AnyServed, Command, Commands } from '../ports/operations.ts';
import { grants, limitedKey } from '../rights/rights.ts';
import { withBoundCursors } from './bound-cursors.ts';
import { addressOf } from './idempotency.ts';

/** Throws `forbidden` if the caller lacks the level or, for an API key, the scope, or is limited where the scope is not. */
export function checkAccess(
  caller: Caller,
  needs: { readonly level: Level; readonly scope?: Scope | 'any' | undefined },
): void {
  if (caller.key !== null) {
    if (needs.scope === 'any') return;
    if (needs.scope !== undefined && caller.key.scopes.includes(needs.scope)) {
      if (!grants(caller.key, needs.scope)) throw limitedKey();
      return;
    }
    throw new ServiceError(
      'forbidden',
      needs.scope === undefined
        ? 'this needs the session of a person; sign in instead of sending an API key'
        : say`this API key lacks the scope ${needs.scope}`,
    );
  }
  if (includesLevel(caller.level, needs.level)) return;
  throw new ServiceError('forbidden', say`this needs the level ${needs.level}; yours is ${caller.level}`);
}

/** An operation and its handler, as REST and command frames both run it. */
interface Runnable {
  readonly op: Operation;
  readonly params: z.ZodType;
  readonly body: z.ZodType;
  /** Throws `too_many_requests` if the caller exceeds its rate; called first in each attempt. */
  readonly permit: ((caller: Caller) => void) | undefined;
  readonly run: (who: object, input: object) => unknown;
  /** As `Served.tags`. */
  readonly held: ((caller: Caller) => string) | undefined;
}
type CommandOf = Runnable & { readonly op: Operation & { readonly action: string } };
const isCommand = (one: Runnable): one is CommandOf => one.op.action !== undefined;
const none = z.strictObject({});

function runnable(op: Operation, handler: Runnable['run'], held: Runnable['held'], app: App): Runnable {
  const { params = none, body = NoFields, paced } = op;
  const bounded = op.action !== undefined || op.bounded === true;
  const whole = succeeding(withBoundCursors(handler, op), op.reply);
  const work = op.method === 'GET' ? whole : recorded(whole, app);
  return {
    op,
    params,
    body,
    permit: bounded || paced !== undefined ? (caller) => app.permit(caller, paced) : undefined,
    run: bounded
      ? (who, input) => app.bounded((who as Actor).caller, async () => await work(who, input))
      : work,
    held,
  };
}
/** Adds `success` to the reply, if its schema has that. */
function succeeding(handler: Runnable['run'], schema: z.ZodType | undefined): Runnable['run'] {
  if (!(schema instanceof z.ZodObject) || !('success' in schema.shape)) return handler;
  const bare = Object.keys(schema.shape).length === 1;
  return async (who, input) => {
    const reply = await handler(who, input);
    // A handler that sent the reply itself ends in undefined.
    return reply === undefined && !bare ? reply : { success: true, ...(reply as object | undefined) };
  };
}
/** Replies to a write only once its events are recorded, so that a confirmed write survives the end of this process. */
function recorded(handler: Runnable['run'], app: App): Runnable['run'] {
  return async (who, input) => {
    const reply = await handler(who, input);
    try {
      await app.recorded();
    } catch (error) {
      throw markUncertain(error);
    }
    return reply;
  };
}
/** Leaves out optional fields of Fastify instead of setting them to undefined. */
function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
const atOnce: FastifySchemaCompiler<unknown> = (route) =>
  route.httpPart === 'body' ? (value) => ({ value }) : inputValidator(route as never);

function addRoute(app: App, { op, params, body, permit, run, held }: Runnable): void {
  const { level, scope, identify, setup, proves, confirm, takes, bodyBytes, etag, upgrade, errors } = op;
  const { method, path, summary, description, query, reply: success, status = 200, produces } = op;
  const hasBody = method !== 'GET' && method !== 'DELETE' && !isFileBody(takes);
  const command = op.action === undefined ? undefined : { ...op, action: op.action, params, body };
  app.route({
    method,
    url: path,
    ...given({ validatorCompiler: op.unchecked === true ? atOnce : undefined }),
    config: given({
      level,
      scope,
      identify,
      setup,
      proves,
      confirm,
      body: takes,
      bodyBytes,
      etag,
      held,
      upgrade,
      errors,
      permit,
      operation: command as Command | undefined,
    }),
    schema: given({
      summary,
      description,
      tags: [op.tag],
      querystring: query,
      produces,
      params: op.params,
      body: hasBody ? body : undefined,
      security: op.credential === true ? [{ bearer: [] }, { cookie: [] }] : undefined,
      response: success === undefined ? op.others : { [status]: success, ...op.others },
    }),
    handler: (request, reply) => {
      const input = {
        params: op.params === undefined ? null : request.params,
        query: query === undefined ? null : request.query,
        body: hasBody ? request.body : null,
      };
      const caller = level === 'public' ? request.caller : request.person();
      if (status !== 200) reply.code(status);
      // A handler gets only the context that a command frame has too, so that neither REST nor the stream can do more.
      const actor = { caller, ip: request.ip, language: languageOf(request.headers) };
      return run(command === undefined ? { ...actor, request, reply } : actor, input);
    },
  });
}

/** Registers the REST route of each operation; returns the runner of commands by name. */
export function addOperations(app: App, served: readonly AnyServed[]): Commands {
  const byAction = new Map<string, CommandOf>();
  for (const { operations, handlers, tags } of served)
    for (const [name, op] of Object.entries(operations)) {
      const one = runnable(op, handlers[name]!, tags?.[name], app);
      addRoute(app, one);
      if (!isCommand(one)) continue;
      for (const action of one.op.alias === undefined ? [one.op.action] : [one.op.action, one.op.alias]) {
        if (byAction.has(action)) throw new Error(`two operations are called ${action}`);
        byAction.set(action, one);
      }
    }
  return {
    async run(actor, action, data, key) {
      const one = byAction.get(action);
      if (one === undefined)
        throw new ServiceError(
          'unknown_action',
          'action: no command has this name; see the commands of the stream in /api/v1/asyncapi.json',
        );
      const { op } = one;
      checkAccess(actor.caller, op);
      app.admitted(actor.caller);
      const asked = op.confirm === true || (op.confirm?.(data) ?? false);
      if (asked) app.confirmed(actor.caller);
      const input = split(one, ownData(op, actor.caller, data ?? {}));
      const work = async (): Promise<unknown> => op.reply!.parse(await one.run(actor, input));
      const permit = (): void => one.permit?.(actor.caller);
      if (key !== undefined && op.method === 'POST')
        return once(app, op, { person: actor.caller.person_id, key, input, permit, work });
      permit();
      return work();
    },
  };
}
/** Runs a command frame under the same idempotency keys as a REST POST: a repeat may come by either. */
async function once(
  app: App,
  op: Operation,
  run: {
    readonly person: number;
    readonly key: string;
    readonly input: { readonly params: Record<string, string>; readonly body: unknown };
    readonly permit: () => void;
    readonly work: () => Promise<unknown>;
  },
): Promise<unknown> {
  const { person, key, input, permit, work } = run;
  const address = addressOf(op.path, input.params);
  const begun = await app.repeats.begin({ person, address, key, body: input.body }, permit);
  if (!('end' in begun)) {
    const kept: unknown = JSON.parse(begun.body.toString('utf8'));
    if (begun.status < 400) return kept;
    const { code, detail } = kept as Problem;
    throw new ServiceError(code as ErrorCode, detail);
  }
  const kept = (status: number, value: unknown, effect?: boolean) =>
    begun.end({
      effect,
      status,
      content_type: status < 400 ? 'application/json; charset=utf-8' : 'application/problem+json',
      body: Buffer.from(JSON.stringify(value)),
    });
  try {
    const result = await work();
    await kept(op.status ?? 200, result);
    return result;
  } catch (error) {
    const problem = problemOf(error);
    await kept(problem.status, problem, effectOf(error));
    throw error;
  }
}

function ownData(op: Operation, caller: Caller, data: unknown): unknown {
  if (op.own !== true || caller.key !== null || typeof data !== 'object' || data === null) return data;
  return 'extension' in data || Array.isArray(data) ? data : { ...data, extension: caller.extension };
}
/** Splits a command's `data` into path parameters and body. */
function split(
  { params: named, body }: Runnable,
  data: unknown,
): {
  params: never;
  query: null;
  body: never;
} {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new ServiceError('invalid_request', 'data: must be an object');
  }
  const names = Object.keys((named as z.ZodObject).shape);
  const rest: Record<string, unknown> = { ...data };
  const params: Record<string, unknown> = {};
  for (const name of names) {
    // A number is read as the text it would be in a path.
    const value = rest[name];
    params[name] = typeof value === 'number' ? String(value) : value;
    delete rest[name];
  }
  return {
    params: checkInput(named, params, 'data') as never,
    query: null,
    body: checkInput(body, rest, 'data') as never,
  };
}
