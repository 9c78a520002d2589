/** Removes the secrets from former versions; `writeVersion` removes them since. */
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { CONFIG_SECRETS } from '@offhook/contract/config-objects.ts';
import type { Kysely } from 'kysely';
import type { ObjectTables } from './object-tables.ts';
import { withoutSecrets } from './secrets.ts';

type Body = Record<string, unknown>;
const KINDS_WITH_SECRETS = (Object.keys(CONFIG_SECRETS) as ConfigKind[]).filter(
  (kind) => CONFIG_SECRETS[kind].length > 0,
);
/** For a migration. O(rows of these kinds), one object's history at a time. */
export async function purgeSecrets(any: Kysely<unknown>): Promise<void> {
  const db = any as Kysely<ObjectTables>;
  const keys = await db
    .selectFrom('config_objects')
    .select(['kind', 'key'])
    .distinct()
    .where('kind', 'in', KINDS_WITH_SECRETS)
    .where('until_version', 'is not', null)
    .execute();
  for (const { kind, key } of keys) {
    const rows = await db
      .selectFrom('config_objects')
      .select(['body', 'since_version', 'until_version'])
      .where('kind', '=', kind)
      .where('key', '=', key)
      .orderBy('since_version')
      .execute();
    for (const [i, row] of rows.entries()) {
      if (row.until_version === null) continue;
      const after = rows[i + 1];
      const next = after?.since_version === row.until_version ? (JSON.parse(after.body) as Body) : null;
      const body = withoutSecrets(kind as ConfigKind, JSON.parse(row.body) as Body, next);
      await db
        .updateTable('config_objects')
        .set({ body: JSON.stringify(body) })
        .where('kind', '=', kind)
        .where('key', '=', key)
        .where('since_version', '=', row.since_version)
        .execute();
    }
  }
}
