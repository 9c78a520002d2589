/** Step 0006: what older versions kept in a table for each kind becomes the first version of the objects. */
import type { Kysely, Transaction } from 'kysely';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { CONFIG_KINDS, ROUTE_CLASSES } from '@offhook/contract/config-objects.ts';
import type { ObjectTables } from './object-tables.ts';
import { pickupGroup } from './pickup-group.ts';

type Row = Record<string, unknown>;
type Old = Record<
  | 'people'
  | 'endpoints'
  | 'queues'
  | 'queue_agents'
  | 'pause_reasons'
  | 'services'
  | 'pbx_settings'
  | 'trunks'
  | 'inbound_routes'
  | 'outbound_routes',
  Row
>;
const OLD = [
  'inbound_routes',
  'outbound_routes',
  'trunks',
  'queue_agents',
  'endpoints',
  'people',
  'queues',
  'pause_reasons',
  'services',
  'pbx_settings',
] as const;
const bool = (value: unknown): boolean => Boolean(value);

export async function moveToObjects(trx: Transaction<unknown>): Promise<void> {
  const old = trx as unknown as Kysely<Old>;
  const now = trx as unknown as Transaction<ObjectTables>;
  const read = async (table: keyof Old): Promise<Row[]> => await old.selectFrom(table).selectAll().execute();
  const people = await read('people');
  const extension = new Map(people.map((p) => [p['id'], p['extension'] as string]));
  const queueRows = await read('queues');
  const number = new Map<unknown, Row>();
  for (const [kind, rows] of [
    ['extension', people],
    ['queue', queueRows],
    ['service', await read('services')],
  ] as const)
    for (const r of rows)
      number.set(kind === 'extension' ? r['extension'] : r['number'], {
        kind,
        key: kind === 'extension' ? r['extension'] : kind === 'queue' ? r['name'] : r['number'],
      });
  const endpoints = await read('endpoints');
  const agents = await read('queue_agents');
  const trunks = await read('trunks');
  const trunk = new Map(trunks.map((t) => [t['id'], t['name']]));
  const settings = new Map(
    (await read('pbx_settings')).map((s) => [s['key'], JSON.parse(String(s['value'])) as unknown]),
  );
  const objects: { kind: ConfigKind; body: Row; id?: number }[] = [];
  for (const { id, active, voicemail, forward_outside, ...p } of people)
    objects.push({
      kind: 'extension',
      id: Number(id),
      body: {
        ...p,
        active: bool(active),
        voicemail: bool(voicemail),
        forward_outside: bool(forward_outside),
        devices: endpoints.filter((e) => e['person_id'] === id).map((e) => e['kind']),
        pickup_group: pickupGroup(p['department'] as string | null),
        // Rights that every extension had before classes existed.
        call_permission: [...ROUTE_CLASSES],
      },
    });
  for (const { id, exit_key, exit_number, join_when_empty, leave_when_empty, ...q } of queueRows)
    objects.push({
      kind: 'queue',
      body: {
        ...q,
        title: q['title'] === '' ? q['name'] : q['title'],
        join_when_empty: bool(join_when_empty),
        leave_when_empty: bool(leave_when_empty),
        exit: exit_key === null ? null : { key: exit_key, to: number.get(exit_number) },
        members: agents
          .filter((a) => a['queue_id'] === id)
          .map((a) => ({ extension: extension.get(a['person_id']), static: bool(a['static']) })),
      },
    });
  for (const { paid, supervisor_only, ...r } of await read('pause_reasons'))
    objects.push({
      kind: 'pause_reason',
      body: { ...r, paid: bool(paid), supervisor_only: bool(supervisor_only) },
    });
  for (const body of await read('services')) objects.push({ kind: 'service', body });
  const parking = settings.get('parking') as Row | null | undefined;
  if (parking) objects.push({ kind: 'parking_lot', body: { name: 'default', title: 'Parking', ...parking } });
  const said = settings.get('recording_announcement') as string | null | undefined;
  objects.push({
    kind: 'settings',
    body: { name: 'site', recording_announcement: said ? { built_in: said } : null },
  });
  for (const { id: _, codecs, register, password, ...t } of trunks)
    objects.push({
      kind: 'trunk',
      body: {
        ...t,
        max_calls: null,
        register: bool(register),
        codecs: JSON.parse(String(codecs)) as unknown,
        ...(password === null ? {} : { password }),
      },
    });
  for (const [i, r] of (await read('inbound_routes')).entries())
    objects.push({
      kind: 'inbound_route',
      body: {
        name: `in-${i + 1}`,
        trunk: trunk.get(r['trunk_id']),
        number: r['number'],
        prefix: bool(r['prefix']),
        to:
          r['to_trunk_id'] === null
            ? number.get(r['to_number'])
            : { kind: 'trunk', key: trunk.get(r['to_trunk_id']), strip: r['strip'], prepend: r['prepend'] },
      },
    });
  const prefixes = Map.groupBy(await read('outbound_routes'), (r) => String(r['prefix']));
  for (const [i, [prefix, rows]] of [...prefixes].entries())
    objects.push({
      kind: 'outbound_route',
      body: {
        name: `out-${i + 1}`,
        // The longest prefix decided.
        position: 100 - Math.min(prefix.length, 99),
        patterns: [`${prefix}X!`],
        trunks: rows
          .sort((a, b) => Number(a['position']) - Number(b['position']))
          .map((r) => ({ trunk: trunk.get(r['trunk_id']), strip: r['strip'], prepend: r['prepend'] })),
      },
    });
  if (people.length > 0) {
    const at = Date.now();
    const { version } = await now
      .insertInto('config_versions')
      .values({ author: 'setup', comment: null, at, objects: objects.length })
      .returning('version')
      .executeTakeFirstOrThrow();
    // People first: sessions and histories know them by their id.
    for (const { kind, body, id } of objects) {
      const taken = CONFIG_KINDS[kind].schema.safeParse(body);
      const full: Row = taken.success ? taken.data : { ...defaultsOf(kind), ...body };
      const key = String(full[CONFIG_KINDS[kind].key]);
      const own = await now
        .insertInto('config_identities')
        .values({ ...(id === undefined ? {} : { id }), kind, key })
        .returning('id')
        .executeTakeFirstOrThrow();
      await now
        .insertInto('config_objects')
        .values({
          id: own.id,
          kind,
          key,
          body: JSON.stringify(full),
          since_version: version,
          until_version: null,
        })
        .execute();
    }
  }
  for (const table of OLD) await trx.schema.dropTable(table).execute();
}
/** A row that was never held against the schema is taken as it is; only what it has no field for comes from there. */
function defaultsOf(kind: ConfigKind): Row {
  const shape = CONFIG_KINDS[kind].schema.shape as Record<
    string,
    { safeParse(v: unknown): { success: boolean; data?: unknown } }
  >;
  const found: Row = {};
  for (const [name, field] of Object.entries(shape)) {
    const { success, data } = field.safeParse(undefined);
    if (success && data !== undefined) found[name] = data;
  }
  return found;
}
