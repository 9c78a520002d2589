import type { PersonLevel } from '@offhook/contract/ids.ts';
import type { EndpointKind } from '../../ports/directory.ts';
import type { SiteQueue, SiteService } from '../../ports/site.ts';
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
}
export interface Tables {
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
  /** One JSON value for each key; `parking` is the only one so far. */
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
];
