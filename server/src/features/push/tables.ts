import type { PushPlatform, PushRegistration } from '@offhook/contract/push.ts';
import { createTable } from '../../core/schema.ts';
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
      await createTable(db.schema)`push_devices (
        session_id integer primary key, person_id integer not null, platform text not null, token text not null,
        app_id text not null, environment text not null, created_at integer not null)`;
      await createTable(db.schema)`push_services (
        platform text primary key, settings text not null, private_key text not null, changed_at integer not null)`;
    },
  },
];
