import type { Store } from '../../ports/store.ts';
import { DEMO_ADMINISTRATOR, DEMO_PEOPLE, DEMO_QUEUES, DEMO_REASONS, PARKING, SERVICES } from './demo.ts';
import type { ObjectTables } from './tables.ts';
import { putObjects } from './put.ts';
import type { Objects } from './put.ts';

/** Initial call limits: they bound the cost of a stolen phone if an administrator permits these classes (ADR 0028). */
const CALL_LIMITS: Objects['call_limit'] = [
  {
    name: 'abroad',
    title: 'Calls abroad of each extension',
    max_calls: 2,
    calls_per_hour: 20,
    minutes_per_day: 120,
    max_minutes: 60,
  },
  {
    name: 'abroad-site',
    title: 'Calls abroad of the site',
    shared: true,
    max_calls: 10,
    minutes_per_day: 600,
    max_minutes: 60,
  },
];
/**
 * Initial objects of every site: pause reasons, service numbers (echo, music, voicemail, parking) and limits of calls
 * abroad.
 */
export const HOUSE: Objects = {
  pause_reason: DEMO_REASONS,
  service: SERVICES,
  parking_lot: [PARKING],
  call_limit: CALL_LIMITS,
  settings: [{}],
};

const DEMO_COMPANY: Objects = { extension: DEMO_PEOPLE, queue: DEMO_QUEUES };

/**
 * Fills an empty site with a company, by default the demo company, or with `empty` with one administrator at extension
 * 1001. A site with a version stays unchanged. All or nothing; returns true if it wrote.
 */
export async function seed(
  store: Store,
  options: { readonly empty: boolean; readonly company?: Objects | undefined; readonly at?: number },
): Promise<boolean> {
  const any = await store
    .db<ObjectTables>()
    .selectFrom('config_versions')
    .select('version')
    .limit(1)
    .executeTakeFirst();
  if (any !== undefined) return false;
  const company = options.empty ? { extension: [DEMO_ADMINISTRATOR] } : (options.company ?? DEMO_COMPANY);
  const { at = Date.now() } = options;
  await putObjects(store, { ...HOUSE, ...company }, { author: 'setup', comment: null, at });
  return true;
}
