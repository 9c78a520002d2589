import type { Generated } from 'kysely';
import type { PersonLevel } from '@offhook/contract/ids.ts';
import type { EndpointKind } from '../../ports/directory.ts';
import type { RecordingRule, SiteQueue, SiteService, SiteTrunk } from '../../ports/site.ts';
import type { Migration } from '../../ports/store.ts';

export interface PersonRow {
  id: number;
  extension: string;
  /** Lower case. */
  username: string;
  name: string;
  email: string | null;
  mobile: string | null;
  department: string | null;
  level: PersonLevel;
  active: number;
  /** Phones are given it at sign-in, so it is kept as it is; the password a person signs in with is not here. */
  sip_password: string;
  voicemail: number;
  voicemail_pin: string;
  /** Its calls may be forwarded to a number outside. */
  forward_outside: Generated<number>;
  recording: Generated<RecordingRule>;
}
export interface QueueRow {
  id: number;
  name: string;
  number: string;
  title: string;
  strategy: SiteQueue['strategy'];
  ring_seconds: number;
  wrap_up_seconds: number;
  max_wait_seconds: number;
  max_callers: Generated<number>;
  join_when_empty: Generated<number>;
  leave_when_empty: Generated<number>;
  /** Both or none. */
  exit_key: Generated<string | null>;
  exit_number: Generated<string | null>;
  recording: Generated<RecordingRule>;
}
export interface TrunkRow {
  id: Generated<number>;
  name: string;
  title: string;
  host: string;
  port: number;
  transport: SiteTrunk['transport'];
  /** Both or none; the engine needs the password as it is. */
  username: string | null;
  password: string | null;
  register: number;
  /** JSON list. */
  codecs: string;
  outbound_number: string | null;
}
/** `to_number` or `to_trunk`; the change of the number goes with the second. */
export interface InboundRouteRow {
  trunk_id: number;
  number: string;
  prefix: number;
  to_number: string | null;
  to_trunk_id: number | null;
  strip: number;
  prepend: string;
}
export interface OutboundRouteRow {
  prefix: string;
  position: number;
  trunk_id: number;
  strip: number;
  prepend: string;
}
export interface Tables {
  trunks: TrunkRow;
  inbound_routes: InboundRouteRow;
  outbound_routes: OutboundRouteRow;
  people: PersonRow;
  endpoints: { name: string; person_id: number; kind: EndpointKind };
  queues: QueueRow;
  queue_agents: { queue_id: number; person_id: number; static: number };
  pause_reasons: {
    id: string;
    name: string;
    position: number;
    paid: number;
    longest_seconds: number | null;
    supervisor_only: number;
  };
  services: { number: string; kind: SiteService['kind']; title: string };
  /** One JSON value for each key: `parking`, `recording_announcement`. */
  pbx_settings: { key: string; value: string };
}

