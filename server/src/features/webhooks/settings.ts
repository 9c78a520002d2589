import { WebhookSettings } from '@offhook/contract/webhooks.ts';
import type { WebhookSettingsReply } from '@offhook/contract/webhooks.ts';
import { createTable } from '../../core/schema.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Migration, Store } from '../../ports/store.ts';
import type { Allow } from '../../outbound/address-guard.ts';

interface Tables {
  webhook_settings: { id: number; value: string };
}
export const migrations: readonly Migration[] = [
  {
    id: '0100-webhook-settings',
    async up(db) {
      await createTable(db.schema)`webhook_settings (id integer primary key, value text not null)`;
    },
  },
];

export interface TargetSettings {
  settings(): WebhookSettingsReply['settings'];
  /** Effective once the settings and their audit entry are stored. */
  change(actor: Actor, wanted: WebhookSettings): Promise<WebhookSettingsReply['settings']>;
}

/** Runs the migrations and reads the settings. `fixed`: targets from the start of the process; `apply` gets both. */
export async function createTargetSettings(deps: {
  readonly store: Store;
  readonly audit: Required<Audit>;
  readonly fixed: Allow;
  readonly apply: (allow: Allow) => void;
}): Promise<TargetSettings> {
  const { store, audit, fixed, apply } = deps;
  await store.migrate('webhook-settings', migrations);
  const row = await store.db<Tables>().selectFrom('webhook_settings').select('value').executeTakeFirst();
  let current: WebhookSettings =
    row === undefined ? { private_targets: [] } : WebhookSettings.parse(JSON.parse(row.value));
  const put = (): void => apply([...fixed, ...current.private_targets]);
  put();
  const settings = () => ({ ...current, fixed_targets: [...fixed] });
  return {
    settings,
    async change(actor, wanted) {
      const value = JSON.stringify(wanted);
      await store.transaction<Tables, void>(async (trx) => {
        await trx
          .insertInto('webhook_settings')
          .values({ id: 1, value })
          .onConflict((c) => c.column('id').doUpdateSet({ value }))
          .execute();
        await audit.recordIn(trx, {
          action: 'webhook.configure',
          actor: actor.caller.username,
          object: null,
          outcome: 'ok',
          ip: actor.ip,
          detail: {
            private_targets: wanted.private_targets.join(' '),
            was_private_targets: current.private_targets.join(' '),
          },
        });
      });
      current = wanted;
      put();
      return settings();
    },
  };
}
