/** Webhooks: their settings, delivery logs and the lanes that deliver. */
import { random } from '../../core/chance.ts';
import type { Audit } from '../../ports/audit.ts';
import type { FollowableJournal } from '../../ports/journal-store.ts';
import type { Gauges } from '../../ports/metrics.ts';
import type { Common } from '../../ports/common.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import { personalDataOf } from './personal-data.ts';
import { Runner } from './runner.ts';
import { WebhookService } from './service.ts';
import { createTargetSettings } from './settings.ts';
import { createWebhookStore } from './store.ts';
import { isDeaf } from './subscription.ts';
import type { FindOwner } from './subscription.ts';
import { createGuard } from '../../outbound/address-guard.ts';
import type { Allow, Guard } from '../../outbound/address-guard.ts';
import { createResolve, Transport } from '../../outbound/transport.ts';
import type { Resolve } from '../../outbound/transport.ts';

export interface WebhooksOptions extends Common<'clock' | 'log' | 'store'> {
  readonly journal: FollowableJournal;
  readonly audit: Required<Audit>;
  readonly owner: FindOwner;
  readonly allow: Allow;
  readonly version: string;
  /** The source of an envelope, e.g. `/offhook/ast1`. */
  readonly source: string;
  readonly resolve?: Resolve;
  readonly chance?: () => number;
}
export interface WebhookFigures {
  readonly webhooks: number;
  readonly retrying: number;
  /** Attempts without an answer yet. */
  readonly under_way: number;
  /** Events that the slowest webhook has not handled. */
  readonly lag: number;
  readonly delivered: number;
  readonly failed: number;
  readonly parked: number;
  /** Webhooks disabled by the service since the start. */
  readonly disabled: number;
}
/** The service for operations, and the functions that `boot` uses. */
export interface Webhooks {
  readonly service: WebhookService;
  /** Checks every outside address that the service calls; its settings can permit private ones. */
  readonly guard: Guard;
  readonly data: PersonalData;
  figures(): WebhookFigures;
  gauges(to: Gauges): void;
  /**
   * Call it after the rights of an owner changed or ended: disables webhooks without an owner, or whose owner
   * may receive none of their topics, before their next event.
   */
  ownersChanged(): void;
  /** Stores pending changes. */
  save(): Promise<void>;
  close(): Promise<void>;
}
const FIGURES = [
  'webhooks',
  'retrying',
  'under_way',
  'lag',
  'delivered',
  'failed',
  'parked',
  'disabled',
] as const satisfies readonly (keyof WebhookFigures)[];

/** Runs the migrations, loads the webhooks and begins to deliver. */
export async function createWebhooks(options: WebhooksOptions): Promise<Webhooks> {
  const { clock, journal, audit, owner, source } = options;
  const log = options.log.child({ part: 'webhooks' });
  const resolve = options.resolve ?? createResolve();
  const store = await createWebhookStore(options.store);
  const guard = createGuard(options.allow);
  const targets = await createTargetSettings({
    store: options.store,
    audit,
    fixed: options.allow,
    apply: (allow) => guard.allow(allow),
  });
  const transport = new Transport({ guard, clock, resolve });
  const agent = `Offhook/${options.version}`;
  const chance = options.chance ?? (() => random('webhook retry'));
  const runner = new Runner({ journal, clock, transport, log, agent, chance, store, audit, owner });
  const { hooks } = runner;
  for (const row of await store.all()) runner.start(row);
  const parts = { journal, clock, audit, owner, source, store, guard, targets, transport, agent, runner };
  const figures = (): WebhookFigures => {
    const all = [...hooks.values()].filter(({ settings }) => settings.enabled);
    return {
      webhooks: hooks.size,
      retrying: all.filter(({ progress }) => progress.live.head !== null).length,
      under_way: transport.under_way,
      lag: Math.max(0, ...all.map(({ progress }) => journal.head - progress.live.at)),
      ...runner.counts,
    };
  };
  return {
    service: new WebhookService({ ...parts, resolve }),
    guard,
    data: personalDataOf(store, () => runner.save()),
    figures,
    gauges(to) {
      for (const name of FIGURES) {
        const metric = name === 'webhooks' ? 'offhook_webhooks' : `offhook_webhooks_${name}`;
        to.gauge(metric, `Webhooks: ${name}.`, () => figures()[name]);
      }
    },
    ownersChanged() {
      for (const { settings, lane } of hooks.values()) {
        const who = owner(settings.owner);
        if (who === null || isDeaf(who, settings.topics)) lane.wake();
      }
    },
    save: () => runner.save(),
    async close() {
      await runner.close();
      transport.close();
    },
  };
}
