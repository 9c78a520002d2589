import { ServiceError } from '../../core/errors.ts';
import type { Store } from '../../ports/store.ts';
import type { ObjectTables } from './tables.ts';

/** Ids of the uploaded sounds used by the draft or any version of the configuration. Throws `store_unavailable`. */
export async function usedSounds(store: Store): Promise<ReadonlySet<string>> {
  const db = store.db<ObjectTables>();
  const [kept, drafted] = await Promise.all([
    db.selectFrom('config_objects').select('body').distinct().where('kind', '=', 'prompt').execute(),
    db.selectFrom('config_draft').select('body').where('kind', '=', 'prompt').execute(),
  ]).catch((error: unknown) => {
    throw new ServiceError('store_unavailable', 'which sounds are used cannot be told now', { cause: error });
  });
  const ids = [...kept, ...drafted].flatMap(({ body }) =>
    body === null ? [] : [(JSON.parse(body) as { sound: string }).sound],
  );
  return new Set(ids);
}
