/** Which calls the engine records by itself, written to the store; in force when the service starts next. */
import { z } from 'zod';
import { ServiceError } from '../../core/errors.ts';
import type { RecordingRule } from '../../ports/site.ts';
import type { Store } from '../../ports/store.ts';
import type { Tables } from './tables.ts';

const Rule = z.enum(['never', 'always']);
const Sound = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}(\/[a-z0-9][a-z0-9_-]{0,63}){0,2}$/)
  .nullable();
const invalid = (detail: string): ServiceError => new ServiceError('invalid_request', detail);

/** Of one extension or one queue. `invalid_request` where there is none of that name. */
export async function setRecordingRule(
  store: Store,
  whose: { readonly extension: string } | { readonly queue: string },
  rule: RecordingRule,
): Promise<void> {
  if (!Rule.safeParse(rule).success) throw invalid('recording: not never or always');
  const db = store.db<Tables>();
  const { numUpdatedRows } =
    'extension' in whose
      ? await db
          .updateTable('people')
          .set({ recording: rule })
          .where('extension', '=', whose.extension)
          .executeTakeFirst()
      : await db
          .updateTable('queues')
          .set({ recording: rule })
          .where('name', '=', whose.queue)
          .executeTakeFirst();
  if (numUpdatedRows === 0n) throw invalid(`${Object.keys(whose)[0]}: there is none of that name`);
}
/** The sound of the engine (e.g. `conf-now-recording`) that both sides hear before they are recorded by rule; null for none. */
export async function setRecordingAnnouncement(store: Store, sound: string | null): Promise<void> {
  if (!Sound.safeParse(sound).success) throw invalid('recording_announcement: not the name of a sound');
  const value = JSON.stringify(sound);
  await store
    .db<Tables>()
    .insertInto('pbx_settings')
    .values({ key: 'recording_announcement', value })
    .onConflict((c) => c.column('key').doUpdateSet({ value }))
    .execute();
}
