import type { Store } from '../../ports/store.ts';
import { DEMO_ADMINISTRATOR, DEMO_PEOPLE, DEMO_QUEUES, DEMO_REASONS, PARKING, SERVICES } from './demo.ts';
import type { ObjectTables } from './tables.ts';
import { putObjects } from './put.ts';
import type { Objects } from './put.ts';

/** What every exchange has on its first day: the pause reasons and its own numbers (echo, music, voicemail, parking). */
export const HOUSE: Objects = {
  pause_reason: DEMO_REASONS,
  service: SERVICES,
  parking_lot: [PARKING],
  settings: [{}],
};

/**
 * Fills an empty site with the demo company, or with `empty` only one administrator at extension 1001. A site that was
 * filled before is left as it is. All or nothing; returns whether anything was written.
 */
export async function seed(store: Store, options: { readonly empty: boolean }): Promise<boolean> {
  const any = await store
    .db<ObjectTables>()
    .selectFrom('config_versions')
    .select('version')
    .limit(1)
    .executeTakeFirst();
  if (any !== undefined) return false;
  await putObjects(store, {
    extension: options.empty ? [DEMO_ADMINISTRATOR] : DEMO_PEOPLE,
    ...(options.empty ? {} : { queue: DEMO_QUEUES }),
    ...HOUSE,
  });
  return true;
}
