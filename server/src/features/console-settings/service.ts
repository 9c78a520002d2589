import { ConsoleSettings, INITIAL_CONSOLE_SETTINGS } from '@offhook/contract/console-settings.ts';
import type { ConsoleSettingsReply } from '@offhook/contract/console-settings.ts';
import { writeQueue } from '../../core/queue.ts';
import { createTable } from '../../core/schema.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Migration, Store } from '../../ports/store.ts';

interface Tables {
  console_settings: { id: number; value: string };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-console-settings',
    async up(db) {
      await createTable(db.schema)`console_settings (id integer primary key, value text not null)`;
    },
  },
];

/** Longest wait of a change for the ones requested before it. */
const PATIENCE_MS = 10_000;

export interface SiteConsole {
  settings(): ConsoleSettingsReply['settings'];
  /** The new settings take effect once they and their audit entry are stored. */
  change(actor: Actor, wanted: ConsoleSettings): Promise<ConsoleSettingsReply['settings']>;
  /** Calls `listener` after each change; call the result to unsubscribe. */
  onChange(listener: () => void): () => void;
}

/** Runs the migrations and reads the settings. `fixed`: those of the reply that are settings of the service. */
export async function createConsoleSettings(deps: {
  readonly store: Store;
  readonly audit: Required<Audit>;
  readonly fixed: Omit<ConsoleSettingsReply['settings'], keyof ConsoleSettings>;
}): Promise<SiteConsole> {
  const { store, audit, fixed } = deps;
  await store.migrate('console-settings', migrations);
  const row = await store.db<Tables>().selectFrom('console_settings').select('value').executeTakeFirst();
  let current: ConsoleSettings = {
    ...INITIAL_CONSOLE_SETTINGS,
    ...(row === undefined ? {} : ConsoleSettings.parse(JSON.parse(row.value))),
  };
  const settings = () => ({ ...current, ...fixed });
  const listeners = new Set<() => void>();
  const changes = writeQueue(PATIENCE_MS);
  return {
    settings,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    // One change at a time, because each depends on the settings before it.
    change: (actor, given) =>
      changes.run(async () => {
        const wanted: ConsoleSettings = {
          ...given,
          second_factor: given.second_factor ?? current.second_factor,
        };
        const value = JSON.stringify(wanted);
        await store.transaction<Tables, void>(async (trx) => {
          await trx
            .insertInto('console_settings')
            .values({ id: 1, value })
            .onConflict((c) => c.column('id').doUpdateSet({ value }))
            .execute();
          await audit.recordIn(trx, {
            action: 'console.configure',
            actor: actor.caller.username,
            object: null,
            outcome: 'ok',
            ip: actor.ip,
            detail: {
              ...wanted,
              second_factor: wanted.second_factor ?? 'off',
              ...Object.fromEntries(
                Object.entries(current)
                  .filter(([name, value]) => wanted[name as keyof ConsoleSettings] !== value)
                  .map(([name, value]) => [`was_${name}`, value]),
              ),
            },
          });
        });
        current = wanted;
        for (const listener of listeners) listener();
        return settings();
      }),
  };
}
