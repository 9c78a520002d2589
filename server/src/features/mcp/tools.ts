/** Operations that a model may call, as tools with schemas. */
import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { includesLevel } from '@offhook/contract/ids.ts';
import { hasMethod } from '@offhook/contract/operations/groups.ts';
import type { Area, Operation } from '@offhook/contract/operation.ts';
import type { Caller } from '../../ports/http.ts';

/** Part of the request that an argument belongs to. */
export type Part = 'params' | 'query' | 'body' | 'if_match';
/** Operations by group, as the client of the SDK names them. */
export type Groups = Readonly<Record<string, Area>>;
type Schema = z.core.JSONSchema.ObjectSchema;
export interface Tool {
  readonly name: string;
  readonly operation: Operation;
  /** True if the tool changes nothing; other tools need the scope `mcp:write` and a confirmation. */
  readonly reads: boolean;
  readonly parts: ReadonlyMap<string, Part>;
  /** True if the argument `body` is the whole body: it has no named fields, or one is named like another argument. */
  readonly wholeBody: boolean;
  readonly inputSchema: ListedTool['inputSchema'];
  readonly outputSchema?: ListedTool['outputSchema'];
}

/** Larger output schemas are omitted: a client loads the schemas of all tools, and the result is JSON either way. */
const MAX_OUTPUT_SCHEMA = 8 * 1024;

/**
 * One tool for each operation that an API key may call and that replies with JSON. Operations without a scope (people,
 * sessions, keys, erasures) and those with `tool: false` are excluded.
 */
export function toolsOf(groups: Groups): ReadonlyMap<string, Tool> {
  const tools = Object.entries(groups).flatMap(([group, operations]) =>
    Object.entries(operations).flatMap(([name, operation]) =>
      isTool(operation) ? [toolOf(`${snake(group)}_${snake(name)}`, operation)] : [],
    ),
  );
  return new Map(tools.map((tool) => [tool.name, tool]));
}
const isTool = (operation: Operation): boolean =>
  operation.scope !== undefined &&
  operation.tool !== false &&
  operation.reply !== undefined &&
  operation.upgrade !== true &&
  hasMethod(operation);
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** A POST with a reading scope and no audit verb, such as the route test, changes nothing. */
const isRead = ({ method, scope, audit }: Operation): boolean =>
  method === 'GET' || (audit === undefined && scope?.endsWith(':read') === true);

function toolOf(name: string, operation: Operation): Tool {
  const reads = isRead(operation);
  const output = jsonSchema(operation.reply!, 'output');
  // The first reply of a change is the request for a confirmation, which the schema of its final reply would not allow.
  const fits = reads && output.type === 'object' && JSON.stringify(output).length <= MAX_OUTPUT_SCHEMA;
  return {
    name,
    operation,
    reads,
    ...inputOf(operation, reads),
    ...(fits ? { outputSchema: output as never } : {}),
  };
}

const IF_MATCH = {
  type: 'string',
  maxLength: 200,
  description: 'ETag of the object as it was read; the change is refused where it has changed since.',
};
/** Argument for the token when a change is called again. */
export const CONFIRMATION = 'confirmation';
const CONFIRMATION_SCHEMA = {
  type: 'string',
  maxLength: 64,
  description: 'Left out at first. Of the answer to the same call, once the person agreed to it.',
};
/** Merges the fields of path, query and body into one object. */
function inputOf(
  { params, query, body, etag }: Operation,
  reads: boolean,
): Pick<Tool, 'parts' | 'wholeBody' | 'inputSchema'> {
  const parts = new Map<string, Part>();
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  const defs: Record<string, unknown> = {};
  const take = (part: Part, schema: Schema): void => {
    Object.assign(defs, schema.$defs);
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      parts.set(name, part);
      properties[name] = property;
    }
    required.push(...(schema.required ?? []));
  };
  if (params !== undefined) take('params', fieldsOf(params)!);
  if (query !== undefined) take('query', fieldsOf(query)!);
  if (etag === 'match' || etag === 'replace')
    take('if_match', { properties: { if_match: IF_MATCH } } as never);
  if (!reads) properties[CONFIRMATION] = CONFIRMATION_SCHEMA;
  const fields = body === undefined ? undefined : fieldsOf(body);
  const clashes = Object.keys(fields?.properties ?? {}).some((name) => Object.hasOwn(properties, name));
  const wholeBody = body !== undefined && (fields === undefined || clashes);
  if (wholeBody) {
    const { $defs, ...whole } = jsonSchema(body, 'input');
    take('body', { properties: { body: whole }, required: ['body'], $defs } as never);
  } else if (fields !== undefined) take('body', fields);
  const inputSchema = {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(Object.keys(defs).length === 0 ? {} : { $defs: defs }),
  };
  return { parts, wholeBody, inputSchema: inputSchema as never };
}
/** JSON Schema of an object with named fields; undefined for any other schema. */
function fieldsOf(schema: z.ZodType): Schema | undefined {
  const made = jsonSchema(schema, 'input');
  const own = made.$ref === undefined ? made : made.$defs?.[made.$ref.slice('#/$defs/'.length)];
  if (own?.type !== 'object' || own.properties === undefined) return undefined;
  return { ...own, ...(made.$defs === undefined ? {} : { $defs: made.$defs }) } as Schema;
}
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Schema {
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema: one }) => {
      // Replies may gain fields, and a named format makes its pattern redundant.
      if (io === 'output' && one.additionalProperties === false) delete one.additionalProperties;
      if (one.format !== undefined) delete one.pattern;
    },
  });
  delete made.$schema;
  return made as Schema;
}

/** True if the caller's level or scopes allow the operation, which checks them again in each call. */
export function mayCall(
  { key, level }: Caller,
  { operation: { scope, level: needs }, reads }: Tool,
): boolean {
  if (key === null) return reads && includesLevel(level, needs);
  return (reads || key.scopes.includes('mcp:write')) && (scope === 'any' || key.scopes.includes(scope!));
}

/** The tool as `tools/list` shows it. */
export const listed = ({ name, operation, reads, inputSchema, outputSchema }: Tool): ListedTool => ({
  name,
  title: operation.summary,
  description: descriptionOf(operation, reads),
  inputSchema,
  ...(outputSchema === undefined ? {} : { outputSchema }),
  annotations: {
    title: operation.summary,
    readOnlyHint: reads,
    ...(reads ? {} : { destructiveHint: true, idempotentHint: operation.method !== 'POST' }),
  },
});
const descriptionOf = ({ summary, description, method, path }: Operation, reads: boolean): string =>
  [
    `${summary}.`,
    ...(description === undefined ? [] : [description]),
    `Same as ${method} ${path}.`,
    ...(reads ? [] : ['A person confirms the change before it is made.']),
  ].join(' ');