export const migrations: readonly Migration[] = [
  {
    id: '0001-site',
    async up(db) {
      const { schema } = db;
      await schema
        .createTable('people')
        .addColumn('id', 'integer', (c) => c.primaryKey())
        .addColumn('extension', 'text', (c) => c.notNull().unique())
        .addColumn('username', 'text', (c) => c.notNull().unique())
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('email', 'text')
        .addColumn('mobile', 'text')
        .addColumn('department', 'text')
        .addColumn('level', 'text', (c) => c.notNull())
        .addColumn('active', 'integer', (c) => c.notNull())
        .addColumn('sip_password', 'text', (c) => c.notNull())
        .addColumn('voicemail', 'integer', (c) => c.notNull())
        .addColumn('voicemail_pin', 'text', (c) => c.notNull())
        .execute();
      await schema
        .createTable('endpoints')
        .addColumn('name', 'text', (c) => c.primaryKey())
        .addColumn('person_id', 'integer', (c) => c.notNull().references('people.id').onDelete('cascade'))
        .addColumn('kind', 'text', (c) => c.notNull())
        .addUniqueConstraint('endpoints_one_of_each_kind', ['person_id', 'kind'])
        .execute();
      await schema
        .createTable('queues')
        .addColumn('id', 'integer', (c) => c.primaryKey())
        .addColumn('name', 'text', (c) => c.notNull().unique())
        .addColumn('number', 'text', (c) => c.notNull().unique())
        .addColumn('title', 'text', (c) => c.notNull())
        .addColumn('strategy', 'text', (c) => c.notNull())
        .addColumn('ring_seconds', 'integer', (c) => c.notNull())
        .addColumn('wrap_up_seconds', 'integer', (c) => c.notNull())
        .addColumn('max_wait_seconds', 'integer', (c) => c.notNull())
        .execute();
      await schema
        .createTable('queue_agents')
        .addColumn('queue_id', 'integer', (c) => c.notNull().references('queues.id').onDelete('cascade'))
        .addColumn('person_id', 'integer', (c) => c.notNull().references('people.id').onDelete('cascade'))
        .addColumn('static', 'integer', (c) => c.notNull())
        .addPrimaryKeyConstraint('queue_agents_key', ['queue_id', 'person_id'])
        .execute();
      await schema
        .createTable('pause_reasons')
        .addColumn('id', 'text', (c) => c.primaryKey())
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('position', 'integer', (c) => c.notNull())
        .execute();
      await schema
        .createTable('services')
        .addColumn('number', 'text', (c) => c.primaryKey())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('title', 'text', (c) => c.notNull())
        .execute();
      await schema
        .createTable('pbx_settings')
        .addColumn('key', 'text', (c) => c.primaryKey())
        .addColumn('value', 'text', (c) => c.notNull())
        .execute();
    },
  },
  {
    id: '0002-reasons',
    async up(db) {
      const { schema } = db;
      await schema
        .alterTable('pause_reasons')
        .addColumn('paid', 'integer', (c) => c.notNull().defaultTo(1))
        .execute();
      await schema.alterTable('pause_reasons').addColumn('longest_seconds', 'integer').execute();
      await schema
        .alterTable('pause_reasons')
        .addColumn('supervisor_only', 'integer', (c) => c.notNull().defaultTo(0))
        .execute();
    },
  },
  {
    id: '0003-trunks',
    async up(db) {
      const { schema } = db;
      await schema
        .createTable('trunks')
        .addColumn('id', 'integer', (c) => c.primaryKey())
        .addColumn('name', 'text', (c) => c.notNull().unique())
        .addColumn('title', 'text', (c) => c.notNull())
        .addColumn('host', 'text', (c) => c.notNull())
        .addColumn('port', 'integer', (c) => c.notNull())
        .addColumn('transport', 'text', (c) => c.notNull())
        .addColumn('username', 'text')
        .addColumn('password', 'text')
        .addColumn('register', 'integer', (c) => c.notNull())
        .addColumn('codecs', 'text', (c) => c.notNull())
        .addColumn('outbound_number', 'text')
        .execute();
      await schema
        .createTable('inbound_routes')
        .addColumn('trunk_id', 'integer', (c) => c.notNull().references('trunks.id').onDelete('cascade'))
        .addColumn('number', 'text', (c) => c.notNull())
        .addColumn('prefix', 'integer', (c) => c.notNull())
        .addColumn('to_number', 'text')
        .addColumn('to_trunk_id', 'integer', (c) => c.references('trunks.id').onDelete('cascade'))
        .addColumn('strip', 'integer', (c) => c.notNull())
        .addColumn('prepend', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint('inbound_routes_key', ['trunk_id', 'number', 'prefix'])
        .execute();
      await schema
        .createTable('outbound_routes')
        .addColumn('prefix', 'text', (c) => c.notNull())
        .addColumn('position', 'integer', (c) => c.notNull())
        .addColumn('trunk_id', 'integer', (c) => c.notNull().references('trunks.id').onDelete('cascade'))
        .addColumn('strip', 'integer', (c) => c.notNull())
        .addColumn('prepend', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint('outbound_routes_key', ['prefix', 'position'])
        .execute();
    },
  },
  {
    id: '0004-forward',
    async up(db) {
      await db.schema
        .alterTable('people')
        .addColumn('forward_outside', 'integer', (c) => c.notNull().defaultTo(0))
        .execute();
    },
  },
  {
    id: '0005-queue-ends',
    async up(db) {
      const { schema } = db;
      for (const [column, value] of [
        ['max_callers', 0],
        ['join_when_empty', 1],
        ['leave_when_empty', 0],
      ] as const) {
        await schema
          .alterTable('queues')
          .addColumn(column, 'integer', (c) => c.notNull().defaultTo(value))
          .execute();
      }
      for (const column of ['exit_key', 'exit_number'])
        await schema.alterTable('queues').addColumn(column, 'text').execute();
      for (const table of ['queues', 'people']) {
        await schema
          .alterTable(table)
          .addColumn('recording', 'text', (c) => c.notNull().defaultTo('never'))
          .execute();
      }
    },
  },
];
