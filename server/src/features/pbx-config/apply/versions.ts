/** Applied versions, within the limit of kept ones. */
import type { Transaction } from 'kysely';
import type { ConfigVersion } from '@offhook/contract/config-applies.ts';
import { rfc3339 } from '../../../core/clock.ts';
import type { Store } from '../../../ports/store.ts';
import { EMPTY_MODEL } from '../model.ts';
import type { Model } from '../model.ts';
import type { ObjectStore } from '../objects.ts';
import type { ObjectTables } from '../tables.ts';

/** Limit of kept versions; a new one deletes the oldest. */
const KEEP_VERSIONS = 2_000;

type Row = { version: number; author: string; comment: string | null; at: number; objects: number };
const shown = ({ at, ...row }: Row): ConfigVersion => ({ ...row, at: rfc3339(Number(at)) });

/** Deletes versions before the newest `keep`, with the objects that only these versions have. */
export async function pruneVersions(
  trx: Transaction<ObjectTables>,
  newest: number,
  keep = KEEP_VERSIONS,
): Promise<void> {
  const oldest = newest - keep + 1;
  if (oldest <= 1) return;
  await trx.deleteFrom('config_versions').where('version', '<', oldest).execute();
  await trx.deleteFrom('config_objects').where('until_version', '<=', oldest).execute();
}

export interface Versions {
  page(limit: number, before: number | null): Promise<readonly ConfigVersion[]>;
  /** Null for an unknown or deleted version. */
  one(version: number): Promise<ConfigVersion | null>;
  /** The site in that version; null as for `one`. */
  model(version: number): Promise<Model | null>;
  /** The site in the previous version; empty for the oldest kept one. */
  before(version: number): Promise<Model>;
}
export function createVersions(store: Store, objects: Pick<ObjectStore, 'at'>): Versions {
  const db = store.db<ObjectTables>();
  const one = async (version: number): Promise<ConfigVersion | null> => {
    if (!Number.isSafeInteger(version)) return null;
    const row = await db
      .selectFrom('config_versions')
      .selectAll()
      .where('version', '=', version)
      .executeTakeFirst();
    return row === undefined ? null : shown(row);
  };
  const model = async (version: number): Promise<Model | null> =>
    (await one(version)) === null ? null : await objects.at(version);
  return {
    one,
    model,
    async before(version) {
      const row = await db
        .selectFrom('config_versions')
        .select('version')
        .where('version', '<', version)
        .orderBy('version', 'desc')
        .limit(1)
        .executeTakeFirst();
      return (row === undefined ? null : await objects.at(row.version)) ?? EMPTY_MODEL;
    },
    async page(limit, before) {
      let query = db.selectFrom('config_versions').selectAll().orderBy('version', 'desc').limit(limit);
      if (before !== null) query = query.where('version', '<', before);
      return (await query.execute()).map(shown);
    },
  };
}
