/** JSON Schemas of the AsyncAPI document: of the data of events, and of sent and received frames. */
import { z } from 'zod';
import { AgentSummary } from '@offhook/contract/agents.ts';
import { Call, Leg } from '@offhook/contract/calls.ts';
import { Problem } from '@offhook/contract/errors.ts';
import { ConversationOutcome, ConversationSummary, Participant } from '@offhook/contract/conversations.ts';
import { ConfigApply, ConfigProblem } from '@offhook/contract/config-applies.ts';
import { EVENT_DATA, Envelope } from '@offhook/contract/events.ts';
import type { EventType } from '@offhook/contract/events.ts';
import { Presence } from '@offhook/contract/extensions.ts';
import { CallCustomer } from '@offhook/contract/phonebook.ts';
import { QueueFigures, QueueStats } from '@offhook/contract/wallboard.ts';

export type Schema = Readonly<Record<string, unknown>>;
export const EVENT_TYPES = Object.keys(EVENT_DATA) as EventType[];
/** Schemas named in the document because several events or replies use them. */
const NAMED = {
  Call,
  CallCustomer,
  Leg,
  Envelope,
  AgentSummary,
  Presence,
  QueueFigures,
  QueueStats,
  ConversationSummary,
  ConversationOutcome,
  Participant,
  Problem,
  ConfigApply,
  ConfigProblem,
} as const;

/** JSON Schemas of every event's data and of the parts they share, by name; references point into `components`. */
export function eventSchemas(
  events: Readonly<Record<string, z.ZodType>> = EVENT_DATA,
): Readonly<Record<string, Schema>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(NAMED)) registry.add(schema, { id });
  for (const [type, data] of Object.entries(events)) {
    // Two event types may share one data schema; cloning gives each its own name.
    registry.add(data.clone(), { id: type });
  }
  // Schemas with an id of their own that are not in `NAMED` come under `__shared`, to which no reference resolves.
  const { __shared: shared, ...schemas } = z.toJSONSchema(registry, {
    target: 'draft-7',
    uri: (id) => `#/components/schemas/${id}`,
    override: grows,
  }).schemas;
  const definitions = (shared?.definitions ?? {}) as Record<string, Schema>;
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const description = events[name]?.description;
      return [
        name,
        {
          ...(description === undefined ? {} : { description }),
          ...(inlined(bare(schema), definitions) as Schema),
        },
      ];
    }),
  );
}
/** Removes names that a standalone schema has and a part of a document has not. */
const bare = (schema: object): Schema =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => !['$id', '$schema', 'id'].includes(key)));
const LIMITS = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
/**
 * Schemas of sent messages stay open because they may gain fields; the bounds of JSON's safe integers are left out
 * because they add no information.
 */
function grows({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  dropLimits({ jsonSchema });
}
function dropLimits({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (LIMITS.includes(jsonSchema.maximum ?? 0)) delete jsonSchema.maximum;
  if (LIMITS.includes(jsonSchema.minimum ?? 0)) delete jsonSchema.minimum;
}
export const sent = (schema: z.ZodType): Schema => plain(schema, 'output');
export const received = (schema: z.ZodType): Schema => plain(schema, 'input');
function plain(schema: z.ZodType, io: 'input' | 'output'): Schema {
  const whole = z.toJSONSchema(schema, {
    target: 'draft-7',
    io,
    unrepresentable: 'any',
    override: io === 'output' ? grows : dropLimits,
  });
  const { definitions = {}, ...own } = whole;
  return inlined(bare(own), definitions as Record<string, Schema>) as Schema;
}
/** Inlines references into `definitions`, which do not resolve inside the document. */
function inlined(value: unknown, definitions: Readonly<Record<string, Schema>>): unknown {
  if (Array.isArray(value)) return value.map((item) => inlined(item, definitions));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref } = value as { $ref?: string };
  const name = typeof $ref === 'string' ? $ref.split('#/definitions/')[1] : undefined;
  if (name !== undefined) return inlined(bare(definitions[name] ?? {}), definitions);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inlined(item, definitions)]));
}
