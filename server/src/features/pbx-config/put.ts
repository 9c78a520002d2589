/** Writes objects as a new version while the service is not running: first start, tests, benches. */
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
/** Objects by kind; for an existing object, its changed fields. */
export type Objects = { readonly [K in ConfigKind]?: readonly Partial<ConfigInput<K>>[] };

/** Adds objects and changes the given fields of existing ones. All or nothing; throws schema errors. */
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
