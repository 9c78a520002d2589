import { isFileBody } from '@offhook/contract/operation.ts';
import type { RouteOptions } from 'fastify';
import { LEVELS } from '@offhook/contract/ids.ts';
import type { z } from 'zod';

interface ZodDef {
  readonly type?: string;
  readonly innerType?: unknown;
  readonly catchall?: unknown;
  readonly options?: readonly unknown[];
  readonly in?: unknown;
}
const defOf = (schema: unknown): ZodDef =>
  (schema as { _zod?: { def?: ZodDef } } | undefined)?._zod?.def ?? {};

/** True when every object of this schema rejects unknown fields. */
function isStrict(schema: unknown): boolean {
  const def = defOf(schema);
  switch (def.type) {
    case 'object':
      return defOf(def.catchall).type === 'never';
    case 'union':
      return def.options?.every(isStrict) ?? false;
    case 'pipe':
      return isStrict(def.in);
    case 'optional':
    case 'nullable':
    case 'default':
      return isStrict(def.innerType);
    default:
      return false;
  }
}

/** Rejects a route that breaks a rule of every path; throws at start-up, never at a request. */
export function checkRoute(method: string, route: RouteOptions & { readonly url: string }): void {
  const name = `${method} ${route.url}`;
  const { config, schema } = route;
  if (config?.level === undefined || !LEVELS.includes(config.level)) {
    throw new Error(`${name}: config.level is missing; one of ${LEVELS.join(', ')}`);
  }
  if (config.upgrade === true && method !== 'GET') throw new Error(`${name}: an upgrade is a GET`);
  if (method === 'GET') {
    if (schema?.body !== undefined) throw new Error(`${name}: a GET has no body`);
    return;
  }
  const v1 = route.url.startsWith('/api/v1/');
  if (v1 && config.body === 'form') throw new Error(`${name}: forms are for the .php and login paths`);
  if (isFileBody(config.body)) {
    if (schema?.body !== undefined || !config.bodyBytes)
      throw new Error(`${name}: a file has bodyBytes and no schema`);
    return;
  }
  if (v1 && method !== 'DELETE' && !isStrict(schema?.body)) {
    throw new Error(`${name}: schema.body must be a strict object; NoFields where there are none`);
  }
}

/**
 * Reads the value of an empty body: null or `{}`, whichever the schema accepts; undefined if a field is required. Only
 * for POST under /api/v1, because a PUT without a body would reset every field to its default; null for other routes.
 * Read at the first such request: the first use of a schema compiles it, and the start would compile hundreds of them.
 */
export function emptyBodyOf(
  method: string,
  route: RouteOptions & { readonly url: string },
): (() => Record<string, never> | null | undefined) | null {
  const body = route.schema?.body as z.ZodType | undefined;
  if (method !== 'POST' || !route.url.startsWith('/api/v1/') || body === undefined) return null;
  let read: { readonly value: Record<string, never> | null | undefined } | undefined;
  return () => {
    read ??= { value: body.safeParse(null).success ? null : body.safeParse({}).success ? {} : undefined };
    return read.value;
  };
}
