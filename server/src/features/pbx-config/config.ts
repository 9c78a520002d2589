import type { Selectable } from 'kysely';
import type { Endpoint, PauseReason, Person } from '../../ports/directory.ts';
import type {
  RecordingRule,
  SiteInboundRoute,
  SiteOutboundRoute,
  SiteParking,
  SiteQueue,
  SiteService,
  SiteTrunk,
} from '../../ports/site.ts';
import type { Store } from '../../ports/store.ts';
import type { PersonRow, Tables, TrunkRow } from './tables.ts';

/** A person with what the engine needs to know besides. */
export interface ConfiguredPerson {
  readonly person: Person;
  readonly sip_password: string;
  readonly voicemail: boolean;
  readonly voicemail_pin: string;
  readonly forward_outside: boolean;
  readonly recording: RecordingRule;
}
/** The whole configuration of the exchange as it is stored. */
export interface PbxConfig {
  /** In order of extension. */
  readonly people: readonly ConfiguredPerson[];
  /** In order of number. Agents and static members are extensions of active people, in order. */
  readonly queues: readonly SiteQueue[];
  /** In order of name. */
  readonly trunks: readonly SiteTrunk[];
  /** In order of trunk and number. */
  readonly inbound_routes: readonly SiteInboundRoute[];
  /** In order of prefix, then of the order they are tried in. */
  readonly outbound_routes: readonly SiteOutboundRoute[];
  readonly pause_reasons: readonly PauseReason[];
  readonly services: readonly SiteService[];
  readonly parking: SiteParking | null;
  readonly recording_announcement: string | null;
}

/** Numbers of different length sort as numbers do, and as strings of digits they may be longer than any number. */
const byNumber = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
const ENDPOINT_ORDER: readonly string[] = ['sip', 'webrtc', 'mobile'];

function groupBy<K, V>(rows: readonly V[], key: (row: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const row of rows) {
    const group = groups.get(key(row));
    if (group === undefined) groups.set(key(row), [row]);
    else group.push(row);
  }
  return groups;
}
const configured = (row: Selectable<PersonRow>, endpoints: readonly Endpoint[]): ConfiguredPerson => {
  const { sip_password, voicemail, voicemail_pin, forward_outside, recording, active, ...fields } = row;
  const person = Object.freeze({ ...fields, active: Boolean(active), endpoints });
  return {
    person,
    sip_password,
    voicemail: Boolean(voicemail),
    voicemail_pin,
    forward_outside: Boolean(forward_outside),
    recording,
  };
};

const trunkOf = (row: Selectable<TrunkRow>): SiteTrunk => {
  const { name, title, host, port, transport, username, password, outbound_number } = row;
  return {
    name,
    title,
    host,
    port,
    transport,
    outbound_number,
    endpoint: `trunk-${name}`,
    login: username === null || password === null ? null : { username, password },
    register: Boolean(row.register),
    codecs: JSON.parse(row.codecs) as SiteTrunk['codecs'],
  };
};
async function readTrunks(
  store: Store,
): Promise<Pick<PbxConfig, 'trunks' | 'inbound_routes' | 'outbound_routes'>> {
  const db = store.db<Tables>();
  const rows = await db.selectFrom('trunks').selectAll().orderBy('name').execute();
  const name = new Map(rows.map((t) => [t.id, t.name]));
  const inbound = await db
    .selectFrom('inbound_routes')
    .selectAll()
    .orderBy('trunk_id')
    .orderBy('number')
    .orderBy('prefix')
    .execute();
  const outbound = await db
    .selectFrom('outbound_routes')
    .selectAll()
    .orderBy('prefix')
    .orderBy('position')
    .execute();
  return {
    trunks: rows.map(trunkOf),
    inbound_routes: inbound.map((r) => ({
      trunk: name.get(r.trunk_id)!,
      number: r.number,
      prefix: Boolean(r.prefix),
      to:
        r.to_trunk_id === null
          ? { number: r.to_number ?? '' }
          : { trunk: name.get(r.to_trunk_id)!, strip: r.strip, prepend: r.prepend },
    })),
    outbound_routes: outbound.map(({ prefix, trunk_id, strip, prepend }) => ({
      prefix,
      trunk: name.get(trunk_id)!,
      strip,
      prepend,
    })),
  };
}

/** Reads everything; `store_unavailable` when the database does not answer. */
export async function readPbxConfig(store: Store): Promise<PbxConfig> {
  const db = store.db<Tables>();
  const endpoints = groupBy(await db.selectFrom('endpoints').selectAll().execute(), (e) => e.person_id);
  const people = (await db.selectFrom('people').selectAll().execute())
    .map((row) => {
      const own = (endpoints.get(row.id) ?? []).map(({ name, kind }) => ({ name, kind }));
      own.sort((a, b) => ENDPOINT_ORDER.indexOf(a.kind) - ENDPOINT_ORDER.indexOf(b.kind));
      return configured(row, own);
    })
    .sort((a, b) => byNumber(a.person.extension, b.person.extension));
  const byId = new Map(people.map(({ person }) => [person.id, person]));
  const agents = groupBy(await db.selectFrom('queue_agents').selectAll().execute(), (a) => a.queue_id);
  const queues = (await db.selectFrom('queues').selectAll().execute())
    .map(({ id, join_when_empty, leave_when_empty, exit_key, exit_number, ...queue }) => {
      const members = (agents.get(id) ?? []).filter((a) => byId.get(a.person_id)?.active === true);
      const extensions = (rows: typeof members): readonly string[] =>
        rows.map((a) => byId.get(a.person_id)!.extension).sort(byNumber);
      return {
        ...queue,
        join_when_empty: Boolean(join_when_empty),
        leave_when_empty: Boolean(leave_when_empty),
        exit: exit_key === null || exit_number === null ? null : { key: exit_key, number: exit_number },
        agents: extensions(members),
        static_members: extensions(members.filter((a) => Boolean(a.static))),
      };
    })
    .sort((a, b) => byNumber(a.number, b.number));
  const reasons = await db
    .selectFrom('pause_reasons')
    .select(['id', 'name', 'paid', 'longest_seconds', 'supervisor_only'])
    .orderBy('position')
    .orderBy('id')
    .execute();
  const services = await db.selectFrom('services').selectAll().execute();
  const settings = new Map(
    (await db.selectFrom('pbx_settings').selectAll().execute()).map((s) => [s.key, s.value]),
  );
  const setting = <T>(key: string): T | null => JSON.parse(settings.get(key) ?? 'null') as T | null;
  return {
    people,
    queues,
    ...(await readTrunks(store)),
    pause_reasons: reasons.map(({ paid, supervisor_only, ...reason }) => ({
      ...reason,
      paid: Boolean(paid),
      supervisor_only: Boolean(supervisor_only),
    })),
    services: services.sort((a, b) => byNumber(a.number, b.number)),
    parking: setting<SiteParking>('parking'),
    recording_announcement: setting<string>('recording_announcement'),
  };
}
