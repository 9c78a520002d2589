import type { PushPlatform, PushRegistration } from '@offhook/contract/push.ts';
import type { Migration } from '../../ports/store.ts';

export interface DeviceRow extends PushRegistration {
  readonly session_id: number;
  readonly person_id: number;
  readonly created_at: number;
}
export interface ServiceRow {
  readonly platform: PushPlatform;
  /** JSON of the settings, the private key apart. */
  readonly settings: string;
  readonly private_key: string;
  readonly changed_at: number;
}
export interface PushTables {
  push_devices: DeviceRow;
  push_services: ServiceRow;
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-push',
    async up(db) {
      await db.schema
        .createTable('push_devices')
        .addColumn('session_id', 'integer', (c) => c.primaryKey())
        .addColumn('person_id', 'integer', (c) => c.notNull())
        .addColumn('platform', 'text', (c) => c.notNull())
        .addColumn('token', 'text', (c) => c.notNull())
        .addColumn('app_id', 'text', (c) => c.notNull())
        .addColumn('environment', 'text', (c) => c.notNull())
        .addColumn('created_at', 'integer', (c) => c.notNull())
        .execute();
      await db.schema
        .createTable('push_services')
        .addColumn('platform', 'text', (c) => c.primaryKey())
        .addColumn('settings', 'text', (c) => c.notNull())
        .addColumn('private_key', 'text', (c) => c.notNull())
        .addColumn('changed_at', 'integer', (c) => c.notNull())
        .execute();
    },
  },
];
