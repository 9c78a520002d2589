import type { z } from 'zod';
import { includesLevel } from '@offhook/contract/ids.ts';
import type { Level } from '@offhook/contract/ids.ts';
import type { Scope } from '@offhook/contract/keys.ts';
import type { ErrorCode, Problem } from '@offhook/contract/errors.ts';
import { checkInput } from '../core/check-input.ts';
import { ServiceError, problemOf } from '../core/errors.ts';
import { say } from '../core/said.ts';
import type { App, Caller } from '../ports/http.ts';
import type { Actor, AnyOperation, Commands, DefineOperation } from '../ports/operations.ts';

export const operation: DefineOperation = (definition) => definition as unknown as AnyOperation;

/** Throws `forbidden` where this caller may not run what needs the level or, for an API key, the scope. */
export function checkAccess(
  caller: Caller,
  needs: { readonly level: Level; readonly scope?: Scope | 'any' | undefined },
): void {
  if (caller.key !== null) {
    if (needs.scope === 'any') return;
    if (needs.scope !== undefined && caller.key.scopes.includes(needs.scope)) return;
    throw new ServiceError(
      'forbidden',
      needs.scope === undefined ? 'no API key may do this' : say`this API key lacks the scope ${needs.scope}`,
    );
  }
  if (includesLevel(caller.level, needs.level)) return;
  throw new ServiceError('forbidden', say`this needs the level ${needs.level}; yours is ${caller.level}`);
}

/** Registers the REST route of each operation, and answers with what runs them by name. */
export function addOperations(app: App, operations: readonly AnyOperation[]): Commands {
  const byAction = new Map<string, AnyOperation>();
  const run = (op: AnyOperation, actor: Actor, input: object): Promise<unknown> => {
    if (op.paced !== undefined) app.pace(actor.caller, op.paced);
    return app.bounded(actor.caller, () => op.run(actor, input as never));
  };
  for (const op of operations) {
    for (const name of op.alias === undefined ? [op.action] : [op.action, op.alias]) {
      if (byAction.has(name)) throw new Error(`two operations are called ${name}`);
      byAction.set(name, op);
    }
    const status = op.status ?? 200;
    app.route({
      method: op.method,
      url: op.path,
      config: {
        level: op.level,
        errors: op.errors,
        operation: op,
        ...(op.confirm === undefined ? {} : { confirm: op.confirm }),
        ...(op.scope === undefined ? {} : { scope: op.scope }),
        ...(op.bodyBytes === undefined ? {} : { bodyBytes: op.bodyBytes }),
      },
      schema: {
        summary: op.summary,
        tags: [op.tag],
        params: op.params as z.ZodType,
        ...(op.method === 'DELETE' ? {} : { body: op.body as z.ZodType }),
        response: { [status]: op.reply as z.ZodType },
      },
      handler: async (request, reply) => {
        const input = { params: request.params, body: op.method === 'DELETE' ? null : request.body };
        const answer: unknown = await run(op, { caller: request.person(), ip: request.ip }, input);
        return reply.code(status).send(answer);
      },
    });
  }
  return {
    async run(actor, action, data, key) {
      const op = byAction.get(action);
      if (op === undefined) throw new ServiceError('unknown_action', 'no command has this name');
      checkAccess(actor.caller, op);
      app.admitted(actor.caller);
      const asked = op.confirm === true || (op.confirm?.(data) ?? false);
      if (asked) app.confirmed(actor.caller);
      const input = split(op, ownData(op, actor.caller, data ?? {}));
      const work = async (): Promise<unknown> => (op.reply as z.ZodType).parse(await run(op, actor, input));
      return key === undefined || op.method !== 'POST'
        ? work()
        : once(app, op, { person: actor.caller.person_id, key, input, work });
    },
  };
}

/** As a POST with `Idempotency-Key` is run, with the same keys: a repeat may come by REST. */
async function once(
  app: App,
  op: AnyOperation,
  run: {
    readonly person: number;
    readonly key: string;
    readonly input: { readonly params: Record<string, string>; readonly body: unknown };
    readonly work: () => Promise<unknown>;
  },
): Promise<unknown> {
  const { person, key, input, work } = run;
  const address = op.path.replaceAll(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(input.params[name] ?? ''),
  );
  const begun = await app.repeats.begin(person, address, key, input.body);
  if (!('end' in begun)) {
    const kept: unknown = JSON.parse(begun.body.toString('utf8'));
    if (begun.status < 400) return kept;
    const { code, detail } = kept as Problem;
    throw new ServiceError(code as ErrorCode, detail);
  }
  const kept = (status: number, value: unknown) =>
    begun.end({
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
    await kept(problem.status, problem);
    throw error;
  }
}

function ownData(op: AnyOperation, caller: Caller, data: unknown): unknown {
  if (op.own !== true || caller.key !== null || typeof data !== 'object' || data === null) return data;
  return 'extension' in data || Array.isArray(data) ? data : { ...data, extension: caller.extension };
}
/** A command's `data` as a route would have it: what the path names, and the rest. */
function split(op: AnyOperation, data: unknown): { params: never; body: never } {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new ServiceError('invalid_request', 'data: expected an object');
  }
  const names = Object.keys((op.params as z.ZodObject).shape);
  const rest: Record<string, unknown> = { ...data };
  const params: Record<string, unknown> = {};
  for (const name of names) {
    // A number is taken for the text it would be in an address.
    const value = rest[name];
    params[name] = typeof value === 'number' ? String(value) : value;
    delete rest[name];
  }
  return {
    params: checkInput(op.params as z.ZodType, params, 'data') as never,
    body: checkInput(op.body as z.ZodType, rest, 'data') as never,
  };
}
