import type { Kysely, Transaction } from 'kysely';
import { StartError } from './errors.ts';

/** The shape of a step in `ports/store.ts`, which core may not import. */
interface Step {
  readonly id: string;
  up(db: Transaction<unknown>): Promise<void>;
}
interface Tables {
  offhook_migrations: { feature: string; id: string; applied_at: string };
}

/** Steps of builds before 0.1.0, the first release, sort before this. */
const FIRST_RELEASED = '0100';
export const isUnreleased = (id: string): boolean => id < FIRST_RELEASED;
/** `place`: the data folder or the database. Nothing was changed in it. */
export const olderStore = (place: string): StartError =>
  new StartError(
    'store_older',
    `${place} was written by a build before 0.1.0, which has no upgrade, and was left as it is: export the configuration with that build ` +
      '(npm run config -- export site.yaml), start this one with an empty data folder and database, and apply the file there (npm run ' +
      'config -- apply site.yaml).',
  );

/** Error where `done` has steps that this version of the feature does not know; null where it knows all. */
export function newerStore(
  where: string,
  feature: string,
  steps: readonly Pick<Step, 'id'>[],
  done: readonly Pick<Step, 'id'>[],
): StartError | null {
  const unknown = done.map((row) => row.id).filter((id) => !steps.some((step) => step.id === id));
  if (unknown.length === 0) return null;
  return new StartError(
    'store_newer',
    `${where} was written by a newer version (${feature} has the unknown steps ${unknown.join(', ')}): start that version, or ` +
      'restore a backup of before the update.',
  );
}

/** Steps that a database has noted, by feature. */
export async function notedSteps(db: Kysely<unknown>): Promise<Map<string, Pick<Step, 'id'>[]>> {
  const noted = await (db as Kysely<Tables>)
    .selectFrom('offhook_migrations')
    .select(['feature', 'id'])
    .execute();
  return Map.groupBy(noted, (row) => row.feature);
}

/** Makes the table in which steps are noted. */
export async function createMigrationTable(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('offhook_migrations')
    .ifNotExists()
    .addColumn('feature', 'text', (c) => c.notNull())
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('applied_at', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('offhook_migrations_key', ['feature', 'id'])
    .execute();
}

/**
 * Runs the steps that are not noted yet, each with its note in one `transaction`; `ran` is called for each. Throws where the
 * steps do not sort, or where `place` was written by a newer version or by a build before 0.1.0.
 */
export async function runMigrations(
  place: string,
  store: {
    db(): Kysely<unknown>;
    transaction(work: (trx: Transaction<unknown>) => Promise<void>): Promise<void>;
  },
  feature: string,
  steps: readonly Step[],
  ran: (id: string) => void,
): Promise<void> {
  assertOrdered(feature, steps);
  const done = await (store.db() as Kysely<Tables>)
    .selectFrom('offhook_migrations')
    .select('id')
    .where('feature', '=', feature)
    .execute();
  if (done.some((row) => isUnreleased(row.id))) throw olderStore(place);
  const newer = newerStore(place, feature, steps, done);
  if (newer !== null) throw newer;
  for (const step of steps.filter((step) => !done.some((row) => row.id === step.id))) {
    await store.transaction(async (trx) => {
      await step.up(trx);
      await (trx as unknown as Kysely<Tables>)
        .insertInto('offhook_migrations')
        .values({ feature, id: step.id, applied_at: new Date().toISOString() })
        .execute();
    });
    ran(step.id);
  }
}

function assertOrdered(feature: string, steps: readonly Step[]): void {
  for (const [i, step] of steps.entries()) {
    const before = steps[i - 1];
    const least = before?.id ?? FIRST_RELEASED;
    if (step.id <= least)
      throw new Error(`migrations of ${feature}: ${step.id} does not sort after ${least}`);
  }
}
