import { ServiceError } from '../../core/errors.ts';
import type { Store } from '../../ports/store.ts';
import { allObjects } from './model.ts';
import type { Model } from './model.ts';
import type { ObjectTables } from './tables.ts';

/** Ids of the uploaded sounds used by the draft or any version of the configuration. Throws `store_unavailable`. */
export async function usedSounds(store: Store): Promise<ReadonlySet<string>> {
  const db = store.db<ObjectTables>();
  const [kept, drafted] = await Promise.all([
    db.selectFrom('config_objects').select('body').distinct().where('kind', '=', 'prompt').execute(),
    db.selectFrom('config_draft').select('body').where('kind', '=', 'prompt').execute(),
  ]).catch((error: unknown) => {
    throw new ServiceError(
      'store_unavailable',
      'the sounds in use cannot be determined now; try again later',
      { cause: error },
    );
  });
  const ids = [...kept, ...drafted].flatMap(({ body }) =>
    body === null ? [] : [(JSON.parse(body) as { sound: string }).sound],
  );
  return new Set(ids);
}
/** Kinds whose `language` is that of prompts; the `language` of a phone is that of its display. */
const SPEAKING: ReadonlySet<string> = new Set(['extension', 'trunk', 'inbound_route', 'settings']);

/** Languages of prompts that objects of these models name. O(objects). */
export function usedLanguages(models: readonly Model[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const model of models)
    for (const { kind, body } of allObjects(model)) {
      if (!SPEAKING.has(kind)) continue;
      const { language, customer_languages } = body as {
        readonly language?: string | null;
        readonly customer_languages?: readonly string[];
      };
      if (typeof language === 'string') found.add(language);
      for (const one of customer_languages ?? []) found.add(one);
    }
  return found;
}
