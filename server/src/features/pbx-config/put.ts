/** Objects written as a version of their own, for a site whose service does not run: the first start, tests, benches. */
import { CONFIG_KINDS } from '@offhook/contract/config-objects.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import type { z } from 'zod';
import type { Store } from '../../ports/store.ts';
import { withSecrets } from './secrets.ts';
import { storedObject } from './model.ts';
import { newIdentity, openObjects, writeVersion } from './objects.ts';
import type { Authorship } from './objects.ts';
import type { ObjectTables } from './tables.ts';

export type ConfigInput<K extends ConfigKind> = z.input<(typeof CONFIG_KINDS)[K]['schema']>;
/** What is to be there, by kind; of an object that is there already, the fields that change. */
export type Objects = { readonly [K in ConfigKind]?: readonly Partial<ConfigInput<K>>[] };

/** Puts objects beside those that are there; one of the same name is replaced. All or nothing; throws what the schema says. */
export async function putObjects(
  store: Store,
  objects: Objects,
  by: Authorship = { author: 'setup', comment: null, at: Date.now() },
): Promise<void> {
  const applied = (await openObjects(store)).applied();
  await store.transaction<ObjectTables, void>(async (trx) => {
    const changes = [];
    for (const [name, inputs] of Object.entries(objects)) {
      const kind = name as ConfigKind;
      for (const input of inputs) {
        const named = (input as Record<string, unknown>)[CONFIG_KINDS[kind].key];
        const before = typeof named === 'string' ? applied.of(kind).get(named) : undefined;
        const body = withSecrets(kind, CONFIG_KINDS[kind].schema.parse({ ...before?.body, ...input }));
        const { key } = storedObject(0, kind, body);
        const id = before?.id ?? (await newIdentity(trx, kind, key));
        changes.push({ kind, key, object: storedObject(id, kind, body) });
      }
    }
    await writeVersion(trx, changes, by);
  });
}
