/**
 * Trunks and their routes, written to the store. The engine gets them when the service starts: what is put while it runs is
 * in the directory after `reload()`, and in the engine after the next start.
 */
import type { Transaction } from 'kysely';
import { z } from 'zod';
import { ServiceError } from '../../core/errors.ts';
import type { Store } from '../../ports/store.ts';
import type { Tables } from './tables.ts';

const Outside = z.string().regex(/^\+?[0-9]{1,32}$/, 'not 1 to 32 digits, with or without a + in front');
const TrunkName = z.string().regex(/^[a-z0-9]([a-z0-9_-]{0,38}[a-z0-9])?$/, 'not 1 to 40 of a-z 0-9 _ -');
const Change = {
  strip: z.int().min(0).max(32).default(0).describe('Digits that are taken off its beginning.'),
  prepend: z
    .union([z.literal(''), Outside])
    .default('')
    .describe('Digits that are put in front after that.'),
};
export const NewTrunk = z
  .strictObject({
    name: TrunkName,
    title: z.string().min(1).max(100),
    host: z
      .union([z.ipv4(), z.ipv6(), z.hostname()])
      .describe('Name or address; what comes from it is this trunk.'),
    port: z.int().min(1).max(65535).default(5060),
    transport: z.enum(['udp', 'tcp']).default('udp'),
    login: z
      .strictObject({
        username: z.string().regex(/^[A-Za-z0-9+._-]{1,64}$/, 'not 1 to 64 of A-Z a-z 0-9 + . _ -'),
        password: z
          .string()
          .regex(/^[!-:<-[\]-~]{1,128}$/, 'not 1 to 128 printable characters other than ; \\'),
      })
      .nullable()
      .default(null)
      .describe('What its challenges are answered with.'),
    register: z.boolean().default(false),
    codecs: z
      .array(z.enum(['ulaw', 'alaw', 'g722', 'opus']))
      .min(1)
      .default(['alaw', 'ulaw', 'g722']),
    outbound_number: Outside.nullable().default(null),
  })
  .refine((t) => !t.register || t.login !== null, { path: ['login'], message: 'missing: it is to register' });
export const NewInboundRoute = z.strictObject({
  trunk: TrunkName,
  number: Outside,
  prefix: z.boolean().default(false),
  to: z.union([z.strictObject({ number: z.string() }), z.strictObject({ trunk: TrunkName, ...Change })]),
});
const STRIP = { path: ['strip'], message: 'more digits than the prefix has' };
export const NewOutboundRoute = z
  .strictObject({
    prefix: z.union([z.literal('+'), Outside]),
    trunk: TrunkName,
    position: z.int().min(0).max(100).default(0).describe('Those of one prefix are tried in this order.'),
    ...Change,
  })
  .refine((r) => r.strip <= r.prefix.length, STRIP);

const invalid = (detail: string): ServiceError => new ServiceError('invalid_request', detail);
function read<T extends z.ZodType>(schema: T, input: unknown): z.infer<T> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw invalid(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}`);
}
async function trunkId(trx: Transaction<Tables>, name: string, field: string): Promise<number> {
  const row = await trx.selectFrom('trunks').select('id').where('name', '=', name).executeTakeFirst();
  if (row === undefined) throw invalid(`${field}: there is no trunk ${name}`);
  return row.id;
}
async function checkOwn(trx: Transaction<Tables>, number: string): Promise<void> {
  const found = await Promise.all([
    trx.selectFrom('people').select('id').where('extension', '=', number).executeTakeFirst(),
    trx.selectFrom('queues').select('id').where('number', '=', number).executeTakeFirst(),
    trx.selectFrom('services').select('number').where('number', '=', number).executeTakeFirst(),
  ]);
  const isOwn = found.some((row) => row !== undefined) && /^[1-9]/.test(number);
  if (!isOwn) throw invalid(`to.number: ${JSON.stringify(number)} is no number of ours`);
}

/** Adds a trunk, or replaces the one of that name; its routes stay. `invalid_request` names the field. */
export async function putTrunk(store: Store, input: z.input<typeof NewTrunk>): Promise<void> {
  const { login, register, codecs, ...trunk } = read(NewTrunk, input);
  const row = {
    ...trunk,
    username: login?.username ?? null,
    password: login?.password ?? null,
    register: Number(register),
    codecs: JSON.stringify(codecs),
  };
  const { name: _, ...rest } = row;
  await store
    .db<Tables>()
    .insertInto('trunks')
    .values(row)
    .onConflict((c) => c.column('name').doUpdateSet(rest))
    .execute();
}
/** Adds a route from outside, or replaces that of the same trunk and number. `invalid_request` names the field. */
export async function putInboundRoute(store: Store, input: z.input<typeof NewInboundRoute>): Promise<void> {
  const { trunk, number, prefix, to } = read(NewInboundRoute, input);
  await store.transaction<Tables, void>(async (trx) => {
    if ('number' in to) await checkOwn(trx, to.number);
    const where =
      'number' in to
        ? { to_number: to.number, to_trunk_id: null, strip: 0, prepend: '' }
        : {
            to_number: null,
            to_trunk_id: await trunkId(trx, to.trunk, 'to.trunk'),
            strip: to.strip,
            prepend: to.prepend,
          };
    await trx
      .insertInto('inbound_routes')
      .values({ trunk_id: await trunkId(trx, trunk, 'trunk'), number, prefix: Number(prefix), ...where })
      .onConflict((c) => c.columns(['trunk_id', 'number', 'prefix']).doUpdateSet(where))
      .execute();
  });
}
/** Adds a route to the outside, or replaces that of the same prefix and position. `invalid_request` names the field. */
export async function putOutboundRoute(store: Store, input: z.input<typeof NewOutboundRoute>): Promise<void> {
  const { trunk, prefix, position, ...change } = read(NewOutboundRoute, input);
  await store.transaction<Tables, void>(async (trx) => {
    const row = { ...change, trunk_id: await trunkId(trx, trunk, 'trunk') };
    await trx
      .insertInto('outbound_routes')
      .values({ prefix, position, ...row })
      .onConflict((c) => c.columns(['prefix', 'position']).doUpdateSet(row))
      .execute();
  });
}
